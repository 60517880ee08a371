"""The most frequent operations again, in a tree of a thousand files and in one of a hundred thousand."""

from __future__ import annotations

from bench.rows.checkpoint import after_edits
from bench.rows.restore import against, known_paths
from bench.rows.row import Row

ROWS = [
    row
    for number, tag, files in ((0, "1k", "1,000"), (1, "100k", "100,000"))
    for row in (
        Row(f"unchanged-{tag}", f"{files} files: checkpoint, nothing changed ÷ opencode", None,
            after_edits(0, number)),
        Row(f"edit-50-{tag}", f"{files} files: checkpoint, 50 edited ÷ opencode", None,
            after_edits(50, number)),
        Row(f"revert-{tag}", f"{files} files: restore of 50 ÷ opencode's undo", None,
            against(known_paths, number)),
    )
]
