"""Gemini CLI: the git commands of its checkpointing, as in its source (`gitService.ts`)."""

from __future__ import annotations

from pathlib import Path

from bench.peers.git import IDENTITY, committed, git_path, git_version
from bench.peers.peer import Peer
from bench.spawn import CommandFailed, Spawner


class GeminiCli(Peer):
    def __init__(self, spawner: Spawner, project: Path, store: Path) -> None:
        super().__init__(spawner, project, store)
        self._git = [git_path(), "--git-dir", str(store / ".git"), "--work-tree", str(project)]

    def version(self) -> str:
        return f"its sequence in 0.61, git {git_version(self._spawner)}"

    def first(self) -> str:
        self._here()
        self.store.mkdir()
        self._spawner.run([*self._git, "init", "-q", "--initial-branch", "main"])
        self._spawner.run([*self._git, *IDENTITY, "commit", "-q", "--allow-empty", "-m", "Initial commit"])
        return self.snapshot()

    def snapshot(self) -> str:
        self._here()
        self._spawner.run([*self._git, "add", "."])
        # The options that its library, simple-git, gives to `status`.
        text = self._spawner.output([*self._git, "status", "--porcelain", "-b", "-u", "--null"])
        if len(text.split(b"\0")) <= 2:  # nothing but the branch
            return self._head()
        try:
            text = self._spawner.output([*self._git, *IDENTITY, "commit", "--no-verify", "-m", "save"])
        except CommandFailed:
            # With a changed nested repository, git has something to report but nothing to commit. Gemini CLI
            # then uses the commit that it has.
            return self._head()
        return committed(text)

    def _head(self) -> str:
        return self._spawner.output([*self._git, "rev-parse", "HEAD"]).decode().strip()

    def restore(self, mark: str) -> None:
        self._here()
        self._spawner.run([*self._git, "restore", "--source", mark, "."])
        self._spawner.run([*self._git, "clean", "-q", "-f", "-d"])
