"""What differs if `scripts/other-pythons` runs the tests. The default Python runs all tests.

The others run the tests that are not `slow`, and the oldest also the slow ones of files, hooks and git. They
leave out what is never used with them, and make fewer random examples: a few are enough to show a difference
between Pythons, and rare cases do not depend on the Python.
"""

from __future__ import annotations

import os

WHICH = os.environ.get("REWIND_OTHER_PYTHON", "")  # "", "oldest" or "newest"

# Below `tests/`, with the reason.
ON_THE_DEFAULT_ONLY = {
    "benchmark": "bench/ is no part of the package, and scripts/bench runs it with the default Python",
    "browser": "needs Chromium and the page's packages, and scripts/e2e runs it with the default Python",
    "e2e": "needs the clients, and scripts/e2e runs it with the default Python",
    "test_docs.py": "reads the documents, which are the same for each Python",
    "test_shape.py": "reads the sources, which are the same for each Python",
}
SLOW_ON_THE_OLDEST = ("fidelity/", "hooks/", "checkpoint/remote/", "cli/give/", "cli/branch/")
_A_PART = 5
_AT_LEAST = 10


def is_left_out(path: str) -> bool:
    """Whether a file or directory, relative to `tests/`, is not collected."""
    return bool(WHICH) and path in ON_THE_DEFAULT_ONLY


def is_too_slow(path: str, slow: bool) -> bool:
    on_the_oldest = WHICH == "oldest" and path.startswith(SLOW_ON_THE_OLDEST)
    return bool(WHICH) and slow and not on_the_oldest


def examples(count: int) -> int:
    """The number of Hypothesis's examples, if the default Python makes `count`."""
    return min(count, max(_AT_LEAST, count // _A_PART)) if WHICH else count
