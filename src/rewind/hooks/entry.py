"""A hook, from standard input to exit status. Whatever goes wrong, the agent's turn goes on."""

from __future__ import annotations

import os
import sys

from rewind.hooks import SCRIPT, TELL

_MAX_BYTES = 64 << 20


def run(argv: list[str], *, is_own_process: bool = False) -> int:
    action = argv[0] if argv else ""
    try:
        if None in (sys.stdin, sys.stdout, sys.stderr):
            from rewind.processes import open_missing_streams

            open_missing_streams()
        from rewind.hooks.event import EVENTS
        from rewind.hooks.handle import handle

        if action not in EVENTS:
            return 0
        outcome = handle(action, _read(), os.environ, is_own_process=is_own_process)
        try:
            if outcome.out:
                os.write(1, outcome.out.encode("utf-8", "replace") + b"\n")
            if outcome.err:
                _tell(outcome.err)
        finally:
            if outcome.finish:
                outcome.finish()
        return outcome.code
    except BaseException as error:
        # If nothing could be logged, 1 makes the script write the line. It exits with 0 in any case.
        return 0 if _log(f"{action}: {type(error).__name__}: {error}") else 1


def _read() -> bytes:
    pieces = []
    left = _MAX_BYTES
    while left > 0:
        piece = os.read(0, min(left, 1 << 20))
        if not piece:
            break
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _tell(text: str) -> None:
    data = text.encode("utf-8", "replace") + b"\n"
    try:
        os.write(TELL if os.environ.get(SCRIPT) else 2, data)
    except OSError:
        pass


def _log(text: str) -> bool:
    try:
        from rewind.hooks.memory.log import write_log
        from rewind.paths import rewind_home

        write_log(rewind_home(), text)
        return True
    except BaseException:
        return False  # half of the library may be missing
