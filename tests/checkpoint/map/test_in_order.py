"""The map in one order: as things happened, with several sessions, forks, edits and operations."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chat_scene import Scene
from cli.conftest import InProcess, cli  # noqa: F401
from make_transcripts import event_id
from map_scene import Story, afternoon
from rewind.checkpoint.map.by_session import CHECKPOINT, EDIT, NOW, OPERATION, PROMPT, SESSION, Item
from rewind.controller import AtCheckpoint


def items(scene: Scene) -> list[Item]:
    controller = scene.controller()
    try:
        return controller.map().items
    finally:
        controller.close()


def test_an_afternoon_is_told_as_it_happened(cli: InProcess) -> None:  # noqa: F811
    found = items(afternoon(cli))
    told = [(item.kind, item.text[:24]) for item in found]
    assert told == [
        (CHECKPOINT, "First checkpoint"), (SESSION, "Add a health check to th"),
        (PROMPT, "Add a health check to th"), (EDIT, "you changed README.md"),
        (PROMPT, "Use dataclasses for the "), (PROMPT, "Use plain dictionaries f"),
        (CHECKPOINT, "before the clean-up"), (PROMPT, "Please clean up the repo"),
        (OPERATION, "went back to before \"Ple"), (SESSION, "Add a health check to th"),
        (PROMPT, "Remove unused imports on"), (CHECKPOINT, "First checkpoint"), (NOW, "Now")]
    prompts = [item for item in found if item.kind == PROMPT]
    assert [(item.letter, item.turn) for item in prompts] == [
        ("A", 1), ("A", None), ("A", 2), ("A", 3), ("B", 3)]
    assert [item.text[:6] for item in found if item.here] == ["Remove"]
    assert found[-1].row is prompts[-1].row, "now stands on the last turn"


def test_the_order_is_that_of_the_list(cli: InProcess) -> None:  # noqa: F811
    scene = afternoon(cli)
    numbers = [item.record.sequence for item in items(scene)
               if item.record and item.kind in (PROMPT, CHECKPOINT)]
    listed = [one["number"] for one in cli.json("list")["turns"]]
    assert numbers == sorted(numbers) and set(filter(None, listed)) <= set(numbers)


def test_two_sessions_at_once_stand_in_the_order_of_their_prompts(cli: InProcess) -> None:  # noqa: F811
    one = Story(cli)
    other = Story(cli, session=event_id(0x77))
    one.turn("first here", a="1\n")
    other.turn("second there", b="1\n")
    one.turn("third here", a="2\n")
    found = [item for item in items(one) if item.kind in (PROMPT, SESSION)]
    prompts = [item.text for item in found if item.kind == PROMPT]
    assert prompts == ["first here", "second there", "third here"]
    assert [item.letter for item in found] == ["A", "A", "B", "B", "A"]


def test_prompts_without_a_checkpoint_stand_between_the_others_of_their_session(
        cli: InProcess) -> None:  # noqa: F811
    story = Story(cli)
    story.turn("one", a="1\n")
    story.say("two, without hooks", "three, without hooks")
    story.turn("four", a="4\n")
    story.say("five, without hooks")
    assert [item.text[:4].strip(",") for item in items(story) if item.kind == PROMPT] == [
        "one", "two", "thre", "four", "five"]


def test_a_turn_that_was_left_behind_can_still_be_gone_to(cli: InProcess) -> None:  # noqa: F811
    scene = afternoon(cli)
    left = next(item for item in items(scene) if item.text.startswith("Use dataclasses"))
    target = left.target()
    assert isinstance(target, AtCheckpoint) and left.record and target.name == left.record.name
    assert left.turn is None and left.changes and left.changes["added"] == 30
    assert [one.text for one in left.under] == ["Stop"], "its own checkpoint is not said twice"


def test_keys_are_unique_and_stay(cli: InProcess) -> None:  # noqa: F811
    scene = afternoon(cli)
    keys = [item.key for item in items(scene)]
    assert len(set(keys)) == len(keys) and keys == [item.key for item in items(scene)]


def test_without_conversations_there_are_checkpoints_and_edits(cli: InProcess,  # noqa: F811
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    cli.init()
    Path(cli.project / "a.txt").write_text("a\n")
    cli.save("one")
    scene = Scene.__new__(Scene)
    scene.cli = cli
    assert [item.text for item in items(scene)] == ["First checkpoint", "one", "Now"]
