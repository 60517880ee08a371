"""What several interfaces say: ages, sizes, and text that can do no harm in a terminal."""

from __future__ import annotations

import errno

import pytest

from rewind import words
from rewind.snapshot.rules.reason_codes import Reasons

MINUTE, HOUR, DAY = 60, 3600, 86400
NOW = 2_000_000_000.0


@pytest.mark.parametrize(("seconds", "long", "short"), [
    (-5, "now", "now"), (0.4, "now", "now"), (1, "1 s ago", "1s"), (59, "59 s ago", "59s"),
    (MINUTE, "1 min ago", "1m"), (89 * MINUTE, "89 min ago", "89m"), (90 * MINUTE, "2 h ago", "2h"),
    (35 * HOUR, "35 h ago", "35h"), (36 * HOUR, "2 days ago", "2d"), (98 * DAY, "98 days ago", "98d"),
    (100 * DAY, "3 months ago", "3mo"), (700 * DAY, "23 months ago", "23mo"),
    (800 * DAY, "2 years ago", "2y"),
])
def test_an_age_has_one_unit_and_both_forms_agree(seconds: float, long: str, short: str) -> None:
    assert words.age(NOW - seconds, NOW) == long
    assert words.short_age(NOW - seconds, NOW) == short


def test_a_short_age_has_four_characters_at_most() -> None:
    assert all(len(words.short_age(NOW - seconds, NOW)) <= 4 for seconds in range(0, 3000 * DAY, 4000))


def test_an_unknown_time_is_no_age() -> None:
    assert words.short_age(0, NOW) == ""


@pytest.mark.parametrize(("count", "text"), [
    (0, "0 B"), (999, "999 B"), (1000, "1.0 KB"), (1536, "1.5 KB"), (10 << 10, "10 KB"), (1 << 20, "1.0 MB"),
    (5 << 30, "5.0 GB"), (5000 << 30, "5000 GB"),
])
def test_sizes(count: int, text: str) -> None:
    assert words.size(count) == text


def test_a_name_is_one_line_and_every_byte_of_it_shows() -> None:
    assert words.shown(b"a  b\n\x1b[31m\xff.txt") == "a  b\\n\\x1b[31m\\xff.txt"
    assert words.shown("caf\u00e9".encode()) == "caf\u00e9"


def test_text_keeps_its_lines_and_tabs_only_where_there_are_several() -> None:
    text = "one\r\n\ttwo\x1b[2J\u202e"
    assert words.safe(text) == "one\\r\\n\\ttwo\\x1b[2J\\u202e"
    assert words.safe_lines(text) == "one\n\ttwo\\x1b[2J\\u202e"


def test_every_reason_of_a_tree_that_a_person_may_meet_has_words() -> None:
    shared = {Reasons.SECRET, Reasons.LINK_OUT, Reasons.NOT_SHARED}  # told by `rewind share` itself
    reasons = {value for name, value in vars(Reasons).items() if name.isupper()} - shared
    assert not [reason for reason in reasons if words.explain(reason.decode()) == reason.decode()]


def test_an_error_of_the_system_names_the_file_and_says_what_to_do() -> None:
    full = OSError(errno.ENOSPC, "No space left on device", b"/store/objects.db")
    assert words.explain_os_error(full) == (
        "No space left on device: /store/objects.db",
        "Free some space, then try again. Nothing that was saved before is lost.")
    assert words.explain_os_error(OSError("database or disk is full"))[1].startswith("Free some space")
    assert words.explain_os_error(TimeoutError())[0] == "The system reported TimeoutError"
    # After a call about a descriptor, Python gives its number as the name.
    assert words.explain_os_error(OSError(errno.EIO, "Input/output error", 7)) == (
        "Input/output error", "Try again. If the error persists, run `rewind validate`.")
