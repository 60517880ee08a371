"""One process makes the checkpoints of the hooks that come while it works. Whatever becomes of it, none is
lost: each test stops or kills a process at the very place where a request changes hands."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from types import SimpleNamespace
from typing import Any

import pytest

from hook_scene import wait_for_late
from queue_scene import Scene, ended, until
from rewind.hooks.making.service import Service


def crowd(scene: Scene, *texts: str, **more: Any) -> list[subprocess.Popen[bytes]]:
    """The first one scans the tree, and the others ask meanwhile, after its scan began."""
    with scene.scans_held():
        hooks = [scene.prompt(texts[0])]
        scene.wait_for_scans(1)
        for number, text in enumerate(texts[1:], 1):
            hooks.append(scene.prompt(text, **more))
            scene.wait_for_requests(number)
    return hooks


def assert_made(scene: Scene, *texts: str) -> None:
    """Each once, in one line, and nothing is left of the requests."""
    records = [one for one in scene.rewind.json("list")["checkpoints"] if one["trigger"].get("promptId")]
    assert sorted(one["trigger"]["promptId"] for one in records) == sorted(texts)
    assert [one["parent"] for one in records[:-1]] == [one["name"] for one in records[1:]]
    assert until(lambda: scene.requests() == [])
    assert scene.rewind.json("validate", "--deep")["ok"]


def test_who_has_made_its_own_goes_on_for_those_who_came_meanwhile(scene: Scene) -> None:
    assert ended(*crowd(scene, "one", "two", "three", "four"))
    assert_made(scene, "one", "two", "three", "four")
    assert scene.count_scans() == 2 and len(set(scene.scanners())) == 1
    assert not any(one["late"] for one in scene.made().values())
    assert scene.rewind.json("list")["missed"]["count"] == 0


def test_the_look_for_those_who_came_meanwhile_is_a_new_one(scene: Scene) -> None:
    with scene.scans_held():
        hooks = [scene.prompt("one")]
        scene.wait_for_scans(1)
        (scene.rewind.project / "new.txt").write_text("new\n")
        hooks.append(scene.prompt("two"))
        scene.wait_for_requests(1)
    assert ended(*hooks)
    assert scene.holds("new.txt", scene.made()["two"]) == "new\n"


def test_an_event_that_is_told_again_has_one_record(scene: Scene) -> None:
    assert ended(*crowd(scene, "one", "two", "two"))
    assert_made(scene, "one", "two")


# killed

@pytest.mark.parametrize("where", ["before run", "before save_for", "before mark_done", "after mark_done"])
def test_who_is_killed_while_it_works_for_others_loses_nothing(scene: Scene, where: str) -> None:
    scene.kill_at(where)
    assert ended(*crowd(scene, "one", "two", "three"))
    assert scene.stopped()
    assert_made(scene, "one", "two", "three")


def test_who_is_killed_between_a_record_and_its_note_loses_nothing(scene: Scene) -> None:
    scene.kill_at("before _note_seen")
    assert ended(*crowd(scene, "one", "two", "three"))
    assert set(scene.made()) == {"one", "two", "three"} and scene.stopped()


def test_a_hook_that_is_killed_while_it_waits_has_its_checkpoint(scene: Scene) -> None:
    """A client kills the process that it started; the one that waits is another."""
    with scene.scans_held():
        first = scene.prompt("one")
        scene.wait_for_scans(1)
        second = scene.prompt("two")
        scene.wait_for_requests(1)
        second.kill()
        second.communicate()
    assert ended(first) and until(lambda: "two" in scene.made())
    assert_made(scene, "one", "two")


# stopped

def test_who_sleeps_while_its_request_is_made_does_not_make_it_again(scene: Scene) -> None:
    with scene.scans_held():
        first = scene.prompt("one")
        scene.wait_for_scans(1)
        scene.stop_at("after _write_request")
        second = scene.prompt("two")
        scene.stopped()
    assert ended(first) and until(lambda: "two" in scene.made())
    scene.wake()
    assert ended(second)
    assert_made(scene, "one", "two")


@pytest.mark.parametrize("where", ["before run", "before save_for", "before mark_done"])
def test_who_stops_while_others_wait_makes_their_hooks_late_and_loses_nothing(scene: Scene,
                                                                              where: str) -> None:
    scene.stop_at(where)
    hooks = crowd(scene, "one", "two", "three", wait=3.0)
    scene.stopped()
    assert ended(*hooks)
    scene.wake()
    wait_for_late(scene.rewind)
    assert_made(scene, "one", "two", "three")


def test_who_goes_late_at_the_moment_when_it_is_made_is_late_or_made_but_never_both(scene: Scene) -> None:
    """The hook stops right before it notes that its checkpoint is late; meanwhile another one makes it."""
    scene.stop_at("before note_late")
    with scene.scans_held():
        first = scene.prompt("one")
        scene.wait_for_scans(1)
        second = scene.prompt("two", wait=1.0)
        scene.stopped()
    assert ended(first) and until(lambda: "two" in scene.made())
    scene.wake()
    assert ended(second)
    wait_for_late(scene.rewind)
    assert_made(scene, "one", "two")


def test_what_a_process_asked_for_that_is_killed_is_made_or_told_as_missing_and_never_both(
        scene: Scene) -> None:
    with scene.scans_held():
        first = scene.prompt("one")
        scene.wait_for_scans(1)
        scene.stop_at("after _write_request")
        assert ended(scene.prompt("two", wait=0.1))
        os.kill(scene.stopped(), signal.SIGKILL)
    assert ended(first) and until(lambda: not scene.is_at_work())
    # Where nobody reaps it, a dead process still counts as one that waits.
    is_made = "two" in scene.made()
    assert scene.rewind.json("list")["missed"]["prompts"] == (0 if is_made else 1)
    assert_made(scene, "one", *(["two"] if is_made else []))


# when it goes on

def asked(left: float, path: str = "a") -> Any:
    return SimpleNamespace(path=path, until=time.monotonic() + left)


@pytest.mark.parametrize(("took", "waiting", "can"), [
    (0.1, [], True),
    (0.1, [1.0], True),
    (0.1, [-1.0], True),  # late anyway
    (0.1, [1.0, 0.1], False),  # its hook goes before the look would end, but waits for its own process
    (2.0, [9.0], False),  # a large tree
], ids=["none", "one waits", "one is late", "one goes soon", "slow"])
def test_whom_a_process_can_serve(took: float, waiting: list[float], can: bool) -> None:
    making, queue = SimpleNamespace(took=took), SimpleNamespace()
    service = Service(making, queue, 0.0)  # type: ignore[arg-type]
    assert service.can_serve([asked(left) for left in waiting]) is can


def test_what_cannot_be_marked_as_done_is_not_made_over_and_over() -> None:
    made: list[str] = []
    making: Any = SimpleNamespace(took=0.01, save_for=lambda one: made.append(one.path))
    queue: Any = SimpleNamespace(waiting=lambda: [asked(60.0)])
    Service(making, queue, 0.0).run()
    assert made == ["a"]


def test_late_ones_go_first() -> None:
    waiting = [asked(60.0, "a"), asked(-1.0, "b"), asked(60.0, "c")]
    made: list[str] = []

    def make(one: Any) -> None:
        made.append(one.path)
        waiting.remove(one)

    making: Any = SimpleNamespace(took=0.01, save_for=make)
    Service(making, SimpleNamespace(waiting=lambda: list(waiting)), 0.0).run()  # type: ignore[arg-type]
    assert made == ["b", "a", "c"]
