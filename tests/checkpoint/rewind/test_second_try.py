"""A step that could not do all of it: repeated, it leads to the same place and not one further."""

from __future__ import annotations

import errno
from typing import Any, Callable, Optional

import pytest

from chat_scene import Scene
from checkpoint.rewind.killed import killed_after
from cli import conftest as in_process
from cli.conftest import InProcess
from rewind.checkpoint.conversations import trash
from rewind.checkpoint.rewind.effects import fork as effect_of_forks
from rewind.checkpoint.rewind.effects import rewritten
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


def went_back(cli: InProcess) -> Scene:
    """A session of three turns."""
    scene = Scene(cli)
    for number in ("1", "2", "3"):
        scene.save("UserPromptSubmit", promptId=f"p{number}")
        scene.do(f"turn {number}", a=number)
        scene.save("Stop", promptId=f"p{number}")
    return scene


def fails_after(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, act: Callable[[], object]) -> None:
    """The function does its work; what comes right after it fails."""
    real = getattr(module, name)

    def done_but(*args: Any, **more: Any) -> None:
        real(*args, **more)
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(module, name, done_but)
        with pytest.raises((ChatNotRestored, OSError)):
            act()


def test_a_fork_that_a_failed_undo_restore_had_moved_away_comes_back_with_redo(
        cli: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = went_back(cli)
    made = scene.controller().go(AtTurn(scene.session, 1, after=True)).conversation
    assert made and made.fork
    fork = scene.folder / f"{made.fork['session_id']}.jsonl"
    content = fork.read_bytes()
    fails_after(monkeypatch, effect_of_forks, "move_to_trash", scene.controller().undo_restore)
    assert not fork.exists()
    scene.controller().undo_restore()
    assert scene.read("a") == "3" and not fork.exists()
    scene.controller().redo()
    assert scene.read("a") == "1" and fork.read_bytes() == content


def test_a_transcript_that_a_failed_undo_restore_had_put_back_is_cut_again_with_redo(
        cli: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = went_back(cli)
    whole = scene.path.read_bytes()
    scene.make_old()
    scene.controller().rewind_back(2, both=True, in_place=True, force=True)
    cut = scene.path.read_bytes()
    assert cut != whole and scene.read("a") == "1"
    fails_after(monkeypatch, rewritten, "put_back", lambda: scene.controller().undo_restore(force=True))
    assert scene.path.read_bytes() == whole
    scene.controller().undo_restore(force=True)
    assert (scene.path.read_bytes(), scene.read("a")) == (whole, "3")
    scene.controller().redo(force=True)
    assert (scene.path.read_bytes(), scene.read("a")) == (cut, "1")
    scene.controller().undo_restore(force=True)
    assert (scene.path.read_bytes(), scene.read("a")) == (whole, "3")


def test_ops_says_of_an_undo_restore_that_failed_in_part_that_it_was_finished_later(
        cli: InProcess, states: list[Tree], monkeypatch: pytest.MonkeyPatch) -> None:
    cli.ok("restore", "2")
    cli.ok("restore", "1")
    fails_once(cli, monkeypatch, "undo-restore")
    assert "done in part" in cli.ok("ops").out and "finished later" not in cli.ok("ops").out
    cli.ok("undo-restore")
    assert "done in part, finished later" in cli.ok("ops").out
    cli.ok("redo")
    assert tree_state(cli.project) == states[0], "to before the first try"


def test_a_way_back_of_the_conversation_alone_that_was_killed_is_finished_by_repeating_it(
        cli: InProcess) -> None:
    scene = went_back(cli)
    second = scene.records()[1].name
    before = {path.name for path in scene.folder.glob("*.jsonl")}
    command = ["restore", second, "--context-only", "--force"]
    calls = next(n for n in range(200) if forks_after(scene, n, command) - before)
    made = forks_after(scene, None, []) - before
    assert calls and len(made) == 1
    cli.ok(*command)
    assert forks_after(scene, None, []) - before == made, "the same fork, and no second one"


def forks_after(scene: Scene, calls: Optional[int], command: list[str]) -> set[str]:
    """The sessions that are there once the command was killed at that call."""
    if calls is not None:
        assert killed_after(calls, command, scene.cli.project), "it came to its end"
    return {path.name for path in scene.folder.glob("*.jsonl")}
