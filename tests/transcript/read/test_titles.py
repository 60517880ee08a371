"""What a conversation is called, and that a gigabyte is not read to find out."""

from __future__ import annotations

from pathlib import Path

import pytest

from make_transcripts import ClaudeTalk, DroidTalk, Talk, event_id
from rewind.agents.registry import profile_named
from rewind.store.derived import DerivedDb
from rewind.transcript.read.index import read_index
from rewind.transcript.read.lines import open_transcript
from rewind.transcript.read.titles import read_title, shortened
from rewind.transcript.turns.turn_index import open_turns

pytestmark = pytest.mark.usefixtures("home")


def title(tmp_path: Path, talk: Talk) -> str:
    """As a fork, a session that is shown and a list have it, which must agree."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(talk.bytes())
    profile = profile_named("droid" if isinstance(talk, DroidTalk) else "claude")
    with open_transcript(str(path)) as file:
        found = read_title(file, profile)
    assert found == read_index(str(path), profile).title
    memory = DerivedDb(str(tmp_path / "memory.db"), "owner")
    assert found == open_turns(str(path), profile, memory).title
    memory.close()
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


# Summaries, which older Claude Codes wrote

def summary(talk: ClaudeTalk, text: str, leaf: object) -> None:
    talk.add({"type": "summary", "summary": text, "leafUuid": leaf})


def test_a_summary_of_another_conversation_is_not_ours(tmp_path: Path) -> None:
    """The client wrote the summaries of all sessions of a project at the head of a new one."""
    talk = ClaudeTalk()
    summary(talk, "What somebody did last week", event_id(0xBEEF))
    summary(talk, "Something else", event_id(0xCAFE))
    talk.turn("fix the bug")
    assert title(tmp_path, talk) == "fix the bug"


def test_the_last_summary_that_is_ours_counts_wherever_its_entry_is(tmp_path: Path) -> None:
    talk = ClaudeTalk()
    first = talk.turn("one")
    for number in range(40):
        talk.turn(f"{number} " + "x" * 20_000)
    middle = talk.turn("in the middle")
    for number in range(40):
        talk.turn(f"{number} " + "x" * 20_000)
    summary(talk, "Of the beginning", first)
    summary(talk, "Of the middle", middle)
    summary(talk, "Of another one", event_id(0xBEEF))
    assert title(tmp_path, talk) == "Of the middle"


def test_an_entry_that_is_only_mentioned_is_not_there(tmp_path: Path) -> None:
    talk = ClaudeTalk()
    talk.turn(f"what is {event_id(0xBEEF)}?")
    talk.last_prompt(event_id(0xBEEF), explicit=False)
    summary(talk, "Of another one", event_id(0xBEEF))
    assert title(tmp_path, talk).startswith("what is")


@pytest.mark.parametrize("odd", [None, 7, [], {}])
def test_a_summary_that_names_no_entry_is_ours(tmp_path: Path, odd: object) -> None:
    talk = ClaudeTalk()
    talk.turn("one")
    summary(talk, "A summary", odd)
    assert title(tmp_path, talk) == "A summary"


# That everybody says the same

def test_a_title_in_the_middle_of_a_long_file_is_found_by_nobody_as_by_the_client(tmp_path: Path) -> None:
    talk = ClaudeTalk()
    for number in range(40):
        talk.turn(f"{number} " + "x" * 20_000)
    talk.title("in the middle")
    for number in range(40):
        talk.turn(f"{number} " + "x" * 20_000)
    assert title(tmp_path, talk).startswith("0 xxx")


def test_a_first_prompt_far_from_the_head_is_found_by_everybody(tmp_path: Path) -> None:
    talk = ClaudeTalk()
    for _ in range(20):
        talk.user("<local-command-stdout>" + "x" * 20_000, isMeta=True)
    talk.turn("at last")
    assert title(tmp_path, talk) == "at last"


def test_a_local_command_in_front_is_no_title(tmp_path: Path) -> None:
    talk = ClaudeTalk()
    talk.user("<command-name>/model</command-name>")
    talk.user("<local-command-stdout>Set model</local-command-stdout>")
    talk.turn("fix the bug")
    assert title(tmp_path, talk) == "fix the bug"


def test_a_command_that_was_answered_is_one(tmp_path: Path) -> None:
    talk = ClaudeTalk()
    talk.user("<command-name>/review</command-name><command-args>this</command-args>")
    talk.answer("Done.")
    talk.turn("fix the bug")
    assert title(tmp_path, talk) == "/review this"


def test_a_picture_alone_gives_no_title_so_the_next_prompt_does(tmp_path: Path) -> None:
    talk = ClaudeTalk()
    talk.prompt([{"type": "image", "source": {}}])
    talk.answer("A cat.")
    talk.turn("what colour?")
    assert title(tmp_path, talk) == "what colour?"
