"""Checks directories that are to be deleted on the disk, because they may contain entries that no tree
has."""

from __future__ import annotations

import os

from rewind.checkpoint.records.source import KeptPath
from rewind.checkpoint.rewind.files.file_plan import IN_THE_WAY, MOUNT_POINT, NOT_EMPTY, RestorePlan
from rewind.paths import is_temp_name
from rewind.project_marker import IN_AGENT


def keep_non_empty_directories(root: bytes, plan: RestorePlan) -> None:
    """Remove from the plan the deletion of mount points and of directories with other content: a repository's
    `.git`, the state of a nested project, or files that were just created. Nothing can be written in their
    place."""
    going = {c.path for c in plan.changes if c.action in ("delete", "rmdir")}
    staying: dict[bytes, str] = {}
    blocked = []
    rmdirs = [c for c in plan.changes if c.action == "rmdir"]
    for change in sorted(rmdirs, key=lambda c: c.path.count(b"/"), reverse=True):
        reason = _why_it_stays(root, change.path, going)
        if reason:
            going.discard(change.path)
            if change.in_the_way:
                blocked.append(change.path)
            else:
                staying[change.path] = reason
    tops = {c.path for c in plan.changes if c.action == "write"
            and any((path + b"/").startswith(c.path + b"/") for path in blocked)}
    plan.leave_out(tops)
    plan.changes = [c for c in plan.changes if not (c.action == "rmdir" and c.path in staying)]
    plan.kept += [KeptPath(path, IN_THE_WAY, conflict=True) for path in sorted(tops)]
    plan.kept += [KeptPath(path, reason) for path, reason in sorted(staying.items())
                  if not _holds_our_marker_alone(root, path)]  # not worth mentioning


def _holds_our_marker_alone(root: bytes, path: bytes) -> bool:
    folder, name = os.path.split(os.fsencode(IN_AGENT))
    return path == folder and os.listdir(os.path.join(root, path)) == [name]


def _why_it_stays(root: bytes, path: bytes, going: set[bytes]) -> str:
    place = os.path.join(root, path)
    try:
        names = os.listdir(place)
        if os.path.ismount(place):
            return MOUNT_POINT
    except OSError:
        return ""  # deleted, or not readable at the moment: the restore reports it
    others = (name for name in names if path + b"/" + name not in going and not is_temp_name(name))
    return NOT_EMPTY if any(others) else ""
