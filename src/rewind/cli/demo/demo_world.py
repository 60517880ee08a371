"""A home and a project for `rewind demo`, in a temporary directory: nothing of the person's is touched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any

from rewind.cli.demo.demo_session import BEFORE, PROJECT

_LIBRARY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
_PROGRAM = "import sys; sys.path.insert(0, sys.argv.pop(1)); from rewind.cli.main import run; run()"
_ENTRY = os.path.join(_LIBRARY, "rewind", "hooks", "start.py")
_PYTHON = (sys.executable, "-I", "-S")
# The person may run the demo from inside an agent, whose session is none of the demo's business.
_FOREIGN = ("REWIND_", "CLAUDE", "FACTORY", "DROID", "GIT_", "XDG_", "PYTHON", "AI_AGENT")


class WentWrong(Exception):
    """A check failed: what is not as it should be."""


class World:
    def __init__(self) -> None:
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="rewind-demo-"))
        self.home, self.project = self.top + "/home", f"{self.top}/{PROJECT}"
        self.agent_home = self.home + "/.claude"
        self.homes = {"REWIND_HOME": self.home + "/.rewind", "CLAUDE_CONFIG_DIR": self.agent_home}
        # An agent that says which sessions are open says with an empty directory that none is.
        os.makedirs(self.agent_home + "/sessions")
        for name, content in BEFORE.items():
            self.write(name, content)

    def env(self, **more: str) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(_FOREIGN)}
        return {**kept, **self.homes, "HOME": self.home, "FACTORY_HOME_OVERRIDE": self.home, **more}

    def rewind(self, *args: str) -> Any:
        """What a person types, with its answer as JSON."""
        done = self._run([*_PYTHON, "-c", _PROGRAM, _LIBRARY, *args, "--json"])
        if done.returncode:
            raise WentWrong(f"`rewind {' '.join(args)}` ended with {done.returncode}: {_text(done.stderr)}")
        return json.loads(done.stdout)

    def hook(self, action: str, payload: dict[str, Any], **env: str) -> None:
        """As the client runs it: an event on standard input, and not a word back."""
        done = self._run([*_PYTHON, _ENTRY, action], json.dumps(payload).encode(), **env)
        if done.returncode or done.stdout or done.stderr:
            raise WentWrong(f"the hook {action} ended with {done.returncode} and said:"
                            f" {_text(done.stdout + done.stderr) or 'nothing'}")

    def shell(self, command: str) -> None:
        if self._run(["/bin/sh", "-c", command]).returncode:
            raise WentWrong(f"the shell could not do: {command}")

    def _run(self, command: list[str], data: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(command, input=data, cwd=self.project, env=self.env(**env),
                              capture_output=True, timeout=60, check=False)

    def path(self, name: str) -> str:
        return os.path.join(self.project, name)

    def write(self, name: str, content: str) -> None:
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content)

    def files(self) -> dict[str, bytes]:
        """Every file of the project and its bytes, without Rewind's own."""
        paths = [os.path.join(folder, name) for folder, _, names in os.walk(self.project) for name in names]
        found = {os.path.relpath(path, self.project): content(path) for path in paths}
        return {name: data for name, data in found.items() if not name.startswith(".agent/")}

    def remove(self) -> None:
        """A chore that a checkpoint left to the background may still be writing."""
        for _ in range(50):
            shutil.rmtree(self.top, ignore_errors=True)
            if not os.path.exists(self.top):
                return
            time.sleep(0.05)


def content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _text(data: bytes) -> str:
    return " ".join(data.decode("utf-8", "replace").split())[:500]
