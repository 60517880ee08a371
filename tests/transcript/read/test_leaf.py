"""Which entry the client goes on from, by every reader. tests/e2e/test_resumed.py sees the client do so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from make_transcripts import NO_EVENT, ClaudeTalk, event_id, resumed
from rewind.agents.profile import Profile
from rewind.agents.registry import profile_named
from rewind.store.derived import DerivedDb
from rewind.transcript.place.boundary import find_boundary_by_user_prompts
from rewind.transcript.read.chain import Tail
from rewind.transcript.read.index import read_index
from rewind.transcript.read.leaf import WITHIN, marks_of_leaf
from rewind.transcript.read.lines import open_transcript, read_at
from rewind.transcript.turns.turn_index import open_turns

pytestmark = pytest.mark.usefixtures("home")
NOWHERE = event_id(0xFFFFFF)  # was never written


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[DerivedDb]:
    memory = DerivedDb(str(tmp_path / "memory.db"), "owner")
    yield memory
    memory.close()


class Active:
    """The active prompts, by all readers, which must agree."""

    def __init__(self, folder: Path, memory: DerivedDb) -> None:
        self.path = folder / "t.jsonl"
        self.memory = memory

    def __call__(self, talk: ClaudeTalk) -> list[str]:
        self.path.write_bytes(talk.bytes())
        profile = profile_named("claude")
        index = read_index(str(self.path), profile)
        found = [turn.prompt for turn in index.active_turns]
        turns = open_turns(str(self.path), profile, self.memory)
        assert [row.prompt for row in turns.turns(1, 999)] == found
        with open_transcript(str(self.path)) as file:
            assert [entry.id for entry in Tail(file, profile).chain()][::-1] == index.chain
        assert resumed("claude", talk.bytes()) == index.chain, "as it was seen of the client"
        return found


@pytest.fixture
def active(tmp_path: Path, memory: DerivedDb) -> Active:
    return Active(tmp_path, memory)


@pytest.fixture
def talk() -> ClaudeTalk:
    talk = ClaudeTalk()
    for text in ("one", "two", "three"):
        talk.turn(text)
    return talk


def after(talk: ClaudeTalk, text: str) -> str:
    """The last entry of that turn."""
    events = [line for line in talk.lines if b'"uuid"' in line]
    at = next(n for n, line in enumerate(events) if b'"content":"%s"' % text.encode() in line)
    return event_id(at + 3)


# Lines that nobody goes on from

def test_progress_whose_parent_was_never_written_does_not_hide_the_conversation(
        talk: ClaudeTalk, active: Active) -> None:
    talk.back_to(NOWHERE)
    talk.progress()
    talk.progress()
    assert active(talk) == ["one", "two", "three"]


def test_back_takes_the_last_prompt_of_a_file_that_ends_in_progress(
        talk: ClaudeTalk, active: Active) -> None:
    talk.back_to(NOWHERE)
    talk.progress()
    active(talk)
    found = find_boundary_by_user_prompts(str(active.path), 1)
    assert [prompt.text for prompt in found.prompts] == ["three"] and found.resumable


def test_progress_of_an_earlier_turn_does_not_lead_back_to_it(talk: ClaudeTalk, active: Active) -> None:
    talk.back_to(after(talk, "one"))
    talk.progress()
    assert active(talk) == ["one", "two", "three"]


def test_a_conversation_leads_through_progress(talk: ClaudeTalk, active: Active) -> None:
    talk.progress()
    talk.turn("four")
    assert active(talk) == ["one", "two", "three", "four"]


def test_a_line_of_an_unknown_kind_is_not_gone_on_from(talk: ClaudeTalk, active: Active) -> None:
    talk.back_to(after(talk, "one"))
    talk.entry("something-new")
    assert active(talk) == ["one", "two", "three"]


@pytest.mark.parametrize("kind", ["system", "attachment", "assistant"])
def test_the_last_line_of_any_other_kind_is(talk: ClaudeTalk, active: Active, kind: str) -> None:
    talk.back_to(after(talk, "one"))
    talk.entry(kind, message={"role": "assistant", "content": []})
    assert active(talk) == ["one"]


# Parents that were never written

@pytest.mark.parametrize(("seconds", "goes_on"), [(0, True), (4, True), (5, False), (900, False)])
def test_what_is_written_at_once_goes_on_from_the_entry_before_it(
        talk: ClaudeTalk, active: Active, seconds: int, goes_on: bool) -> None:
    """A second passes anyway, and five are allowed."""
    talk.wait(seconds)
    talk.back_to(NOWHERE)
    talk.turn("four")
    assert active(talk) == (["one", "two", "three", "four"] if goes_on else ["four"])


def test_a_conversation_leads_through_progress_whose_parent_is_lost(talk: ClaudeTalk, active: Active) -> None:
    talk.back_to(NOWHERE)
    talk.progress()
    talk.turn("four")
    assert active(talk) == ["one", "two", "three", "four"]


@pytest.mark.parametrize("stamp", ["", "yesterday", None, 7, "2026-03-01T10:00:11.000"])
def test_without_a_time_nobody_knows(tmp_path: Path, talk: ClaudeTalk, stamp: object) -> None:
    talk.back_to(NOWHERE)
    talk.prompt("four", timestamp=stamp)
    path = tmp_path / "t.jsonl"
    path.write_bytes(talk.bytes())
    assert [turn.prompt for turn in read_index(str(path), profile_named("claude")).active_turns] == ["four"]


# The line by which the client notes where it stands

def test_a_second_client_that_closed_first_does_not_decide(talk: ClaudeTalk, active: Active) -> None:
    """Both were open; one said "other" after "one", the other was closed last and noted where it stood."""
    third = talk.here
    talk.back_to(after(talk, "one"))
    talk.turn("other")
    assert active(talk) == ["one", "other"]
    talk.last_prompt(str(third), explicit=False)
    assert active(talk) == ["one", "two", "three"]


def test_what_was_said_on_another_branch_since_then_does_not_count(talk: ClaudeTalk, active: Active) -> None:
    talk.last_prompt(str(talk.here), explicit=False)
    talk.back_to(after(talk, "one"))
    talk.turn("other")
    assert active(talk) == ["one", "two", "three"]


def test_what_was_said_after_the_noted_place_counts(talk: ClaudeTalk, active: Active) -> None:
    talk.last_prompt(after(talk, "one"), explicit=False)
    assert active(talk) == ["one", "two", "three"]
    talk.turn("four")
    assert active(talk) == ["one", "two", "three", "four"]


def test_of_two_ways_on_from_the_noted_place_the_later_one_counts(talk: ClaudeTalk, active: Active) -> None:
    first = after(talk, "one")
    talk.back_to(first)
    talk.turn("other")
    talk.last_prompt(first, explicit=False)
    assert active(talk) == ["one", "other"]


def test_an_exact_place_forgets_what_had_been_said_after_it(talk: ClaudeTalk, active: Active) -> None:
    first = after(talk, "one")
    talk.last_prompt(first, explicit=True)
    assert active(talk) == ["one"]
    talk.back_to(first)
    talk.turn("other")
    assert active(talk) == ["one", "other"]


def test_an_older_client_may_have_gone_on_without_heeding_it(talk: ClaudeTalk, active: Active) -> None:
    talk.last_prompt(after(talk, "one"), explicit=True)
    talk.turn("four")
    assert active(talk) == ["one", "two", "three", "four"]


@pytest.mark.parametrize(("leaf", "explicit"), [(NO_EVENT, True), (NOWHERE, True), (NOWHERE, False)])
def test_a_line_that_names_nothing_takes_back_what_the_one_before_named(
        talk: ClaudeTalk, active: Active, leaf: str, explicit: bool) -> None:
    talk.last_prompt(after(talk, "one"), explicit=True)
    talk.last_prompt(leaf, explicit=explicit)
    assert active(talk) == ["one", "two", "three"]


def test_progress_cannot_be_named(talk: ClaudeTalk, active: Active) -> None:
    talk.back_to(after(talk, "one"))
    talk.last_prompt(talk.progress(), explicit=True)
    assert active(talk) == ["one", "two", "three"]


@pytest.mark.parametrize("explicit", [False, True])
def test_a_compaction_makes_a_place_before_it_forgotten(
        talk: ClaudeTalk, active: Active, explicit: bool) -> None:
    talk.last_prompt(after(talk, "one"), explicit=explicit)
    talk.compaction()
    talk.turn("four")
    assert active(talk) == ["one", "two", "three", "four"]


def test_a_line_of_long_ago_is_looked_for_by_no_reader(talk: ClaudeTalk, active: Active) -> None:
    """The last megabyte is enough: the client writes one for each turn."""
    talk.last_prompt(str(talk.here), explicit=False)
    talk.back_to(after(talk, "one"))
    talk.turn("other " + "x" * WITHIN)
    active.path.write_bytes(talk.bytes())
    profile = profile_named("claude")
    index = read_index(str(active.path), profile)
    assert [turn.prompt[:5] for turn in index.active_turns] == ["one", "other"]
    assert open_turns(str(active.path), profile, active.memory).total == 2
    with open_transcript(str(active.path)) as file:
        assert [entry.id for entry in Tail(file, profile).chain()][::-1] == index.chain


@pytest.mark.parametrize(("line", "marks"), [
    ({"type": ["last-prompt"]}, [b"last-prompt"]), ({"explicit": [True], "type": ["a", "b"]}, [b"a", b"b"]),
    ({"explicit": [True]}, [b""]), ({}, [b""]), ({"type": ["ä/"]}, [b""]), ({"type": []}, []),
    ([{"type": ["a"]}, {"kind": ["b_c"]}], [b"a", b"b_c"])], ids=str)
def test_the_bytes_that_tell_of_such_a_line_are_in_every_one_of_them(
        line: object, marks: list[bytes]) -> None:
    claude = profile_named("claude").data
    assert marks_of_leaf(Profile({**claude, "leaf": {**claude["leaf"], "line": line}})) == marks
    assert marks_of_leaf(Profile({**claude, "leaf": None})) == []


@pytest.mark.parametrize("line", [
    {"explicit": [True]}, [{"explicit": [True]}, {"type": ["last-prompt"]}]], ids=str)
def test_without_such_bytes_every_line_is_looked_at(tmp_path: Path, talk: ClaudeTalk, line: object) -> None:
    claude = profile_named("claude").data
    profile = Profile({**claude, "leaf": {**claude["leaf"], "line": line}})
    talk.last_prompt(after(talk, "one"), explicit=True)
    path = tmp_path / "t.jsonl"
    for _ in range(2):
        path.write_bytes(talk.bytes())
        with open_transcript(str(path)) as file:
            ids = [entry.id for entry in Tail(file, profile).chain()][::-1]
        assert ids == read_index(str(path), profile).chain
        talk.turn("four")


def test_a_prompt_that_only_mentions_such_a_line_is_none(talk: ClaudeTalk, active: Active) -> None:
    talk.last_prompt(after(talk, "one"), explicit=True)
    talk.back_to(after(talk, "one"))
    talk.turn("what is a last-prompt line?")
    assert active(talk) == ["one", "what is a last-prompt line?"]
    talk.back_to(after(talk, "three"))
    talk.turn("last-prompt again")
    assert active(talk) == ["one", "two", "three", "last-prompt again"]


def test_of_a_long_file_without_such_lines_only_the_tail_is_read(
        active: Active, monkeypatch: pytest.MonkeyPatch) -> None:
    from rewind.transcript.read import lines

    talk = ClaudeTalk(version="2.1.30")
    for number in range(100):
        talk.turn(f"{number} " + "x" * 100_000)
    active.path.write_bytes(talk.bytes())
    starts = []

    def noting(file: object, offset: int, count: int) -> bytes:
        starts.append(offset)
        return read_at(file, offset, count)  # type: ignore[arg-type]

    monkeypatch.setattr(lines, "read_at", noting)
    find_boundary_by_user_prompts(str(active.path), 1, profile_named("claude"))
    size = active.path.stat().st_size
    assert min(start for start in starts if start > lines.CHUNK) > size - 2 * WITHIN


# A compaction that keeps the latest messages as they are

def test_prompts_that_a_compaction_kept_are_counted(talk: ClaudeTalk, active: Active) -> None:
    """"Summarize up to here" before "three": its boundary names the end of "two" as what came before."""
    talk.turn("four")
    tail = str(talk.here)
    talk.compaction(after(talk, "two"), (prompt_of(talk, "three"), tail))
    talk.turn("five")
    assert active(talk) == ["one", "two", "three", "four", "five"]
    found = find_boundary_by_user_prompts(str(active.path), 2)
    assert [prompt.text for prompt in found.prompts] == ["four", "five"]
    assert found.cut.leaf == after(talk, "three")


@pytest.mark.parametrize("tail", [NOWHERE, "", None, 7])
def test_where_the_last_kept_message_is_not_to_be_found_the_logical_parent_counts(
        talk: ClaudeTalk, active: Active, tail: object) -> None:
    talk.compaction(after(talk, "two"), (prompt_of(talk, "three"), tail))  # type: ignore[arg-type]
    talk.turn("four")
    assert active(talk) == ["one", "two", "four"]


def prompt_of(talk: ClaudeTalk, text: str) -> str:
    return event_id(int(after(talk, text)[:8], 16) - 2)
