"""Whose code belongs to a prompt: its own checkpoint's, its first tool call's, else the last before it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Optional

import pytest

from chat_scene import Scene
from cli import conftest as in_process
from cli.conftest import InProcess
from make_transcripts import event_id, resumed
from rewind.checkpoint.conversations.which_session import session_at
from rewind.checkpoint.select.code_at import code_before
from rewind.transcript.place.boundary import find_boundary_by_user_prompts

cli = in_process.cli  # the fixture


@pytest.fixture
def scene(cli: InProcess) -> Scene:
    return Scene(cli)


def code(scene: Scene, n: int = 1, path: Optional[Path] = None) -> Optional[tuple[str, bool]]:
    """The checkpoint whose code belongs before the nth-latest prompt, and whether that is exact."""
    controller = scene.controller()
    at = str(path or scene.path)
    session = session_at(at, controller.project.home)
    boundary = find_boundary_by_user_prompts(at, n, session.profile).boundary
    found = code_before(controller.state, session, boundary)
    return (found.record.name, found.exact) if found else None


def prompt(scene: Scene, text: str, **more: Any) -> str:
    """A prompt with the checkpoint of its hook, which runs before the line is there; returns its name."""
    number = getattr(scene.talk, "prompts", 0) + 1
    name = scene.save("UserPromptSubmit", promptId=f"p{number}", promptText=text[:200], **more).name
    scene.say(text)
    return name


def test_the_prompts_own_checkpoint_is_exact(scene: Scene) -> None:
    scene.say("one")
    names = [prompt(scene, text) for text in ("two", "three")]
    scene.save()
    assert code(scene, 1) == (names[1], True) and code(scene, 2) == (names[0], True)


def test_of_several_with_one_id_the_earliest_counts(scene: Scene) -> None:
    scene.say("one")
    name = prompt(scene, "two")
    scene.save("UserPromptSubmit", promptId="p2", promptText="typed meanwhile")
    assert code(scene) == (name, True)


def test_a_checkpoint_before_the_first_tool_call_is_exact_too(scene: Scene) -> None:
    scene.say("one")
    scene.talk.prompt("two")
    scene.flush()
    name = scene.save("PreToolUse", toolUseId="toolu_9").name
    scene.talk._assistant({"type": "tool_use", "id": "toolu_9", "name": "Bash", "input": {}})
    scene.flush()
    scene.save("PostToolUse", toolUseId="toolu_9")
    assert code(scene) == (name, True)


def test_a_checkpoint_before_a_later_tool_call_is_not(scene: Scene) -> None:
    """It has seen the work of the first one."""
    scene.say("one")
    before = scene.save().name
    scene.talk.prompt("two")
    scene.talk.tool("Bash", "done")
    scene.flush()
    scene.save("PreToolUse", toolUseId="toolu_later")
    scene.talk._assistant({"type": "tool_use", "id": "toolu_later", "name": "Bash", "input": {}})
    scene.flush()
    assert code(scene) == (before, False)


def test_a_tool_call_of_the_next_turn_is_not_this_ones(scene: Scene) -> None:
    scene.say("one")
    before = scene.save().name
    scene.say("two")
    scene.talk.prompt("three")
    scene.flush()
    third = scene.save("PreToolUse", toolUseId="toolu_9").name
    scene.talk._assistant({"type": "tool_use", "id": "toolu_9", "name": "Bash", "input": {}})
    scene.flush()
    assert code(scene, 2) == (before, False) and code(scene, 1) == (third, True)


def test_else_the_last_one_before_the_prompt_is_approximate(scene: Scene) -> None:
    scene.say("one")
    scene.save()
    name = scene.save().name
    scene.say("two")
    scene.save()
    assert code(scene) == (name, False)


def test_none_before_the_prompt_means_none(scene: Scene) -> None:
    scene.say("one", "two")
    scene.save()
    assert code(scene, 2) is None


def test_backups_do_not_count(scene: Scene) -> None:
    scene.say("one")
    scene.write(a="1")
    name = scene.save().name
    scene.write(a="2")
    scene.cli.ok("restore", name, "--code-only")
    assert scene.records()[0].kind == "backup"
    scene.say("two")
    assert code(scene) == (name, False)


def test_checkpoints_of_another_session_do_not_count_by_their_offsets(scene: Scene) -> None:
    other = Scene(scene.cli, session="5e550000-0000-4000-8000-0000000000aa")
    other.say("x")
    other.save()
    scene.say("one", "two")
    assert code(scene) is None


def test_droids_prompt_is_joined_by_its_message_id(cli: InProcess) -> None:
    scene = Scene(cli, "droid")
    scene.say("one")
    at = scene.talk._count + 2  # a hook's line comes first
    name = scene.save("UserPromptSubmit", promptId=event_id(at)).name
    scene.say("two")
    assert code(scene) == (name, True)


def test_a_title_that_droid_made_longer_does_not_move_the_place(cli: InProcess) -> None:
    scene = Scene(cli, "droid")
    scene.say("one")
    name = scene.save().name
    scene.talk.prompt("two")
    scene.flush()
    data = scene.path.read_bytes()
    for title in (b"A title which is a good deal longer than before", b"T"):
        scene.path.write_bytes(data.replace(b"A talk", title, 1))
        assert code(scene) == (name, False)


# across a fork

def fork_of(scene: Scene, *args: str) -> Path:
    return Path(scene.cli.json("back", *args, "--session", str(scene.path))["fork"]["path"])


def continued(scene: Scene, fork: Path, text: str) -> None:
    """A turn in a fork: a prompt at its end."""
    before, here = len(scene.talk.lines), scene.talk.here
    scene.talk.here = resumed(scene.agent, fork.read_bytes())[-1]
    scene.talk.prompt(text)
    scene.talk.here = here
    lines = scene.talk.lines[before:]
    del scene.talk.lines[before:]
    with open(fork, "ab") as file:
        file.write(b"".join(line + b"\n" for line in lines))


def test_a_fork_has_its_parents_prompts_and_their_checkpoints(scene: Scene) -> None:
    scene.say("one")
    name = prompt(scene, "two")
    scene.say("three")
    fork = fork_of(scene)
    assert code(scene, 1, fork) == (name, True)


@pytest.mark.parametrize("agent", ["claude", "droid"])
def test_an_ancestors_checkpoint_counts_up_to_where_the_fork_was_cut(cli: InProcess, agent: str) -> None:
    scene = Scene(cli, agent)
    scene.say("one")
    scene.save()
    at_cut = _checkpoint_right_before_a_prompt(scene, "two")
    later = scene.save().name
    scene.say("three")
    fork = fork_of(scene, "2")
    continued(scene, fork, "instead of two")
    found = code(scene, 1, fork)
    assert found == (at_cut, False) and found[0] != later


def _checkpoint_right_before_a_prompt(scene: Scene, text: str) -> str:
    """The place of the checkpoint is exactly where the fork will be cut."""
    if scene.agent == "droid":
        scene.talk.hook("UserPromptSubmit")
        scene.flush()
    name = scene.save().name
    scene.talk.prompt(text)
    scene.talk.answer("!")
    scene.flush()
    return name


def test_a_checkpoint_of_the_fork_itself_comes_before_an_ancestors(scene: Scene) -> None:
    scene.say("one")
    scene.save()
    scene.say("two")
    fork = fork_of(scene)
    continued(scene, fork, "a")
    own = scene.save(path=fork).name
    continued(scene, fork, "b")
    assert code(scene, 1, fork) == (own, False)


def test_a_fork_of_a_fork_goes_back_to_the_first(scene: Scene) -> None:
    scene.say("one")
    name = scene.save().name
    scene.say("two")
    first = fork_of(scene)
    continued(scene, first, "a")
    second = Path(scene.cli.json("back", "--session", str(first))["fork"]["path"])
    continued(scene, second, "b")
    assert code(scene, 1, second) == (name, False)


def test_a_ring_of_parents_in_branches_comes_to_an_end(scene: Scene) -> None:
    scene.say("one", "two")
    fork = fork_of(scene)
    path = scene.cli.state / "branches.json"
    data = json.loads(path.read_text())
    data["branches"].append({**data["branches"][0], "sessionId": scene.session, "parentSessionId": fork.stem})
    path.write_text(json.dumps(data))
    assert code(scene, 1, fork) is None


def test_odd_fields_in_branches_do_not_crash(scene: Scene) -> None:
    scene.say("one", "two")
    fork = fork_of(scene)
    path = scene.cli.state / "branches.json"
    data = json.loads(path.read_text())
    for odd in ({"cutAt": "x"}, {"header": None}, {"cutAt": -5}, {"body": "x"}):
        path.write_text(json.dumps({**data, "branches": [{**data["branches"][0], **odd}]}))
        code(scene, 1, fork)


def test_a_checkpoint_that_was_made_late_is_not_called_exact(scene: Scene) -> None:
    """What it holds may be later than the prompt that it stands for."""
    scene.say("one")
    name = prompt(scene, "two", late=True)
    found = code(scene)
    assert found is None or found == (name, False)


# no checkpoint of the conversation itself

def dated(scene: Scene, year: str) -> None:
    text = scene.path.read_text()
    scene.path.write_text(re.sub(r'("timestamp": ?")\d{4}', rf"\g<1>{year}", text))


@pytest.mark.parametrize("agent", ["claude", "droid"])
def test_before_all_of_its_own_the_last_one_by_the_clock_is_near(cli: InProcess, agent: str) -> None:
    scene = Scene(cli, agent)
    first = scene.records()[-1].name  # `init`, before anything was said
    scene.say("one", "two")
    dated(scene, "2001")
    assert code(scene, 2) is None
    dated(scene, "2099")
    assert code(scene, 2) == (first, False)


def test_one_that_was_imported_or_is_a_backup_is_not_near(scene: Scene) -> None:
    first = scene.records()[-1]
    scene.say("one", "two")
    dated(scene, "2099")
    scene.write(a="1")
    scene.save()
    scene.write(a="unsaved")
    scene.cli.ok("restore", first.name, "--code-only")
    backup = scene.records()[0]
    assert backup.kind == "backup"
    assert code(scene, 2) != (backup.name, False)
