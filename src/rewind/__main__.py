"""`python -m rewind`."""

from __future__ import annotations

try:
    from rewind.cli.main import run

    run()
except KeyboardInterrupt:  # nothing was begun yet
    raise SystemExit(130)
