"""What a store takes on the disk: objects, archives, and the private repository that remotes need."""

from __future__ import annotations

import os

from rewind.checkpoint.conversations.links import FILE as CONVERSATION_FILE
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import ARCHIVE, Record

REPOSITORY = "remote.git"  # for pushing and pulling, made on first use


def disk_use(state: State) -> int:
    """The bytes of everything that is kept: checkpoints, and what remotes need."""
    archives = (r for r in state.timeline.all() if r.format == "archive")
    return state.objects.size_on_disk() + sum(archive_size(state, r) for r in archives) \
        + repository_bytes(state)


def archive_size(state: State, record: Record) -> int:
    if record.format != "archive":
        return 0
    try:
        size = os.path.getsize(state.files.path(record.name, ARCHIVE))
        conversation = state.files.path(record.name, CONVERSATION_FILE)
        return size + (os.path.getsize(conversation) if os.path.exists(conversation) else 0)
    except OSError:
        return 0


def repository_bytes(state: State) -> int:
    """The bytes that are kept for pushing and pulling. Most projects have no such repository."""
    return bytes_below(state.project.path(REPOSITORY))


def bytes_below(folder: str) -> int:
    """The size of a directory. Files that other processes delete meanwhile count as 0."""
    total = 0
    for at, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(at, name)).st_size
            except FileNotFoundError:
                pass
    return total
