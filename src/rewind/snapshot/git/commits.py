"""How many commits lie between two places in the user's repository."""

from __future__ import annotations

from rewind.errors import GitFailed
from rewind.snapshot.git.head import is_commit
from rewind.snapshot.git.run import Git

_SECONDS = 5


def commits_between(top: bytes, old: str, new: str) -> int | None:
    """How many commits `new` has on top of `old`; 0 if it is an ancestor. None if each has some that the
    other lacks, or if git cannot say."""
    if not (is_commit(old) and is_commit(new)):
        return None  # it comes from a record, and could be anything
    try:
        found = Git(top, seconds=_SECONDS).run("rev-list", "--left-right", "--count", f"{old}...{new}", "--")
        gone, made = (int(number) for number in found.split())
    except (GitFailed, ValueError):
        return None
    return None if gone and made else made
