"""How things are said on the screen: ages, counts, and text that can do no harm there."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from rich.text import Text

from rewind.controller import fold
from rewind.words import plural

if TYPE_CHECKING:
    from rewind.checkpoint.rewind.files.file_plan import RestorePlan


def age(then: float, now: float | None = None) -> str:
    """In at most four characters; nothing where the time is not known."""
    if not then:
        return ""
    seconds = max(0.0, (time.time() if now is None else now) - then)
    for limit, step, unit in ((60, 1, "s"), (5400, 60, "m"), (129600, 3600, "h"), (86400 * 99, 86400, "d")):
        if seconds < limit:
            return f"{seconds / step:.0f}{unit}"
    return f"{seconds / 31557600:.0f}y" if seconds > 31557600 * 2 else f"{seconds / 2629800:.0f}mo"


def clock(then: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(then)) if then else ""


def one_line(text: str) -> str:
    return safe(" ".join(text.split()))


def safe(text: str) -> str:
    """Line ends and tabs stay; whatever else is not printable is made visible."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else "" if c == "\r" else f"\\x{ord(c):02x}"
                   for c in text)


def path(name: bytes) -> str:
    return one_line(name.decode("utf-8", "backslashreplace")) or "?"


def from_home(folder: str) -> str:
    """As people write it: ~ for their home."""
    home = os.path.realpath(os.path.expanduser("~"))
    return one_line("~" + folder[len(home):] if folder.startswith(home + os.sep) else folder)


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
