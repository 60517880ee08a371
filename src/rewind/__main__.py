"""`python -m rewind`."""

from __future__ import annotations

try:
    from rewind.cli.main import run

    run()
except KeyboardInterrupt:  # so early that nothing was begun
    raise SystemExit(130)
