"""Rows whose commands are not built yet; each moves to a file of its own with its command."""

from __future__ import annotations

from bench.rows.row import Row

ROWS = [
    Row("hook", "hook that decides 'no checkpoint' ÷ bare start of Python", 2.0, None),
    Row("back", "`back 1`: boundary in a 1 GB transcript ÷ in 1 MB", 1.5, None),
    Row("fork", "fork of a 1 GB transcript ÷ `cp`", 1.2, None),
    Row("transcript", "checkpoint with a 200 MB transcript ÷ with 1 MB", 1.3, None),
]
