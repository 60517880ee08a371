"""The packages stepback and rewind-ai from PyPI, each in a temporary virtual environment."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.peers.peer import Missing, Peer
from bench.spawn import CommandFailed, Spawner
from bench.trees import allocated_bytes

NEEDS = (3, 11)
_made: dict[Path, str] = {}


def environment_with(package: str, root: Path) -> Path:
    """The `bin` of an environment with the package, made once for a run. Raises `Missing` if it cannot be
    made."""
    home = root / f"environment-{package}"
    if home not in _made:
        _made[home] = _make(package, home)
    if _made[home]:
        raise Missing(_made[home])
    return home / "bin"


def _make(package: str, home: Path) -> str:
    """Why it could not be made; empty if it was. Pip runs with the caller's environment, which may name its
    index."""
    python = _new_enough()
    if python is None:
        return f"{package} needs Python {NEEDS[0]}.{NEEDS[1]}, which is not here"
    for command in ([python, "-m", "venv", str(home)],
                    [str(home / "bin" / "python"), "-m", "pip", "install", "-q", package]):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=300,
                                  stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return f"installing {package} took more than 5 minutes"
        if done.returncode:
            return f"{package} could not be installed: {done.stderr.strip().splitlines()[-1][:200]}"
    return ""


def _new_enough() -> str | None:
    if sys.version_info >= NEEDS:
        return sys.executable
    names = (f"python3.{minor}" for minor in range(20, NEEDS[1] - 1, -1))
    return next((found for found in map(shutil.which, names) if found), None)


class InUsersGit(Peer):
    """A tool that writes into the user's own `.git`, so what it stored is what is new there."""

    package: str

    def __init__(self, spawner: Spawner, project: Path, store: Path) -> None:
        super().__init__(spawner, project, store)
        self._bin = environment_with(self.package, spawner.scratch)
        self._before = _files(project / ".git")
        self._size = allocated_bytes(project / ".git")

    def version(self) -> str:
        code = "import sys, importlib.metadata as m; print(m.version(sys.argv[1]))"
        return self._spawner.output([str(self._bin / "python"), "-c", code, self.package]).decode().strip()

    def first(self) -> object:
        return self.snapshot()

    def stored(self) -> int:
        return allocated_bytes(self._project / ".git") - self._size

    def remove(self) -> None:
        for path in _files(self._project / ".git") - self._before:
            os.unlink(path)


class Stepback(InUsersGit):
    """It has no command for one checkpoint, only `run`, which watches the project. So a script calls its
    engine."""

    package = "stepback"
    _SCRIPT = ("from pathlib import Path; from stepback.engine import Engine; engine = Engine(Path.cwd());"
               "made = engine.checkpoint(label='bench'); print((made or engine.state.latest()).id)")

    def snapshot(self) -> str:
        self._here()
        return self._spawner.output([str(self._bin / "python"), "-c", self._SCRIPT]).decode().strip()

    def restore(self, mark: str) -> None:
        self._here()
        self._spawner.run([str(self._bin / "stepback"), "rewind", mark, "--yes"])


class RewindAi(InUsersGit):
    package = "rewind-ai"

    def snapshot(self) -> None:
        before = self._written()
        self._here()
        self._spawner.run([str(self._bin / "rewind"), "snap", "-m", "bench"])
        # Even if it fails, it exits with 0.
        if self._written() == before:
            raise CommandFailed("rewind-ai made no checkpoint")

    def mark(self) -> str:
        self.snapshot()
        return self._checkpoints()[-1]

    def restore(self, mark: str) -> None:
        self._here()
        number = self._checkpoints().index(mark)
        output = self._spawner.output([str(self._bin / "rewind"), "jump", str(number), "-y"])
        if b"Restored to checkpoint" not in output:
            raise CommandFailed(f"rewind-ai: {output.decode(errors='replace').strip()[-300:]}")

    def _checkpoints(self) -> list[str]:
        """Their hashes. Their numbers change, because it drops the oldest one when there are 200."""
        data = json.loads(self._metadata.read_bytes())
        return [str(made["sha"]) for made in data["checkpoints"]]

    def _written(self) -> int:
        return self._metadata.stat().st_mtime_ns if self._metadata.exists() else 0

    @property
    def _metadata(self) -> Path:
        return self._project / ".git" / "rewind_meta.json"


def _files(root: Path) -> set[str]:
    return {os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names}
