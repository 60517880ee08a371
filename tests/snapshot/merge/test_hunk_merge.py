"""Some hunks of a file taken back, beside what `git apply --reverse` does with the same hunks."""

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path
from random import Random
from typing import Optional

import pytest

from rewind.errors import HunkChanged
from rewind.snapshot.diff.linediff import changed_blocks
from rewind.snapshot.diff.textdiff import Hunk, hunks, lines_of
from rewind.snapshot.merge.hunk_merge import HunkMerge
from rewind.snapshot.merge.tree_merge import Side, file_entry
from rewind.snapshot.trees.tree import Tree, TreeEntry
from rewind.store.blobs import oid_of

blocks = partial(changed_blocks, by_indent=True, to_show=True)

NAME = b"a.txt"


class Trees:
    """Three trees with one file each, in memory."""

    def __init__(self) -> None:
        self.made: dict[bytes, bytes] = {}

    def put(self, data: bytes) -> bytes:
        self.made[oid_of(data)] = data
        return oid_of(data)

    def side(self, text: Optional[bytes], mode: int = 0o644) -> Side:
        entries = {} if text is None else {NAME: file_entry(text, mode, self.put)}
        return Side(self.put(Tree(entries).encode()), self.tree, lambda path, entry: self.made[entry.ref])

    def tree(self, oid: bytes) -> Tree:
        return Tree.decode(self.made[oid])

    def bring_back(self, old: Optional[bytes], new: Optional[bytes], now: Optional[bytes],
                   ids: list[str]) -> HunkMerge:
        return HunkMerge(self.side(new), self.side(now), self.side(old), self.put, {NAME: ids})

    def result(self, merge: HunkMerge) -> Optional[TreeEntry]:
        return self.tree(merge.root()).entries.get(NAME)


def hunks_of(old: bytes, new: bytes) -> list[Hunk]:
    before, after = lines_of(old), lines_of(new)
    return list(hunks(before, after, blocks(before, after)))


def brought_back(old: Optional[bytes], new: Optional[bytes], ids: list[str],
                 now: Optional[bytes] = None) -> Optional[bytes]:
    trees = Trees()
    entry = trees.result(trees.bring_back(old, new, new if now is None else now, ids))
    return trees.made[entry.ref] if entry else None


def edited(random: Random, lines: list[bytes]) -> list[bytes]:
    found = list(lines)
    for _ in range(random.randrange(1, 5)):
        at = random.randrange(len(found) + 1)
        found[at:at + random.randrange(3)] = [b"new %d\n" % random.randrange(9)
                                              for _ in range(random.randrange(3))]
    if found and random.random() < 0.3:
        found[-1] = found[-1].rstrip(b"\n")
    return found


def patch(chosen: list[Hunk]) -> bytes:
    found = b"--- a/a.txt\n+++ b/a.txt\n"
    for hunk in chosen:
        found += hunk.header() + b"\n"
        for sign, line in hunk.lines:
            found += sign + (line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n")
    return found


@pytest.mark.parametrize("seed", range(60))
def test_chosen_hunks_go_back_as_git_takes_them_back(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    lines = [b"line %d\n" % n for n in range(random.choice([3, 40, 80]))]
    old, new = b"".join(lines), b"".join(edited(random, lines))
    found = hunks_of(old, new)
    chosen = [hunk for hunk in found if random.random() < 0.6]
    if not chosen:
        return
    (tmp_path / "a.txt").write_bytes(new)
    subprocess.run(["git", "apply", "--reverse", "--unidiff-zero", "-"], input=patch(chosen), check=True,
                   cwd=tmp_path)
    assert brought_back(old, new, [hunk.id for hunk in chosen]) == (tmp_path / "a.txt").read_bytes()
    assert brought_back(old, new, [hunk.id for hunk in found]) == old


OLD = b"".join(b"line %d\n" % n for n in range(40))
NEW = OLD.replace(b"line 5\n", b"five\n").replace(b"line 20\n", b"").replace(b"line 35\n", b"thirty-five\n")


def test_later_edits_elsewhere_stay() -> None:
    first, _, last = hunks_of(OLD, NEW)
    now = b"above\n" + NEW.replace(b"line 30\n", b"mine\n")
    expected = now.replace(b"thirty-five\n", b"line 35\n")
    assert brought_back(OLD, NEW, [last.id], now) == expected
    assert brought_back(OLD, NEW, [first.id], now) == now.replace(b"five\n", b"line 5\n", 1)


def test_a_later_edit_of_the_same_lines_is_a_conflict() -> None:
    trees = Trees()
    merge = trees.bring_back(OLD, NEW, NEW.replace(b"five\n", b"5\n", 1), [hunks_of(OLD, NEW)[0].id])
    entry = trees.result(merge)
    assert entry and trees.made[entry.ref] == NEW.replace(b"five\n", b"5\n", 1)
    assert [(conflict.path, conflict.lines) for conflict in merge.conflicts] == [(NAME, [(6, 1)])]


def test_a_later_edit_of_another_hunk_is_none() -> None:
    now = NEW.replace(b"thirty-five\n", b"35\n")
    assert brought_back(OLD, NEW, [hunks_of(OLD, NEW)[0].id], now) == now.replace(b"five\n", b"line 5\n", 1)


def test_the_only_hunk_of_a_file_that_came_or_went_is_the_file() -> None:
    (added,), (deleted,) = hunks_of(b"", NEW), hunks_of(OLD, b"")
    trees = Trees()
    assert trees.result(trees.bring_back(None, NEW, NEW, [added.id])) is None
    entry = trees.result(trees.bring_back(OLD, None, None, [deleted.id]))
    assert entry and trees.made[entry.ref] == OLD


def test_the_mode_of_now_stays_with_a_hunk() -> None:
    trees = Trees()
    merge = HunkMerge(trees.side(NEW, 0o755), trees.side(NEW, 0o755), trees.side(OLD), trees.put,
                      {NAME: [hunks_of(OLD, NEW)[0].id]})
    entry = trees.result(merge)
    assert entry and entry.mode == 0o755


def test_a_hunk_has_its_id_wherever_it_moved_to() -> None:
    first, moved = hunks_of(OLD, NEW)[1], hunks_of(OLD, b"one\ntwo\n" + NEW)[1]
    assert moved.new_start != first.new_start and moved.id == first.id
    assert len({hunk.id for hunk in hunks_of(b"x\n" * 50, (b"y\n" + b"x\n" * 20) * 2)}) > 1


@pytest.mark.parametrize("new", [NEW.replace(b"five\n", b"six\n", 1), b"\0binary\n", None])
def test_what_is_not_there_any_more_is_refused(new: Optional[bytes]) -> None:
    with pytest.raises(HunkChanged, match=r"a\.txt"):
        brought_back(OLD, new, [hunks_of(OLD, NEW)[0].id], NEW)
