"""A screen of the terminal UI as text that a person can compare: what stands where, and in which style.

A picture has three parts: the characters, their styles (`8a` is eight characters in style a), and what the
letters mean.
"""

from __future__ import annotations

import itertools
import os
import platform
import re
import string
from pathlib import Path
from typing import Any

import pytest
from textual import __version__ as textual_version
from textual.widgets import Input

# Another textual draws borders and colours in its own way, and another Python brings another textual.
PINNED = ("3.11", "8.2.8")
FOLDER = Path(__file__).parent / "snapshots"
HOW = "REWIND_RENEW_SNAPSHOTS=1 scripts/test tests/tui/test_snapshots.py"
_RENEW = bool(os.environ.get("REWIND_RENEW_SNAPSHOTS"))  # now: a test's environment has no such thing
_LETTERS = "." + string.ascii_letters + string.digits
_STEADY = (
    (re.compile(r"\b\d{8}_\d{6}_\d{3}\b"), "YYYYmmdd_HHMMSS_NNN"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "00000000-0000-4000-8000-000000000000"),
)


def needs_the_pinned() -> None:
    here = (".".join(platform.python_version_tuple()[:2]), textual_version)
    if here != PINNED:
        pytest.skip(f"PICTURES OF THE TERMINAL UI ARE NOT COMPARED: they are of Python {PINNED[0]} with"
                    f" textual {PINNED[1]}, and here are {here[0]} and {here[1]}")


def picture(app: Any) -> str:
    styles: dict[str, str] = {}
    rows, runs = [], []
    for strip in app.screen._compositor.render_strips():
        chars, letters = "", ""
        for segment in strip:
            letter = styles.setdefault(str(segment.style), _LETTERS[len(styles)])
            chars += segment.text
            letters += letter * len(segment.text)
        rows.append(_steady(chars))
        runs.append(" ".join(f"{len(list(run))}{letter}" for letter, run in itertools.groupby(letters)))
    meaning = [f"{letter}  {style}" for style, letter in styles.items()]
    return "\n".join([*(f"|{row}|" for row in rows), "", *runs, "", *meaning, ""])


def _steady(text: str) -> str:
    """Names that are new in each run, by others of the same length."""
    for pattern, word in _STEADY:
        text = pattern.sub(word, text)
    return text


def without_blinking(app: Any) -> None:
    for box in app.screen.query(Input):
        box.cursor_blink = False
        box._cursor_visible = True


def compare(app: Any, name: str) -> str:
    """An empty text, or what is not as in the stored picture."""
    found, file = picture(app), FOLDER / f"{name}.txt"
    if _RENEW:
        FOLDER.mkdir(exist_ok=True)
        file.write_text(found)
        return ""
    wanted = file.read_text() if file.exists() else ""
    if found == wanted:
        return ""
    import difflib

    lines = difflib.unified_diff(wanted.splitlines(), found.splitlines(), "stored", "now", lineterm="", n=0)
    return "\n".join([f"{file.name} is not what is drawn now.", *list(lines)[:40],
                      f"If it should be so: {HOW}"])
