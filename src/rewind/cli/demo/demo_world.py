"""A home and a project for `rewind demo`, in a temporary directory: nothing of the person's is touched."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time

from rewind.cli.demo.demo_session import BEFORE, PROJECT
from rewind.fast import quickjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LIBRARY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
_PROGRAM = "import sys; sys.path.insert(0, sys.argv.pop(1)); from rewind.cli.main import run; run()"
_ENTRY = os.path.join(_LIBRARY, "rewind", "hooks", "entry.py")
# The person may run the demo from inside an agent, whose session is none of the demo's business.
_FOREIGN = ("REWIND_", "CLAUDE", "FACTORY", "DROID", "GIT_", "XDG_", "PYTHON", "AI_AGENT")
_SECONDS = 60


class WentWrong(Exception):
    """A check failed: what is not as it should be."""


class World:
    def __init__(self) -> None:
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="rewind-demo-"))
        self.home = os.path.join(self.top, "home")
        self.agent_home = os.path.join(self.home, ".claude")
        self.project = os.path.join(self.top, PROJECT)
        # An agent that says which sessions are open says with an empty directory that none is.
        for folder in (self.project, os.path.join(self.agent_home, "sessions")):
            os.makedirs(folder)
        for name, content in BEFORE.items():
            self.write(name, content)

    def env(self, **more: str) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(_FOREIGN)}
        return {**kept, "HOME": self.home, "REWIND_HOME": os.path.join(self.home, ".rewind"),
                "CLAUDE_CONFIG_DIR": self.agent_home, "FACTORY_HOME_OVERRIDE": self.home, **more}

    def exports(self) -> str:
        """What a shell needs to see the demo's project and its conversation."""
        import shlex

        wanted = {"REWIND_HOME": os.path.join(self.home, ".rewind"), "CLAUDE_CONFIG_DIR": self.agent_home}
        return " ".join(f"{key}={shlex.quote(value)}" for key, value in wanted.items())

    # what runs

    def rewind(self, *args: str) -> dict[str, Any]:
        """What a person types, with its answer as JSON."""
        command = [sys.executable, "-I", "-S", "-c", _PROGRAM, _LIBRARY, *args, "--json"]
        done = self._run(command, b"", self.env())
        if done.returncode:
            raise WentWrong(f"`rewind {' '.join(args)}` ended with {done.returncode}: {_text(done.stderr)}")
        found: dict[str, Any] = quickjson.loads(done.stdout)
        return found

    def hook(self, action: str, payload: dict[str, Any], **env: str) -> None:
        """As the client runs it: an event on standard input, and not a word back."""
        done = self._run([sys.executable, "-I", "-S", _ENTRY, action], quickjson.dumps(payload).encode(),
                         self.env(**env))
        if done.returncode or done.stdout or done.stderr:
            raise WentWrong(f"the hook {action} ended with {done.returncode} and said:"
                            f" {_text(done.stdout + done.stderr) or 'nothing'}")

    def shell(self, command: str) -> None:
        if self._run(["/bin/sh", "-c", command], b"", self.env()).returncode:
            raise WentWrong(f"the shell could not do: {command}")

    def _run(self, command: list[str], data: bytes,
             env: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(command, input=data, cwd=self.project, env=env, capture_output=True,
                                  timeout=_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise WentWrong(f"it took more than {_SECONDS} seconds: {' '.join(command[-3:])}")

    # files

    def path(self, name: str) -> str:
        return os.path.join(self.project, name)

    def write(self, name: str, content: str) -> None:
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content)

    def read(self, name: str) -> str:
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def files(self) -> dict[str, bytes]:
        """Every file of the project and its bytes, without Rewind's own."""
        found = {}
        for folder, folders, names in os.walk(self.project):
            folders[:] = [name for name in folders if name != ".agent"]
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, self.project)] = file.read()
        return found

    def remove(self) -> None:
        """A chore that a checkpoint left to the background may still be writing."""
        for _ in range(50):
            shutil.rmtree(self.top, ignore_errors=True)
            if not os.path.exists(self.top):
                return
            time.sleep(0.05)


def _text(data: bytes) -> str:
    return " ".join(data.decode("utf-8", "replace").split())[:500]
