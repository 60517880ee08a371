"""Gemini CLI's log of operations: what its records amount to, and the same bytes as a run of messages.

A record is a message, a change of settings (`$set`, which may replace all messages), or a step back
(`$rewindTo`). A message that is written again replaces the one with its id. The file only grows, so what the
conversation was at some time is what the records before an offset amount to. Seen with Gemini CLI 0.61.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from rewind import quickjson
from rewind.transcript.lines import lines_forward, read_at, size_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

    Data = dict[str, Any]

MARKER = b'{"$compaction":1}\n'  # what stands for a compaction in the view
SNAPSHOT = "<state_snapshot>"
CONTEXT = "<session_context>"
_META = ("lastUpdated", "sessionId", "projectHash", "startTime", "kind", "summary", "memoryScratchpad",
         "directories", "messages")
_LIST = re.compile(r'\s*\{\s*"\$set"\s*:\s*\{\s*"messages"\s*:\s*\[\s*')
_COMMA = re.compile(r"\s*,\s*")
_ROLES = {"user": (b'"user"', b'"User"'), "gemini": (b'"gemini"', b'"Gemini"')}


# records

class Operation:
    """One line. `what` is message, rewind, set, header, or what nobody knows: an empty text."""

    __slots__ = ("data", "end", "offset", "raw", "what")

    def __init__(self, offset: int, raw: bytes, data: Data) -> None:
        self.offset = offset
        self.end = offset + len(raw)
        self.raw = raw
        self.data = data
        self.what = _what(data)

    @property
    def id(self) -> str:
        return str(self.data["$rewindTo"] if self.what == "rewind" else self.data["id"])

    @property
    def values(self) -> Data:
        """The settings that it changes."""
        found: Data = self.data["$set"] if self.what == "set" else self.data
        return found

    @property
    def messages(self) -> list[Data] | None:
        found = self.values.get("messages") if self.what in ("set", "header") else None
        return [m for m in found if is_message(m)] if isinstance(found, list) else None


def _what(data: Data) -> str:
    """In the order in which Gemini CLI tells them apart."""
    if isinstance(data.get("$rewindTo"), str):
        return "rewind"
    if isinstance(data.get("id"), str):
        return "message"
    if isinstance(data.get("$set"), dict):
        return "set"
    return "header" if isinstance(data.get("sessionId"), str) else ""


def is_message(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get("id"), str)


def operations(file: BinaryIO, end: int | None = None) -> Iterator[Operation]:
    """Lines that are no JSON, or more than one value, are passed over, as Gemini CLI does."""
    for offset, raw in lines_forward(file, 0, end):
        body = raw.strip(b" \t\r\n")
        try:
            data = quickjson.loads(body.decode("utf-8", "replace")) if body[:1] == b"{" else None
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict):
            yield Operation(offset, raw, data)


def what_nobody_knows(operation: Operation) -> str:
    """By what name a record is called that may mean anything; empty for one that is known."""
    if not operation.what:
        return ", ".join(sorted(operation.data))[:40] or "an empty one"
    strange = [key for key in operation.data if key.startswith("$") and key not in ("$set", "$rewindTo")]
    if operation.what == "set":
        strange += [key for key, value in operation.values.items()
                    if key not in _META and isinstance(value, (list, dict))]
    return strange[0][:40] if strange else ""


def text_of(message: Data) -> str:
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    return "".join(text for text in texts if isinstance(text, str))


# what they amount to

class Folded:
    """`messages` by id, in order; `stamps` are the times at which each was first written. `unknown` is the
    first record of the whole file that may mean anything."""

    def __init__(self) -> None:
        self.meta: Data = {}
        self.unknown = ""
        self.messages: dict[str, Data] = {}
        self.stamps: dict[str, Any] = {}
        self._raw: dict[str, bytes] = {}  # the line of a message that has one of its own
        self._before_stub: dict[str, Data] = {}
        self._begins = False  # a header, and no messages after it

    def apply(self, operation: Operation, messages: list[Data] | None) -> None:
        if operation.what == "header" and self.messages:
            self._before_stub, self._begins = dict(self.messages), True
        elif operation.what in ("rewind", "message") or messages is not None:
            self._before_stub = self._before_stub if self._begins and operation.what == "set" else {}
            self._begins = False
        if operation.what == "rewind":
            self._rewind(operation.id)
        elif operation.what == "message":
            self._put(operation.data)
            self._raw[operation.id] = operation.raw
        elif operation.what in ("set", "header"):
            self.meta.update((k, v) for k, v in operation.values.items() if k != "messages")
            if messages is not None:
                if operation.what == "set":
                    self.messages = {}
                for message in messages:
                    self._put(message)

    def _put(self, message: Data) -> None:
        self.messages[message["id"]] = message
        self._raw.pop(message["id"], None)
        self.stamps.setdefault(message["id"], message.get("timestamp"))

    def _rewind(self, id: str) -> None:
        """To before a message; with one that is not there, Gemini CLI drops everything."""
        ids = list(self.messages)
        for gone in ids[ids.index(id) if id in self.messages else 0:]:
            del self.messages[gone]

    def settle(self) -> None:
        """When a session is resumed in the minute in which it was made, Gemini CLI 0.61 begins it anew in the
        same file, and writes all messages again a moment later. Between the two they are not lost."""
        if self._before_stub and all(text_of(m).startswith(CONTEXT) for m in self.messages.values()):
            self.messages = self._before_stub

    def written(self) -> Iterator[tuple[Data, bytes]]:
        """The messages, each with the time at which it was said: a resumed session has another one. And the
        line that it was written as, where that is the same."""
        for id, message in self.messages.items():
            stamp = self.stamps.get(id)
            if stamp and message.get("timestamp", stamp) != stamp:
                yield {**message, "timestamp": stamp}, b""
            else:
                yield message, self._raw.get(id, b"")


def fold(file: BinaryIO, end: int | None = None) -> Folded:
    """What the records before an offset amount to. Of a list of messages that begins before it, those that
    end before it."""
    end = size_of(file) if end is None else end
    found = Folded()
    for operation in operations(file):
        found.unknown = found.unknown or what_nobody_knows(operation)
        messages = operation.messages
        if operation.end > end:
            if operation.offset >= end or messages is None:
                continue
            messages = [data for _, stop, data in elements(operation) if stop <= end]
        found.apply(operation, messages)
    found.settle()
    return found


def elements(operation: Operation) -> list[tuple[int, int, Data]]:
    """(offset, end, message) of each in a list of messages; none where the line is not written as usual."""
    from json import JSONDecoder

    text = operation.raw.decode("utf-8", "surrogateescape")
    begins = _LIST.match(text) if operation.what == "set" else None
    decoder, found = JSONDecoder(), []
    at, place, measured = begins.end() if begins else len(text), operation.offset, 0
    while at < len(text) and text[at] == "{":
        try:
            data, stop = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return []
        place, measured = place + _bytes_in(text[measured:at]), at
        if is_message(data):
            found.append((place, place + _bytes_in(text[at:stop]), data))
        following = _COMMA.match(text, stop)
        at = following.end() if following else len(text)
    return found


def _bytes_in(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


# the same bytes as a run of messages

class View:
    """The file with what does not count any more blanked out: every message once, at the place where it was
    said, on a line of its own. What was taken back has its type in another case (`User`). Offsets are those
    of the file, and `stored` is the file itself. Nothing is read before somebody looks."""

    lacks = ""

    def __init__(self, file: BinaryIO) -> None:
        self.stored = file
        self.joined_size = size_of(file)
        self._folded: tuple[int, Folded] | None = None
        self._starts: list[int] | None = None
        self._lines: list[tuple[int, bytes]] = []
        self._rewritten = -1

    def fold(self, end: int) -> Folded:
        """The last one is remembered: a fork is checked, then written."""
        if self._folded is None or self._folded[0] != end:
            self._folded = end, fold(self.stored, end)
        return self._folded[1]

    def only_grew(self, since: int) -> bool:
        """Whether what came after an offset changes nothing that came before it."""
        self._build()
        return self._rewritten < since

    def read_joined(self, offset: int, count: int) -> bytes:
        self._build()
        assert self._starts is not None
        data = bytearray(read_at(self.stored, offset, min(count, max(0, self.joined_size - offset))))
        at = max(0, bisect_right(self._starts, offset) - 1)
        while at < len(self._lines) and self._lines[at][0] < offset + len(data):
            start, line = self._lines[at]
            first, stop = max(start, offset), min(start + len(line), offset + len(data))
            if first < stop:
                data[first - offset:stop - offset] = line[first - start:stop - start]
            at += 1
        return bytes(data)

    def _build(self) -> None:
        if self._starts is not None:
            return
        drawing = _Drawing()
        for operation in operations(self.stored, self.joined_size):
            drawing.see(operation)
        self._lines = sorted(drawing.lines())
        self._starts = [start for start, _ in self._lines]
        self._rewritten = drawing.rewritten

    def fileno(self) -> int:
        return self.stored.fileno()

    def close(self) -> None:
        self.stored.close()

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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
        self.rewritten = -1  # where the last record stands that changes what came before it
        self._folded = Folded()
        self._spots: dict[str, _Spot] = {}
        self._data: dict[str, Data] = {}
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
            self.rewritten = operation.offset
        self._folded.apply(operation, messages)

    def _see_message(self, operation: Operation) -> None:
        id, known = operation.id, self._spots.get(operation.id)
        self._own.append((operation.offset, operation.raw, id))
        if known:
            self.rewritten = operation.offset
        # A prompt stands where it was given. An answer is complete where it was written last.
        if known is None or (operation.data.get("type") != "user" and known.is_own):
            self._spots[id] = _Spot(operation.offset, operation.end, True)
            self._data[id] = operation.data

    def _see_list(self, operation: Operation, messages: list[Data]) -> None:
        if self._spots:
            self.rewritten = operation.offset
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

    def _compact(self, summary: Data, messages: list[Data]) -> None:
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
        self._folded.settle()
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


def is_summary(message: Data) -> bool:
    return message.get("type") == "user" and text_of(message).lstrip().startswith(SNAPSHOT)


def _is_context(message: Data) -> bool:
    """What the client says to the model before the first prompt."""
    return message.get("type") == "user" and text_of(message).lstrip().startswith(CONTEXT)


def _blank(raw: bytes) -> bytes:
    return b" " * (len(raw) - 1) + b"\n" if raw.endswith(b"\n") else b" " * len(raw)


def _taken_back(raw: bytes, data: Data) -> bytes:
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
