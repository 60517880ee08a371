"""A place in a transcript is found again when the file grew or line 1 changed; in another file never."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from make_transcripts import ClaudeTalk, DroidTalk, compact
from other_pythons import examples
from rewind.agents.registry import profile_named
from rewind.transcript.place.cursor import SAMPLE, header_length, make_cursor, mark_of, place_in
from rewind.transcript.read.lines import end_of_lines, open_transcript


class Place:
    def __init__(self, path: Path, agent: str) -> None:
        self.path = path
        self.profile = profile_named(agent)

    def write(self, data: bytes) -> None:
        self.path.write_bytes(data)

    def take(self) -> dict[str, Any]:
        with open_transcript(str(self.path)) as file:
            end = end_of_lines(file)
            mark = mark_of(file, end, header_length(file))
            return make_cursor(file, self.profile, mark, self.path.read_bytes()[:end].count(b"\n"))

    def find(self, cursor: dict[str, Any]) -> Optional[int]:
        with open_transcript(str(self.path)) as file:
            return place_in(file, cursor)


def long_talk(talk: Any, turns: int = 60) -> bytes:
    """Longer than both fingerprints together."""
    for number in range(turns):
        talk.turn(f"prompt {number} " + "x" * 2000)
    data: bytes = talk.bytes()
    assert len(data) > 3 * SAMPLE
    return data


@pytest.fixture
def claude(tmp_path: Path, home: Path) -> Place:
    return Place(tmp_path / "c.jsonl", "claude")


@pytest.fixture
def droid(tmp_path: Path, home: Path) -> Place:
    return Place(tmp_path / "d.jsonl", "droid")


def test_a_cursor_says_where_the_last_complete_line_ends(claude: Place) -> None:
    talk = ClaudeTalk()
    talk.turn("one")
    claude.write(talk.bytes() + b'{"torn')
    cursor = claude.take()
    assert cursor["byte_offset_end"] == len(talk.bytes())
    assert cursor["line_count"] == len(talk.lines) and cursor["last_event_id"] == talk.here
    assert cursor["header_bytes"] == len(talk.lines[0]) + 1
    assert set(cursor) == {"byte_offset_end", "line_count", "last_event_id", "prefix_sha256", "tail_sha256",
                           "header_bytes", "body_sha256"}


@pytest.mark.parametrize("turns", [1, 60])
def test_a_file_that_only_grew_has_the_place_where_it_was(claude: Place, turns: int) -> None:
    talk = ClaudeTalk()
    for number in range(turns):
        talk.turn("x" * 2000 + str(number))
    data = talk.bytes()
    claude.write(data)
    cursor = claude.take()
    claude.write(data + b'{"more":1}\n')
    assert claude.find(cursor) == len(data)


@pytest.mark.parametrize("title", ["A much longer title than the one it had before", "T", "Other!"])
@pytest.mark.parametrize("turns", [1, 60])
def test_a_first_line_rewritten_by_droid_moves_the_place_with_it(droid: Place, title: str,
                                                                turns: int) -> None:
    talk = DroidTalk("A talk")
    for number in range(turns):
        talk.turn(f"prompt {number} " + "x" * 2000)
    data, old = talk.bytes(), len(talk.lines[0])
    droid.write(data)
    cursor = droid.take()
    talk.lines[0] = talk.lines[0].replace(b"A talk", title.encode())
    droid.write(talk.bytes())
    assert droid.find(cursor) == len(data) + len(talk.lines[0]) - old
    talk.turn("later")
    droid.write(talk.bytes())
    assert droid.find(cursor) == len(data) + len(talk.lines[0]) - old


def test_a_first_line_rewritten_twice_is_still_the_same_file(droid: Place) -> None:
    talk = DroidTalk("A talk")
    data = long_talk(talk)
    droid.write(data)
    cursor = droid.take()
    for title in (b"Very much longer than ever", b"S"):
        body = data.split(b"\n", 1)[1]
        first = talk.lines[0].replace(b"A talk", title)
        droid.write(first + b"\n" + body)
        assert droid.find(cursor) == len(first) + 1 + len(body)


def test_a_first_line_longer_than_the_fingerprint_may_be_rewritten_too(droid: Place) -> None:
    talk = DroidTalk("A talk", note="n" * (SAMPLE + 10))
    talk.turn("one")
    droid.write(talk.bytes())
    cursor = droid.take()
    talk.lines[0] = talk.lines[0].replace(b"A talk", b"Another talk")
    droid.write(talk.bytes())
    assert droid.find(cursor) == len(talk.bytes())


@pytest.mark.parametrize("at", [0.3, 0.02, 0.999])
def test_a_body_that_was_rewritten_near_either_end_is_another_file(claude: Place, at: float) -> None:
    data = bytearray(long_talk(ClaudeTalk()))
    claude.write(bytes(data))
    cursor = claude.take()
    start = int(len(data) * at) if at != 0.3 else SAMPLE // 2
    place = data.index(b"x", start) if at < 0.9 else len(data) - 40
    data[place] = data[place] ^ 1
    claude.write(bytes(data))
    assert claude.find(cursor) is None


def test_a_file_that_became_shorter_does_not_have_the_place(claude: Place) -> None:
    talk = ClaudeTalk()
    data = long_talk(talk)
    claude.write(data)
    cursor = claude.take()
    for cut in (len(data) - 1, talk.offset(-1), talk.offset(3), 1, 0):
        claude.write(data[:cut])
        assert claude.find(cursor) is None, cut


def test_another_file_of_the_same_size_does_not_have_the_place(claude: Place) -> None:
    one, other = ClaudeTalk(), ClaudeTalk()
    one.turn("aaaa")
    other.turn("bbbb")
    assert len(one.bytes()) == len(other.bytes())
    claude.write(one.bytes())
    cursor = claude.take()
    claude.write(other.bytes())
    assert claude.find(cursor) is None


def test_a_line_lost_from_the_middle_is_noticed_by_the_tail(claude: Place) -> None:
    talk = ClaudeTalk()
    data = long_talk(talk)
    claude.write(data)
    cursor = claude.take()
    middle = len(talk.lines) // 2
    claude.write(data[:talk.offset(middle)] + data[talk.offset(middle + 1):] + b'{"later":"line"}\n' * 999)
    assert claude.find(cursor) is None


def test_the_beginning_of_any_file_is_the_beginning(claude: Place) -> None:
    claude.write(b"")
    cursor = claude.take()
    assert cursor["byte_offset_end"] == 0 and cursor["last_event_id"] is None
    claude.write(b'{"a":1}\n')
    assert claude.find(cursor) == 0


@pytest.mark.parametrize("change", [
    {"byte_offset_end": "9"}, {"byte_offset_end": None}, {"byte_offset_end": -5}, {"header_bytes": None},
    {"header_bytes": -1}, {"header_bytes": 10**9}, {"byte_offset_end": 10**18},
    {"prefix_sha256": None, "body_sha256": None}, {"tail_sha256": 7}])
def test_a_cursor_that_makes_no_sense_leads_nowhere(claude: Place, change: dict[str, Any]) -> None:
    talk = ClaudeTalk()
    talk.turn("one")
    claude.write(talk.bytes())
    assert claude.find({**claude.take(), **change}) is None
    assert claude.find({}) is None


@given(before=st.lists(st.text(max_size=40), min_size=1, max_size=8), after=st.lists(st.text(max_size=40)),
       title=st.text(max_size=60))
@settings(max_examples=examples(40), deadline=None, derandomize=True, database=None)
def test_whatever_is_appended_and_however_line_1_changes_the_place_is_found(
        tmp_path_factory: pytest.TempPathFactory, before: list[str], after: list[str], title: str) -> None:
    place = Place(tmp_path_factory.mktemp("c") / "d.jsonl", "droid")
    lines = [compact({"type": "session_start", "title": "A"})]
    body = b"".join(compact({"t": t}) + b"\n" for t in before)
    place.write(lines[0] + b"\n" + body)
    cursor = place.take()
    first = compact({"type": "session_start", "title": title}) + b"\n"
    place.write(first + body + b"".join(compact({"t": t}) + b"\n" for t in after))
    assert place.find(cursor) == len(first) + len(body)
