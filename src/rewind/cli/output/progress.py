"""A progress line on the terminal for work that takes more than half a second."""

from __future__ import annotations

import os
import sys
import time

from rewind.cli.open_and_answer import verbosity

_PATIENCE = 0.5
_EVERY = 0.1
_BAR = 24


class ProgressLine:
    """Callable as `progress(what, done, total)`; silent off a terminal. `with` clears the line."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._last = 0.0
        self._drawn = 0  # columns
        self._wanted = sys.stderr.isatty() and not verbosity.quiet and os.environ.get("TERM") != "dumb"

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
        line = f"{what} {bar} {share:4.0%} {done:,} of {total:,}"[: os.get_terminal_size(2).columns - 1]
        sys.stderr.write(f"\r{line:<{self._drawn}}")
        sys.stderr.flush()
        self._drawn = max(self._drawn, len(line))

    def clear(self) -> None:
        if self._drawn:
            sys.stderr.write(f"\r{'':<{self._drawn}}\r")  # no escapes: NO_COLOR means none at all
            sys.stderr.flush()
            self._drawn = 0
