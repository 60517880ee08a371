"""`python -m rewind`."""

from __future__ import annotations

import os

try:
    from rewind.cli.main import run

    run()
except KeyboardInterrupt:  # so early that nothing was begun
    os._exit(130)
