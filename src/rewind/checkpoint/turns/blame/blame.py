"""`rewind blame`: which turn wrote each line of a file. Lines are followed back through the versions of the
file to the checkpoint where they first appear."""

from __future__ import annotations

import os
from collections.abc import Iterator
from shlex import quote
from typing import TYPE_CHECKING

from rewind.checkpoint.changes.authors import AGENT, GIT, YOU, Author, Authors
from rewind.checkpoint.operation_log.lineage import here, is_result, lineage
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.select.selectors import select
from rewind.checkpoint.turns.blame.git import Commit, commits_of
from rewind.checkpoint.turns.blame.versions import FileVersions, Version
from rewind.errors import PathNeverSeen, PathNotFound, RewindError, UsageError
from rewind.snapshot.diff.blamediff import Differ
from rewind.snapshot.diff.textdiff import is_binary, lines_of
from rewind.snapshot.scan.live import read_live
from rewind.snapshot.trees.tree import DIR, FILES, UNCOVERED, TreeEntry
from rewind.words import explain

if TYPE_CHECKING:
    from rewind.snapshot.diff.linediff import Block


class BlamedLine:
    """`number` counts from 1. `record` is the checkpoint in which the line first appears; None if it is not
    saved yet. `commit` is set for a line that git knows from before the first checkpoint."""

    __slots__ = ("author", "commit", "number", "path", "record", "text")

    def __init__(self, number: int, text: bytes, author: Author, record: Record | None, path: bytes,
                 commit: Commit | None = None) -> None:
        self.number = number
        self.text = text
        self.author = author
        self.record = record
        self.path = path  # of the file in that checkpoint: it may have been renamed since
        self.commit = commit

    @property
    def who(self) -> str:
        return GIT if self.commit else self.author.kind

    @property
    def time(self) -> float | None:
        """Seconds since the epoch; None for an unsaved line."""
        return self.commit.time if self.commit else self.record.created if self.record else None

    def name(self, several: bool) -> str:
        """Who wrote it, in one word, with the session if there are `several`. A star means unsaved."""
        star = "" if self.record else "*"
        if self.commit:
            return f"git {self.commit.id[:7]}"
        if self.who != AGENT:
            return self.who + star
        turn = f"t{self.author.turn}" if self.author.turn else AGENT
        return (f"{(self.author.session or '')[:8]}:{turn}" if several else turn) + star

    @property
    def words(self) -> str:
        """The best description on one line: the prompt, the commit's summary, or the checkpoint's
        description."""
        if self.commit:
            text = self.commit.summary
        elif self.who == AGENT:
            text = self.author.prompt
        elif self.record is None:
            text = "not in a checkpoint yet"
        elif self.record.kind == "backup" or (self.record.kind == "auto" and not is_result(self.record)):
            text = ""  # a backup describes a command, and a hook's checkpoint describes the turn after it
        else:
            text = self.record.description
        return " ".join(text.split())


class Blame:
    def __init__(self, path: bytes, lines: list[BlamedLine], damaged: dict[str, RewindError]) -> None:
        self.path = path
        self.lines = lines
        self.damaged = damaged  # checkpoints that were skipped because they could not be read


def blame(state: State, path: bytes, checkpoint: str | None = None, first: int | None = None,
          last: int | None = None) -> Blame:
    """The lines `first` to `last` (from 1, inclusive) of a file, as it is now or in a checkpoint."""
    record = select(state, checkpoint) if checkpoint else here(state)
    if record is None:
        raise PathNeverSeen(path=os.fsdecode(path))
    walk = _Walk(state, path, record)
    with walk.versions:
        data = walk.text(checkpoint is None)
        lines = lines_of(data)
        start, stop = _range(first, last, len(lines))
        walk.follow(data, [at if start <= at < stop else -1 for at in range(len(lines))], checkpoint is None)
        found = list(walk.blamed(lines))
    return Blame(path, found, walk.versions.damaged)


def _range(first: int | None, last: int | None, total: int) -> tuple[int, int]:
    first, last = first or 1, total if last is None else last
    if first > last and total:
        first, last = last, first  # like git
    if (first > total and (total or first > 1)) or first < 1:
        raise UsageError(f"The file has {total:,} lines, so there is no line {first}.",
                         hint="Give a range within the file: -L 10,20")
    return first - 1, min(last, total)


class _Walk:
    """Goes from the newest version to the oldest. `lines` has for each line of a version its place in the
    requested file; -1 if the line was not requested, or if its author is already known."""

    def __init__(self, state: State, path: bytes, record: Record) -> None:
        self.state = state
        self.path = path
        self.record = record
        self.parents = lineage(state)
        self.versions = FileVersions(state, self.parents)
        self.found: dict[int, tuple[Record | None, bytes]] = {}  # where each line first appears
        self.commits: dict[int, Commit] = {}

    def text(self, now: bool) -> bytes:
        data = self._live() if now else self._recorded()
        if is_binary(data):
            raise RewindError(f"A binary file has no lines: {os.fsdecode(self.path)}",
                              hint="`rewind log` shows which checkpoints changed it.")
        return data

    def _live(self) -> bytes:
        path, full = os.fsdecode(self.path), os.path.join(self.state.root, self.path)
        if os.path.islink(full):
            raise _is_a_link(self.path)
        if os.path.isdir(full):
            raise _is_a_directory(self.path)
        entry = self.versions.entry(self.record, self.path)
        if entry and entry.kind == UNCOVERED:
            raise _not_captured(self.path, entry)
        limit = int(self.state.settings.get("maxFileSizeMb") * (1 << 20))
        data = read_live(self.state.root, self.path, limit + 1)
        if data is None:
            holds_it = self.versions.newest_with(self.record, self.path)
            if holds_it is None:
                raise PathNeverSeen(path=path)
            raise RewindError(f"There is no such file now: {path}",
                              hint=f"A checkpoint holds it: rewind blame {quote(path)} {holds_it.sequence}")
        if len(data) > limit:
            raise RewindError(f"The file is larger than maxFileSizeMb, so no checkpoint holds it: {path}",
                              hint="`rewind config --set maxFileSizeMb=N` changes that for later ones.")
        return data

    def _recorded(self) -> bytes:
        entry = self.versions.entry(self.record, self.path)
        if entry is None:
            raise PathNotFound(checkpoint=self.record.name, path=os.fsdecode(self.path))
        if entry.kind == DIR:
            raise _is_a_directory(self.path)
        if entry.kind == UNCOVERED:
            raise _not_captured(self.path, entry)
        if entry.kind not in FILES:
            raise _is_a_link(self.path)
        return self.versions.content(self.record, entry)

    def follow(self, data: bytes, lines: list[int], now: bool) -> None:
        version, differ = self.versions.newest(self.record, self.path), Differ(data)
        wanted = sum(final >= 0 for final in lines)
        if now and version is None:
            self._take(lines, None, self.path)
        elif now and version:
            lines = self._pass(lines, differ.blocks(version.data), None, self.path)
        while version and len(self.found) < wanted:
            before = self.versions.before(version)
            if before is None:
                self._first_of_all(version, lines)
                return
            lines = self._pass(lines, differ.blocks(before.data), version.record, version.path)
            version = before

    def _pass(self, lines: list[int], blocks: list[Block], record: Record | None, path: bytes) -> list[int]:
        """Lines in a part that differs belong to this version; the others go on to the version before."""
        own, rest = split(lines, blocks)
        self._take(own, record, path)
        return rest

    def _take(self, lines: list[int], record: Record | None, path: bytes) -> None:
        self.found.update({final: (record, path) for final in lines if final >= 0})

    def _first_of_all(self, version: Version, lines: list[int]) -> None:
        self._take(lines, version.record, version.path)
        if self.parents.parent(version.record.name) is not None:
            return  # made since the first checkpoint: git has nothing older
        known = commits_of(self.state, version.record, version.path, lines_of(version.data))
        self.commits.update({final: known[at] for at, final in enumerate(lines)
                             if final >= 0 and at in known})

    def blamed(self, lines: list[bytes]) -> Iterator[BlamedLine]:
        authors = Authors(self.state, self.parents)
        known: dict[str, Author] = {}  # one for all lines of a checkpoint
        for at, (record, path) in sorted(self.found.items()):
            name = record.name if record else ""
            if name not in known:
                known[name] = authors.author_of(record) if record else authors.current_author(self.record)
            commit = self.commits.get(at)
            yield BlamedLine(at + 1, lines[at], Author(YOU) if commit else known[name], record, path, commit)


def split(lines: list[int], blocks: list[Block]) -> tuple[list[int], list[int]]:
    """(those within a block; one for each line of the old text)"""
    own, rest = [], list(lines)
    for old, old_end, new, new_end in reversed(blocks):
        own += lines[new:new_end]
        rest[new:new_end] = [-1] * (old_end - old)
    return own, rest


def _is_a_directory(path: bytes) -> RewindError:
    return RewindError(f"This is a directory: {os.fsdecode(path) or '.'}",
                       hint="Name one of its files.")


def _is_a_link(path: bytes) -> RewindError:
    return RewindError(f"A symbolic link has no lines: {os.fsdecode(path)}",
                       hint="Name the file that it leads to.")


def _not_captured(path: bytes, entry: TreeEntry) -> RewindError:
    reason = explain(entry.ref.decode("ascii", "replace"))
    return RewindError(f"No checkpoint holds this file ({reason}): {os.fsdecode(path)}",
                       hint="`rewind status --unprotected` says why, and what to do about it.")
