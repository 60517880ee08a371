"""What changed, in few words: `+12 −3 in 2 files`."""

from __future__ import annotations

from rewind.words import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MANY_LINES = 100
_MANY_FILES = 10


def is_large_deletion(changes: dict[str, Any]) -> bool:
    """Much is gone, and not much came in its place: worth a second look."""
    files = changes["files"]
    gone = changes.get("deleted", sum(file["status"] == "deleted" for file in files))
    come = sum(file["status"] == "added" for file in files)
    lines = changes["removed"] >= _MANY_LINES and changes["removed"] > 3 * changes["added"]
    return bool(lines or (gone >= _MANY_FILES and gone > 3 * come))


def amount(added: int, removed: int, files: int, all_of_them: bool = True) -> str:
    """Lines where there are any; a binary file or a new mode has none."""
    counted = f"{lines(added, removed, all_of_them)} in " if added or removed else ""
    return counted + plural(files, "file")


def lines(added: int, removed: int, all_of_them: bool = True) -> str:
    parts = [f"+{added:,}" if added else "", f"−{removed:,}" if removed else ""]
    if any(parts) and not all_of_them:
        parts.insert(0, "at least")
    return " ".join(part for part in parts if part)
