"""The place to cut a conversation is found before the code is restored, and used after it: by then the client
may have rewritten line 1, or everything. The same when a killed step is finished much later."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from chat_scene import Scene, prompts_of
from cli import conftest as in_process
from cli.conftest import InProcess
from rewind.checkpoint.operation_log.operations import Operations
from rewind.checkpoint.rewind.conversation import carry_out
from rewind.checkpoint.rewind.files.stage import StagedRestore

cli = in_process.cli  # the fixture


class Killed(BaseException):
    """Nothing of ours runs after it, but what a test does next."""


@pytest.fixture(params=["claude", "droid"])
def scene(request: pytest.FixtureRequest, cli: InProcess) -> Scene:
    """Three turns of which the last two have a checkpoint before them."""
    scene = Scene(cli, request.param)
    scene.do("one", a="1")
    scene.first = scene.save().name
    scene.do("two", a="2")
    scene.second = scene.save().name
    scene.do("three", a="3")
    scene.remember()
    return scene


def killed(scene: Scene, monkeypatch: pytest.MonkeyPatch, where: Any, name: str, *args: str) -> None:
    def kill(*args: Any, **more: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(where, name, kill)
        with pytest.raises(Killed):
            scene.cli.run(*args)


def new_title(scene: Scene) -> None:
    """Droid does this to its line 1 when it has thought of a title; everything behind it moves."""
    data = scene.path.read_bytes()
    scene.path.write_bytes(data.replace(b'"A talk"', b'"A title that is very much longer"', 1))
    scene.make_old()


def another_conversation(scene: Scene) -> None:
    scene.path.write_bytes(scene.path.read_bytes().replace(b"three", b"THREE").replace(b"one", b"ONE"))
    scene.make_old()


def while_code_is_restored(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], None]) -> None:
    def run(*args: Any) -> Any:
        happens()
        return real(*args)

    real = StagedRestore.run
    monkeypatch.setattr(StagedRestore, "run", run)


def test_back_finds_its_place_in_a_transcript_whose_title_changed_meanwhile(
        scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    while_code_is_restored(monkeypatch, lambda: new_title(scene))
    done = scene.cli.json("back", "2", "--both")
    assert scene.fork(done["fork"]["path"]) == ["one"]


def test_restore_does_so_too(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    while_code_is_restored(monkeypatch, lambda: new_title(scene))
    assert scene.fork(scene.cli.json("restore", scene.first)["fork"]["path"]) == ["one"]


def test_and_going_to_a_turn(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    while_code_is_restored(monkeypatch, lambda: new_title(scene))
    scene.to_turn(1, both=True)
    assert scene.fork() == ["one"]


def test_a_conversation_that_was_rewritten_meanwhile_is_not_cut_anywhere(
        scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    while_code_is_restored(monkeypatch, lambda: another_conversation(scene))
    said = scene.cli.fails(3, "back", "2", "--both", hint="undo-restore")
    assert "rewritten" in said and scene.forks() == [] and scene.leftovers() == []
    scene.cli.ok("undo-restore")
    assert scene.read("a") == "3"


def test_a_killed_back_is_finished_at_its_place_after_the_title_changed(
        scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(scene, monkeypatch, carry_out, "make_fork", "back", "2", "--both")
    new_title(scene)
    done = scene.cli.json("restore", scene.first)
    assert scene.fork(done["fork"]["path"]) == ["one"] and scene.read("a") == "1"
    scene.cli.ok("undo-restore")
    assert scene.read("a") == "3" and scene.forks() == []


def test_one_whose_conversation_was_rewritten_is_taken_back_or_finished_for_the_code_alone(
        scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(scene, monkeypatch, carry_out, "make_fork", "back", "2", "--both")
    another_conversation(scene)
    before = scene.agent_files()
    said = scene.cli.fails(1, "restore", scene.first, hint="--code-only")
    assert "rewritten" in said and scene.agent_files() == before
    scene.cli.ok("restore", scene.first, "--code-only")
    assert scene.read("a") == "1" and scene.agent_files() == before
    scene.cli.ok("undo-restore")
    assert scene.read("a") == "3" and scene.agent_files() == before


def test_killed_while_finishing_it_still_knows_its_place(scene: Scene,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    """The checkpoint is that before the prompt's, where the conversation of the checkpoint ends earlier."""
    scene.say("four")
    killed(scene, monkeypatch, StagedRestore, "run", "back", "1", "--both")
    for _ in range(2):
        killed(scene, monkeypatch, carry_out, "make_fork", "restore", scene.second)
    done = scene.cli.json("restore", scene.second)
    assert scene.fork(done["fork"]["path"]) == ["one", "two", "three"]
    scene.cli.ok("undo-restore")
    assert scene.read("a") == "3" and scene.forks() == []


@pytest.mark.parametrize("step", [["back", "2", "--both"], ["restore"]])
def test_killed_after_the_fork_was_made_it_makes_no_second_one(
        scene: Scene, monkeypatch: pytest.MonkeyPatch, step: list[str]) -> None:
    finish = ["restore", scene.first]
    killed(scene, monkeypatch, Operations, "end", *(step if step[0] == "back" else finish))
    killed(scene, monkeypatch, Operations, "end", *finish)
    fork = scene.forks()[0].stem
    assert f"before the interruption: {fork}" in scene.cli.ok(*finish).err
    assert [path.stem for path in scene.forks()] == [fork] and scene.fork() == ["one"]
    scene.cli.ok("undo-restore")
    assert scene.forks() == [] and scene.read("a") == "3" and scene.lost() == []


@pytest.mark.parametrize("step", [["back", "2", "--both", "--in-place"], ["restore", "--in-place"]])
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_around_the_cut_in_place_it_is_cut_once(
        scene: Scene, monkeypatch: pytest.MonkeyPatch, step: list[str], when: str) -> None:
    before = scene.path.read_bytes()
    finish = ["restore", scene.first, *(["--in-place"] if step[0] == "restore" else [])]

    def replace(source: Any, target: Any) -> None:
        if str(target) == str(scene.path):
            raise Killed
        real(source, target)

    real = os.replace
    for command in (step if step[0] == "back" else finish, finish):
        if when == "after":
            killed(scene, monkeypatch, Operations, "end", *command)
            continue
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", replace)
            with pytest.raises(Killed):
                scene.cli.run(*command)
        assert scene.path.read_bytes() == before
    scene.cli.ok(*finish)
    assert prompts_of(scene.agent, scene.path) == ["one"] and scene.forks() == []
    scene.cli.ok("undo-restore")
    assert scene.path.read_bytes() == before and scene.read("a") == "3" and scene.lost() == []


def test_a_killed_undo_that_is_finished_leaves_the_conversation_alone(
        scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    before = scene.agent_files()
    killed(scene, monkeypatch, StagedRestore, "run", "undo")
    assert "To finish it: rewind undo" in scene.cli.ok("list").err
    scene.cli.ok("restore", scene.second)
    assert scene.read("a") == "2" and scene.agent_files() == before
    scene.cli.ok("undo-restore")
    assert scene.read("a") == "3" and scene.agent_files() == before


def test_a_killed_redo_is_finished_by_another_one(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.cli.ok("restore", scene.first)
    fork = scene.forks()[0].read_bytes()
    scene.cli.ok("undo-restore")
    killed(scene, monkeypatch, StagedRestore, "run", "redo")
    for command in ("list", "status", "doctor", "validate"):
        said = scene.cli.run(command)
        assert "To finish it: rewind redo" in said.out + said.err, command
    scene.cli.ok("redo")
    assert scene.read("a") == "1" and [path.read_bytes() for path in scene.forks()] == [fork]
    scene.cli.ok("undo-restore")
    assert scene.read("a") == "3" and scene.forks() == []
