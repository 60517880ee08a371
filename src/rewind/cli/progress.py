"""A progress line on the terminal for work that takes more than half a second."""

from __future__ import annotations

import os
import sys
import time

from rewind.cli.session import voice

_PATIENCE = 0.5
_EVERY = 0.1
_BAR = 24


class ProgressLine:
    """Callable as `progress(what, done, total)`; silent off a terminal. `with` clears the line."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._last = 0.0
        self._drawn = False
        self._wanted = sys.stderr.isatty() and not voice.quiet

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *error: object) -> None:
        self.clear()

    def __call__(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if not self._wanted or now - self._start < _PATIENCE or now - self._last < _EVERY:
            return
        self._last = now
        share = min(1.0, done / total) if total else 0.0
        bar = "█" * int(share * _BAR) + "░" * (_BAR - int(share * _BAR))
        line = f"{what} {bar} {share:4.0%} {done:,} of {total:,}"
        sys.stderr.write("\r\x1b[K" + line[: os.get_terminal_size(2).columns - 1])
        sys.stderr.flush()
        self._drawn = True

    def clear(self) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False
