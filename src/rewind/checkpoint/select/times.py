"""Times as people type them: `10m`, `1h30m`, `14:30`, `yesterday`, `2026-11-15 14:30`. In local time."""

from __future__ import annotations

import time

_UNITS = {"w": 604_800, "d": 86_400, "h": 3600, "min": 60, "m": 60, "s": 1}
_DAYS = {"today": 0, "yesterday": 1}


def moment(text: str, now: float) -> float | None:
    """Seconds since the epoch; None if the text is not a time."""
    ago = _ago(text)
    if ago is not None:
        return now - ago
    day, _, clock = text.replace("T", " ").partition(" ")
    if ":" in day and not clock:
        at = _clock(day)
        if at is None:
            return None
        today = _at(now, 0, at)
        return today if today <= now else _at(now, 1, at)
    noon = _noon(day, now)
    if noon is None:
        return None
    if not clock:
        return min(now, _at(noon, -1) - 1)  # the end of that day
    at = _clock(clock)
    return None if at is None else _at(noon, 0, at)


def _ago(text: str) -> int | None:
    """`90s`, `10m`, `2h`, `1h30m`, `3d`, `1w`."""
    total, rest = 0, text
    while rest:
        digits = len(rest) - len(rest.lstrip("0123456789"))
        unit = next((u for u in ("min", "w", "d", "h", "m", "s") if rest[digits:].startswith(u)), None)
        if not 0 < digits < 7 or unit is None:
            return None
        total += int(rest[:digits]) * _UNITS[unit]
        rest = rest[digits + len(unit):]
    return total if text else None


def _clock(text: str) -> tuple[int, int, int] | None:
    """`14:30` or `14:30:15` as hour, minute and second."""
    parts = text.split(":")
    if not 2 <= len(parts) <= 3 or not all(p.isascii() and p.isdigit() and len(p) <= 2 for p in parts):
        return None
    hour, minute, second = (*map(int, parts), 0)[:3]
    return (hour, minute, second) if hour < 24 and minute < 60 and second < 60 else None


def _noon(text: str, now: float) -> float | None:
    """The middle of a day. Where clocks are put forward at midnight, a day does not begin at 00:00."""
    if text in _DAYS:
        return _at(now, _DAYS[text], (12, 0, 0))
    parts = text.split("-")
    if [len(part) for part in parts] != [4, 2, 2] or not all(p.isascii() and p.isdigit() for p in parts):
        return None
    year, month, day = map(int, parts)
    try:
        noon = time.mktime((year, month, day, 12, 0, 0, 0, 0, -1))
        is_real = time.localtime(noon)[:3] == (year, month, day)  # 31 February would be a day in March
    except (ValueError, OverflowError):
        return None
    return noon if is_real else None


def _at(now: float, days: int, clock: tuple[int, int, int] = (0, 0, 0)) -> float:
    """That clock time so many days before. The calendar computes it, because not every day has 24 hours."""
    at = time.localtime(now)
    return time.mktime((at.tm_year, at.tm_mon, at.tm_mday - days, *clock, 0, 0, -1))
