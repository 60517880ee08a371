"""The temporary directory of one run, its environment, and the trees that rows share."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bench import peers, trees
from bench.measure import settle
from bench.ours import Rewind
from bench.spawn import Spawner


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


@dataclass
class Pair:
    """The same tree twice, one for Rewind and one for opencode, both past the first snapshot."""

    ours: Path
    theirs: Path
    rewind: Rewind
    opencode: peers.Opencode
    edits: trees.Edits


class Workplace:
    def __init__(self, root: Path, options: Options) -> None:
        self.root = root
        self.options = options
        self.spawner = Spawner(_environment(root), root)
        self._folders = 0

    def fresh(self, name: str) -> Path:
        self._folders += 1
        return self.root / f"{self._folders:02}-{name}"

    def rewind(self, project: Path) -> Rewind:
        return Rewind(self.spawner, self.options.python, self.options.script, project)

    def bare_python(self) -> None:
        self.spawner.run([self.options.python, "-I", "-S", "-c", "pass"])

    def plain_tree(self, name: str, spec: trees.TreeSpec) -> trees.Tree:
        tree = trees.plan_tree(self.fresh(name), spec)
        say(f"making {spec.files} files")
        trees.write_files(tree, spec)
        return tree

    @cached_property
    def repository(self) -> trees.Tree:
        """The tree that all others are copies of; never measured itself."""
        tree = self.plain_tree("repository", trees.TreeSpec(self.options.files))
        say("committing them")
        peers.commit_tracked(self.spawner, tree.root, tree.untracked)
        return tree

    def copy(self, name: str) -> Path:
        copied = trees.copy_tree(self.repository, self.fresh(name))
        peers.refresh_index(self.spawner, copied.root)
        return copied.root

    @cached_property
    def pair(self) -> Pair:
        ours, theirs = self.copy("ours"), self.copy("theirs")
        edits = trees.Edits(self.repository, seed=1)
        opencode = peers.Opencode(self.spawner, theirs, self.fresh("opencode.git"))
        pair = Pair(ours, theirs, self.rewind(ours), opencode, edits)
        say("taking both first snapshots")
        pair.rewind.init()
        pair.opencode.init()
        self.calm(pair)
        return pair

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
