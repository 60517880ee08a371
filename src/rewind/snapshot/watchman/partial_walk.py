"""Walks only the directories that may have changed, and those above them."""

from __future__ import annotations

import os

from rewind.snapshot.scan.walk import BY_RULES, CHILD_MODE, DESCEND, NOT_WALKED, Walker, marks_by_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from rewind.snapshot.rules.rules import Rules
    from rewind.snapshot.scan.cache import KnownDirs
    from rewind.snapshot.scan.walk import Task


class PartialWalker(Walker):
    """`changed` are paths of files and directories. The directories in `anew` are walked completely."""

    def __init__(self, root: bytes, rules: Rules, known: KnownDirs, changed: Iterable[bytes],
                 anew: Iterable[bytes]) -> None:
        super().__init__(root, rules, known)
        self._anew = set(anew)
        self._wanted = with_folders({*changed, *self._anew})
        self._modes = {b"": BY_RULES}  # how the last scan walked a directory

    def _visit(self, folder: bytes, mode: int, env: bytes, rows: list[Any] | None) -> None:
        at = len(self._pending)
        super()._visit(folder, mode, env, rows)
        below = self._pending[at:]
        if folder in self._anew:
            self._anew.update(task[0] for task in below)
        elif folder in self.found.changed:
            self._pending[at:] = self._different(folder, below)
        else:
            self._pending[at:] = self._wanted_of(below)

    def _wanted_of(self, tasks: list[Task]) -> Iterator[Task]:
        """For a directory that has not changed: those in it that may have changed, by the same rules as
        before."""
        for task in tasks:
            if task[0] in self._wanted:
                self._modes[task[0]] = task[1]
                yield task

    def _different(self, folder: bytes, tasks: list[Task]) -> Iterator[Task]:
        """For a directory that has changed: also those in it that are new, or that other rules apply to
        now."""
        self.known.fetch(task[0] for task in tasks)
        row = self.known.get(folder)
        marks = marks_by_name(row.marks) if row else {}
        for task in tasks:
            child, mode, env, _ = task
            before = self.known.get(child)
            mark = marks.get(os.path.basename(child), DESCEND)
            old_mode = CHILD_MODE.get(mark, self._modes[folder])
            if before is None or before.env != env or mark in NOT_WALKED or old_mode != mode:
                self._anew.add(child)
            elif child not in self._wanted:
                continue
            self._modes[child] = old_mode
            yield task


def with_folders(paths: Iterable[bytes]) -> set[bytes]:
    """The paths, and all directories above them."""
    found: set[bytes] = set()
    for path in paths:
        while path not in found:
            found.add(path)
            path = os.path.dirname(path)
    return found
