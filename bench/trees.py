"""Generates project trees that look like a real repository, and edits them. The same seed gives the same
bytes."""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import random
import shutil
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

# Shares of the files. They are unequal, so that dividing work by top-level directories does not balance it.
TOP_LEVEL = {
    "packages": 34,
    "src": 27,
    "tests": 14,
    "docs": 9,
    "web": 7,
    "services": 5,
    "tools": 3,
    "config": 1,
}
MAX_DEPTH = 6
UNTRACKED_ONE_IN = 20
BINARY_ONE_IN = 40
LARGE_ONE_IN = 2000
LARGE_BYTES = 1 << 20
TEXT_ENDINGS = ("py", "ts", "tsx", "js", "go", "rs", "md", "json", "css", "html")
BINARY_ENDINGS = ("png", "woff2", "bin")
SKIPPED = {".git", ".agent"}
SYLLABLES = (
    "ac bel cor dan el fo gra hin is jo ka lum mer nor op pra qui res sta tor un ver wex yl zon"
)
ROOT_IGNORE = (
    "# dependencies and output\nnode_modules/\ndist/\n/coverage\n*.log\n*.tmp\n"
    ".DS_Store\n__pycache__/\n*.py[cod]\n.env.local\n!keep.log\n"
)
NESTED_IGNORE = "generated/\n*.snap.new\n/local-*.json\n"


@dataclass(frozen=True)
class TreeSpec:
    """What to generate. The same spec always gives the same bytes."""

    files: int
    mean_bytes: int = 6900
    seed: int = 20


@dataclass(frozen=True)
class Tree:
    """A generated tree and the relative paths of its files."""

    root: Path
    paths: tuple[str, ...]
    untracked: tuple[str, ...]


def plan_tree(root: Path, spec: TreeSpec) -> Tree:
    rng = random.Random(spec.seed)
    paths = tuple(_file_paths(rng, spec.files))
    return Tree(root, paths, paths[UNTRACKED_ONE_IN - 1 :: UNTRACKED_ONE_IN])


def write_files(tree: Tree, spec: TreeSpec) -> None:
    text, state = _text_source(spec.seed + 1)
    rng = random.Random()
    rng.setstate(state)
    for number, path in enumerate(tree.paths):
        target = tree.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(_content(rng, text, number, path, spec.mean_bytes))
    (tree.root / ".gitignore").write_text(ROOT_IGNORE)
    for top in ("packages", "web"):
        if (tree.root / top).is_dir():
            (tree.root / top / ".gitignore").write_text(NESTED_IGNORE)


def copy_tree(tree: Tree, root: Path) -> Tree:
    shutil.copytree(tree.root, root, symlinks=True)
    return Tree(root, tree.paths, tree.untracked)


class Edits:
    """Edits files that were not edited before, with the same edits in several trees."""

    def __init__(self, tree: Tree, seed: int) -> None:
        self._rng = random.Random(seed)
        texts = [path for path in tree.paths if path.rsplit(".", 1)[-1] in TEXT_ENDINGS]
        self._rng.shuffle(texts)
        # A small tree may run out of files. Editing the same ones again still gives new content.
        self._next = itertools.cycle(texts)

    def apply(self, count: int, *roots: Path) -> list[str]:
        paths = [next(self._next) for _ in range(count)]
        for path in paths:
            line = b"changed = %016x\n" % self._rng.getrandbits(64)
            for root in roots:
                _insert_line(root / path, line)
        return paths


def fingerprint(root: Path, paths: Iterable[str] | None = None) -> dict[str, tuple[int, str]]:
    """Mode and content hash of these files, or of all files. It shows whether a restore was exact."""
    found = {}
    for path in files_below(str(root)) if paths is None else (str(root / path) for path in paths):
        with open(path, "rb") as stream:
            digest = hashlib.sha1(stream.read()).hexdigest()
        found[os.path.relpath(path, root)] = (stat.S_IMODE(os.stat(path).st_mode), digest)
    return found


def allocated_bytes(root: Path) -> int:
    """The space that the file system allocated for everything under `root`, directories included. Hard links
    count once."""
    total = 0
    seen: set[tuple[int, int]] = set()
    for folder, _, names in os.walk(root):
        total += os.stat(folder).st_blocks * 512
        for name in names:
            info = os.lstat(os.path.join(folder, name))
            if info.st_nlink > 1:
                if (info.st_dev, info.st_ino) in seen:
                    continue
                seen.add((info.st_dev, info.st_ino))
            total += info.st_blocks * 512
    return total


def files_below(root: str) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in SKIPPED]
        for name in names:
            yield os.path.join(folder, name)


def _insert_line(path: Path, line: bytes) -> None:
    # Written in place, as agents do, so that the time of the directory does not change.
    old = path.read_bytes()
    middle = old.find(b"\n", len(old) // 2) + 1
    path.write_bytes(old[:middle] + line + old[middle:])


def _file_paths(rng: random.Random, files: int) -> Iterator[str]:
    words = _words(rng, 900)
    for top, share in _shares(files):
        folders, known = [top], {top}
        left = share
        while left > 0:
            here = min(left, rng.randint(8, 17))
            yield from _names_in(rng, words, folders[-1], here)
            left -= here
            folders.append(_new_folder(rng, words, folders[:1], folders[-40:], known))
            known.add(folders[-1])


def _shares(files: int) -> list[tuple[str, int]]:
    total = sum(TOP_LEVEL.values())
    shares = {top: files * weight // total for top, weight in TOP_LEVEL.items()}
    shares["packages"] += files - sum(shares.values())
    return list(shares.items())


def _new_folder(rng: random.Random, words: list[str], top: list[str], last: list[str],
                known: set[str]) -> str:
    shallow = [path for path in last if path.count("/") < MAX_DEPTH - 2] or top
    while True:
        path = f"{rng.choice(shallow)}/{rng.choice(words)}-{rng.choice(words)}"
        if path not in known:
            return path


def _names_in(rng: random.Random, words: list[str], folder: str, count: int) -> Iterator[str]:
    for word in rng.sample(words, count):
        binary = rng.randrange(BINARY_ONE_IN) == 0
        ending = rng.choice(BINARY_ENDINGS if binary else TEXT_ENDINGS)
        yield f"{folder}/{word}.{ending}"


def _words(rng: random.Random, count: int) -> list[str]:
    syllables = SYLLABLES.split()
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(rng.choices(syllables, k=rng.randint(2, 4)))] = None
    return list(found)


@cache
def _text_source(seed: int) -> tuple[_TextSource, tuple[Any, ...]]:
    """The lines of a seed, and the state of its random numbers after them. They are kept, because many trees
    use them and nothing takes as long to make."""
    rng = random.Random(seed)
    return _TextSource(rng), rng.getstate()


class _TextSource:
    """Common and rare lines that look like code. zlib compresses them about as well as source code."""

    def __init__(self, rng: random.Random) -> None:
        words = _words(rng, 3000)
        weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(words))))
        self._lines = [self._line(rng, words, weights) for _ in range(20_000)]
        self._cumulative = list(
            itertools.accumulate(1 / math.sqrt(rank + 1) for rank in range(len(self._lines)))
        )

    def _line(self, rng: random.Random, words: list[str], weights: list[float]) -> str:
        a, b, c, d = rng.choices(words, cum_weights=weights, k=4)
        indent = " " * (4 * rng.randrange(4))
        shape = rng.choice(
            (
                f"{a}_{b} = {c}.{d}({rng.randrange(1000)})",
                f"if {a}.{b} and not {c}_{d}:",
                f"return {a}({b}, {c}={d})",
                f"# {a} {b} {c} the {d} of {rng.choice(words)}",
                f'raise {a.title()}Error("{b} {c} {d}")',
                "}",
                "",
            )
        )
        return indent + shape

    def take(self, rng: random.Random, size: int) -> bytes:
        count = max(1, size // 41)
        chosen = rng.choices(self._lines, cum_weights=self._cumulative, k=count)
        return "\n".join(chosen).encode() + b"\n"


def _content(
    rng: random.Random, text: _TextSource, number: int, path: str, mean_bytes: int
) -> bytes:
    if number % LARGE_ONE_IN == LARGE_ONE_IN // 2:
        return _random_bytes(rng, LARGE_BYTES)
    sigma = 1.1
    size = int(rng.lognormvariate(math.log(mean_bytes) - sigma * sigma / 2, sigma))
    size = min(size, 40 * mean_bytes)
    if path.rsplit(".", 1)[-1] in BINARY_ENDINGS:
        return _random_bytes(rng, size + 1)
    # The first line makes the content of every file unique.
    return b"# %s %016x\n" % (path.encode(), rng.getrandbits(64)) + text.take(rng, size)


def _random_bytes(rng: random.Random, size: int) -> bytes:
    return rng.getrandbits(8 * size).to_bytes(size, "little")
