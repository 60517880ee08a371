"""Times as people type them."""

from __future__ import annotations

import time
from typing import Optional

import pytest

from rewind.checkpoint.select.times import moment

NOW = time.mktime((2026, 11, 16, 12, 0, 0, 0, 0, -1))


def at(text: str) -> Optional[str]:
    found = moment(text, NOW)
    return None if found is None else time.strftime("%d %H:%M:%S", time.localtime(found))


@pytest.mark.parametrize("text, wanted", [
    ("10m", "16 11:50:00"), ("10min", "16 11:50:00"), ("2h", "16 10:00:00"), ("1h30m", "16 10:30:00"),
    ("90s", "16 11:58:30"), ("3d", "13 12:00:00"), ("1w", "09 12:00:00"),
    ("11:30", "16 11:30:00"), ("11:30:15", "16 11:30:15"),
    ("14:30", "15 14:30:00"),  # not yet today
    ("yesterday", "15 23:59:59"), ("yesterday 14:30", "15 14:30:00"), ("today", "16 12:00:00"),
    ("2026-11-10", "10 23:59:59"), ("2026-11-10 08:15", "10 08:15:00"), ("2026-11-10T08:15", "10 08:15:00")])
def test_a_time_is_understood(text: str, wanted: str) -> None:
    assert at(text) == wanted


@pytest.mark.parametrize("text", [
    "", "m", "10", "10x", "10 m", "-10m", "24:00", "12:60", "1:2:3:4", "12:", "yesterday noon", "2026-13",
    "2026-1-1", "tomorrow", "h2", "1000000000m", "١٠m", "2026-11-10 99:99"])
def test_something_else_is_no_time(text: str) -> None:
    assert at(text) is None
