"""Changed paths as lines for a person: directories folded, renames found, modes named."""

from __future__ import annotations

from rewind.cli.output.style import paint
from rewind.words import plural, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from rewind.controller import Difference
    from rewind.snapshot.diff.rename import Rename
    from rewind.snapshot.trees.tree import TreeEntry

_COLOURS = {"+": "green", "~": "yellow", "-": "red", "=": "dim", "!": "red", "→": "cyan"}


def renames_in(difference: Difference) -> list[Rename]:
    from rewind.controller import find_renames

    return find_renames(difference.changes, difference.old.content, difference.new.content)


def change_lines(difference: Difference, renames: list[Rename],
                 only: Iterable[bytes] | None = None) -> list[tuple[str, str]]:
    """(sign, text) of each line; `only` limits them to some paths."""
    from rewind.controller import fold

    wanted = None if only is None else set(only)
    moved = {one.old for one in renames} | {one.new for one in renames}
    lines = [("+" if old is None else "-" if new is None else "~", path, mode_remark(old, new))
             for path, old, new in difference.changes
             if path not in moved and (wanted is None or path in wanted)]
    folders = {path for path, old, new in difference.changes if getattr(new or old, "kind", b"") == b"d"}
    folded = [(sign, folded_text(path + b"/" if path in folders else path, remark, count))
              for sign, path, remark, count in fold(lines)]
    return folded + [("→", rename_text(one)) for one in renames
                     if wanted is None or one.new in wanted or one.old in wanted]


def mode_remark(old: TreeEntry | None, new: TreeEntry | None) -> str:
    if old and new and old.kind == new.kind and old.mode != new.mode and old.kind != b"l":
        return f"mode {old.mode:03o} → {new.mode:03o}"
    return ""


def rename_text(one: Rename) -> str:
    alike = "" if one.percent == 100 else f"  ({one.percent} % the same)"
    return f"{shown(one.old)} → {shown(one.new)}{alike}"


def folded_text(path: bytes, remark: str, count: int) -> str:
    """`src/ (27 files)`, or the path itself."""
    notes = [plural(count, "file") if count else "", remark]
    remarks = ", ".join(text for text in notes if text)
    return shown(path) + (f" ({remarks})" if count else f"  ({remarks})" if remarks else "")


def painted(sign: str, text: str) -> str:
    return f"{paint(sign, _COLOURS[sign])} {text}"
