"""The standard streams of a real process: always there, and a write that fails is told for what it is."""

from __future__ import annotations

import io
import sys

from rewind.errors import OutputLost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO


class _Result(io.FileIO):
    """A full disk behind `> file` is not one that the store is on, and no port that is taken."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputLost(what="The output", reason=error.strerror or error)


class _Talk(io.FileIO):
    """Nothing ends half-way because nobody can be told of it. What was printed before comes before it, also
    where both streams lead to one file (`2>&1 | tee log`)."""

    def write(self, data: Any) -> int:
        try:
            sys.stdout.flush()
        except (OSError, ValueError, OutputLost):
            pass  # it stays in the buffer, and the end of the command reports it
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
    sys.stdout = _text(_Result(1, "w", closefd=False), sys.stdout)
    sys.stderr = _text(_Talk(2, "w", closefd=False), sys.stderr, by_line=True)


def _text(raw: io.FileIO, before: TextIO | None, by_line: bool = False) -> TextIO:
    """As Python has made it, but for what happens to errors; one without a buffer gets one for a line."""
    by_line = by_line or getattr(before, "line_buffering", False) or getattr(before, "write_through", False)
    return io.TextIOWrapper(io.BufferedWriter(raw), before.encoding if before else "utf-8",
                            "backslashreplace", line_buffering=by_line)
