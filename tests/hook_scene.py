"""An agent that calls hooks in a project that Rewind protects, with payloads like those of the clients."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Optional

import pytest

from make_transcripts import ClaudeTalk, event_id
from rewind.checkpoint.project.missed import is_alive
from rewind.checkpoint.records.record import Record
from rewind.controller import Controller
from rewind.hooks import handle as handling
from rewind.hooks.event import EVENTS, HookEvent, read_event
from rewind.hooks.handle import Outcome, handle
from rewind.hooks.memory.hook_state import HookState
from rewind_cli import CHECKOUT, Result, Rewind, clean_env, state_of

RECORDED = Path(__file__).parent / "data" / "hooks"
ENTRY = CHECKOUT / "src" / "rewind" / "hooks" / "start.py"
SHIM = CHECKOUT / "bin" / "smart-checkpoint"
ACTIONS = {name: action for action, name in EVENTS.items()}
SESSION = event_id(0xA0)
LONG = "x" * 200  # an edit that is worth a checkpoint


class Case:
    """A recorded payload. Its paths are replaced by those of the test's home and project."""

    def __init__(self, agent: str, name: str, payload: dict[str, Any]) -> None:
        self.agent = agent
        self.name = name
        self._payload = payload

    def __repr__(self) -> str:
        return f"{self.agent}: {self.name}"

    @property
    def event(self) -> str:
        return str(self._payload["hook_event_name"])

    def payload(self, home: Path, project: Path) -> dict[str, Any]:
        moved = self._moved(json.dumps(self._payload), str(home), str(project))
        found: dict[str, Any] = json.loads(moved)
        return found

    def _moved(self, text: str, home: str, project: str) -> str:
        was = (("/home/dev/hm/pay/proj", project), ("/home/dev/hm/pay/home", home),
               ("/home/dev/slug/repo/sub", project), ("/home/dev/proj", project), ("/home/dev/.claude",
                                                                                  f"{home}/.claude"))
        for old, new in was:
            text = text.replace(old, new)
        return text


def recorded() -> list[Case]:
    claude = [json.loads(line) for line in (RECORDED / "claude-2.1.325.jsonl").read_text().splitlines()]
    droid = [json.loads(line) for line in (RECORDED / "droid-0.225.2.jsonl").read_text().splitlines()]
    return [*(Case("claude", line["case"], line["payload"]) for line in claude),
            *(Case("droid", _droid_name(number, line["stdin"]), line["stdin"])
              for number, line in enumerate(droid, 1))]


def _droid_name(number: int, payload: dict[str, Any]) -> str:
    detail = payload.get("tool_name") or payload.get("source") or payload.get("reason")
    return f"{number} {payload['hook_event_name']}" + (f" ({detail})" if detail else "")


class Hooks:
    """One session of Claude Code in one project. Each event goes through the hook, in this process."""

    def __init__(self, project: Path, home: Path, patch: pytest.MonkeyPatch) -> None:
        self.project = project
        self.home = home
        self.rewind_home = home / ".rewind"
        self._state: Optional[Path] = None
        self.session = SESSION
        self.transcript = home / ".claude" / "projects" / "-project" / f"{SESSION}.jsonl"
        self.transcript.parent.mkdir(parents=True)
        self.clock = 1_800_000_000.0
        self._count = 0
        patch.setattr(handling, "time", SimpleNamespace(time=lambda: self.clock))
        # These tests are not about power cuts.
        patch.setattr(os, "fsync", lambda fd: None)

    @property
    def state(self) -> Path:
        self._state = state_of(self.project, self.home, self._state)
        return self._state

    # before the events

    def protect(self, tier: str = "balanced", mode: str = "project", **settings: Any) -> Hooks:
        """Run `rewind init` with some settings. By default the store is in the project, where many tests look
        for it, and where the guard has most to do."""
        self.configure(tier=tier, **settings)
        controller, _ = Controller.init(str(self.project), home=str(self.rewind_home), mode=mode)
        controller.close()
        return self

    def configure(self, **settings: Any) -> None:
        self.rewind_home.mkdir(exist_ok=True)
        (self.rewind_home / "config.json").write_text(json.dumps(settings))

    def talk(self, *prompts: str) -> None:
        """Write the transcript of these prompts."""
        talk = ClaudeTalk(self.session)
        for prompt in prompts:
            talk.turn(prompt)
        self.transcript.write_bytes(talk.bytes())

    # events

    def env(self, **more: str) -> dict[str, str]:
        return {**os.environ, "CLAUDECODE": "1", "CLAUDE_PROJECT_DIR": str(self.project), **more}

    def payload(self, name: str, **fields: Any) -> dict[str, Any]:
        return {"session_id": self.session, "transcript_path": str(self.transcript),
                "cwd": str(self.project), "hook_event_name": name, **fields}

    def fire(self, name: str, env: Optional[Mapping[str, str]] = None, **fields: Any) -> Outcome:
        raw = json.dumps(self.payload(name, **fields)).encode("utf-8", "surrogatepass")
        return handle(ACTIONS[name], raw, {**self.env(), **(env or {})})

    def event(self, name: str, **fields: Any) -> HookEvent:
        event = read_event(ACTIONS[name], self.payload(name, **fields), self.env())
        assert event is not None
        return event

    def start(self, source: str = "startup", **more: Any) -> Outcome:
        return self.fire("SessionStart", source=source, **more)

    def prompt(self, text: str = "Do something", **more: Any) -> Outcome:
        return self.fire("UserPromptSubmit", **{"prompt": text, "prompt_id": self._id(), **more})

    def stop(self, **more: Any) -> Outcome:
        return self.fire("Stop", **{"prompt_id": self._id(), "stop_hook_active": False, **more})

    def edit(self, path: str = "a.txt", new: str = LONG, when: str = "Pre", **more: Any) -> Outcome:
        given = {"file_path": str(self.project / path), "old_string": "a", "new_string": new}
        return self.tool("Edit", given, when, **more)

    def shell(self, command: str = "make", when: str = "Pre", **more: Any) -> Outcome:
        return self.tool("Bash", {"command": command}, when, **more)

    def tool(self, name: str, given: dict[str, Any], when: str = "Pre", **more: Any) -> Outcome:
        return self.fire(f"{when}ToolUse", **{"tool_name": name, "tool_input": given,
                                              "tool_use_id": f"toolu_{self._id()}", **more})

    def _id(self) -> str:
        self._count += 1
        return event_id(0xB000 + self._count)

    # after the events

    def records(self) -> list[Record]:
        """Oldest first."""
        controller = Controller(str(self.project), home=str(self.rewind_home), forgiving=True)
        try:
            return list(reversed(controller.list_checkpoints()))
        finally:
            controller.close()

    def last(self) -> Record:
        return self.records()[-1]

    def count(self) -> int:
        return len(self.records())

    def holds(self, path: str, record: Optional[Record] = None) -> Optional[bytes]:
        """A file's bytes in a checkpoint, by default the newest. None if it is not in the checkpoint."""
        controller = Controller(str(self.project), home=str(self.rewind_home), forgiving=True)
        with tempfile.TemporaryDirectory() as folder:
            try:
                name = (record or controller.list_checkpoints()[0]).name
                controller.write_to(name, os.path.join(folder, "out"))
            finally:
                controller.close()
            found = Path(folder, "out", path)
            return found.read_bytes() if found.is_file() else None

    def session_json(self) -> dict[str, Any]:
        found = json.loads((self.state / "session.json").read_text())
        assert isinstance(found, dict)
        return found

    def log(self) -> str:
        """What hooks wrote into the logs of the project and of the user."""
        logs = (self.state / "rewind.log", self.rewind_home / "rewind.log")
        return "".join(log.read_text() for log in logs if log.exists())


def wait_for_late(rewind: Rewind, cwd: Optional[Path] = None) -> None:
    """Wait until no late checkpoint is being made in this work tree. On a slow machine, hooks may return
    before their checkpoint is made."""
    for _ in range(600):
        if not rewind.run("list", "--json", cwd=cwd).data["late"]:
            return
        time.sleep(0.1)
    raise AssertionError("a checkpoint is still late after a minute")


def wait_for_made(home: Path, project: Path) -> None:
    """Wait until the checkpoints of all hooks are written. A hook returns as soon as everything has been
    read. This does not wait for late checkpoints."""
    storage = home / ".rewind" / "storage"
    for _ in range(6000):
        states = [project / ".agent" / "rewind" / "hook-state.json", *storage.glob("*/hook-state.json"),
                  *storage.glob("*/places/*/hook-state.json")]
        if not any(one["late"] is False and is_alive(one)
                   for path in states for one in HookState(str(path.parent)).begun):
            return
        time.sleep(0.01)
    raise AssertionError("a checkpoint is not made after a minute")


def run_hook(command: list[Any], data: bytes, home: Path, cwd: Path, **env: str) -> Result:
    """Run a hook as a client does: with a pipe as standard input and without a terminal."""
    done = subprocess.run([str(part) for part in command], input=data, cwd=cwd, timeout=120,
                          env={**clean_env(home), **env}, capture_output=True)
    wait_for_made(home, cwd)
    return Result(done.returncode, done.stdout.decode("utf-8", "replace"),
                  done.stderr.decode("utf-8", "replace"))


def entry_command(action: str, entry: Path = ENTRY) -> list[Any]:
    return [sys.executable, "-I", "-S", entry, action]
