"""The active chain: the entries that lead to where the agent continues.

A transcript is a tree. What the agent's own rewind has left behind stays in the file and does not count.
"""

from __future__ import annotations

import mmap

from rewind.transcript.read.entries import entry_of, is_compaction
from rewind.transcript.read.leaf import WITHIN, marks_of_leaf, named_leaf, newest_below
from rewind.transcript.read.lines import events_backward, read_at, size_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO

    from rewind.agents.profile import Profile
    from rewind.transcript.read.entries import Entry
    from rewind.transcript.read.leaf import NamedLeaf

_FAR = 4 << 20  # an ancestor is searched for by parsing up to this far back, then by its bytes


class Tail:
    """The entries of a file, read from its end, and only as far as needed."""

    def __init__(self, file: BinaryIO, profile: Profile, end: int | None = None) -> None:
        self.file = file
        self.profile = profile
        self.entries: list[Entry] = []  # latest first
        self.compactions: list[int] = []  # offsets, latest first; some are not entries
        self._named: NamedLeaf | None = None  # the latest line that names a leaf
        self._by_id: dict[str, Entry] = {}
        self._events = events_backward(file, end)
        self._read_to = size_of(file) if end is None else end
        self._named_from = max(0, self._read_to - WITHIN)
        self._next_speaker = ""

    def more(self) -> Entry | None:
        """Read one entry further back. None at the beginning of the file."""
        for event in self._events:
            self._read_to = event.offset
            if is_compaction(event.data, self.profile):
                self.compactions.append(event.offset)
            entry = entry_of(event, self.profile)
            if entry is None:
                if self._named is None and event.offset >= self._named_from:
                    self._named = named_leaf(event, self.profile)
                continue
            entry.resolve_if_answered(self._next_speaker)
            self._next_speaker = entry.speaker or self._next_speaker
            self.entries.append(entry)
            # If several lines have the same id, the latest counts.
            return self._by_id.setdefault(entry.id, entry) and entry
        return None

    def read_all(self) -> None:
        while self.more() is not None:
            pass

    def find(self, id: str) -> Entry | None:
        """The entry with this id, however far back."""
        searched = False
        start = self._read_to
        while id not in self._by_id:
            if not searched and start - self._read_to > _FAR:
                searched = True
                if not self._is_in_the_rest(id):
                    return None
            if self.more() is None:
                return None
        return self._by_id[id]

    def _is_in_the_rest(self, id: str) -> bool:
        """Whether the bytes of this id occur before what was read. Searching a gigabyte takes a second."""
        if not self._read_to:
            return False
        with mmap.mmap(self.file.fileno(), self._read_to, access=mmap.ACCESS_READ) as view:
            return view.rfind(id.encode("utf-8", "replace")) >= 0

    def last_main(self, before: int | None = None) -> Entry | None:
        """The latest main-line entry, or the latest one before an offset."""
        for entry in self.entries:
            if entry.is_main and (before is None or entry.offset < before):
                return entry
        while True:
            found = self.more()
            if found is None or (found.is_main and (before is None or found.offset < before)):
                return found

    def leaf(self) -> Entry | None:
        """Where the agent continues: at the entry that its own last line about it names, else at the last
        entry."""
        last = self.last_main()
        self._look_for_named()
        return self._below_named() or last

    def _look_for_named(self) -> None:
        """Read back to the latest line that names a leaf, if the bytes show that there may be one."""
        while self._named is None and self._read_to > self._named_from:
            rest = read_at(self.file, self._named_from, self._read_to - self._named_from)
            at = max((rest.rfind(mark) if mark else 0 for mark in marks_of_leaf(self.profile)), default=-1)
            if at < 0:
                return
            while self._named is None and self._read_to > self._named_from + at:
                if self.more() is None:
                    return

    def _below_named(self) -> Entry | None:
        leaf = self.find(self._named.id) if self._named and self._named.id else None
        if self._named is None or leaf is None or not can_be_named(leaf, self.entries):
            return None
        return newest_below(leaf, self._named, self.entries, self.find)

    def chain(self) -> Iterator[Entry]:
        """The active chain, newest first."""
        if self.profile.links == "file-order":
            return self._in_file_order()
        return self.chain_of(self.leaf())

    def chain_of(self, leaf: Entry | None) -> Iterator[Entry]:
        """From an entry to its root, newest first."""
        return follow(leaf, self.find, self.last_main, self.profile)

    def _in_file_order(self) -> Iterator[Entry]:
        number = 0
        while number < len(self.entries) or self.more() is not None:
            entry = self.entries[number]
            number += 1
            if entry.is_main:
                yield entry


def can_be_named(leaf: Entry, entries: Iterable[Entry]) -> bool:
    """Claude Code 2.1.325 ignores entries before a compaction, and then continues at the last entry."""
    return leaf.is_main and not any(e.is_compaction and e.offset >= leaf.offset for e in entries)


def follow(leaf: Entry | None, find: Callable[[str], Entry | None],
           main_before: Callable[[int], Entry | None], profile: Profile) -> Iterator[Entry]:
    """From a leaf to its root. Parents may be missing, or may form a ring."""
    visited: set[str] = set()
    at = leaf
    while at is not None and at.id not in visited:
        visited.add(at.id)
        yield at
        at = parent_of(at, find, main_before, profile)


def parent_of(at: Entry, find: Callable[[str], Entry | None], main_before: Callable[[int], Entry | None],
              profile: Profile) -> Entry | None:
    """A compaction has only a logical parent. If that is missing, or even comes later, the entry before the
    compaction is taken: it is what was summed up."""
    if at.parent:
        return find(at.parent) or _before_lost_parent(at, main_before, profile)
    for id in at.logical:
        before = find(id)
        if before is not None and before.offset < at.offset:
            return before
    return main_before(at.offset) if at.is_compaction else None


def _before_lost_parent(at: Entry, main_before: Callable[[int], Entry | None],
                        profile: Profile) -> Entry | None:
    before = main_before(at.offset) if profile.lines.get("lostParentSeconds") else None
    return before if before and is_soon_after(before.stamp, at.stamp, profile) else None


def is_soon_after(before: str, stamp: str, profile: Profile) -> bool:
    """Whether an entry whose parent was never written follows the one before it, which is assumed if it was
    written at once. (Claude Code 2.1.325 takes the entry nearest in time, which is nearly always that
    one.)"""
    from datetime import datetime

    try:
        then, now = (datetime.fromisoformat(text.replace("Z", "+00:00")) for text in (before, stamp))
        return bool(0 <= (now - then).total_seconds() <= profile.lines.get("lostParentSeconds", 0))
    except (ValueError, TypeError):
        return False
