"""Times as people type them."""

from __future__ import annotations

import time
from collections.abc import Iterator
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
    "2026-1-1", "tomorrow", "h2", "1000000000m", "١٠m", "2026-11-10 99:99", "2026-02-31",
    "2026-13-01", "0000-00-00 12:00"])
def test_something_else_is_no_time(text: str) -> None:
    assert at(text) is None


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Clocks go back from 3 to 2 on 25 October 2026, and forward from midnight to 1 on 6 September."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "TST+0DST-1,M9.1.0/0,M10.4.0/3")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize("day, text, wanted", [
    ((2026, 10, 25), "09:30", "25 09:30:00"), ((2026, 10, 26), "14:30", "25 14:30:00"),
    ((2026, 10, 26), "yesterday 14:30", "25 14:30:00"), ((2026, 10, 26), "2026-10-25 14:30", "25 14:30:00"),
    ((2026, 10, 26), "yesterday", "25 23:59:59"), ((2026, 9, 8), "2026-09-06 14:30", "06 14:30:00"),
    ((2026, 9, 7), "yesterday 14:30", "06 14:30:00"), ((2026, 9, 7), "2026-09-06", "06 23:59:59"),
    ((2026, 9, 7), "2026-09-05", "05 23:59:59")])
def test_a_day_on_which_the_clocks_change_has_the_times_that_clocks_showed(
        zone: None, day: tuple[int, int, int], text: str, wanted: str) -> None:
    found = moment(text, time.mktime((*day, 12, 0, 0, 0, 0, -1)))
    assert found is not None and time.strftime("%d %H:%M:%S", time.localtime(found)) == wanted
