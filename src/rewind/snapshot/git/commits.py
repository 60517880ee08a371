"""How many commits lie between two places in the user's repository. Git is asked, and writes nothing."""

from __future__ import annotations

import os

_SECONDS = 5
_MISLEADING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
               "GIT_NAMESPACE")


def commits_between(top: bytes, old: str, new: str) -> int | None:
    """On top of `old`, to `new`; 0 if `new` is an ancestor of it; None where they parted, or nobody knows."""
    if not (is_commit(old) and is_commit(new)):
        return None  # it came from a record, and could be anything
    import subprocess

    env = {key: value for key, value in os.environ.items() if key not in _MISLEADING}
    try:
        done = subprocess.run(["git", "rev-list", "--left-right", "--count", f"{old}...{new}", "--"], cwd=top,
                              env={**env, "GIT_OPTIONAL_LOCKS": "0"}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=_SECONDS)
        gone, made = (int(number) for number in done.stdout.split())
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return None if gone and made else made


def is_commit(text: str) -> bool:
    return len(text) in (40, 64) and all(c in "0123456789abcdef" for c in text)
