"""`diff --stat`: one line per path with a bar of insertions and deletions, as git draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.cli.output.change_lines import mode_remark
from rewind.cli.output.columns import cells, fitted
from rewind.cli.output.style import paint
from rewind.controller import comparing as c
from rewind.controller import describe_sizes
from rewind.words import plural, shown

if TYPE_CHECKING:
    from rewind.snapshot.diff.compare import Comparison

_NARROWEST_BAR = 10


def stat_lines(found: list[Comparison], columns: int,
               labels: dict[bytes, str] | None = None) -> list[str]:
    """`labels` replace the names of some paths, such as `old → new` for a rename."""
    counted = [one.counts or (0, 0) for one in found]
    number = len(str(max((i + d for i, d in counted), default=0)))
    names = [(labels or {}).get(one.path) or _name(one) for one in found]
    room = max(20, columns - number - _NARROWEST_BAR - 6)
    names = [fitted(name, room) for name in names]
    widest = max(map(cells, names), default=0)
    scale = _Scale(max((i + d for i, d in counted), default=0), columns - widest - number - 6)
    lines = []
    for name, one, (inserted, deleted) in zip(names, found, counted):
        label = name + " " * (widest - cells(name))
        if one.counts is None or one.verdict == c.SAME:
            lines.append(f" {label} | {_remark(one)}")
        else:
            plus, minus = scale.parts(inserted, deleted)
            bar = paint("+" * plus, "green") + paint("-" * minus, "red")
            mode = f"  ({mode_remark(one.old, one.new)})" if mode_remark(one.old, one.new) else ""
            lines.append(f" {label} | {inserted + deleted:>{number}} {bar}".rstrip() + mode)
    return lines


def _name(one: Comparison) -> str:
    return shown(one.path) + ("/" if one.verdict == c.DIRECTORY else "")


class _Scale:
    def __init__(self, most: int, room: int) -> None:
        self.most = most
        self.room = max(room, _NARROWEST_BAR)

    def parts(self, inserted: int, deleted: int) -> tuple[int, int]:
        if self.most <= self.room:
            return inserted, deleted
        # At least one sign for each kind that there is: a lone deletion must not vanish.
        plus, minus = (max(1, count * self.room // self.most) if count else 0
                       for count in (inserted, deleted))
        return min(plus, self.room - bool(minus)), minus


def _remark(one: Comparison) -> str:
    if one.verdict == c.DIRECTORY:
        if one.old and one.new:
            return f"mode {one.old.mode:03o} -> {one.new.mode:03o}"
        return "empty directory " + ("added" if one.new else "deleted")
    if one.verdict == c.SAME and one.old and one.new:
        return f"mode {one.old.mode:03o} -> {one.new.mode:03o}"
    word = {c.BINARY: "Bin", c.LARGE: "large,", c.UNREADABLE: "not readable,"}[one.verdict]
    return f"{word} {describe_sizes(one.old, one.new)}"


def total_line(found: list[Comparison]) -> str:
    inserted, deleted = (sum(column) for column in zip(*(one.counts or (0, 0) for one in found)))
    left_out = sum(not one.is_counted for one in found)
    return (f" {plural(len(found), 'path')} changed, {plural(inserted, 'insertion')}(+),"
            f" {plural(deleted, 'deletion')}(-)"
            + (f"; {plural(left_out, 'large file')} not counted" if left_out else ""))
