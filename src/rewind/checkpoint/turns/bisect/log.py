"""`bisect.log`: the results of the last bisect, as text that can be kept and replayed."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import is_name
from rewind.checkpoint.turns.bisect.search import BAD, GOOD, SKIP
from rewind.errors import RewindError
from rewind.files import PRIVATE_FILE, read_bounded

FILE = "bisect.log"
_HEAD = "# rewind bisect"
_MOST = 1 << 20
_KEEP = "Keep one with: rewind bisect log > FILE"
_WORDS = (GOOD, BAD, SKIP)


class BisectLog:
    def __init__(self, state: State) -> None:
        self.path = state.project.path(FILE)

    def start(self, command: Sequence[str]) -> None:
        text = " ".join(shlex.quote(word) for word in command).replace("\n", " ")
        self._write(f"{_HEAD} run -- {text}\n", os.O_TRUNC)

    def add(self, word: str, name: str, about: str = "") -> None:
        remark = f"  # {' '.join(about.split())}" if about else ""
        self._write(f"{word} {name}{remark}\n", os.O_APPEND)

    def _write(self, text: str, how: int) -> None:
        fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | how, PRIVATE_FILE)
        with os.fdopen(fd, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)

    def text(self) -> str:
        try:
            return read_bounded(self.path, _MOST).decode("utf-8", "surrogateescape")
        except FileNotFoundError:
            raise RewindError("No bisect was run here yet.",
                              hint="For example: rewind bisect run -- make test")


def read_log(path: str) -> dict[str, str]:
    """Checkpoint -> result, in the order of the file."""
    try:
        text = read_bounded(path, _MOST).decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        raise RewindError(f"There is no file {path}", hint=_KEEP)
    if not text.startswith(_HEAD):
        raise RewindError(f"This is not a log of bisect: {path}", hint=_KEEP)
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) != 2 or words[0] not in _WORDS or not is_name(words[1]):
            raise RewindError(f"Line {number} is not `good`, `bad` or `skip` and a checkpoint: {path}",
                              hint=_KEEP)
        found[words[1]] = words[0]
    return found
