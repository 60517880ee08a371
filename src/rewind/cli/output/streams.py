"""The standard streams of a real process. They always exist, and a failed write is reported as such."""

from __future__ import annotations

import io
import sys

from rewind.errors import OutputLost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO


class _Stdout(io.FileIO):
    """Standard output. A full disk behind `> file` is not an error of the store."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputLost(what="The output", reason=error.strerror or error)


class _Stderr(io.FileIO):
    """Standard error. No command fails because it cannot be written. Standard output is flushed first, so
    that the order is right where both lead to one file (`2>&1 | tee log`)."""

    def write(self, data: Any) -> int:
        try:
            sys.stdout.flush()
        except (OSError, ValueError, OutputLost):
            pass  # it stays in the buffer, and is reported at the end of the command
        try:
            return super().write(data)
        except OSError:
            return len(data)


def open_streams() -> None:
    if None in (sys.stdin, sys.stdout, sys.stderr):
        from rewind.processes import open_missing_streams

        open_missing_streams()
        if sys.stdin is None:
            sys.stdin = open(0, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    sys.stdout = _text(_Stdout(1, "w", closefd=False), sys.stdout)
    sys.stderr = _text(_Stderr(2, "w", closefd=False), sys.stderr, by_line=True)


def _text(raw: io.FileIO, before: TextIO | None, by_line: bool = False) -> TextIO:
    """As Python makes it, except for errors; an unbuffered stream becomes line-buffered."""
    by_line = by_line or getattr(before, "line_buffering", False) or getattr(before, "write_through", False)
    return io.TextIOWrapper(io.BufferedWriter(raw), before.encoding if before else "utf-8",
                            "backslashreplace", line_buffering=by_line)
