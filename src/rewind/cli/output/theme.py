"""Light or dark: the person's own choice (`ui.theme`), else the terminal's background."""

from __future__ import annotations

import os
import re
import select
import sys
import time

from rewind.controller import CONFIG_FILE, load_usable, set_value
from rewind.paths import rewind_home

_PATIENCE = 1.0  # seconds, for a slow connection; what comes later would be taken for keys
# Asks for the background colour, then something that every terminal answers, so that a terminal that does not
# know the first question costs no time.
_QUESTION = b"\x1b]11;?\x1b\\\x1b[c"
_COLOUR = re.compile(rb"\x1b\]11;rgba?:([0-9a-fA-F]+)/([0-9a-fA-F]+)/([0-9a-fA-F]+)")
_END = re.compile(rb"\x1b\[\?[0-9;]*c")


def light_wanted() -> bool:
    """Commands that need the settings report problems in them; this ignores them."""
    theme = load_usable(rewind_home(), None)[0].get("ui.theme")
    return _is_light() if theme == "auto" else bool(theme == "light")


def remember_light(light: bool) -> None:
    set_value(os.path.join(rewind_home(), CONFIG_FILE), "ui.theme", "light" if light else "dark", False)


def _is_light() -> bool:
    """What the terminal answers, else what some terminals put into the environment; the default is dark."""
    said = _COLOUR.search(_ask())
    if said:
        return _brightness([part.decode() for part in said.groups()]) > 0.5
    last = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    return last in ("7", "15")


def _brightness(parts: list[str]) -> float:
    red, green, blue = (int(part, 16) / float(16 ** len(part) - 1) for part in parts)
    return 0.299 * red + 0.587 * green + 0.114 * blue


def _ask() -> bytes:
    try:
        import termios
        import tty

        fd = sys.stdin.fileno()
        before = termios.tcgetattr(fd)
    except Exception:  # not only OSError: termios.error is none
        return b""
    try:
        tty.setcbreak(fd)
        os.write(sys.stdout.fileno(), _QUESTION)
        return _answer(fd)
    except OSError:
        return b""
    finally:
        termios.tcsetattr(fd, termios.TCSANOW, before)


def _answer(fd: int) -> bytes:
    found, until = b"", time.monotonic() + _PATIENCE
    while not _END.search(found) and time.monotonic() < until:
        if select.select([fd], [], [], max(0.0, until - time.monotonic()))[0]:
            found += os.read(fd, 256)
    return found
