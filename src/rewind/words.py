"""Texts that several interfaces show, so that they all say the same."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# Why a path is not touched, or could not be restored.
REASONS = {
    "ignored": "ignored by git",
    "ignored-large": "ignored by git and not small",
    "skip-list": "a cache or dependency directory that can be rebuilt",
    "too-large": "larger than maxFileSizeMb",
    "unreadable": "not readable",
    "special": "not a file, link or directory",
    "pins-only": "only files that the agent edited are captured there",
    "not-captured": "could not be captured first",
    "changed": "changed before the late checkpoint could read it",
    "too-deep": "nested more deeply than Rewind looks",
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
    "changed-here": "deleted there and changed here",
    "deleted-since": "changed there and deleted since",
    "file-and-directory": "a file on one side, a directory on the other",
    "too-long-to-merge": "too large to merge by lines",
    "torn": "changed while it was captured",
    "not-yours": "belongs to another user",
    "not-a-file": "not a plain file",
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


_UNITS = ((60, 1, "s", "s"), (5400, 60, "min", "m"), (129600, 3600, "h", "h"),
          (86400 * 99, 86400, "days", "d"), (31557600 * 2, 2629800, "months", "mo"))


def age(then: float, now: float | None = None) -> str:
    """How long ago, in a single unit, which is easy to compare."""
    number, unit, _ = _ago(then, now)
    return f"{number} {unit} ago" if unit else "now"


def short_age(then: float, now: float | None = None) -> str:
    """The same in at most four characters; empty if the time is not known."""
    number, unit, short = _ago(then, now)
    return "" if not then else f"{number}{short}" if unit else "now"


def _ago(then: float, now: float | None) -> tuple[str, str, str]:
    seconds = max(0.0, (time.time() if now is None else now) - then)
    for limit, step, unit, short in _UNITS:
        if seconds < limit:
            return (f"{seconds / step:.0f}", unit, short) if seconds >= 1 else ("", "", "")
    return f"{seconds / 31557600:.0f}", "years", "y"


def size(count: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            break
        count /= 1024
    return f"{count:.0f} {unit}" if unit == "B" or count >= 10 else f"{count:.1f} {unit}"


def shown(path: bytes) -> str:
    """A path as one line of text. Bytes that are not UTF-8 and control characters are escaped."""
    return safe(path.decode("utf-8", "surrogateescape"))


def safe(text: str, kept: str = "") -> str:
    """Text from a record or a transcript for a terminal, without characters that could steer it."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in kept else _escaped(c) for c in text)


def one_line(text: str) -> str:
    """The same for text with line breaks, which become spaces."""
    return safe(" ".join(text.split()))


def safe_lines(text: str) -> str:
    """The same for text that may have several lines, and tabs."""
    return safe(text.replace("\r", ""), "\n\t")


def _escaped(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char, f"\\u{code:04x}" if code > 255
                                                       else f"\\x{code:02x}")


def printable(text: str) -> str:
    """The text without control characters, so that it may go into a file."""
    return "".join(c if c.isprintable() else " " for c in text)


def quoted(text: str, longest: int = 60) -> str:
    """A person's text, quoted on one line, for a sentence of ours."""
    return f'"{shortened(" ".join(text.split()), longest)}"'


def shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[:longest - 1] + "…"


def from_home(path: str) -> str:
    """A path as people write it, with `~` for their home; safe for a terminal."""
    own = os.path.expanduser("~")
    home = next((home for home in (own, os.path.realpath(own)) if path.startswith(home + os.sep)), "")
    return safe("~" + path[len(home):] if home else path)


def file_count(changes: Mapping[str, Any]) -> int:
    """How many files changed, with those that are not listed."""
    count: int = len(changes["files"]) + changes["more"]
    return count


_MANY_LINES = 100
_MANY_FILES = 10
_SEVERAL_FILES = 3  # if no files were added


def is_large_deletion(changes: Mapping[str, Any]) -> bool:
    """Whether much was deleted and little was added, which is worth a second look."""
    files, gone = changes["files"], changes.get("deleted")
    if changes["removed"] >= _MANY_LINES and changes["removed"] > 3 * changes["added"]:
        return True
    if gone is None:
        gone = sum(file["status"] == "deleted" for file in files)
    if gone < _SEVERAL_FILES:
        return False
    come = sum(file["status"] == "added" for file in files)
    return not come or (gone >= _MANY_FILES and gone > 3 * come)


def explain_os_error(error: OSError) -> tuple[str, str]:
    """What went wrong and with which file, and what to do next."""
    import errno

    what = error.strerror or str(error) or f"The system reported {type(error).__name__}"
    named = isinstance(error.filename, (str, bytes)) and error.filename
    code = errno.ENOSPC if "disk is full" in what else error.errno  # SQLite gives no number
    hints = {
        errno.ENOSPC: "Free some space, then try again. Nothing that was saved before is lost.",
        errno.EDQUOT: "Your disk quota is used up; free some space, then try again.",
        errno.EACCES: "Check the permissions, then try again.",
        errno.EROFS: "The file system is mounted read-only.",
    }
    hint = hints.get(code or 0, "Try again. If the error persists, run `rewind validate`.")
    return f"{what}: {os.fsdecode(error.filename)}" if named else what, hint
