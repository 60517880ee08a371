"""The map of a project, and the steps that a person takes from it."""

from __future__ import annotations

from typing import Optional

import pytest

from chat_scene import Scene
from cli.conftest import InProcess, cli  # noqa: F401
from map_scene import Story
from rewind.checkpoint.map.by_session import CHECKPOINT, NOW, PROMPT, SESSION, Item, map_by_session, stamp
from rewind.controller import BOTH, CODE, CONVERSATION
from rewind.errors import ChangedSincePlan, NothingBeforePrompt, PromptGone


@pytest.fixture
def scene(cli: InProcess) -> Scene:  # noqa: F811
    scene = Scene(cli)
    scene.save("UserPromptSubmit", promptId="p1")
    scene.do("one", one="1\n")
    scene.save("Stop", promptId="p1")
    scene.save("UserPromptSubmit", promptId="p2")
    scene.do("two", two="2\n")
    scene.save("Stop", promptId="p2")
    return scene


def items(scene: Scene) -> list[Item]:
    return map_by_session(scene.controller().state).items


def the(scene: Scene, text: str, kind: str = PROMPT) -> Item:
    return next(item for item in items(scene) if item.text == text and item.kind == kind)


def test_checkpoints_stand_below_the_turn_that_was_going_on(scene: Scene) -> None:
    told = [(item.kind, item.text, item.turn) for item in items(scene)]
    assert told == [(CHECKPOINT, "First checkpoint", None), (SESSION, "one", None), (PROMPT, "one", 1),
                    (CHECKPOINT, "Stop", 1), (PROMPT, "two", 2), (CHECKPOINT, "Stop", 2), (NOW, "Now", None)]


def test_a_prompt_takes_its_own_checkpoint_along(scene: Scene) -> None:
    assert [item.record.trigger["promptId"] for item in items(scene)
            if item.kind == PROMPT and item.record] == ["p1", "p2"]


def test_a_fork_stands_where_it_left_and_has_only_what_is_its_own(scene: Scene) -> None:
    scene.controller().rewind_back(1)
    told = [(item.depth, item.kind) for item in items(scene)]
    assert told == [(0, CHECKPOINT), (0, SESSION), (0, PROMPT), (0, CHECKPOINT), (1, SESSION), (0, PROMPT),
                    (0, CHECKPOINT), (0, NOW)]


def test_checkpoints_of_a_session_that_is_gone_stand_by_themselves(scene: Scene) -> None:
    scene.path.unlink()
    assert {item.kind for item in items(scene)} == {CHECKPOINT, NOW}


def test_the_stamp_changes_with_every_turn_checkpoint_and_fork(scene: Scene) -> None:
    seen = {stamp(scene.controller().state)}
    for change in (lambda: scene.say("three"), lambda: scene.save("Stop"),
                   lambda: scene.controller().rewind_back(1)):
        change()
        now = stamp(scene.controller().state)
        assert now not in seen
        seen.add(now)


def test_the_place_that_was_gone_back_to_is_marked(scene: Scene) -> None:
    scene.controller().go(the(scene, "two").target(), CODE)
    assert [item.text for item in items(scene) if item.here] == ["two"]


@pytest.mark.parametrize(("intent", "code", "forks"), [(BOTH, None, 1), (CODE, None, 0),
                                                       (CONVERSATION, "2\n", 1)])
def test_a_step_does_what_its_plan_says(scene: Scene, intent: str, code: Optional[str], forks: int) -> None:
    controller = scene.controller()
    step = controller.plan(the(scene, "two").target(), intent)
    assert bool(step.session) == bool(forks) and (step.code is None) == (intent == CONVERSATION)
    assert scene.read("two") == "2\n" and not scene.forks()
    taken = controller.apply(step)
    assert scene.read("two") == code and len(scene.forks()) == forks
    assert ("--resume" in taken.resume) == bool(forks)
    if forks:
        assert scene.fork() == ["one"]


def test_a_step_is_refused_when_the_files_changed_since(scene: Scene) -> None:
    for intent in (BOTH, CODE):
        step = scene.controller().plan(the(scene, "two").target(), intent)
        scene.write(two=f"changed for {intent}\n")
        with pytest.raises(ChangedSincePlan):
            scene.controller().apply(step)
        assert scene.read("two") == f"changed for {intent}\n" and not scene.forks()


def test_a_prompt_is_found_by_its_id_however_many_came_after_it(scene: Scene) -> None:
    item = the(scene, "two")
    scene.say("three")
    step = scene.controller().plan(item.target(), CONVERSATION)
    assert [prompt.text for prompt in step.prompts] == ["two", "three"]


def test_a_prompt_that_the_agent_took_back_itself_is_gone(scene: Scene) -> None:
    item = the(scene, "two")
    scene.talk.back_to(scene.talk.here and None)
    scene.say("begun anew")
    with pytest.raises(PromptGone):
        scene.controller().plan(item.target(), CONVERSATION)


def test_without_a_checkpoint_before_it_a_prompt_has_no_code(cli: InProcess) -> None:  # noqa: F811
    scene = Scene(cli)
    scene.say("one", "two")
    with pytest.raises(NothingBeforePrompt):
        scene.controller().plan(the(scene, "two").target(), CODE)


def test_after_a_native_rewind_a_prompt_has_its_own_checkpoint_and_changes(cli: InProcess) -> None:  # noqa: F811
    story = Story(cli)
    story.turn("one", one="1\n")
    event = story.talk.here
    story.turn("two, abandoned", two="2\n" * 9)
    story.rewind_natively(event)
    before, _ = story.turn("two instead", three="3\n" * 4)
    found = the(story, "two instead")
    assert found.record and found.record.name == before
    assert found.changes and found.changes["added"] == 4
