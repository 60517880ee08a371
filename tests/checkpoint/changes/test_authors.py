"""Whose change a checkpoint holds: a turn's, or the person's between two turns."""

from __future__ import annotations

import pytest

from chat_scene import Scene
from cli.conftest import InProcess, cli  # noqa: F401 - the fixture
from rewind.checkpoint.changes.authors import AGENT, YOU, Author, Authors
from rewind.checkpoint.operation_log.lineage import lineage
from rewind.controller import Controller


@pytest.fixture
def scene(cli: InProcess) -> Scene:  # noqa: F811
    return Scene(cli)


def authors(controller: Controller) -> Authors:
    return Authors(controller.state, lineage(controller.state))


def author(scene: Scene, name: str) -> Author:
    controller = scene.controller()
    return authors(controller).author_of(controller.find(name))


def told(scene: Scene, name: str) -> tuple[str, object, str]:
    found = author(scene, name)
    return found.kind, found.turn, found.prompt


def begin(scene: Scene, text: str, number: int) -> str:
    """The hook sees the transcript as it was before the prompt."""
    name = scene.save("UserPromptSubmit", promptId=f"p{number}", promptText=text).name
    scene.say(text)
    return name


def end(scene: Scene, number: int) -> str:
    return scene.save("Stop", promptId=f"p{number}").name


def test_what_changed_from_prompt_to_stop_is_the_turns(scene: Scene) -> None:
    begin(scene, "Write a", 1)
    scene.write(a="1")
    assert told(scene, end(scene, 1)) == (AGENT, 1, "Write a")


def test_a_checkpoint_before_a_tool_call_is_within_the_turn(scene: Scene) -> None:
    begin(scene, "Write a", 1)
    scene.write(a="1")
    assert told(scene, scene.save("PreToolUse", toolUseId="x").name) == (AGENT, 1, "Write a")


def test_what_changed_between_turns_is_yours(scene: Scene) -> None:
    begin(scene, "Write a", 1)
    end(scene, 1)
    scene.write(a="mine")
    assert told(scene, begin(scene, "Go on", 2)) == (YOU, None, "")


def test_a_save_by_hand_within_a_turn_is_the_agents(scene: Scene) -> None:
    begin(scene, "Write a", 1)
    scene.write(a="1")
    assert told(scene, scene.cli.save()) == (AGENT, 1, "Write a")


def test_a_save_by_hand_after_a_turn_is_yours(scene: Scene) -> None:
    begin(scene, "Write a", 1)
    end(scene, 1)
    scene.write(a="1")
    assert told(scene, scene.cli.save())[0] == YOU


def test_an_interrupted_turn_reaches_to_the_next_prompt(scene: Scene) -> None:
    begin(scene, "Write a", 1)
    scene.write(a="half")
    assert told(scene, begin(scene, "No, b", 2)) == (AGENT, 1, "Write a")
    scene.write(b="1")
    assert told(scene, end(scene, 2)) == (AGENT, 2, "No, b")


def test_a_prompt_typed_while_a_turn_runs_does_not_begin_another(scene: Scene) -> None:
    begin(scene, "Write a", 1)
    scene.save("UserPromptSubmit", promptId="p1", promptText="and b")
    scene.write(a="1")
    assert told(scene, end(scene, 1)) == (AGENT, 1, "Write a")


def test_after_going_back_to_a_prompt_edits_are_yours(scene: Scene) -> None:
    before = begin(scene, "Write a", 1)
    scene.write(a="1")
    end(scene, 1)
    scene.cli.ok("restore", before, "--code-only")
    scene.write(a="mine")
    assert told(scene, scene.cli.save())[0] == YOU


def test_after_discarding_edits_at_a_prompt_edits_are_yours(scene: Scene) -> None:
    """The checkpoint to go back to is the newest: only the backup tells that somebody went back."""
    before = begin(scene, "Write a", 1)
    scene.write(a="1")
    scene.cli.ok("restore", before, "--code-only")
    scene.write(a="mine")
    assert told(scene, scene.cli.save())[0] == YOU


def test_a_compaction_does_not_end_a_turn(scene: Scene) -> None:
    begin(scene, "Write a", 1)
    scene.save("SessionStart", source="compact")
    scene.write(a="1")
    assert told(scene, end(scene, 1)) == (AGENT, 1, "Write a")


def test_a_new_start_ends_a_turn(scene: Scene) -> None:
    begin(scene, "Write a", 1)
    scene.save("SessionStart", source="resume")
    scene.write(a="1")
    assert told(scene, scene.cli.save())[0] == YOU


def test_without_a_transcript_the_record_tells_the_prompt(scene: Scene) -> None:
    begin(scene, "Write a", 1)
    scene.write(a="1")
    name = end(scene, 1)
    scene.path.unlink()
    assert told(scene, name) == (AGENT, None, "Write a")


def test_unsaved_edits_are_the_running_turns_else_yours(scene: Scene) -> None:
    first = begin(scene, "Write a", 1)
    controller = scene.controller()
    assert authors(controller).current_author(controller.find(first)).turn == 1
    last = end(scene, 1)
    controller = scene.controller()
    assert authors(controller).current_author(controller.find(last)).kind == YOU


def test_what_is_written_after_going_back_to_before_a_turn_is_yours(scene: Scene) -> None:
    first = begin(scene, "Write a", 1)
    scene.write(a="1")
    end(scene, 1)
    controller = scene.controller()
    controller.restore(first, mode="code")
    here = controller.here()
    assert here and here.name == first
    assert authors(controller).current_author(here).kind == YOU
