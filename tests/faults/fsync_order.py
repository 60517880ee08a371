"""Finds out from strace's log what a power cut could destroy at each moment of a run: bytes that were written
but not synced, and new names in a directory that was not synced afterwards."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

_LINE = re.compile(r"\d+ +(\w+)\((.*)")
_FD = re.compile(r"^\d+<([^>]*)>")
_QUOTED = re.compile(r'(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"')


# The files that existed before the run, set by the test. For these, O_CREAT makes no new name; SQLite always
# uses it.
EXISTING: set[str] = set()


class Step(NamedTuple):
    call: str
    path: str  # of the file that was written or synced, or the new name
    dirty: frozenset[str]  # files whose bytes are not synced, right before this step
    loose: frozenset[str]  # names whose directory is not synced, right before this step


def steps_of(log: Path) -> list[Step]:
    """The changes of a run in their order. A renamed file keeps its state."""
    dirty: set[str] = set()
    loose: set[str] = set()
    steps = []
    for line in log.read_text(errors="replace").splitlines():
        match = _LINE.match(line)
        if not match or " = -1 " in line:
            continue
        call, rest = match.groups()
        path = _path(call, rest)
        steps.append(Step(call, path, frozenset(dirty), frozenset(loose)))
        _note(call, rest, path, dirty, loose)
    return steps


def _path(call: str, rest: str) -> str:
    on_fd = _FD.match(rest)
    if on_fd and not call.endswith(("at", "at2")):
        return on_fd[1]
    names = _names(rest)
    return names[-1] if names else ""


def _names(rest: str) -> list[str]:
    return [os.path.join(folder or "", name) for folder, name in _QUOTED.findall(rest)]


def _note(call: str, rest: str, path: str, dirty: set[str], loose: set[str]) -> None:
    if call in ("write", "pwrite64", "writev", "copy_file_range", "ftruncate", "sendfile"):
        dirty.add(path)
    elif call in ("fsync", "fdatasync"):
        dirty.discard(path)
        loose.difference_update({name for name in loose if os.path.dirname(name) == path})
    elif call in ("mkdir", "mkdirat") or (call == "openat" and "O_CREAT" in rest and path not in EXISTING):
        loose.add(path)
    elif call in ("rename", "renameat", "renameat2"):
        old = _names(rest)[0]
        loose.discard(old)
        loose.add(path)
        if old in dirty:
            dirty.discard(old)
            dirty.add(path)
    elif call in ("unlink", "unlinkat", "rmdir"):
        dirty.discard(path)
        loose.discard(path)


def at(steps: list[Step], call: str, ending: str) -> Step:
    """The only step with this call whose path has this ending."""
    found = [step for step in steps if step.call == call and step.path.endswith(ending)]
    assert len(found) == 1, (call, ending, found)
    return found[0]
