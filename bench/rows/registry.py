"""All rows, in the order in which they are measured and printed."""

from __future__ import annotations

from bench.rows import (
    blame,
    checkpoint,
    cold,
    conversation,
    disk,
    fidelity,
    first,
    grow_checkpoints,
    grow_forks,
    grow_transcript,
    hook,
    interfaces,
    kinds,
    listing,
    memory,
    opencode_session,
    packing,
    peers,
    restore,
    untracked,
)
from bench.rows.row import Row

ROWS: list[Row] = [
    *hook.ROWS,
    *checkpoint.ROWS,
    *restore.ROWS,
    *first.ROWS,
    *packing.ROWS,
    *disk.ROWS,
    *listing.ROWS,
    *conversation.ROWS,
    *memory.ROWS,
    *cold.ROWS,
    *blame.ROWS,
    *kinds.ROWS,
    *opencode_session.ROWS,
    *interfaces.ROWS,
    *untracked.ROWS,
    *peers.ROWS,
    *fidelity.ROWS,
    *grow_checkpoints.ROWS,
    *grow_transcript.ROWS,
    *grow_forks.ROWS,
]
