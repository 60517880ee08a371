"""How things are said on the screen: times, counts, names and plans."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.text import Text

from rewind.controller import fold
from rewind.words import plural, shown

if TYPE_CHECKING:
    from rewind.checkpoint.rewind.files.file_plan import RestorePlan


def clock(then: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(then)) if then else ""


def path(name: bytes) -> str:
    return shown(name) or "?"


def signed(added: int, removed: int) -> Text:
    text = Text()
    if added:
        text.append(f"+{added:,}", "green")
    if removed:
        text.append(" " if added else "").append(f"−{removed:,}", "red")
    return text


_SIGNS = {"+": ("+", "green"), "~": ("~", "yellow"), "-": ("−", "red"), "=": ("=", "dim")}


def plan_lines(plan: RestorePlan, most: int = 500) -> list[Text]:
    """The files of a plan, one line each: written, deleted, kept."""
    lines = [_line(*_SIGNS[sign], name, remark, count) for sign, name, remark, count in fold(plan.lines())]
    if len(lines) > most:
        lines[most:] = [Text(f"… and {len(lines) - most:,} more", "dim")]
    return lines


def _line(sign: str, style: str, name: bytes, remark: str, count: int) -> Text:
    text = Text.assemble((sign, style), " ", path(name), f" ({plural(count, 'file')})" if count else "")
    return text.append(f"  ({remark})", "dim") if remark else text
