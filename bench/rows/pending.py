"""Rows whose commands are not built yet; each moves to a file of its own with its command."""

from __future__ import annotations

from bench.rows.row import Row

ROWS = [
    Row("hook", "hook that decides 'no checkpoint' ÷ bare start of Python", 2.0, None),
]
