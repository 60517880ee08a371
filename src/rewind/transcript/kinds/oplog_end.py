"""The end of a long log of Gemini CLI's, where it can be told for certain without reading the rest.

Gemini CLI 0.61 notes the time after each message (`lastUpdated`). A message that was said later than such a
note is recorded after it, for the first time. So after a note, a record concerns what came before only if one
can see that: it is a list, a step back or a header, or a message that is older than the note. What follows
such a record may be certain again.
"""

from __future__ import annotations

import re

from rewind.transcript.kinds.oplog_fold import operations, unknown_record_name
from rewind.transcript.read.lines import lines_forward

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from rewind.jsonfile import JsonObject
    from rewind.transcript.kinds.oplog_fold import Operation

LONG = 8 << 20  # a shorter log is read as a whole
_WINDOW = 512 << 10
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)  # sorts as the times do
_NOTE = {"lastUpdated", "messages"}  # with a `memoryScratchpad` comes a time of before


class End:
    """The records from `start` on, of which none concerns what came before. `messages` are what the log
    amounts to since then, or all that it amounts to where a list came last; empty where nothing is certain.
    `unknown` is a record that may mean anything, among those that were looked at."""

    def __init__(self, size: int) -> None:
        self.start = size
        self.operations: list[Operation] = []
        self.messages: dict[str, JsonObject] = {}
        self.unknown = ""
        self.is_blocked = False  # further back, something is in doubt
        self._size = size
        self._ids: set[str] = set()
        self._noted = ""  # the first note of the time

    def see(self, operation: Operation) -> None:
        self.unknown = self.unknown or unknown_record_name(operation)
        messages = operation.messages
        if operation.what in ("rewind", "header") or messages is not None:
            self._begin_anew()
            self.messages = {m["id"]: m for m in messages or () if operation.what == "set"}
        if operation.what == "message":
            self._see_message(operation)
        elif operation.what == "set" and not self._noted and _NOTE.issuperset(operation.values):
            self._noted = _time(operation.values.get("lastUpdated"))

    def _see_message(self, operation: Operation) -> None:
        if self._noted and operation.id not in self._ids and not self._is_later(operation):
            self._begin_anew()
        elif self._noted:
            self.start = self.start if self.operations else operation.offset
            self.operations.append(operation)
            self._ids.add(operation.id)
        if self.operations or self.messages:
            self.messages[operation.id] = operation.data

    def _is_later(self, operation: Operation) -> bool:
        return _time(operation.data.get("timestamp")) > self._noted

    def _begin_anew(self) -> None:
        self.start, self.is_blocked = self._size, True
        self.operations, self.messages, self._ids, self._noted = [], {}, set(), ""


def _time(stamp: object) -> str:
    """Empty where it is none."""
    return stamp if isinstance(stamp, str) and _STAMP.fullmatch(stamp) else ""


def end_from(file: BinaryIO, size: int, offset: int) -> End | None:
    """Of the first `size` bytes, from `offset` or further up. None where that is not certain, or where it
    is as good to read everything."""
    for found in _ends(file, size, 2 * (size - offset)):
        if found.start <= offset:
            return found
    return None


def end_at(file: BinaryIO, size: int) -> End | None:
    """Of the first `size` bytes, as much as is needed to know some `messages`."""
    return next((found for found in _ends(file, size, 0) if found.messages), None)


def _ends(file: BinaryIO, size: int, window: int) -> Iterator[End]:
    """Longer and longer ones, as long as that may help."""
    window, is_blocked = max(_WINDOW, window), False
    while size > LONG and window <= size // 2 and not is_blocked:
        found = End(size)
        for operation in _last_operations(file, size, window):
            found.see(operation)
        yield found
        window, is_blocked = 2 * window, found.is_blocked


def _last_operations(file: BinaryIO, size: int, window: int) -> Iterator[Operation]:
    """Without the first line, which most likely is the rest of one."""
    first = next(lines_forward(file, size - window, size), (size, b""))
    return operations(file, size, first[0] + len(first[1]))
