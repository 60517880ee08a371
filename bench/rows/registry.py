"""All rows, in the order in which they are measured and printed."""

from __future__ import annotations

from bench.rows import checkpoint, conversation, disk, first, hook, listing, restore, scale
from bench.rows.row import Row

ROWS: list[Row] = [
    *checkpoint.ROWS,
    *restore.ROWS,
    *first.ROWS,
    *scale.ROWS,
    *disk.ROWS,
    *listing.ROWS,
    *conversation.ROWS,
    *hook.ROWS,
]
