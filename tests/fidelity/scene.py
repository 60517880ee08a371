"""A project with a past (staged changes and a stash, or no git at all), and the trip there and back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Optional

from rewind_cli import Rewind, differences, git, git_state, git_status, mtimes, tree_state


class Scene:
    def __init__(self, rewind: Rewind, *, with_git: bool, big: int = 30_000) -> None:
        self.rewind = rewind
        self.root = rewind.project
        self.with_git = with_git
        self.name = ""
        self.saved: dict[bytes, tuple[Any, ...]] = {}
        self._build(big)

    # building

    def put(self, path: str, content: str | bytes = "", mode: Optional[int] = None) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        if mode is not None:
            file.chmod(mode)
        return file

    def git(self, *args: str, at: Optional[Path] = None) -> str:
        return git(at or self.root, *args, home=self.rewind.home)

    def _build(self, big: int) -> None:
        self.put("README.md", "# a project\n")
        self.put("src/main.py", "print('one')\n")
        self.put("src/old.py", "old = True\n")
        self.put("src/deep/er/leaf.txt", "leaf\n")
        self.put("big-tracked.bin", pattern(big, 1))
        self.put(".gitignore", ".env\nbuild/\n*.log\n")
        if self.with_git:
            self.git("init", "-q", "-b", "main")
            self.git("add", "-A")
            self.git("commit", "-q", "-m", "first")
            self.put("src/main.py", "print('stashed')\n")
            self.git("stash")
            self.put("src/main.py", "print('staged')\n")
            self.put("staged-new.txt", "staged\n")
            self.git("add", "src/main.py", "staged-new.txt")
        self.put("src/main.py", "print('in the working tree')\n")
        self.put("untracked.txt", "untracked\n")

    # there and back

    def save(self) -> None:
        """Initialise and checkpoint what is there now."""
        self.rewind.init()
        self.name = self.rewind.save()
        self.saved = tree_state(self.root)
        self.saved_status = git_status(self.root, self.rewind.home) if self.with_git else ""

    def check_back_and_forth(self, kept: tuple[bytes, ...] = (),
                             same_commit: bool = True) -> dict[str, Any]:
        """Restore gives the saved tree, undo-restore the damaged one, and git sees neither."""
        damaged, git_before = tree_state(self.root), self.git_state()
        wanted = {**self.saved, **{path: damaged[path] for path in kept}}
        assert damaged != wanted, "the test did no damage"
        plan = self.rewind.plan(self.name)
        assert differences(damaged, tree_state(self.root)) == {}, "a dry run changed something"

        answer = self.rewind.json("restore", self.name)
        assert differences(wanted, tree_state(self.root)) == {}
        assert self.git_state() == git_before
        if self.with_git and same_commit and not kept:
            assert git_status(self.root, self.rewind.home) == self.saved_status
        for key in ("written", "deleted", "kept"):
            assert answer[key] == plan[key], f"the dry run promised other things: {key}"
        self.check_nothing_left_to_do()

        self.rewind.json("undo-restore")
        assert differences(damaged, tree_state(self.root)) == {}
        assert self.git_state() == git_before
        return answer

    def check_nothing_left_to_do(self) -> None:
        again = self.rewind.plan(self.name)
        assert (again["written"], again["deleted"]) == ([], [])

    def git_state(self) -> dict[str, Any]:
        return git_state(self.root)

    def mtimes(self) -> dict[bytes, int]:
        return mtimes(self.root)


def pattern(size: int, seed: int) -> bytes:
    """Bytes that neither repeat nor compress."""
    import random

    return random.Random(seed).getrandbits(size * 8).to_bytes(size, "little")


def make(root: Path, name: bytes, content: bytes) -> None:
    path = os.path.join(os.fsencode(root), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def remove(root: Path, name: bytes) -> None:
    os.unlink(os.path.join(os.fsencode(root), name))
