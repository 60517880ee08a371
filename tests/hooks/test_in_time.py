"""A hook waits so long and no longer, and what it could not make is never silent."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any, Callable

import pytest

from hook_scene import Hooks
from rewind.checkpoint.project.missed import KILLED, Missed, sentence
from rewind.hooks.handle import Outcome
from rewind.hooks.making import checkpoint, work
from rewind.hooks.memory.hook_state import HookState
from rewind.paths import Project, open_project
from rewind.snapshot.scan import build
from rewind_cli import Rewind


def is_silent(outcome: Outcome) -> bool:
    return (outcome.code, outcome.out, outcome.err) == (0, "", "")


def until(true: Callable[[], object]) -> bool:
    for _ in range(4500):
        if true():
            return True
        time.sleep(0.02)
    return False


def project_of(hooks: Hooks) -> Project:
    project = open_project(str(hooks.project), str(hooks.rewind_home))
    assert project
    return project


def missed(hooks: Hooks) -> Missed:
    return Missed(project_of(hooks))


@pytest.fixture
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "PATIENCE", 0.2)
    monkeypatch.setattr(work, "WAIT", 0.2)


def instead_of_saving(monkeypatch: pytest.MonkeyPatch, do: Callable[[], None]) -> None:
    """In the process that makes the checkpoint, before it begins."""
    right = checkpoint.save

    def save(*args: Any, **more: Any) -> Any:
        do()
        return right(*args, **more)

    monkeypatch.setattr(checkpoint, "save", save)


# the clock

def slow_reader(monkeypatch: pytest.MonkeyPatch, go_on: Path) -> None:
    """Of every file, until it is told to go on: the tree has been looked at by then."""
    right = build.read_file

    def read(*args: Any) -> Any:
        assert until(go_on.exists)
        return right(*args)

    monkeypatch.setattr(build, "read_file", read)


@pytest.mark.usefixtures("no_patience")
def test_a_slow_reader_in_a_small_project_leads_to_a_late_record(
        hooks: Hooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not the number of files that counts: here it is two."""
    go_on = tmp_path / "go on"
    slow_reader(monkeypatch, go_on)
    (hooks.project / "big").write_text("big\n")
    (hooks.project / "a.txt").write_text("before\n")
    assert is_silent(hooks.prompt("Go"))
    (late,) = missed(hooks).late
    assert (late["event"], late["description"], hooks.count()) == ("UserPromptSubmit", "Before: Go", 1)
    (hooks.project / "a.txt").write_text("the agent has gone on\n")
    go_on.touch()
    assert until(lambda: hooks.count() == 2)
    record = hooks.last()
    assert record.trigger["late"] is True and record.description == "Before: Go"
    assert hooks.holds("big", record) == b"big\n" and hooks.holds("a.txt", record) is None
    assert record.code["uncovered"] == 1
    assert until(lambda: not missed(hooks).late) and not missed(hooks).events


@pytest.mark.usefixtures("no_patience")
def test_a_checkpoint_that_is_still_being_made_is_listed_as_late(
        hooks: Hooks, rewind: Rewind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = tmp_path / "go on"
    slow_reader(monkeypatch, go_on)
    (hooks.project / "big").write_text("big\n")
    hooks.prompt("Go")
    try:
        assert "late: still being saved" in rewind.ok("list").err
        (late,) = rewind.json("list")["late"]
        assert late["description"] == "Before: Go" and late["session"] == hooks.session
    finally:
        go_on.touch()
    assert until(lambda: hooks.count() == 2)
    assert [one["late"] for one in rewind.json("list")["checkpoints"]] == [True, False]
    assert until(lambda: not rewind.json("list")["late"])


def test_the_process_that_saves_has_no_descriptor_of_the_client(
        hooks: Hooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, into = os.pipe()
    os.set_inheritable(into, True)

    def look() -> None:
        open_ones = [os.readlink(f"/proc/self/fd/{fd}") if os.path.exists("/proc/self/fd") else fd
                     for fd in os.listdir("/dev/fd") if os.path.exists(f"/dev/fd/{fd}")]
        (tmp_path / "told").write_text(json.dumps([open_ones, os.getsid(0), os.getcwd()]))

    instead_of_saving(monkeypatch, look)
    hooks.prompt()
    mine = os.readlink(f"/proc/self/fd/{into}") if os.path.exists("/proc/self/fd") else str(into)
    open_ones, session, folder = json.loads((tmp_path / "told").read_text())
    os.close(out)
    os.close(into)
    assert mine not in open_ones and session != os.getsid(0) and folder == "/"
    assert hooks.count() == 2


# what was not made

@pytest.mark.usefixtures("no_patience")
@pytest.mark.parametrize("late", [False, True])
def test_a_process_that_is_killed_while_it_saves_is_counted(
        hooks: Hooks, late: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def die() -> None:
        if late:
            assert until(lambda: missed(hooks).late)
        os.kill(os.getpid(), signal.SIGKILL)

    instead_of_saving(monkeypatch, die)
    assert is_silent(hooks.prompt())
    assert until(lambda: missed(hooks).events) and not missed(hooks).late
    assert [one["reason"] for one in missed(hooks).events] == [KILLED]


@pytest.mark.usefixtures("no_patience")
def test_what_fails_after_its_hook_has_gone_is_counted_by_itself(
        hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        assert until(lambda: missed(hooks).late)
        raise OSError(28, "No space left on device")

    instead_of_saving(monkeypatch, fail)
    assert is_silent(hooks.prompt())
    assert until(lambda: missed(hooks).events) and not missed(hooks).late
    assert "No space left" in missed(hooks).text and "No space left" in hooks.log()
    assert HookState(str(hooks.state)).failures == 1


def test_a_failure_in_time_is_counted_once(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OSError(28, "No space left on device")

    instead_of_saving(monkeypatch, fail)
    assert is_silent(hooks.prompt())
    assert len(missed(hooks).events) == 1 and len(hooks.log().splitlines()) == 1


def busy(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two prompts while somebody else has the lock, and one more afterwards."""
    from rewind.lock import Lock

    with monkeypatch.context() as patch:
        patch.setattr(work, "_LATE_WAIT", 0.02)
        with Lock(str(hooks.state / "lock"), "restore", 0):
            hooks.prompt("one")
            hooks.prompt("two")
    hooks.prompt("three")
    assert hooks.last().description == "Before: three"


BUSY = "2 prompts here have no checkpoint: the store was busy."


@pytest.mark.parametrize("command", ["list", "status", "doctor"])
def test_a_later_success_does_not_hide_what_is_missing(
        hooks: Hooks, rewind: Rewind, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    busy(hooks, monkeypatch)
    said = rewind.run(command)
    assert BUSY in said.out + said.err
    told = rewind.run(command, "--json").data
    if command == "doctor":
        assert BUSY in json.dumps(told)
    else:
        assert (told["missed"]["count"], told["missed"]["prompts"], told["missed"]["text"]) == (2, 2, BUSY)


def test_the_next_start_tells_it_once(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    busy(hooks, monkeypatch)
    assert BUSY in json.loads(hooks.start().out)["systemMessage"]
    assert is_silent(hooks.start("compact")) and is_silent(hooks.start())
    assert missed(hooks).text == BUSY  # who asks is still told


def test_where_nothing_is_missing_nothing_is_said(hooks: Hooks, rewind: Rewind) -> None:
    hooks.prompt()
    hooks.stop()
    assert is_silent(hooks.start())
    assert "no checkpoint" not in rewind.ok("list").err + rewind.ok("status").err
    assert rewind.json("list")["missed"]["count"] == 0


def test_a_miss_of_last_month_is_history(hooks: Hooks) -> None:
    state = HookState(str(hooks.state))
    state.note_missed({"at": "2020-01-01T00:00:00Z", "event": "Stop", "session": "s"}, "long ago")
    state.save()
    assert missed(hooks).events == []


@pytest.mark.parametrize(("events", "said"), [
    ([], ""),
    (["UserPromptSubmit"], "1 prompt here has no checkpoint: busy."),
    (["UserPromptSubmit", "Stop"], "1 prompt here has no checkpoint (nor 1 other event): busy."),
    (["Stop", "Stop"], "2 checkpoints could not be made here: busy."),
])
def test_what_is_missing_is_a_sentence(events: list[str], said: str) -> None:
    assert sentence([{"event": event, "reason": "busy"} for event in events]) == said


@pytest.mark.parametrize("begun", [None, [1], [{}], [{"pid": -1}], [{"pid": "1"}], {"pid": 1}])
def test_a_state_that_somebody_spoiled_says_nothing(hooks: Hooks, begun: Any) -> None:
    (hooks.state / "hook-state.json").write_text(json.dumps({"format": 1, "begun": begun, "missed": begun}))
    assert missed(hooks).late == [] and missed(hooks).text == ""
    hooks.prompt()
    assert hooks.count() == 2
