"""What a turn changed is what it changed, in whichever session it is looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import pytest

from chat_scene import Claude, Scene
from cli.conftest import InProcess, cli  # noqa: F401 - the fixture
from make_transcripts import event_id
from rewind.agents.registry import profile_for
from rewind.checkpoint.changes import turn_changes
from rewind.controller import AtTurn
from rewind.transcript.read.chain import Tail
from rewind.transcript.read.lines import open_transcript


class Desk(Scene):
    """A client with hooks: a checkpoint before each prompt, and one after each turn."""

    def work(self, text: str, *, stop: bool = True, **files: str) -> None:
        key = f"{self.session[:8]}-{text}"
        self.save("UserPromptSubmit", promptId=key)
        self.talk.prompt(text, promptId=key)
        self.write(**files)
        self.talk.answer(f"Answer to {text}")
        self.flush()
        if stop:
            self.save("Stop", promptId=key)

    def changed(self, session: str = "") -> list[Optional[list[str]]]:
        """Of each turn the names of the files."""
        page = self.controller().turns(session or self.session, 1, 100)
        return [None if view.changes is None else [f["path"][:-4] for f in view.changes["files"]]
                for view in page.turns]

    def branch(self, turn: int, *, both: bool = False, session: str = "") -> Branch:
        made = self.controller().go(AtTurn(session or self.session, turn, after=True),
                                    "both" if both else "conversation").conversation
        assert made and made.fork
        return Branch(self.cli, made.fork["session_id"])


class Branch(Desk):
    """Somebody goes on in a branch."""

    def __init__(self, cli: InProcess, session: str) -> None:  # noqa: F811
        path = next((cli.home / ".claude" / "projects").rglob(f"{session}.jsonl"))
        was = path.read_bytes()
        super().__init__(cli, session=session)
        self.path.write_bytes(was)
        self.talk = _continued(cli.project, session, path)


def _continued(project: Path, session: str, path: Path) -> Claude:
    talk = Claude(project, session)
    talk._count = int(session[:6], 16) * 1000  # ids that no other conversation has
    with open_transcript(str(path)) as file:
        leaf = Tail(file, profile_for(str(path))).leaf()
        talk.here = leaf.id if leaf else None
    return talk


@pytest.fixture
def desk(cli: InProcess) -> Desk:  # noqa: F811
    desk = Desk(cli)
    desk.work("one", a="1")
    desk.work("two", b="2")
    desk.work("three", c="3")
    return desk


ALL = [["a"], ["b"], ["c"]]


@pytest.mark.parametrize("both", [False, True])
def test_a_new_branch_shows_what_its_turns_changed(desk: Desk, both: bool) -> None:
    assert desk.changed() == ALL
    assert desk.changed(desk.branch(2, both=both).session) == ALL[:2]


@pytest.mark.parametrize("stop", [True, False])
def test_a_branch_that_went_on_does_not_count_what_the_parent_did_later(desk: Desk, stop: bool) -> None:
    made = desk.branch(1)
    made.work("other", d="4", stop=stop)
    assert made.changed() == [["a"], ["d"] if stop else None]
    assert desk.changed() == ALL


def test_nor_does_one_in_which_somebody_only_saved(desk: Desk) -> None:
    made = desk.branch(1)
    made.save()
    made.controller().mark_turn(made.session, 1, "a mark")
    assert made.changed() == [["a"]]


def test_nor_a_branch_of_that_branch(desk: Desk) -> None:
    made = desk.branch(1)
    made.work("other", d="4")
    made.work("another", e="5")
    again = desk.branch(2, session=made.session)
    again.work("last", f="6")
    assert again.changed() == [["a"], ["d"], ["f"]]


def test_what_another_branch_did_meanwhile_is_not_counted(desk: Desk) -> None:
    desk.branch(3).work("first", d="4")
    made = desk.branch(3)
    made.work("second", e="5")
    assert made.changed() == [*ALL, ["e"]]


def test_nor_what_turns_did_that_the_agents_own_rewind_left_behind(cli: InProcess) -> None:  # noqa: F811
    desk = Desk(cli)
    desk.work("one", a="1")
    here = desk.talk.here
    desk.work("abandoned", b="2")
    desk.talk.back_to(here)
    desk.work("two", c="3")
    assert desk.changed() == [["a"], ["c"]]


def test_a_turn_that_was_broken_off_has_changed_what_the_next_prompt_found(cli: InProcess) -> None:  # noqa: F811
    desk = Desk(cli)
    desk.work("one", a="1", stop=False)
    desk.work("two", b="2")
    made = desk.branch(1)
    made.work("other", c="3")
    assert desk.changed() == [["a"], ["b"]] and made.changed() == [["a"], ["c"]]


def test_the_code_to_go_back_to_is_still_that_before_the_next_prompt(desk: Desk) -> None:
    made = desk.branch(1)
    made.work("other", d="4")
    view = made.controller().turns(made.session, 1, 1).turns[0]
    assert view.code and view.code.record.trigger["promptId"] == f"{made.session[:8]}-other"


def test_two_conversations_at_once_do_not_share_their_turns(desk: Desk) -> None:
    other = Desk(desk.cli, session=event_id(0xE0))
    other.talk._count = 5000
    other.work("there", x="1")
    assert other.changed() == [["x"]] and desk.changed() == ALL


# archives

@pytest.fixture
def archives(cli: InProcess) -> Desk:  # noqa: F811
    desk = Desk(cli)
    cli.ok("config", "--set", "storage.format=archive")
    desk.work("one", a="1")
    desk.work("two", b="2")
    desk.work("three", c="3")
    cli.ok("config", "--set", "storage.format=objects")
    desk.work("four", d="4")
    return desk


def unpacked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The checkpoints that were unpacked since."""
    found: list[str] = []
    was = turn_changes.Source._unpack

    def unpack(self: Any) -> Any:
        found.append(self.record.name)
        return was(self)

    monkeypatch.setattr(turn_changes.Source, "_unpack", unpack)
    return found


def test_changes_are_told_of_archives_too_and_of_both_formats(
        archives: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    names = unpacked(monkeypatch)
    assert archives.changed() == [*ALL, ["d"]]
    assert names and len(names) == len(set(names)), "each is unpacked once"
    names.clear()
    assert archives.changed() == [*ALL, ["d"]] and names == [], "and never again"
    assert not archives.leftovers()


def test_no_more_archives_are_unpacked_than_one_can_wait_for(
        archives: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_changes.Unpacked.__init__, "__defaults__", (3,))  # bytes
    assert archives.changed() == [None, ["b"], ["c"], ["d"]], "the latest first"
    assert archives.changed() == [*ALL, ["d"]], "the next look goes on from there"


def test_lists_do_not_unpack_archives(archives: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    names = unpacked(monkeypatch)
    archives.cli.ok("list")
    assert names == []
