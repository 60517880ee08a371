"""Gemini CLI's log of operations, shown as a series of messages: the same bytes, without what does not
count."""

from __future__ import annotations

from bisect import bisect_right

from rewind.fast import quickjson
from rewind.transcript.kinds.oplog_end import end_from
from rewind.transcript.kinds.oplog_fold import (
    CONTEXT,
    SNAPSHOT,
    Folded,
    fold,
    messages_in_list,
    operations,
    text_of,
)
from rewind.transcript.read.joined import VirtualFile
from rewind.transcript.read.lines import read_at, size_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from rewind.jsonfile import JsonObject
    from rewind.transcript.kinds.oplog_fold import Operation

COMPACTION = b'{"$compaction":1}\n'  # what a compaction becomes in the view
_ROLES = {"user": (b'"user"', b'"User"'), "gemini": (b'"gemini"', b'"Gemini"')}
_OPENING = 512 << 10


class View(VirtualFile):
    """The file, with blanks in place of what does not count any more. Every message is there once, where it
    was said, on a line of its own. If it was taken back, its type is written in another case (`User`).
    Offsets are those of the file, and `stored` is the file itself. Nothing is read before it is asked for,
    and of a long log only the end if that is certain."""

    def __init__(self, file: BinaryIO, size: int | None = None) -> None:
        super().__init__([file])
        self.stored = file
        self.joined_size = size_of(file) if size is None else size
        self._folded: tuple[int, Folded] | None = None
        self._known_from = self.joined_size  # from this offset on, `_lines` is complete
        self._lines: list[tuple[int, bytes]] = []
        self._starts: list[int] = []
        self._changes: list[tuple[int, int]] = []

    def fold(self, end: int) -> Folded:
        """The last result is kept, because a fork is first checked and then written."""
        if self._folded is None or self._folded[0] != end:
            self._folded = end, fold(self.stored, end)
        return self._folded[1]

    def opening(self) -> BinaryIO:
        """Only the beginning, which is enough to find the first prompt."""
        return View(self.stored, min(self.joined_size, _OPENING))  # type: ignore[return-value]

    def only_grew(self, since: int) -> bool:
        """Whether nothing after this offset changes what came before it."""
        self._find_changed_lines(since)
        return all(changed >= since for offset, changed in self._changes if offset >= since)

    def read_joined(self, offset: int, count: int) -> bytes:
        self._find_changed_lines(offset)
        data = bytearray(read_at(self.stored, offset, min(count, max(0, self.joined_size - offset))))
        at = max(0, bisect_right(self._starts, offset) - 1)
        while at < len(self._lines) and self._lines[at][0] < offset + len(data):
            start, line = self._lines[at]
            first, stop = max(start, offset), min(start + len(line), offset + len(data))
            if first < stop:
                data[first - offset:stop - offset] = line[first - start:stop - start]
            at += 1
        return bytes(data)

    def _find_changed_lines(self, offset: int) -> None:
        """Find out which lines change, at least from an offset on."""
        if self._known_from <= offset:
            return
        end = end_from(self.stored, self.joined_size, offset)
        found = _ViewLines()
        for operation in end.operations if end else operations(self.stored, self.joined_size):
            found.add(operation)
        self._known_from = end.start if end else 0
        self._lines = sorted(found.lines())
        self._starts = [start for start, _ in self._lines]
        self._changes = found.changes


class _Position:
    """Where a message is shown. `is_own`: on its own line, not in a list."""

    __slots__ = ("end", "is_own", "offset")

    def __init__(self, offset: int, end: int, is_own: bool) -> None:
        self.offset = offset
        self.end = end
        self.is_own = is_own


class _ViewLines:
    """Which lines differ in the view, and what they are there."""

    def __init__(self) -> None:
        self.changes: list[tuple[int, int]] = []  # offset of a record, offset of the first thing it changes
        self._folded = Folded()
        self._positions: dict[str, _Position] = {}
        self._data: dict[str, JsonObject] = {}
        self._old_ids: dict[str, str] = {}  # new id of a prompt that a compaction kept -> its old id
        self._kept_ids: set[str] = set()  # new ids of all that compactions kept
        self._summed_up: dict[str, list[str]] = {}  # id of a summary -> ids of what it stands for
        self._own_lines: list[tuple[int, bytes, str]] = []
        self._lists: list[tuple[Operation, bool]] = []

    def add(self, operation: Operation) -> None:
        messages = operation.messages
        if operation.what == "message":
            self._add_message(operation)
        elif messages is not None:
            self._add_list(operation, messages)
        elif operation.what == "rewind":
            self.changes.append((operation.offset, 0))
        self._folded.apply(operation, messages)

    def _add_message(self, operation: Operation) -> None:
        id, known = operation.id, self._positions.get(operation.id)
        self._own_lines.append((operation.offset, operation.raw, id))
        if known:
            self.changes.append((operation.offset, known.offset))
        # A prompt is shown where it was first written, an answer where it was written last and is complete.
        if known is None or (operation.data.get("type") != "user" and known.is_own):
            self._positions[id] = _Position(operation.offset, operation.end, True)
            self._data[id] = operation.data

    def _add_list(self, operation: Operation, messages: list[JsonObject]) -> None:
        if self._positions:
            self.changes.append((operation.offset, 0))
        summary = next((m for m in messages if m["id"] not in self._data and is_summary(m)), None)
        self._lists.append((operation, summary is not None))
        if summary is not None:
            self._compact(summary, messages)
            return
        for offset, end, message in messages_in_list(operation):
            id = message["id"]
            if id not in self._positions and id not in self._kept_ids and not id.endswith("_response"):
                self._positions[id] = _Position(offset, end, False)
                self._data[id] = message

    def _compact(self, summary: JsonObject, messages: list[JsonObject]) -> None:
        """What a compaction keeps may have new ids, so kept prompts are recognised by their words."""
        before = [self._old_ids.get(id, id) for id in self._folded.messages]
        self._data.setdefault(summary["id"], summary)
        left = [id for id in before if self._data.get(id, {}).get("type") == "user"]
        twins = set()
        for message in reversed(messages):
            id = message["id"]
            if id in self._data or message.get("type") != "user":
                continue
            twin = next((old for old in reversed(left) if text_of(self._data[old]) == text_of(message)), None)
            if twin is not None:
                self._old_ids[id] = twin
                twins.add(twin)
                left = left[:left.index(twin)]
        self._kept_ids.update(m["id"] for m in messages if m["id"] not in self._positions)
        self._summed_up[summary["id"]] = [id for id in before if id not in twins]

    def _active(self) -> set[str]:
        """Every message that leads to the current state of the conversation, including what was summed up."""
        self._folded.restore_before_stub()
        todo, found = list(self._folded.messages), set[str]()
        while todo:
            id = todo.pop()
            if id not in found:
                found.add(id)
                todo += self._summed_up.get(id, [])
                if id in self._old_ids:
                    todo.append(self._old_ids[id])
        return found

    def lines(self) -> Iterator[tuple[int, bytes]]:
        active = self._active()
        for offset, raw, id in self._own_lines:
            position = self._positions[id]
            if position.offset != offset or not position.is_own or _is_context(self._data[id]):
                yield offset, _blank(raw)
            elif id not in active:
                yield offset, _taken_back(raw, self._data[id])
        for operation, is_compaction in self._lists:
            yield operation.offset, self._line_of_list(operation, is_compaction, active)

    def _line_of_list(self, operation: Operation, is_compaction: bool, active: set[str]) -> bytes:
        line = bytearray(_blank(operation.raw))
        if is_compaction and len(line) > len(COMPACTION):
            line[:len(COMPACTION)] = COMPACTION
        for offset, end, message in [] if is_compaction else messages_in_list(operation):
            position, id = self._positions.get(message["id"]), message["id"]
            if position is None or position.is_own or position.offset != offset or _is_context(message):
                continue
            start, stop = offset - operation.offset, end - operation.offset
            raw = operation.raw[start:stop]
            line[start - 1:start] = b"\n"
            line[start:stop] = raw if id in active else _taken_back(raw, message)
            line[stop:stop + 1] = b"\n"
        return bytes(line)


def is_summary(message: JsonObject) -> bool:
    return message.get("type") == "user" and text_of(message).lstrip().startswith(SNAPSHOT)


def _is_context(message: JsonObject) -> bool:
    """Whether it is what the client tells the model before the first prompt."""
    return message.get("type") == "user" and text_of(message).lstrip().startswith(CONTEXT)


def _blank(raw: bytes) -> bytes:
    return b" " * (len(raw) - 1) + b"\n" if raw.endswith(b"\n") else b" " * len(raw)


def _taken_back(raw: bytes, data: JsonObject) -> bytes:
    """The same bytes with the type in another case. Blanks for what is neither a prompt nor an answer."""
    was, now = _ROLES.get(str(data.get("type")), (b"", b""))
    at = raw.find(was) if was else -1
    while at >= 0:
        changed = raw[:at] + now + raw[at + len(was):]
        try:
            if quickjson.loads(changed.decode("utf-8", "replace")).get("type") == now.decode()[1:-1]:
                return changed
        except (ValueError, RecursionError, AttributeError):
            break
        at = raw.find(was, at + 1)
    return _blank(raw)
