"""Which files another process has open for writing. After a restore it continues to write to the old file.

Only Linux tells this, and only for processes of this user.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from rewind.checkpoint.rewind.files.file_plan import RestorePlan

_PROC = b"/proc"
_MOST_NOTES = 5
_MOST_PROCESSES = 1000  # a hundred take about 10 ms, and this is only for a remark


class OpenFile:
    """A file that a process has open. `mapped`: it is mapped into memory, so writing may not change its
    times."""

    def __init__(self, path: bytes, process: str, mapped: bool) -> None:
        self.path = path
        self.process = process
        self.mapped = mapped


def open_files(root: bytes, proc: bytes = _PROC, *, only_mapped: bool = False) -> list[OpenFile]:
    """All files below `root` that another process has open for writing or mapped. `only_mapped` takes half
    the time."""
    top = root.rstrip(b"/") + b"/"
    found: dict[tuple[bytes, bytes], OpenFile] = {}
    for pid in _others(proc):
        folder = os.path.join(proc, pid)
        try:
            hits = [*((full, False) for full in (() if only_mapped else _opened(folder, top))),
                    *((full, True) for full in _mapped(folder, top))]
        except OSError:
            continue  # of another user, or it has just ended
        for full, mapped in hits:
            path = full[len(top):]
            before = found.get((path, pid))
            found[path, pid] = OpenFile(path, _name(folder, pid), mapped or bool(before and before.mapped))
    return sorted(found.values(), key=lambda one: one.path)


def replaced_by(plan: RestorePlan, found: list[OpenFile]) -> list[OpenFile]:
    """The open files that the plan overwrites or deletes."""
    replaced = {change.path for change in plan.changes
                if change.action in ("write", "delete") and change.before is not None}
    return [one for one in found if one.path in replaced]


def plan_notes(found: list[OpenFile]) -> list[str]:
    notes = [f"{os.fsdecode(one.path)} is open for writing in another program, which keeps writing to the"
             f" old file. Close or restart it: {one.process}" for one in found[:_MOST_NOTES]]
    if len(found) > _MOST_NOTES:
        notes.append(f"{len(found) - _MOST_NOTES:,} more files are open for writing in other programs.")
    return notes


def _others(proc: bytes) -> list[bytes]:
    own = b"%d" % os.getpid()
    try:
        found = [name for name in os.listdir(proc) if name.isdigit() and name != own]
    except OSError:
        return []
    # The newest processes are most likely active.
    return sorted(found, key=int, reverse=True)[:_MOST_PROCESSES]


def _opened(folder: bytes, top: bytes) -> Iterator[bytes]:
    for number in os.listdir(folder + b"/fd"):
        try:
            full = os.readlink(folder + b"/fd/" + number)
            if full.startswith(top) and _flags(folder + b"/fdinfo/" + number) & os.O_ACCMODE:
                yield full
        except OSError:
            continue  # closed meanwhile


def _flags(path: bytes) -> int:
    with open(path, "rb") as file:
        for line in file:
            if line.startswith(b"flags:"):
                return int(line[6:], 8)
    return 0


def _mapped(folder: bytes, top: bytes) -> Iterator[bytes]:
    with open(folder + b"/maps", "rb") as file:
        maps = file.read()
    if top not in maps:
        return
    for line in maps.splitlines():
        parts = line.split(None, 5)
        if len(parts) == 6 and parts[1][1:2] == b"w" and parts[1][3:4] == b"s" and parts[5].startswith(top):
            yield parts[5]


def _name(folder: bytes, pid: bytes) -> str:
    try:
        with open(folder + b"/comm", "rb") as file:
            return f"{os.fsdecode(file.read().strip())} (process {int(pid)})"
    except OSError:
        return f"process {int(pid)}"
