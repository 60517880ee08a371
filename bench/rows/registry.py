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
    floor,
    grow_checkpoints,
    grow_files,
    grow_forks,
    grow_transcript,
    hook,
    interfaces,
    kinds,
    listing,
    opencode_session,
    packing,
    peers,
    restore,
    scale,
    sizes,
    untracked,
)
from bench.rows.row import Row

ROWS: list[Row] = [
    *checkpoint.ROWS,
    # Before `restore`, which leaves git's index without stat data.
    *floor.ROWS,
    *cold.ROWS,
    *restore.ROWS,
    *first.ROWS,
    *packing.ROWS,
    *scale.ROWS,
    *disk.ROWS,
    *listing.ROWS,
    *blame.ROWS,
    *conversation.ROWS,
    *kinds.ROWS,
    *opencode_session.ROWS,
    *hook.ROWS,
    *interfaces.ROWS,
    *sizes.ROWS,
    *untracked.ROWS,
    *peers.ROWS,
    *fidelity.ROWS,
    *grow_checkpoints.ROWS,
    *grow_transcript.ROWS,
    *grow_forks.ROWS,
    *grow_files.ROWS,
]
