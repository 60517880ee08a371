"""Long output on a terminal goes through a pager; what fits on the screen is printed as it is."""

from __future__ import annotations

import os
import sys

from rewind.cli.open_and_answer import Args, Parser

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from typing import TextIO

_DEFAULT = "less"


def add_pager_option(parser: Parser) -> None:
    parser.add_argument("--no-pager", action="store_true", help="print long output straight to the terminal")


class paged:
    """Sends what is printed inside to a pager, if it is long and stdout is a terminal."""

    # A class, because importing `contextlib` would cost every `rewind list` some milliseconds.
    def __init__(self, args: Args) -> None:
        self._real = sys.stdout
        command = _command(args)
        self._stream = _Paged(command, sys.stdout) if command else None

    def __enter__(self) -> None:
        if self._stream:
            sys.stdout = self._stream

    def __exit__(self, kind: type[BaseException] | None, *more: object) -> bool:
        if self._stream is None:
            return False
        sys.stdout = self._real
        self._stream.finish()
        return kind is not None and issubclass(kind, BrokenPipeError)  # the reader has seen enough


def _command(args: Args) -> str:
    if args.no_pager or args.json or "NO_PAGER" in os.environ or os.environ.get("TERM", "dumb") == "dumb":
        return ""
    if not (sys.stdout.isatty() and sys.stdin.isatty()):
        return ""
    import shutil

    command = os.environ.get("PAGER", _DEFAULT).strip()
    return command if command and command != "cat" and shutil.which(command.split()[0]) else ""


class _Paged:
    """Holds back the first screen, and starts the pager only if there is more."""

    def __init__(self, command: str, terminal: TextIO) -> None:
        self._command = command
        self._terminal = terminal
        self._held: list[str] = []
        self._room = _screen_lines() - 1
        self._pager: subprocess.Popen[str] | None = None
        self.encoding = terminal.encoding

    def isatty(self) -> bool:
        return True

    def flush(self) -> None:
        """The pager decides when it shows what it gets."""

    def write(self, text: str) -> int:
        if self._pager and self._pager.stdin:
            self._pager.stdin.write(text)
            return len(text)
        self._held.append(text)
        self._room -= text.count("\n")
        if self._room < 0:
            self._start()
        return len(text)

    def _start(self) -> None:
        import subprocess

        # As git does it: quit if it fits after all, pass colours on, leave the text on the screen.
        env = {"LESS": "FRX", "LV": "-c", **os.environ}
        self._pager = subprocess.Popen(self._command, shell=True, stdin=subprocess.PIPE, env=env,
                                       encoding="utf-8", errors="backslashreplace")
        held, self._held = self._held, []
        self.write("".join(held))

    def finish(self) -> None:
        if self._pager is None:
            self._terminal.write("".join(self._held))
            return
        try:
            if self._pager.stdin:
                self._pager.stdin.close()
        except BrokenPipeError:
            pass
        while True:
            try:
                self._pager.wait()
                return
            except KeyboardInterrupt:
                continue  # the pager handles Ctrl-C itself


def _screen_lines() -> int:
    import shutil

    return shutil.get_terminal_size().lines or 24  # Python 3.9 returns 0 if the terminal does not know
