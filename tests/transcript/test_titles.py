"""What a conversation is called, and that a gigabyte is not read to find out."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewind.agents.registry import profile_named
from rewind.transcript.index import read_index
from rewind.transcript.lines import open_transcript
from rewind.transcript.titles import read_title, shortened
from transcript.make_transcripts import ClaudeTalk, DroidTalk, Talk

pytestmark = pytest.mark.usefixtures("home")


def title(tmp_path: Path, talk: Talk) -> str:
    """By the two readers, which must agree."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(talk.bytes())
    profile = profile_named("droid" if isinstance(talk, DroidTalk) else "claude")
    with open_transcript(str(path)) as file:
        found = read_title(file, profile)
    assert found == read_index(str(path), profile).title
    return found


def test_without_a_title_the_first_prompt_is_the_title(tmp_path: Path) -> None:
    talk = ClaudeTalk()
    talk.turn("fix\n  the   bug")
    talk.turn("and another")
    assert title(tmp_path, talk) == "fix the bug"


def test_nothing_said_and_no_title_gives_an_empty_one(tmp_path: Path) -> None:
    assert title(tmp_path, ClaudeTalk()) == ""


def test_a_persons_title_beats_the_agents_which_beats_a_summary(tmp_path: Path) -> None:
    talk = ClaudeTalk()
    talk.turn("one")
    talk.title("of the agent", "ai-title")
    assert title(tmp_path, talk) == "of the agent"
    talk.title("mine")
    talk.title("later, of the agent", "ai-title")
    talk.title("a summary", "summary")
    assert title(tmp_path, talk) == "mine"


def test_the_last_title_counts_and_an_empty_one_takes_it_away(tmp_path: Path) -> None:
    talk = ClaudeTalk()
    talk.turn("one")
    talk.title("first")
    talk.title("second")
    assert title(tmp_path, talk) == "second"
    talk.title(" ")
    assert title(tmp_path, talk) == "one"


def test_a_long_first_prompt_is_shortened_on_one_line() -> None:
    assert shortened("a\nb\tc") == "a b c"
    long = shortened("word " * 100)
    assert len(long) <= 80 and long.endswith("…") and "\n" not in long


def test_droids_title_stands_in_its_first_line(tmp_path: Path) -> None:
    talk = DroidTalk("New talk")
    talk.turn("one")
    assert title(tmp_path, talk) == "New talk"
    other = DroidTalk("New talk", sessionTitle="Better title")
    other.turn("one")
    assert title(tmp_path, other) == "Better title"


def test_titles_at_the_head_and_at_the_tail_of_a_long_file_are_found(tmp_path: Path) -> None:
    head, tail = ClaudeTalk(), ClaudeTalk()
    head.title("at the head")
    for talk in (head, tail):
        for number in range(40):
            talk.turn(f"{number} " + "x" * 20_000)
    tail.title("at the tail")
    assert title(tmp_path, head) == "at the head"
    assert title(tmp_path, tail) == "at the tail"


@pytest.mark.parametrize("odd", [7, None, ["x"], {"a": 1}])
def test_a_title_of_an_odd_shape_is_none(tmp_path: Path, odd: object) -> None:
    talk = ClaudeTalk()
    talk.turn("one")
    talk.add({"type": "custom-title", "customTitle": odd})
    assert title(tmp_path, talk) == "one"
