"""The temporary directory of one run, its environment, and the trees that several rows use."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench import many, trees
from bench.django import write_django
from bench.measure import settle
from bench.ours import Rewind, install
from bench.peers.git import commit_tracked, refresh_index
from bench.peers.opencode import Opencode
from bench.spawn import Spawner

MAIN = "20k"
DJANGO = "django"
# There is only room for one tree of this size. It has no copies, and nothing is changed in it.
ONE_TREE = "1m"


@dataclass(frozen=True)
class Grow:
    """The sizes of the growth rows, each ten times the one before."""

    checkpoints: tuple[int, ...] = (100, 1_000, 10_000)
    transcript: tuple[int, ...] = (3_000_000, 30_000_000, 300_000_000)
    forks: tuple[int, ...] = (5, 50, 500)


@dataclass(frozen=True)
class Options:
    """How much is measured, and with what. The defaults are those of a full run."""

    python: str
    checkout: Path
    rounds: int = 20
    settle: float = 2.2
    quick: bool = False
    files: dict[str, int] = field(
        default_factory=lambda: {"1k": 1_000, MAIN: 20_000, "100k": 100_000, ONE_TREE: 1_000_000})
    sessions: int = 50
    history: int = 300  # checkpoints that a project has before it is measured
    listed: int = 1_000
    commits: int = 100
    untracked: tuple[int, ...] = (10_000, 20_000, 40_000)
    grow: Grow = Grow()

    @property
    def few(self) -> int:
        """Rounds of rows that take long."""
        return max(3, self.rounds // 4)

    def rounds_in(self, tag: str) -> int:
        """Half as many for Django, whose rows have no budget and mostly wait."""
        return max(3, self.rounds // 2) if tag == DJANGO and self.rounds > 1 else self.rounds


@dataclass
class Pair:
    """The same tree twice: one for hooks, the other for `rewind save` and opencode."""

    hooked: Rewind
    saved: Rewind
    opencode: Opencode
    edits: trees.Edits
    tree: trees.Tree

    def edit(self, count: int) -> list[str]:
        return self.edits.apply(count, self.hooked.project, self.saved.project)


class Workplace:
    def __init__(self, root: Path, options: Options) -> None:
        self.root = root
        self.home = root / "home"
        self.options = options
        self.spawner = Spawner(_environment(self.home), root)
        self._folders = 0
        self._repositories: dict[str, trees.Tree] = {}
        self._pairs: dict[str, Pair] = {}
        self.at_end = ExitStack()  # ends what was started for the run
        install(self.spawner, options.checkout, options.python, self.home)

    def fresh(self, name: str) -> Path:
        self._folders += 1
        return self.root / f"{self._folders:02}-{name}"

    def empty(self, name: str) -> Path:
        folder = self.fresh(name)
        folder.mkdir()
        return folder

    def rewind(self, project: Path) -> Rewind:
        return Rewind(self.spawner, self.home, project)

    def bare_python(self) -> None:
        self.spawner.run([self.options.python, "-I", "-S", "-c", "pass"])

    def plain_tree(self, name: str, spec: trees.TreeSpec) -> trees.Tree:
        tree = trees.plan_tree(self.fresh(name), spec)
        say(f"making {spec.files} files")
        trees.write_files(tree, spec)
        return tree

    def small_project(self, name: str, files: int = 40) -> Rewind:
        """A protected project with a few files, for rows that are not about files."""
        rewind = self.rewind(self.plain_tree(name, trees.TreeSpec(files, 600)).root)
        rewind.init()
        return rewind

    def repository(self, tag: str = MAIN) -> trees.Tree:
        """The tree of which all others are copies."""
        if tag not in self._repositories:
            self._repositories[tag] = self._make_repository(tag)
        return self._repositories[tag]

    def _make_repository(self, tag: str) -> trees.Tree:
        if tag == DJANGO:
            tree = write_django(self.fresh(tag))
        else:
            # A very large tree has smaller files, so that the time is spent on walking and not on copying.
            mean = {"100k": 2_000, ONE_TREE: 300}.get(tag, trees.TreeSpec.mean_bytes)
            tree = self.plain_tree(tag, trees.TreeSpec(self.options.files[tag], mean))
        if tag == ONE_TREE:
            # opencode's first snapshot compares each new path with each known one. Fifty thousand would take
            # hours.
            tree = replace(tree, untracked=tree.untracked[::50])
        say(f"committing {len(tree.paths)} files")
        commit_tracked(self.spawner, tree.root, tree.untracked)
        return tree

    def copy(self, name: str, tag: str = MAIN) -> Path:
        copied = trees.copy_tree(self.repository(tag), self.fresh(name))
        refresh_index(self.spawner, copied.root)
        return copied.root

    def pair(self, tag: str = MAIN) -> Pair:
        if tag not in self._pairs:
            self._pairs[tag] = self._make_pair(tag)
        return self._pairs[tag]

    def _make_pair(self, tag: str) -> Pair:
        tree = self.repository(tag)
        if tag == ONE_TREE:
            hooked = saved = self._with_history(tree.root)
        else:
            hooked, saved = (self._with_history(self.copy(name, tag)) for name in ("hooked", "saved"))
        opencode = Opencode(self.spawner, saved.project, self.fresh("opencode.git"))
        opencode.first()
        pair = Pair(hooked, saved, opencode, trees.Edits(tree, seed=1), tree)
        self.warm_up(pair)
        return pair

    def _with_history(self, root: Path) -> Rewind:
        """The files are moved away while the history is made, because each checkpoint would scan all of
        them."""
        rewind = self.rewind(root)
        with _moved_away(root, self.fresh("meanwhile")):
            many.make(rewind, self.options.python, "turns", self.options.history, self.options.sessions,
                      self.home)
        rewind.talk.add_turn()
        say("the first checkpoint of all files")
        rewind.save()
        rewind.wait_until_idle(self.options.settle)
        return rewind

    def warm_up(self, pair: Pair) -> None:
        """Make snapshots with both tools until neither has a recently changed file to read again."""
        for _ in range(2):
            settle(self.options.settle)
            pair.hooked.save()
            pair.saved.save()
            pair.opencode.snapshot()
        settle(self.options.settle)


@contextmanager
def _moved_away(root: Path, elsewhere: Path) -> Iterator[None]:
    names = [name for name in os.listdir(root) if name != ".git"]
    elsewhere.mkdir()
    for name in names:
        os.rename(root / name, elsewhere / name)
    yield
    (root / many.WORKED_ON).unlink()
    for name in names:
        os.rename(elsewhere / name, root / name)


def real_interpreter() -> str:
    """The interpreter itself. That of a virtual environment or the shim of a version manager is slower."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    return os.path.realpath(base)


def say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


def _environment(home: Path) -> dict[str, str]:
    (home / "tmp").mkdir(parents=True)
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_STATE_HOME": str(home / ".local/state"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
