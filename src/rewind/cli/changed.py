"""What changed, in few words: `+12 −3 in 2 files`."""

from __future__ import annotations

from rewind.words import plural


def amount(added: int, removed: int, files: int, all_of_them: bool = True) -> str:
    """Lines where there are any; a binary file or a new mode has none."""
    counted = f"{lines(added, removed, all_of_them)} in " if added or removed else ""
    return counted + plural(files, "file")


def lines(added: int, removed: int, all_of_them: bool = True) -> str:
    parts = [f"+{added:,}" if added else "", f"−{removed:,}" if removed else ""]
    if any(parts) and not all_of_them:
        parts.insert(0, "at least")
    return " ".join(part for part in parts if part)
