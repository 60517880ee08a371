"""A shadow repository: a second, complete git repository of the project, as several agents keep one."""

from __future__ import annotations

from pathlib import Path

from bench.peers.git import IDENTITY, committed, git_path, git_version
from bench.peers.peer import Peer
from bench.spawn import Spawner


class ShadowRepository(Peer):
    def __init__(self, spawner: Spawner, project: Path, store: Path) -> None:
        super().__init__(spawner, project, store)
        self._git = [git_path(), "--git-dir", str(store), "--work-tree", str(project)]

    def version(self) -> str:
        return f"git {git_version(self._spawner)}"

    def first(self) -> str:
        self._here()
        self._spawner.run([*self._git, "init", "-q"])
        return self.snapshot()

    def snapshot(self) -> str:
        self._here()
        self._spawner.run([*self._git, "add", "-A"])
        text = self._spawner.output([*self._git, *IDENTITY, "commit", "--allow-empty", "-m", "save"])
        return committed(text)

    def restore(self, mark: str) -> None:
        self._here()
        self._spawner.run([*self._git, "reset", "-q", "--hard", mark])
        self._spawner.run([*self._git, "clean", "-q", "-f", "-d"])

    def gc(self) -> None:
        self._spawner.run([*self._git, "gc", "-q"])
