"""Hooks that want a checkpoint of one place at the same moment: one look at the tree is good for all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from hook_scene import SESSION, Hooks, wait_for_late
from queue_scene import Scene, ended
from rewind.errors import Locked
from rewind.hooks.making import queue, work
from rewind.hooks.making.queue import Queue
from rewind.lock import Lock


def test_all_who_wait_for_their_turn_get_a_record_of_one_look(scene: Scene) -> None:
    (scene.rewind.project / "a.txt").write_text("after\n")
    with scene.busy():
        hooks = [scene.leader("one")]
        for number, text in enumerate(("two", "three", "four"), 1):
            hooks.append(scene.prompt(text, session=f"session-{text}"))
            scene.wait_for_requests(number)
    assert ended(*hooks)
    made = scene.made()
    assert list(made) == ["one", "two", "three", "four"] and scene.count_scans() == 1
    assert {one["trigger"]["session"] for one in made.values()} \
        == {SESSION, "session-two", "session-three", "session-four"}
    assert [one["description"] for one in made.values()] == [f"Before: {text}" for text in made]
    assert not any(one["late"] for one in made.values())
    assert {scene.holds("a.txt", one) for one in made.values()} == {"after\n"}
    parents = [one["parent"] for one in made.values()]
    assert parents[1:] == [one["name"] for one in made.values()][:-1]
    assert os.listdir(scene.rewind.state / "queue") == [] and scene.rewind.json("validate", "--deep")["ok"]


def test_an_event_that_is_told_again_while_it_waits_has_one_record(scene: Scene) -> None:
    with scene.busy():
        hooks = [scene.leader("one"), scene.prompt("one"), scene.prompt("two"), scene.prompt("two")]
        scene.wait_for_requests(3)
    assert ended(*hooks)
    assert list(scene.made()) == ["one", "two"] and len(scene.rewind.names()) == 3


def test_whoever_comes_after_the_look_has_begun_makes_one_of_its_own(scene: Scene) -> None:
    with scene.busy():
        first = scene.leader("one")
    assert ended(first)
    assert ended(scene.prompt("two"))
    assert list(scene.made()) == ["one", "two"] and scene.count_scans() == 2


def test_when_the_one_whose_turn_it_is_is_killed_the_others_go_on(scene: Scene) -> None:
    with scene.busy():
        first = scene.leader("one")
        others = [scene.prompt("two"), scene.prompt("three")]
        scene.wait_for_requests(2)
        holder = int((scene.rewind.state / "queue.lock").read_text().split()[0])
        os.kill(holder, signal.SIGKILL)
        assert ended(first)
    assert ended(*others)
    assert set(scene.made()) == {"two", "three"}
    assert scene.rewind.json("list")["missed"]["prompts"] == 1


# whoever waits too long

def test_a_hook_does_not_wait_for_its_turn_for_ever_but_its_checkpoint_is_made(scene: Scene) -> None:
    """The agent goes on: what it changes, makes and deletes before the look is not passed off as captured."""
    project = scene.rewind.project
    with scene.busy():
        assert ended(scene.prompt("one", wait=0.1))
        assert [one["description"] for one in scene.rewind.json("list")["late"]] == ["Before: one"]
        assert "late: still being saved" in scene.rewind.ok("list").err
        time.sleep(0.1)  # a tick of the file system's clock
        (project / "a.txt").write_text("after\n")
        (project / "gone.txt").unlink()
        (project / "new.txt").write_text("new\n")
    wait_for_late(scene.rewind)
    (one,) = scene.made().values()
    assert one["late"] is True and scene.rewind.json("list")["missed"]["count"] == 0
    assert [scene.holds(name, one) for name in ("a.txt", "gone.txt", "new.txt")] == [""] * 3
    (project / "gone.txt").write_text("made again\n")
    scene.rewind.ok("restore", one["name"])
    assert (project / "a.txt").read_text() == "after\n" and (project / "new.txt").exists()
    assert (project / "gone.txt").exists(), "nobody knows that it was not there"


def test_what_is_as_it_was_is_in_a_late_checkpoint(scene: Scene) -> None:
    with scene.busy():
        assert ended(scene.prompt("one", wait=0.1))
        time.sleep(0.1)
        (scene.rewind.project / "a.txt").write_text("after\n")
    wait_for_late(scene.rewind)
    one = scene.made()["one"]
    assert (scene.holds("gone.txt", one), scene.holds("a.txt", one)) == ("gone\n", "")


def test_a_late_one_comes_before_those_that_came_later(scene: Scene) -> None:
    """Else the look of the next would be in the scan cache, and what changed in between pass for the same."""
    with scene.busy():
        first = scene.leader("zero")
        assert ended(scene.prompt("one", wait=0.1))
        scene.wait_for_requests(1)
        time.sleep(0.1)
        (scene.rewind.project / "a.txt").write_text("after\n")
        others = [scene.prompt("two"), scene.prompt("three")]
        scene.wait_for_requests(3)
    assert ended(first, *others)
    wait_for_late(scene.rewind)
    made = scene.made()
    assert {text: one["late"] for text, one in made.items()} \
        == {"zero": False, "one": True, "two": False, "three": False}


def test_late_ones_share_a_look_as_well(scene: Scene) -> None:
    with scene.busy():
        assert ended(scene.prompt("one", wait=0.1))
        for number, text in enumerate(("two", "three"), 1):
            assert ended(scene.prompt(text, wait=0.1))
            scene.wait_for_requests(number)
    wait_for_late(scene.rewind)
    made = scene.made()
    assert list(made) == ["one", "two", "three"] and scene.count_scans() == 1
    assert all(one["late"] for one in made.values())


def test_an_edit_of_a_file_that_no_checkpoint_holds_waits_longer(
        hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it held is gone for good once the agent goes on."""
    monkeypatch.setattr(work, "WAIT", 0.0)
    monkeypatch.setattr(work, "_LEAST", 0.0)
    (hooks.project / "fresh.txt").write_text("never seen\n")
    lock = Lock(str(hooks.state / "place.lock"), "restore", 0)
    lock.__enter__()
    pid = os.fork()
    if pid == 0:
        time.sleep(0.5)
        os._exit(0)  # which lets the lock go, once we have closed ours
    os.close(lock.fd)
    lock.fd = -1
    hooks.edit("fresh.txt")
    os.waitpid(pid, 0)
    assert hooks.holds("fresh.txt") == b"never seen\n" and "late" not in hooks.last().trigger


# the queue itself

def request(**more: Any) -> dict[str, Any]:
    return {"until": time.monotonic() + 60, "key": "k", "trigger": {}, "description": "d", "agent": "claude",
            "transcript": "", **more}


def test_only_so_many_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "_MOST", 2)
    until = time.monotonic() + 60
    (tmp_path / "queue").mkdir()
    for number in range(2):
        (tmp_path / "queue" / f"{number:020d}-{os.getpid()}.json").write_text(json.dumps(request()))
    with Lock(str(tmp_path / "queue.lock"), "hook", 0), pytest.raises(Locked, match="2 hooks wait"), \
            Queue(str(tmp_path), request, until):
        pass
    assert len(os.listdir(tmp_path / "queue")) == 2


def test_a_turn_that_does_not_come_ends_the_wait_and_leaves_nothing(tmp_path: Path) -> None:
    with Lock(str(tmp_path / "queue.lock"), "hook", 0), pytest.raises(Locked), \
            Queue(str(tmp_path), request, time.monotonic() + 0.1):
        pass
    assert os.listdir(tmp_path / "queue") == []


def test_nobody_asks_where_nobody_is_at_work(tmp_path: Path) -> None:
    with Queue(str(tmp_path), request, time.monotonic() + 60) as mine:
        assert not mine.is_done and mine.waiting() == []
    assert not (tmp_path / "queue").exists()


@pytest.mark.parametrize("content", ["", "{}", "[]", "null", '{"until": "x"}', "\0" * 10, "["])
def test_what_is_no_request_is_passed_over(tmp_path: Path, content: str) -> None:
    (tmp_path / "queue").mkdir()
    (tmp_path / "queue" / f"1-{os.getpid()}.json").write_text(content)
    (tmp_path / "queue" / "notes").write_text("not ours")
    with Queue(str(tmp_path), request, time.monotonic() + 60) as mine:
        assert mine.waiting() == []


def test_what_dead_hooks_left_goes(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    (tmp_path / "queue").mkdir()
    for name in (f"1-{gone.pid}.json", f"2-{gone.pid}.done"):
        (tmp_path / "queue" / name).write_text(json.dumps(request()))
    old = request(until=time.monotonic() - 10_000)
    (tmp_path / "queue" / f"3-{os.getpid()}.json").write_text(json.dumps(old))
    with Queue(str(tmp_path), request, time.monotonic() + 60) as mine:
        assert mine.waiting() == []
    assert os.listdir(tmp_path / "queue") == []


def test_where_nothing_can_be_written_a_hook_goes_on_without_a_turn(tmp_path: Path) -> None:
    with Queue(str(tmp_path / "no" / "such" / "place"), request, time.monotonic() + 60) as mine:
        assert not mine.is_done
