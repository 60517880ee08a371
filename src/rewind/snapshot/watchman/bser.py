"""BSER, Watchman's binary protocol. Its JSON protocol does not allow names that are not UTF-8: if there is
one, Watchman 4.9 does not answer at all."""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HEAD = b"\x00\x01"  # version 1
_ARRAY, _OBJECT, _BYTES, _INT64, _REAL, _TRUE, _FALSE, _NULL, _TEMPLATE, _SKIP, _TEXT = (
    0, 1, 2, 6, 7, 8, 9, 10, 11, 12, 13)
_INTS = {3: struct.Struct("=b"), 4: struct.Struct("=h"), 5: struct.Struct("=i"), _INT64: struct.Struct("=q")}
_DOUBLE = struct.Struct("=d")
_PLAIN = {_TRUE: True, _FALSE: False, _NULL: None, _SKIP: None}
_MOST_LEVELS = 16


class NotBser(Exception):
    """It is not a message, or not one that Watchman would send."""


def dumps(value: Any) -> bytes:
    """A whole message. Texts are sent as bytes."""
    body = _encode(value)
    return HEAD + _number(len(body)) + body


def _number(value: int) -> bytes:
    return bytes((_INT64,)) + _INTS[_INT64].pack(value)


def _encode(value: Any) -> bytes:
    if value is True or value is False:
        return bytes((_TRUE if value else _FALSE,))
    if isinstance(value, int):
        return _number(value)
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape")
    if isinstance(value, bytes):
        return bytes((_BYTES,)) + _number(len(value)) + value
    if isinstance(value, dict):
        return bytes((_OBJECT,)) + _number(len(value)) + b"".join(
            _encode(key) + _encode(member) for key, member in value.items())
    return bytes((_ARRAY,)) + _number(len(value)) + b"".join(map(_encode, value))


def message_size(start: bytes) -> int:
    """The length of the message that begins like this; 0 if the beginning is too short to say."""
    if not start.startswith(HEAD[:len(start)]):
        raise NotBser
    if len(start) < 3:
        return 0
    kind = _INTS.get(start[2])
    if kind is None:
        raise NotBser
    if len(start) < 3 + kind.size:
        return 0
    size = int(kind.unpack_from(start, 3)[0])
    if size < 1:
        raise NotBser
    return 3 + kind.size + size


def loads(message: bytes) -> Any:
    """The value of a whole message. Names and texts are bytes."""
    try:
        return _Reader(message, 3 + _INTS[message[2]].size).value(0)
    except (IndexError, KeyError, struct.error):
        raise NotBser


class _Reader:
    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = at

    def value(self, level: int) -> Any:
        kind = self._data[self._at]
        if kind in _INTS:
            return self._int()
        self._at += 1
        if kind in (_BYTES, _TEXT):
            return self._bytes()
        if kind in _PLAIN:
            return _PLAIN[kind]
        if kind == _REAL:
            self._at += _DOUBLE.size
            return _DOUBLE.unpack_from(self._data, self._at - _DOUBLE.size)[0]
        if level == _MOST_LEVELS:
            raise NotBser
        if kind == _ARRAY:
            return [self.value(level + 1) for _ in range(self._count())]
        if kind == _OBJECT:
            return {self._key(): self.value(level + 1) for _ in range(self._count())}
        if kind == _TEMPLATE:
            return self._rows(level + 1)
        raise NotBser

    def _int(self) -> int:
        form = _INTS[self._data[self._at]]
        self._at += 1 + form.size
        return int(form.unpack_from(self._data, self._at - form.size)[0])

    def _count(self) -> int:
        """At most as many as bytes are left, so that no message can claim much memory."""
        count = self._int()
        if not 0 <= count <= len(self._data) - self._at:
            raise NotBser
        return count

    def _bytes(self) -> bytes:
        size = self._count()
        self._at += size
        return self._data[self._at - size:self._at]

    def _key(self) -> bytes:
        if self._data[self._at] not in (_BYTES, _TEXT):
            raise NotBser
        self._at += 1
        return self._bytes()

    def _rows(self, level: int) -> list[dict[bytes, Any]]:
        """Objects that share their keys."""
        if self._data[self._at] != _ARRAY:
            raise NotBser
        self._at += 1
        keys = [self._key() for _ in range(self._count())]
        if not keys:
            raise NotBser
        return [{key: self.value(level) for key in keys} for _ in range(self._count())]
