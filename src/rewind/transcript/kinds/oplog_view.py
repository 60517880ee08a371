"""Gemini CLI's log of operations as a run of messages: the same bytes, without what does not count."""

from __future__ import annotations

from bisect import bisect_right

from rewind.fast import quickjson
from rewind.transcript.kinds.oplog_end import end_from
from rewind.transcript.kinds.oplog_fold import (
    CONTEXT,
    SNAPSHOT,
    Folded,
    elements,
    fold,
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

MARKER = b'{"$compaction":1}\n'  # what stands for a compaction in the view
_ROLES = {"user": (b'"user"', b'"User"'), "gemini": (b'"gemini"', b'"Gemini"')}
_OPENING = 512 << 10


class View(VirtualFile):
    """The file with what does not count any more blanked out: every message once, at the place where it was
    said, on a line of its own. What was taken back has its type in another case (`User`). Offsets are those
    of the file, and `stored` is the file itself. Nothing is read before somebody looks, and of a long log
    no more than they look at, where that is certain."""

    def __init__(self, file: BinaryIO, size: int | None = None) -> None:
        super().__init__([file])
        self.stored = file
        self.joined_size = size_of(file) if size is None else size
        self._folded: tuple[int, Folded] | None = None
        self._drawn = self.joined_size  # from here on it is known which lines change
        self._lines: list[tuple[int, bytes]] = []
        self._starts: list[int] = []
        self._changes: list[tuple[int, int]] = []

    def fold(self, end: int) -> Folded:
        """The last one is remembered: a fork is checked, then written."""
        if self._folded is None or self._folded[0] != end:
            self._folded = end, fold(self.stored, end)
        return self._folded[1]

    def opening(self) -> BinaryIO:
        """The beginning alone, for who looks for the first prompt."""
        return View(self.stored, min(self.joined_size, _OPENING))  # type: ignore[return-value]

    def only_grew(self, since: int) -> bool:
        """Whether what came after an offset changes nothing that came before it."""
        self._draw(since)
        return all(changed >= since for offset, changed in self._changes if offset >= since)

    def read_joined(self, offset: int, count: int) -> bytes:
        self._draw(offset)
        data = bytearray(read_at(self.stored, offset, min(count, max(0, self.joined_size - offset))))
        at = max(0, bisect_right(self._starts, offset) - 1)
        while at < len(self._lines) and self._lines[at][0] < offset + len(data):
            start, line = self._lines[at]
            first, stop = max(start, offset), min(start + len(line), offset + len(data))
            if first < stop:
                data[first - offset:stop - offset] = line[first - start:stop - start]
            at += 1
        return bytes(data)

    def _draw(self, offset: int) -> None:
        """Find out which lines change, at least from an offset on."""
        if self._drawn <= offset:
            return
        end = end_from(self.stored, self.joined_size, offset)
        drawing = _Drawing()
        for operation in end.operations if end else operations(self.stored, self.joined_size):
            drawing.see(operation)
        self._drawn = end.start if end else 0
        self._lines = sorted(drawing.lines())
        self._starts = [start for start, _ in self._lines]
        self._changes = drawing.changes


class _Spot:
    """Where a message is shown: on a line of its own, or in a list."""

    __slots__ = ("end", "is_own", "offset")

    def __init__(self, offset: int, end: int, is_own: bool) -> None:
        self.offset = offset
        self.end = end
        self.is_own = is_own


class _Drawing:
    """Which lines change in the view, and into what."""

    def __init__(self) -> None:
        self.changes: list[tuple[int, int]] = []  # where a record stands, and from where on it changes things
        self._folded = Folded()
        self._spots: dict[str, _Spot] = {}
        self._data: dict[str, JsonObject] = {}
        self._same: dict[str, str] = {}  # a prompt that a compaction kept has another id
        self._kept: set[str] = set()  # what else it kept under another id
        self._swallowed: dict[str, list[str]] = {}  # by the id of a summary
        self._own: list[tuple[int, bytes, str]] = []
        self._lists: list[tuple[Operation, bool]] = []

    def see(self, operation: Operation) -> None:
        messages = operation.messages
        if operation.what == "message":
            self._see_message(operation)
        elif messages is not None:
            self._see_list(operation, messages)
        elif operation.what == "rewind":
            self.changes.append((operation.offset, 0))
        self._folded.apply(operation, messages)

    def _see_message(self, operation: Operation) -> None:
        id, known = operation.id, self._spots.get(operation.id)
        self._own.append((operation.offset, operation.raw, id))
        if known:
            self.changes.append((operation.offset, known.offset))
        # A prompt stands where it was given. An answer is complete where it was written last.
        if known is None or (operation.data.get("type") != "user" and known.is_own):
            self._spots[id] = _Spot(operation.offset, operation.end, True)
            self._data[id] = operation.data

    def _see_list(self, operation: Operation, messages: list[JsonObject]) -> None:
        if self._spots:
            self.changes.append((operation.offset, 0))
        summary = next((m for m in messages if m["id"] not in self._data and is_summary(m)), None)
        self._lists.append((operation, summary is not None))
        if summary is not None:
            self._compact(summary, messages)
            return
        for offset, end, message in elements(operation):
            id = message["id"]
            if id not in self._spots and id not in self._kept and not id.endswith("_response"):
                self._spots[id] = _Spot(offset, end, False)
                self._data[id] = message

    def _compact(self, summary: JsonObject, messages: list[JsonObject]) -> None:
        """What was kept of the conversation may have got new ids: prompts are known by their words."""
        before = [self._same.get(id, id) for id in self._folded.messages]
        self._data.setdefault(summary["id"], summary)
        left = [id for id in before if self._data.get(id, {}).get("type") == "user"]
        twins = set()
        for message in reversed(messages):
            id = message["id"]
            if id in self._data or message.get("type") != "user":
                continue
            twin = next((old for old in reversed(left) if text_of(self._data[old]) == text_of(message)), None)
            if twin is not None:
                self._same[id] = twin
                twins.add(twin)
                left = left[:left.index(twin)]
        self._kept.update(m["id"] for m in messages if m["id"] not in self._spots)
        self._swallowed[summary["id"]] = [id for id in before if id not in twins]

    def _active(self) -> set[str]:
        """All that leads to where the conversation stands, also what compactions have summed up."""
        self._folded.restore_before_stub()
        todo, found = list(self._folded.messages), set[str]()
        while todo:
            id = todo.pop()
            if id not in found:
                found.add(id)
                todo += self._swallowed.get(id, [])
                if id in self._same:
                    todo.append(self._same[id])
        return found

    def lines(self) -> Iterator[tuple[int, bytes]]:
        active = self._active()
        for offset, raw, id in self._own:
            spot = self._spots[id]
            if spot.offset != offset or not spot.is_own or _is_context(self._data[id]):
                yield offset, _blank(raw)
            elif id not in active:
                yield offset, _taken_back(raw, self._data[id])
        for operation, is_compaction in self._lists:
            yield operation.offset, self._line_of_list(operation, is_compaction, active)

    def _line_of_list(self, operation: Operation, is_compaction: bool, active: set[str]) -> bytes:
        line = bytearray(_blank(operation.raw))
        if is_compaction and len(line) > len(MARKER):
            line[:len(MARKER)] = MARKER
        for offset, end, message in [] if is_compaction else elements(operation):
            spot, id = self._spots.get(message["id"]), message["id"]
            if spot is None or spot.is_own or spot.offset != offset or _is_context(message):
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
    """What the client says to the model before the first prompt."""
    return message.get("type") == "user" and text_of(message).lstrip().startswith(CONTEXT)


def _blank(raw: bytes) -> bytes:
    return b" " * (len(raw) - 1) + b"\n" if raw.endswith(b"\n") else b" " * len(raw)


def _taken_back(raw: bytes, data: JsonObject) -> bytes:
    """The same bytes with the type in another case; blank for what is neither a prompt nor an answer."""
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
