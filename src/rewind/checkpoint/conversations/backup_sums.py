"""A hash of a transcript's backup, noted in the log, so that a flipped bit in the only copy is noticed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rewind.errors import RewindError
from rewind.fast.blake2 import digest_of_pieces
from rewind.transcript.read.lines import open_transcript, read_at

if TYPE_CHECKING:
    from rewind.checkpoint.operation_log.line import Effect

_MOST = 256 << 20  # takes about a second, while a person waits
_STEP = 4 << 20


def backup_checksum(path: str) -> Effect:
    """The fields to note: the size and the hash; none for a huge file."""
    size = os.path.getsize(path)
    return {"bytes": size, "hash": _hash(path, size)} if size <= _MOST else {}


def backup_was_changed(noted: Effect) -> bool:
    """Whether the backup differs from what was noted. What was appended later does not count."""
    path, size, wanted = noted.get("backup"), noted.get("bytes"), noted.get("hash")
    if not isinstance(path, str) or not isinstance(size, int) or not isinstance(wanted, str):
        return False
    try:
        return _hash(path, size) != wanted
    except (OSError, RewindError):
        return True


def _hash(path: str, size: int) -> str:
    with open_transcript(path) as file:
        return digest_of_pieces(read_at(file, at, min(_STEP, size - at))
                                for at in range(0, size, _STEP)).hex()
