"""Conversations that the agent has deleted: kept by thinning, named, and put back."""

from __future__ import annotations

import time

import pytest

from chat_scene import Scene
from cli.conftest import InProcess
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.upkeep import retention


@pytest.fixture
def scene(cli: InProcess) -> Scene:
    scene = Scene(cli)
    scene.say("One", "Two")
    scene.save("Stop")
    scene.say("Three")
    scene.save("Stop")
    return scene


def test_one_that_is_there_is_not_named(scene: Scene) -> None:
    assert scene.cli.json("status")["onlyHere"] == []
    said = scene.cli.fails(1, "sessions", "restore", scene.session)
    assert "still has" in said


def test_a_deleted_one_comes_back_byte_for_byte(scene: Scene) -> None:
    was = scene.path.read_bytes()
    newest = scene.records()[0].name
    scene.path.unlink()
    assert scene.cli.json("status")["onlyHere"] == [
        {"session_id": scene.session, "agent": "claude", "checkpoint": newest}]
    assert f"rewind sessions restore {scene.session}" in scene.cli.ok("status").err
    assert f"rewind sessions restore {scene.session}" in scene.cli.ok("sessions").err

    would = scene.cli.json("sessions", "restore", scene.session[:8], "--dry-run")
    assert would["session_id"] == scene.session and would["dryRun"] is True and not scene.path.exists()
    done = scene.cli.json("sessions", "restore", scene.session[:8])
    assert scene.path.read_bytes() == was
    assert done["resume"].endswith(f"claude --resume {scene.session}")
    assert time.time() - scene.path.stat().st_mtime < 600, "or the agent would delete it again at once"
    assert scene.cli.json("status")["onlyHere"] == [] and not scene.leftovers()


def test_an_unknown_one_is_said(scene: Scene) -> None:
    scene.cli.fails(12, "sessions", "restore", "nobody-knows", hint="rewind status")
    assert "takes the id" in scene.cli.fails(2, "sessions", "restore")


def test_a_deleted_fork_is_in_the_trash_and_not_lost(scene: Scene) -> None:
    fork = scene.cli.json("back", "1")["fork"]["session_id"]
    scene.save("Stop", path=scene.forks()[0])
    scene.cli.ok("forks", "delete", fork)
    assert scene.cli.json("status")["onlyHere"] == []


def test_thinning_keeps_the_newest_version_of_each(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Scene(scene.cli, session="22222222-2222-4222-8222-222222222222")
    for number in range(30):
        other.say(f"Turn {number}")
        other.save("Stop")
    first = [record for record in scene.records() if record.session == scene.session]
    state = scene.controller().state
    for record in first:
        state.files.write(Record({**record.data, "createdAt": "2020-01-01T00:00:00.000Z"}))
    monkeypatch.setattr(retention, "trusted_now", lambda made, clock: clock)
    gone = {record.name for record in retention.choose(state, None)}
    newest = max(first, key=lambda record: record.sequence)
    assert newest.name not in gone
    assert {record.name for record in first} - {newest.name} <= gone
