"""What changed, in few words: `+12 −3 in 2 files`."""

from __future__ import annotations

from rewind.words import file_count, plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.changes.turn_changes import Changes


def amount(added: int, removed: int, files: int, exact: bool = True) -> str:
    """`+12 −3 in 2 files`; without the lines if there are none, as in a binary file."""
    if added or removed:
        return f"{lines(added, removed, exact)} in {plural(files, 'file')}"
    return plural(files, "file") + ("" if exact else ", lines not counted")


def amount_of(changes: Changes) -> str:
    """Empty if no file changed."""
    files = file_count(changes)
    return amount(changes["added"], changes["removed"], files, changes["counted"]) if files else ""


def why_not_all(changes: Changes) -> str:
    """Which files have lines that were not counted."""
    if changes["counted"]:
        return ""
    if changes.get("large"):
        return f"{plural(changes['large'], 'large file')} not counted"
    counted = sum(one["added"] is not None for one in changes["files"])
    return f"counted in {counted:,} of {plural(file_count(changes), 'file')}"


def lines(added: int, removed: int, exact: bool = True) -> str:
    plus, minus = f"+{added:,}" if added else "", f"−{removed:,}" if removed else ""
    text = f"{plus} {minus}" if plus and minus else plus or minus
    return f"at least {text}" if text and not exact else text
