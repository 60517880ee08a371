"""A step that could not do all of it: repeated, it leads to the same place and not one further."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from chat_scene import Scene
from cli import conftest as in_process
from cli.conftest import InProcess
from rewind.checkpoint.conversations import trash
from rewind.controller import AtTurn
from rewind.errors import ChatNotRestored
from rewind.snapshot.apply.applier import Applier
from rewind_cli import Tree, tree_state

cli = in_process.cli  # the fixture


@pytest.fixture
def states(cli: InProcess) -> list[Tree]:
    """Three checkpoints, of which each changed two files."""
    found = []
    for number in range(3):
        for name in ("a", "b"):
            (cli.project / name).write_text(f"{name}{number}\n")
        found.append(tree_state(cli.project))
        if number:
            cli.save(str(number))
        else:
            cli.init()
    return found


def fails_once(cli: InProcess, monkeypatch: pytest.MonkeyPatch, *command: str) -> None:
    """The command, with one file that cannot be written."""
    write = Applier._write

    def but_not_b(self: Applier, change: Any) -> None:
        if change.path == b"b":
            raise OSError(errno.EACCES, "Permission denied")
        write(self, change)

    with monkeypatch.context() as patch:
        patch.setattr(Applier, "_write", but_not_b)
        done = cli.run(*command)
        assert done.code == 3 and "b (" in done.err, done


def test_an_undo_restore_that_failed_in_part_is_finished_by_repeating_it(
        cli: InProcess, states: list[Tree], monkeypatch: pytest.MonkeyPatch) -> None:
    cli.ok("restore", "2")
    cli.ok("restore", "1")
    fails_once(cli, monkeypatch, "undo-restore")
    cli.ok("undo-restore")
    assert tree_state(cli.project) == states[1], "and not the step before"
    cli.ok("undo-restore")
    assert tree_state(cli.project) == states[2]


def test_hooks_do_not_wait_for_an_undo_restore_that_failed_in_part(
        cli: InProcess, states: list[Tree], monkeypatch: pytest.MonkeyPatch) -> None:
    cli.ok("restore", "2")
    fails_once(cli, monkeypatch, "undo-restore")
    assert "interrupted" not in cli.ok("status").out
    assert cli.run("validate").code == 0


def test_an_undo_that_failed_in_part_goes_to_the_same_place_when_repeated(
        cli: InProcess, states: list[Tree], monkeypatch: pytest.MonkeyPatch) -> None:
    fails_once(cli, monkeypatch, "undo")
    cli.ok("undo")
    assert tree_state(cli.project) == states[1]
    cli.ok("undo")
    assert tree_state(cli.project) == states[0]


def test_a_redo_that_failed_in_part_goes_to_the_same_place_when_repeated(
        cli: InProcess, states: list[Tree], monkeypatch: pytest.MonkeyPatch) -> None:
    cli.ok("undo")
    cli.ok("undo")
    fails_once(cli, monkeypatch, "redo")
    cli.ok("redo")
    assert tree_state(cli.project) == states[1]
    cli.ok("redo")
    assert tree_state(cli.project) == states[2]


def test_a_redo_whose_conversation_could_not_be_brought_back_can_be_repeated(
        cli: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(cli)
    for number in ("1", "2"):
        scene.save("UserPromptSubmit", promptId=f"p{number}")
        scene.do(f"turn {number}", a=number)
        scene.save("Stop", promptId=f"p{number}")
    made = scene.controller().go(AtTurn(scene.session, 1, after=True)).conversation
    assert made and made.fork
    fork = scene.folder / f"{made.fork['session_id']}.jsonl"
    content = fork.read_bytes()
    scene.controller().undo_restore()
    assert scene.read("a") == "2" and not fork.exists()

    def full(source: str, target: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(trash, "move_file", full)
        with pytest.raises(ChatNotRestored):
            scene.controller().redo()
    assert scene.read("a") == "1" and not fork.exists()
    scene.controller().redo()
    assert scene.read("a") == "1" and fork.read_bytes() == content
