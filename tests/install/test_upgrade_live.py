"""An upgrade in the middle of a session: hooks of both versions run at once, and none is lost or doubled."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from install_scene import Machine
from rewind_cli import Result

pytestmark = pytest.mark.slow

OLD, NEW, NEWER, NEWEST = "0.0.1", "0.0.2", "0.0.3", "0.0.4"
SESSION = "0b7c1c52-5d0e-4a63-9b8a-2f1d3a6c9e41"
# As versions were before there was a lock for each place: they look at the project under the store's lock.
_AS_BEFORE = """

def release_store_lock(state):
    return _StoreLockReleased(state, None)


def locked(state, what, wait=10.0, **more):
    return _Locked(state, [], Lock(state.project.path(LOCK), what, wait, in_line=True))
"""


@pytest.fixture
def live(tmp_path: Path) -> Machine:
    """An old version is installed, and a session of Claude Code has begun with it."""
    machine = Machine(tmp_path)
    machine.has_claude("{}")
    machine.other_version(OLD)
    module = machine.checkout / "src" / "rewind" / "checkpoint" / "project" / "locked.py"
    module.write_text(module.read_text() + _AS_BEFORE)
    machine.installed("--yes")
    return machine


def payload(machine: Machine, project: Path, text: str) -> bytes:
    transcript = machine.home / ".claude" / "projects" / "-p" / f"{SESSION}.jsonl"
    return json.dumps({"session_id": SESSION, "transcript_path": str(transcript), "cwd": str(project),
                       "hook_event_name": "UserPromptSubmit", "prompt": text, "prompt_id": text}).encode()


def start(machine: Machine, project: Path, *command: object) -> subprocess.Popen[bytes]:
    """A hook that waits for its payload."""
    return subprocess.Popen([str(word) for word in (*command, "user-prompt-submit")], cwd=project,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**machine.env, "CLAUDECODE": "1", "CLAUDE_PROJECT_DIR": str(project)})


def entry(machine: Machine, version: str) -> list[Any]:
    return [sys.executable, "-I", "-S",
            machine.system / f"lib-{version}" / "rewind" / "hooks" / "start.py"]


def prompts(machine: Machine, project: Path) -> Counter[str]:
    made = machine.checkpoints(project)
    return Counter(str(one["trigger"]["promptId"]) for one in made if one["trigger"].get("promptId"))


def is_whole(machine: Machine, project: Path) -> bool:
    result: Result = machine.checkout_rewind("validate", "--deep", "--json", cwd=project)
    return result.code == 0 and bool(result.data["ok"])


def test_a_session_that_goes_on_while_another_version_is_installed_loses_no_prompt(live: Machine) -> None:
    project = live.git_project()
    asked: list[str] = []
    installed = threading.Event()

    def session() -> None:
        while not installed.is_set() or len(asked) < 6:
            asked.append(f"prompt {len(asked)}")
            (project / "app.py").write_text(f"print({asked[-1]!r})\n")
            live.prompt(project, asked[-1])

    agent = threading.Thread(target=session)
    agent.start()
    try:
        live.other_version(NEW).installed("--yes")
    finally:
        installed.set()
        agent.join()
    assert prompts(live, project) == Counter(asked)
    assert is_whole(live, project)


def test_hooks_of_both_versions_at_once_neither_lose_nor_double(live: Machine) -> None:
    """Half of the events come to both, as when both are registered."""
    project = live.git_project()
    live.prompt(project, "first")
    live.other_version(NEW).installed("--yes")
    (project / "app.py").write_text("print(2)\n")
    texts = [f"prompt {number}" for number in range(8)]
    hooks = []
    for number, text in enumerate(texts):
        for version in (OLD, NEW) if number % 2 else (OLD, NEW)[number // 2 % 2:][:1]:
            hook = start(live, project, *entry(live, version))
            assert hook.stdin
            hook.stdin.write(payload(live, project, text))
            hook.stdin.close()
            hook.stdin = None
            hooks.append(hook)
    assert [(hook.communicate(), hook.returncode) for hook in hooks] == [((b"", b""), 0)] * len(hooks)
    assert prompts(live, project) == Counter(["first", *texts])
    assert is_whole(live, project)


def test_a_library_stays_until_the_last_hook_that_began_with_it_is_done(live: Machine) -> None:
    project = live.git_project()
    live.prompt(project, "first")
    begun = start(live, project, live.shim)  # the client has started it and not told it yet what happened
    try:
        for version in (NEW, NEWER):  # the one before the last would go
            live.other_version(version).installed("--yes")
        assert (live.system / f"lib-{OLD}").is_dir()
        (project / "app.py").write_text("print('changed')\n")
        assert begun.communicate(payload(live, project, "late"), timeout=60) == (b"", b"")
    finally:
        if begun.poll() is None:
            begun.kill()
    assert begun.returncode == 0 and prompts(live, project) == Counter(["first", "late"])
    live.other_version(NEWEST).installed("--yes")
    assert not (live.system / f"lib-{OLD}").exists()
