"""opencode 1.18: the git commands of its snapshots, as in its source, because it cannot run without a
model."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from bench.peers.git import configure, git_path, git_version
from bench.peers.peer import Peer
from bench.spawn import CommandFailed, Spawner

# The settings that opencode makes in its own git dir.
CONFIG = {
    "feature.manyFiles": "true",
    "index.version": "4",
    "index.threads": "true",
    "core.untrackedCache": "true",
    "core.autocrlf": "false",
    "core.fsmonitor": "false",
    "core.quotepath": "false",
}
LARGEST_NEW = 2 << 20


class Opencode(Peer):
    """It has its own git dir, which borrows the user's objects. Each snapshot is one tree."""

    def __init__(self, spawner: Spawner, project: Path, store: Path) -> None:
        super().__init__(spawner, project, store)
        self._git = [git_path(), "--git-dir", str(store), "--work-tree", str(project)]

    def version(self) -> str:
        return f"its sequence in 1.18, git {git_version(self._spawner)}"

    def first(self) -> str:
        self._spawner.run([*self._git, "init", "-q"])
        configure(self._spawner, self._git, CONFIG)
        user = self._project / ".git"
        (self.store / "objects/info/alternates").write_text(f"{user / 'objects'}\n")
        # The index does not exist before something was staged.
        if (user / "index").exists():
            shutil.copyfile(user / "index", self.store / "index")
        return self.snapshot()

    def snapshot(self) -> str:
        self._here()
        changed, new = self._spawner.outputs(
            [*self._git, "diff-files", "--name-only", "-z"],
            [*self._git, "ls-files", "--others", "--exclude-standard", "-z"],
        )
        wanted = changed + b"".join(name + b"\0" for name in new.split(b"\0") if name and _small(name))
        if wanted:
            self._spawner.feed(
                [*self._git, "add", "--pathspec-from-file=-", "--pathspec-file-nul"], wanted
            )
        return self._spawner.output([*self._git, "write-tree"]).decode().strip()

    def restore(self, mark: str) -> None:
        """Its undo, if it has to find out which paths differ."""
        self.snapshot()
        names = self._lines("diff", "--cached", "--no-ext-diff", "--name-only", mark, "--", ".")
        for start in range(0, len(names), 100):
            self._bring_back(mark, names[start : start + 100])

    def revert(self, mark: str, paths: list[str]) -> None:
        """Its undo of a message: a snapshot for redo, then only the paths of which it knows that they
        differ."""
        self.snapshot()
        self._spawner.output([*self._git, "ls-tree", "--name-only", mark, "--", *paths])
        self._spawner.run([*self._git, "checkout", mark, "--", *paths])

    def _bring_back(self, mark: str, names: list[str]) -> None:
        held = set(self._lines("ls-tree", "--name-only", mark, "--", *names))
        if len(names) == 1:
            held |= set(names)
        back = [name for name in names if name in held]
        try:
            if back:
                self._spawner.run([*self._git, "checkout", mark, "--", *back])
        except CommandFailed:
            for name in back:
                self._bring_back_one(mark, name)
        for name in names:
            if name not in held:
                self._delete(name)

    def _bring_back_one(self, mark: str, name: str) -> None:
        try:
            self._spawner.run([*self._git, "checkout", mark, "--", name])
        except CommandFailed:
            if not self._lines("ls-tree", mark, "--", name):
                self._delete(name)

    def _delete(self, name: str) -> None:
        with suppress(OSError):  # opencode also leaves what it cannot delete, without a message
            (self._project / name).unlink()

    def _lines(self, *arguments: str) -> list[str]:
        """Git's output as opencode reads it: decoded, split at line ends, stripped, with quoted names as they
        are."""
        text = self._spawner.output([*self._git, *arguments]).decode(errors="replace")
        return [line.strip() for line in text.strip().split("\n") if line.strip()]


def _small(name: bytes) -> bool:
    try:
        return os.lstat(name).st_size <= LARGEST_NEW
    except OSError:
        return True
