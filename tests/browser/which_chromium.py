"""Which Chromium the browser tests and the scripts beside them use."""

from __future__ import annotations

import os
import shutil

# The first is the same engine without the windows around it: a page opens in half the processor time.
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser")
# Read on import, because every test runs in an environment without these variables.
CHROMIUM = os.environ.get("REWIND_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
