"""How things are said on the screen: ages, counts, and text that can do no harm there."""

from __future__ import annotations

import os
import time

from rich.text import Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.plan import RestorePlan

_REASONS = {
    "ignored": "came later and is ignored by git", "ignored-large": "ignored by git and too large",
    "skip-list": "can be made again", "too-large": "too large", "unreadable": "not readable",
    "special": "not a file, link or directory", "pins-only": "only pinned files are captured there",
    "not-captured": "could not be captured first", "too-deep": "too many directories deep",
    "changed": "changed before the late checkpoint could read it",
    "not-empty": "something in it stays", "in-the-way": "files to be kept are in the way",
    "mount-point": "something is mounted there", "no-directory": "what is there now is no directory",
}


def plural(count: int, word: str) -> str:
    return f"{count:,} {word}" + ("" if count == 1 else "s")


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


def explain(reason: str) -> str:
    return _REASONS.get(reason, reason)


def signed(added: int, removed: int) -> Text:
    text = Text()
    if added:
        text.append(f"+{added:,}", "green")
    if removed:
        text.append(" " if added else "").append(f"−{removed:,}", "red")
    return text


def plan_lines(plan: RestorePlan, most: int = 500) -> list[Text]:
    """The files of a plan, one line each: written, deleted, kept."""
    fresh = {change.path for change in plan.changes if change.before is None}
    foreign = set(plan.foreign)
    lines = [_line("+" if name in fresh else "~", "green" if name in fresh else "yellow", name,
                   "changed since the last checkpoint" if name in foreign else "") for name in plan.written]
    lines += [_line("−", "red", name, "newer than the last checkpoint" if name in foreign else "")
              for name in plan.deleted]
    lines += [_line("=", "dim", kept.path, f"kept: {explain(kept.reason)}") for kept in plan.kept]
    if len(lines) > most:
        lines[most:] = [Text(f"… and {len(lines) - most:,} more", "dim")]
    return lines


def _line(sign: str, style: str, name: bytes, remark: str) -> Text:
    text = Text.assemble((sign, style), " ", path(name))
    return text.append(f"  ({remark})", "dim") if remark else text


def plan_sum(plan: RestorePlan) -> str:
    if plan.empty:
        return f"The code is already as in {plan.checkpoint}"
    parts = [f"{plural(len(plan.written), 'path')} written", f"{len(plan.deleted):,} deleted"]
    parts += [f"{len(plan.kept):,} kept"] if plan.kept else []
    return f"{', '.join(parts)}, to be as in {plan.checkpoint}"
