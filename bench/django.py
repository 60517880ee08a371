"""A real repository: the source distribution of Django. pip downloads it, and later runs use it again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bench.skipped import Skipped
from bench.trees import Tree, files_below

VERSION = "5.2.8"
PATIENCE = 300


def write_django(root: Path) -> Tree:
    """All files, as in a fresh clone: none is untracked."""
    root.mkdir()
    # With the owner and the modes that a clone would have.
    subprocess.run(["tar", "-xzf", _archive(), "-C", root, "--strip-components=1", "--no-same-owner",
                    "--no-same-permissions"], check=True)
    return Tree(root, tuple(sorted(os.path.relpath(path, root) for path in files_below(str(root)))), ())


def _archive() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rewind-bench"
    found = cache / f"django-{VERSION}.tar.gz"
    if not found.exists():
        _download(cache)
    if not found.exists():
        raise Skipped(f"pip brought no {found.name}")
    return found


def _download(cache: Path) -> None:
    """Pip runs with the caller's environment, which may name its index."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", "django",
               "--dest", str(cache), f"django=={VERSION}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise Skipped(f"downloading Django took more than {PATIENCE // 60} minutes") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["pip failed"]
        raise Skipped(f"Django cannot be had: {lines[-1][:200]}")
