"""The end of a long log of Gemini CLI, if it can be understood for certain without reading the rest.

Gemini CLI 0.61 notes the time after each message (`lastUpdated`). A message that is newer than such a note is
recorded after it, for the first time. So only these records after a note can change what came before it: a
list, a step back, a header, and a message that is older than the note. After such a record, the search for a
certain beginning starts again.
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

LONG = 8 << 20  # a shorter log is read completely
_WINDOW = 512 << 10
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)  # in the order of the times
_NOTE_KEYS = {"lastUpdated", "messages"}  # the time beside a `memoryScratchpad` is an earlier one


class End:
    """The records from `start` on. None of them changes what came before. `messages` are those that result
    from these records, or all messages of the log if a list came last; empty if nothing is certain. `unknown`
    names a record that may mean anything."""

    def __init__(self, size: int) -> None:
        self.start = size
        self.operations: list[Operation] = []
        self.messages: dict[str, JsonObject] = {}
        self.unknown = ""
        self.is_blocked = False  # reading further back does not help
        self._size = size
        self._ids: set[str] = set()
        self._noted_time = ""  # the first note of the time

    def add(self, operation: Operation) -> None:
        self.unknown = self.unknown or unknown_record_name(operation)
        messages = operation.messages
        if operation.what in ("rewind", "header") or messages is not None:
            self._start_over()
            self.messages = {m["id"]: m for m in messages or () if operation.what == "set"}
        if operation.what == "message":
            self._add_message(operation)
        elif operation.what == "set" and not self._noted_time and _NOTE_KEYS.issuperset(operation.values):
            self._noted_time = _time(operation.values.get("lastUpdated"))

    def _add_message(self, operation: Operation) -> None:
        if self._noted_time and operation.id not in self._ids and not self._is_later(operation):
            self._start_over()
        elif self._noted_time:
            self.start = self.start if self.operations else operation.offset
            self.operations.append(operation)
            self._ids.add(operation.id)
        if self.operations or self.messages:
            self.messages[operation.id] = operation.data

    def _is_later(self, operation: Operation) -> bool:
        return _time(operation.data.get("timestamp")) > self._noted_time

    def _start_over(self) -> None:
        self.start, self.is_blocked = self._size, True
        self.operations, self.messages, self._ids, self._noted_time = [], {}, set(), ""


def _time(stamp: object) -> str:
    """Empty if it is not a time."""
    return stamp if isinstance(stamp, str) and _STAMP.fullmatch(stamp) else ""


def end_from(file: BinaryIO, size: int, offset: int) -> End | None:
    """The end of the first `size` bytes, beginning at `offset` or before it. None if that is not certain, or
    if everything may as well be read."""
    for found in _ends(file, size, 2 * (size - offset)):
        if found.start <= offset:
            return found
    return None


def end_at(file: BinaryIO, size: int) -> End | None:
    """As much of the end of the first `size` bytes as is needed to know some `messages`."""
    return next((found for found in _ends(file, size, 0) if found.messages), None)


def _ends(file: BinaryIO, size: int, window: int) -> Iterator[End]:
    """Each is longer than the one before, as long as that may help."""
    window, is_blocked = max(_WINDOW, window), False
    while size > LONG and window <= size // 2 and not is_blocked:
        found = End(size)
        for operation in _last_operations(file, size, window):
            found.add(operation)
        yield found
        window, is_blocked = 2 * window, found.is_blocked


def _last_operations(file: BinaryIO, size: int, window: int) -> Iterator[Operation]:
    """Without the first line, which is probably incomplete."""
    first = next(lines_forward(file, size - window, size), (size, b""))
    return operations(file, size, first[0] + len(first[1]))
