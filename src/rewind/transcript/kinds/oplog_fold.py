"""Gemini CLI's log of operations: its records, and the messages that result from them.

A record is a message, a change of settings (`$set`, which may replace all messages), or a step back
(`$rewindTo`). A message that is written again replaces the one with the same id. The file only
grows, so the records before an offset give the conversation as it was when the file ended there. Seen with
Gemini CLI 0.61.
"""

from __future__ import annotations

import re

from rewind.fast import quickjson
from rewind.transcript.read.lines import bytes_in, lines_forward, size_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

    from rewind.jsonfile import JsonObject


SNAPSHOT = "<state_snapshot>"
CONTEXT = "<session_context>"
_META = ("lastUpdated", "sessionId", "projectHash", "startTime", "kind", "summary", "memoryScratchpad",
         "directories", "messages")
_LIST_START = re.compile(r'\s*\{\s*"\$set"\s*:\s*\{\s*"messages"\s*:\s*\[\s*')
_COMMA = re.compile(r"\s*,\s*")


# records

class Operation:
    """One line. `what` is message, rewind, set or header; empty if it is unknown."""

    __slots__ = ("data", "end", "offset", "raw", "what")

    def __init__(self, offset: int, raw: bytes, data: JsonObject) -> None:
        self.offset = offset
        self.end = offset + len(raw)
        self.raw = raw
        self.data = data
        self.what = _what(data)

    @property
    def id(self) -> str:
        return str(self.data["$rewindTo"] if self.what == "rewind" else self.data["id"])

    @property
    def values(self) -> JsonObject:
        """The settings that it changes."""
        found: JsonObject = self.data["$set"] if self.what == "set" else self.data
        return found

    @property
    def messages(self) -> list[JsonObject] | None:
        found = self.values.get("messages") if self.what in ("set", "header") else None
        return [m for m in found if is_message(m)] if isinstance(found, list) else None


def _what(data: JsonObject) -> str:
    """Checked in the order in which Gemini CLI does it."""
    if isinstance(data.get("$rewindTo"), str):
        return "rewind"
    if isinstance(data.get("id"), str):
        return "message"
    if isinstance(data.get("$set"), dict):
        return "set"
    return "header" if isinstance(data.get("sessionId"), str) else ""


def is_message(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get("id"), str)


def operations(file: BinaryIO, end: int | None = None, start: int = 0) -> Iterator[Operation]:
    """Lines that are not JSON, or contain more than one value, are skipped, as Gemini CLI does."""
    for offset, raw in lines_forward(file, start, end):
        body = raw.strip(b" \t\r\n")
        try:
            data = quickjson.loads(body.decode("utf-8", "replace")) if body[:1] == b"{" else None
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict):
            yield Operation(offset, raw, data)


def unknown_record_name(operation: Operation) -> str:
    """A name for a record that may mean anything; empty for a known record."""
    if not operation.what:
        return ", ".join(sorted(operation.data))[:40] or "an empty one"
    strange = [key for key in operation.data if key.startswith("$") and key not in ("$set", "$rewindTo")]
    if operation.what == "set":
        strange += [key for key, value in operation.values.items()
                    if key not in _META and isinstance(value, (list, dict))]
    return strange[0][:40] if strange else ""


def text_of(message: JsonObject) -> str:
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    return "".join(text for text in texts if isinstance(text, str))


# what results from them

class Folded:
    """`messages` by id, in order. `stamps` are the times in their first versions. `unknown` names the first
    record of the whole file that may mean anything."""

    def __init__(self) -> None:
        self.meta: JsonObject = {}
        self.unknown = ""
        self.messages: dict[str, JsonObject] = {}
        self.stamps: dict[str, object] = {}
        self._raw: dict[str, bytes] = {}  # the line of a message, if it is not part of a list
        self._before_stub: dict[str, JsonObject] = {}
        self._is_new_header = False  # whether the last record is a header without messages after it

    def apply(self, operation: Operation, messages: list[JsonObject] | None) -> None:
        if operation.what == "header" and self.messages:
            self._before_stub, self._is_new_header = dict(self.messages), True
        elif operation.what in ("rewind", "message") or messages is not None:
            self._before_stub = self._before_stub if self._is_new_header and operation.what == "set" else {}
            self._is_new_header = False
        if operation.what == "rewind":
            self._rewind(operation.id)
        elif operation.what == "message":
            self._add(operation.data)
            self._raw[operation.id] = operation.raw
        elif operation.what in ("set", "header"):
            self.meta.update((k, v) for k, v in operation.values.items() if k != "messages")
            if messages is not None:
                if operation.what == "set":
                    self.messages = {}
                for message in messages:
                    self._add(message)

    def _add(self, message: JsonObject) -> None:
        self.messages[message["id"]] = message
        self._raw.pop(message["id"], None)
        self.stamps.setdefault(message["id"], message.get("timestamp"))

    def _rewind(self, id: str) -> None:
        """Go back to before a message. If it is not there, Gemini CLI drops everything."""
        ids = list(self.messages)
        for gone in ids[ids.index(id) if id in self.messages else 0:]:
            del self.messages[gone]

    def restore_before_stub(self) -> None:
        """If a session is resumed in the minute in which it was made, Gemini CLI 0.61 starts it again in the
        same file, and writes all messages once more a moment later. In between they still count."""
        if self._before_stub and all(text_of(m).startswith(CONTEXT) for m in self.messages.values()):
            self.messages = self._before_stub

    def messages_to_write(self) -> Iterator[tuple[JsonObject, bytes]]:
        """The messages, each with the time at which it was said, because a resumed session has other times.
        And the line that was written for it, if nothing in it changes."""
        for id, message in self.messages.items():
            stamp = self.stamps.get(id)
            if stamp and message.get("timestamp", stamp) != stamp:
                yield {**message, "timestamp": stamp}, b""
            else:
                yield message, self._raw.get(id, b"")


def fold(file: BinaryIO, end: int | None = None) -> Folded:
    """What results from the records before an offset. A list of messages that begins before it counts up to
    the last message that ends before it."""
    end = size_of(file) if end is None else end
    found = Folded()
    for operation in operations(file):
        found.unknown = found.unknown or unknown_record_name(operation)
        messages = operation.messages
        if operation.end > end:
            if operation.offset >= end or messages is None:
                continue
            messages = [data for _, stop, data in messages_in_list(operation) if stop <= end]
        found.apply(operation, messages)
    found.restore_before_stub()
    return found


def messages_in_list(operation: Operation) -> list[tuple[int, int, JsonObject]]:
    """(offset, end, message) for each message of a list; nothing if the line is not written as
    usual."""
    from json import JSONDecoder

    text = operation.raw.decode("utf-8", "surrogateescape")
    begins = _LIST_START.match(text) if operation.what == "set" else None
    decoder, found = JSONDecoder(), []
    at, place, measured = begins.end() if begins else len(text), operation.offset, 0
    while at < len(text) and text[at] == "{":
        try:
            data, stop = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return []
        place, measured = place + bytes_in(text[measured:at]), at
        if is_message(data):
            found.append((place, place + bytes_in(text[at:stop]), data))
        following = _COMMA.match(text, stop)
        at = following.end() if following else len(text)
    return found
