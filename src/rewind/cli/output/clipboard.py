"""Copy text to the clipboard, with a tool of this machine or through the terminal."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

_TOOLS = (
    (["pbcopy"], None),
    (["wl-copy"], "WAYLAND_DISPLAY"),
    (["xclip", "-selection", "clipboard"], "DISPLAY"),
    (["clip.exe"], None),
)
_MOST_FOR_TERMINAL = 74_000  # terminals drop longer sequences


def copy(text: str) -> str:
    """How it was copied; empty if there is no way."""
    for command, needs in _TOOLS:
        if (needs is None or os.environ.get(needs)) and shutil.which(command[0]) and _run(command, text):
            return command[0]
    return "the terminal's" if _through_terminal(text) else ""


def _run(command: list[str], text: str) -> bool:
    try:
        # xclip stays behind to serve the clipboard: it must not hold our pipes open.
        done = subprocess.run(command, input=text.encode("utf-8", "replace"), timeout=5, check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _through_terminal(text: str) -> bool:
    """OSC 52, which most terminals support, also over ssh. They do not answer, so success is not known."""
    import base64

    code = base64.b64encode(text.encode("utf-8", "replace")).decode()
    able = sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "linux")
    if not able or len(code) > _MOST_FOR_TERMINAL:
        return False
    sys.stderr.write(f"\x1b]52;c;{code}\x07")
    sys.stderr.flush()
    return True
