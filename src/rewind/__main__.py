"""`python -m rewind`."""

from __future__ import annotations

from rewind.cli.main import run

run()
