"""What several interfaces say, so that each thing is said in one way."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Why a path is not touched, or could not be restored.
REASONS = {
    "ignored": "newer than the checkpoint and ignored by git",
    "ignored-large": "ignored by git and too large to be captured",
    "skip-list": "a cache or dependency directory that can be rebuilt",
    "too-large": "larger than maxFileSizeMb",
    "unreadable": "not readable",
    "special": "not a file, link or directory",
    "pins-only": "only pinned files are captured there",
    "not-captured": "could not be captured first",
    "changed": "changed before the late checkpoint could read it",
    "too-deep": "nested too deeply",
    "not-empty": "not empty: something in it is kept",
    "missing": "lost from the store",
    "mount-point": "something is mounted there",
    "another-place": "another work tree of this project, with checkpoints of its own",
    "in-the-way": "a directory with files to keep is in the way",
    "no-directory": "what is there now is not a directory; name it as well to replace it",
    "not-as-it-was": "not as the checkpoint has it",
    "both-changed": "both changed the same lines",
    "both-changed-binary": "a binary file that changed on both sides",
    "both-changed-link": "a link that changed on both sides",
    "both-changed-mode": "its mode changed on both sides",
    "both-changed-kind": "a file on one side, a link on the other",
    "changed-since": "added there and changed since",
    "deleted-since": "changed there and deleted since",
    "file-and-directory": "a file on one side, a directory on the other",
    "too-long-to-merge": "too large to merge by lines",
    "torn": "changed while it was captured",
}


def explain(reason: str) -> str:
    return REASONS.get(reason, reason)


def plural(count: int, word: str) -> str:
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def and_more(names: list[str], shown: int, total: int = 0) -> str:
    """`a, b and 3 more`"""
    total = total or len(names)
    first = ", ".join(names[:shown])
    return first if total <= shown else f"{first} and {total - shown:,} more"


def printable(text: str) -> str:
    """Without what a terminal would obey: it may go into a file."""
    return "".join(c if c.isprintable() else " " for c in text)


def quoted(text: str, longest: int = 60) -> str:
    """A person's words within a sentence of ours, on one line."""
    text = " ".join(text.split())
    return f'"{text if len(text) <= longest else text[:longest - 1] + "…"}"'


_MANY_LINES = 100
_MANY_FILES = 10
_SEVERAL_FILES = 3  # where nothing came in their place


def is_large_deletion(changes: dict[str, Any]) -> bool:
    """Much is gone, and not much came in its place: worth a second look."""
    files = changes["files"]
    gone = changes.get("deleted", sum(file["status"] == "deleted" for file in files))
    come = sum(file["status"] == "added" for file in files)
    lines = changes["removed"] >= _MANY_LINES and changes["removed"] > 3 * changes["added"]
    return bool(lines or (gone >= _MANY_FILES and gone > 3 * come) or (gone >= _SEVERAL_FILES and not come))
