"""What changed, in few words: `+12 −3 in 2 files`."""

from __future__ import annotations

from rewind.cli.style import plural


def amount(added: int, removed: int, files: int) -> str:
    """Lines where there are any; a binary file or a new mode has none."""
    counted = f"{lines(added, removed)} in " if added or removed else ""
    return counted + plural(files, "file")


def lines(added: int, removed: int) -> str:
    return " ".join(part for part in (f"+{added:,}" if added else "", f"−{removed:,}" if removed else "")
                    if part)
