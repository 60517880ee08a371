"""Many hooks at once, as real processes, also while a restore runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from hook_scene import SESSION, entry_command, wait_for_late
from rewind.lock import Lock
from rewind_cli import CHECKOUT, Rewind, clean_env, tree_state

pytestmark = pytest.mark.slow

MANY = 20


class Running:
    """A hook that was started and may still run."""

    def __init__(self, rewind: Rewind, action: str, **fields: Any) -> None:
        self.rewind = rewind
        transcript = rewind.home / ".claude" / "projects" / "-p" / f"{SESSION}.jsonl"
        data = {"session_id": SESSION, "transcript_path": str(transcript), "cwd": str(rewind.project),
                **fields}
        self.process = subprocess.Popen(
            [str(part) for part in entry_command(action)], cwd=rewind.project, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**clean_env(rewind.home), "CLAUDECODE": "1", "CLAUDE_PROJECT_DIR": str(rewind.project)})
        assert self.process.stdin
        self.process.stdin.write(json.dumps(data).encode())
        self.process.stdin.close()
        self.process.stdin = None

    def result(self) -> tuple[int, bytes, bytes]:
        out, err = self.process.communicate(timeout=120)
        return self.process.returncode, out, err


def fire_many(rewind: Rewind, count: int = MANY) -> list[Running]:
    """Prompts, ends of turns, edits and starts, all different."""
    started = []
    for number in range(count):
        action, fields = [
            ("user-prompt-submit", {"prompt": f"prompt {number}", "prompt_id": f"p{number}"}),
            ("stop", {"prompt_id": f"p{number}"}),
            ("pre-tool-use", {"tool_name": "Write", "tool_use_id": f"t{number}", "tool_input": {
                "file_path": str(rewind.project / "d0" / f"f{number}.txt"), "content": "x" * 100}}),
            ("session-start", {"source": "startup", "session_id": f"s{number}"}),
        ][number % 4]
        started.append(Running(rewind, action, **fields))  # type: ignore[arg-type]
    return started


def all_silent(started: list[Running]) -> bool:
    results = [hook.result() for hook in started]
    assert [result for result in results if result != (0, b"", b"")] == []
    wait_for_late(started[0].rewind)
    return True


def fill(project: Path, version: str) -> None:
    for folder in range(10):
        (project / f"d{folder}").mkdir(exist_ok=True)
        for number in range(30):
            (project / f"d{folder}" / f"f{number}.txt").write_text(f"{version} {folder} {number}\n" * 20)


def is_whole(rewind: Rewind, *, killed: bool = False) -> None:
    """The store is sound, and every checkpoint that is there is there completely."""
    found = rewind.json("validate", "--deep")
    assert (found["ok"], found["problems"]) == (True, [])
    on_disk = {path.name for path in (rewind.state / "checkpoints").iterdir()
               if not killed or (path / "metadata.json").exists()}  # a name is reserved before it is used
    assert on_disk == set(rewind.names(backups=True))
    drafts = [n for n in os.listdir(rewind.state) if n.endswith(".tmp") or n.startswith("temporary")]
    assert killed or not drafts


def test_twenty_hooks_at_once_all_exit_with_0_and_leave_a_whole_store(rewind: Rewind) -> None:
    fill(rewind.project, "one")
    rewind.init()
    assert all_silent(fire_many(rewind))
    is_whole(rewind)
    assert len(rewind.names()) > 1
    json.loads((rewind.state / "session.json").read_text())
    json.loads((rewind.state / "hook-state.json").read_text())


def test_twenty_hooks_while_a_restore_runs_leave_a_whole_store(rewind: Rewind) -> None:
    fill(rewind.project, "one")
    rewind.init()
    wanted = tree_state(rewind.project)
    first = rewind.names()[0]
    fill(rewind.project, "two")
    (rewind.project / "new.txt").write_text("new\n")
    rewind.save()
    results: list[Any] = []
    restoring = threading.Thread(target=lambda: results.append(rewind.run("restore", first, "--force")))
    early = fire_many(rewind, MANY // 2)
    restoring.start()
    late = fire_many(rewind, MANY // 2)
    restoring.join()
    assert all_silent(early) and all_silent(late)
    assert results[0].code == 0, results[0]
    is_whole(rewind)
    assert tree_state(rewind.project) == wanted


def test_no_checkpoint_shows_a_tree_that_was_half_restored(rewind: Rewind, tmp_path: Path) -> None:
    """Every checkpoint is wholly the one version or wholly the other."""
    fill(rewind.project, "one")
    rewind.init()
    first = rewind.names()[0]
    fill(rewind.project, "two")
    rewind.save()
    restoring = subprocess.Popen([*rewind.command, "restore", first, "--force"], cwd=rewind.project,
                                 env=rewind.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
    assert all_silent([Running(rewind, "stop", prompt_id=f"p{number}") for number in range(8)])
    restoring.communicate(timeout=60)
    assert restoring.returncode == 0
    for one in rewind.json("list", "--all")["checkpoints"]:
        out = tmp_path / one["name"]
        rewind.ok("restore", one["name"], "--to", out)
        versions = {path.read_text().split(" ", 1)[0] for path in out.rglob("f*.txt")}
        # One that is late has only what was not restored since.
        assert len(versions) == 1 or (one["late"] and not versions), one["name"]


def test_an_event_that_is_told_twice_at_the_same_moment_makes_one_checkpoint(rewind: Rewind) -> None:
    """Droid starts a hook that is registered twice twice, side by side."""
    rewind.init()
    for number in range(5):
        fields = {"prompt": "the same", "prompt_id": f"p{number}"}
        assert all_silent([Running(rewind, "user-prompt-submit", **fields) for _ in range(3)])
    assert len(rewind.names()) == 6


def test_no_session_is_forgotten_when_several_prompt_at_the_same_moment(rewind: Rewind) -> None:
    rewind.init()
    ids = [f"s{number}" for number in range(6)]
    for turn in range(5):
        started = [Running(rewind, "user-prompt-submit", session_id=id, prompt="x", prompt_id=f"{turn} {id}")
                   for id in ids]
        assert all_silent(started)
        assert running(rewind) == dict.fromkeys(ids, True), turn
        assert all_silent([Running(rewind, "stop", session_id=id, prompt_id=f"{turn} {id}") for id in ids])
        assert running(rewind) == dict.fromkeys(ids, False), turn


def running(rewind: Rewind) -> dict[str, bool]:
    latest = json.loads((rewind.state / "session.json").read_text())
    return {session["session_id"]: session["running"] for session in (latest, *latest["recent"])}


NOTE = """
import sys
sys.path.insert(0, sys.argv[1])
from types import SimpleNamespace as Some
from rewind.hooks.memory.hook_files_lock import HookFilesLock
from rewind.hooks.memory.session_file import SessionMemory
from rewind.hooks.memory.hook_state import HookState
state, name = sys.argv[2:]
event = Some(session=name, transcript="", subagent="", found=None, profile=Some(name="claude"))
HookFilesLock.wait = 90.0  # what is tried is that nothing is lost, not how long anybody waits
sys.stdin.readline()
for number in range(15):
    SessionMemory(state).turn(event, running=number % 2 == 0)
    with HookFilesLock(state):
        hooks = HookState(state)
        assert hooks.claim(f"{name} {number}") and not hooks.claim(f"{name} {number}")
        hooks.save()
"""


def test_what_several_write_at_once_is_all_there(tmp_path: Path) -> None:
    """The same files, by processes that do nothing else."""
    command = [sys.executable, "-I", "-S", "-c", NOTE, str(CHECKOUT / "src"), str(tmp_path)]
    writers = [subprocess.Popen([*command, f"s{number}"], stdin=subprocess.PIPE) for number in range(4)]
    for writer in writers:
        assert writer.stdin
        writer.stdin.write(b"\n")
        writer.stdin.close()
    assert [writer.wait(60) for writer in writers] == [0] * 4
    seen = json.loads((tmp_path / "hook-state.json").read_text())["seen"]
    assert sorted(seen) == sorted(f"s{writer} {number}" for writer in range(4) for number in range(15))
    latest = json.loads((tmp_path / "session.json").read_text())
    assert {session["session_id"]: session["running"] for session in (latest, *latest["recent"])} \
        == {f"s{writer}": True for writer in range(4)}


def test_a_hook_does_not_wait_long_for_who_holds_the_notes(rewind: Rewind) -> None:
    rewind.init()
    with Lock(str(rewind.state / "hooks.lock"), "test"):
        assert all_silent([Running(rewind, "user-prompt-submit", prompt="x", prompt_id="p")])
    assert len(rewind.names()) == 2
    assert running(rewind) == {SESSION: True}


def test_hooks_that_are_killed_leave_a_whole_store(rewind: Rewind) -> None:
    fill(rewind.project, "one")
    rewind.init()
    for number in range(12):
        fill(rewind.project, f"version {number}")
        hook = Running(rewind, "stop", prompt_id=f"p{number}")
        try:
            hook.process.wait(0.02 + number * 0.015)
        except subprocess.TimeoutExpired:
            hook.process.kill()
        hook.process.communicate()
    is_whole(rewind, killed=True)
    assert all_silent([Running(rewind, "stop", prompt_id="last")])
    assert rewind.json("list")["checkpoints"][0]["trigger"]["promptId"] == "last"


def test_the_first_checkpoint_of_a_project_that_nobody_initialised_is_whole(rewind: Rewind) -> None:
    """Five clients are started in a fresh repository at the same moment."""
    fill(rewind.project, "one")
    subprocess.run(["git", "init", "-q"], cwd=rewind.project, env=rewind.env, check=True)
    assert all_silent([Running(rewind, "session-start", source="startup", session_id=f"s{number}")
                       for number in range(5)])
    assert rewind.names()
    is_whole(rewind)
