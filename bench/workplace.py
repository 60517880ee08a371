"""The temporary directory of one run, its environment, and the trees that rows share."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from bench import trees
from bench.measure import settle
from bench.ours import Rewind
from bench.peers.git import commit_tracked, refresh_index
from bench.peers.opencode import Opencode
from bench.spawn import Spawner


@dataclass(frozen=True)
class Grow:
    """The sizes of the growth rows, each ten times the one before."""

    checkpoints: tuple[int, ...] = (100, 1_000, 10_000)
    transcript: tuple[int, ...] = (3_000_000, 30_000_000, 300_000_000)
    forks: tuple[int, ...] = (5, 50, 500)
    files: tuple[int, ...] = (1_000, 10_000, 100_000)


@dataclass(frozen=True)
class Options:
    """How much is measured, and with what."""

    quick: bool
    files: int
    scale: tuple[int, int]
    rounds: int
    commits: int
    listed: int
    settle: float
    python: str
    script: Path
    # The smaller and the larger tree of the rows that are measured again at another size.
    sizes: tuple[int, int] = (1_000, 100_000)
    untracked: tuple[int, ...] = (10_000, 20_000, 40_000)
    grow: Grow = Grow()


@dataclass
class Pair:
    """The same tree twice, one for Rewind and one for opencode, both past the first snapshot."""

    ours: Path
    theirs: Path
    rewind: Rewind
    opencode: Opencode
    edits: trees.Edits


class Workplace:
    def __init__(self, root: Path, options: Options) -> None:
        self.root = root
        self.options = options
        self.spawner = Spawner(_environment(root), root)
        self._folders = 0
        self._repositories: dict[int, trees.Tree] = {}
        self._pairs: dict[int, Pair] = {}
        self._scaled: dict[int, Rewind] = {}

    def fresh(self, name: str) -> Path:
        self._folders += 1
        return self.root / f"{self._folders:02}-{name}"

    def empty(self, name: str) -> Path:
        folder = self.fresh(name)
        folder.mkdir()
        return folder

    def rewind(self, project: Path) -> Rewind:
        return Rewind(self.spawner, self.options.python, self.options.script, project)

    def bare_python(self) -> None:
        self.spawner.run([self.options.python, "-I", "-S", "-c", "pass"])

    def plain_tree(self, name: str, spec: trees.TreeSpec) -> trees.Tree:
        tree = trees.plan_tree(self.fresh(name), spec)
        say(f"making {spec.files} files")
        trees.write_files(tree, spec)
        return tree

    @property
    def repository(self) -> trees.Tree:
        return self.repository_of(self.options.files)

    def repository_of(self, files: int) -> trees.Tree:
        """The tree that all others are copies of; never measured itself."""
        if files not in self._repositories:
            # A very large tree has smaller files, so that it is about walking and not about copying.
            mean = trees.TreeSpec(files).mean_bytes if files <= 20_000 else 2_000
            tree = self.plain_tree(f"repository-{files}", trees.TreeSpec(files, mean))
            say("committing them")
            commit_tracked(self.spawner, tree.root, tree.untracked)
            self._repositories[files] = tree
        return self._repositories[files]

    def copy(self, name: str, files: int | None = None) -> Path:
        copied = trees.copy_tree(self.repository_of(files or self.options.files), self.fresh(name))
        refresh_index(self.spawner, copied.root)
        return copied.root

    @property
    def pair(self) -> Pair:
        return self.pair_of(self.options.files)

    def pair_of(self, files: int) -> Pair:
        if files not in self._pairs:
            self._pairs[files] = self._make_pair(files)
        return self._pairs[files]

    def _make_pair(self, files: int) -> Pair:
        ours, theirs = self.copy("ours", files), self.copy("theirs", files)
        edits = trees.Edits(self.repository_of(files), seed=1)
        opencode = Opencode(self.spawner, theirs, self.fresh("opencode.git"))
        pair = Pair(ours, theirs, self.rewind(ours), opencode, edits)
        say("taking both first snapshots")
        pair.rewind.init()
        pair.rewind.rest(self.options.settle)
        pair.opencode.first()
        self.calm(pair)
        return pair

    def scaled(self, files: int) -> Rewind:
        """A project of so many small files, not yet protected; only names and stat data matter in it."""
        if files not in self._scaled:
            tree = self.plain_tree(f"files-{files}", trees.TreeSpec(files, 600))
            self._scaled[files] = self.rewind(tree.root)
        return self._scaled[files]

    def calm(self, pair: Pair) -> None:
        """Snapshots with both until neither has a recently changed file to read again."""
        for _ in range(2):
            settle(self.options.settle)
            pair.rewind.save()
            pair.opencode.snapshot()


def real_interpreter() -> str:
    """The interpreter itself: a virtual environment or a version manager's shim costs extra."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    return os.path.realpath(base)


def say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


def _environment(root: Path) -> dict[str, str]:
    home = root / "home"
    (home / "tmp").mkdir(parents=True)
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "REWIND_HOME": str(home / ".rewind"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_STATE_HOME": str(home / ".local/state"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
