"""Just enough of git's config syntax to find one path, without starting git."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_ESCAPES = {b"\n": b"", b"n": b"\n", b"t": b"\t", b"b": b"\b", b'"': b'"', b"\\": b"\\"}
_BLANK = b" \t\r\n\v\f"
_KEY = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")


def entries(text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The settings as (`section.key` in lower case, value), in order.

    The name of a subsection is replaced by `*`: `includeif.*.path`. Git refuses a file with a syntax error.
    Here, the file ends at the error.
    """
    if text.startswith(b"\xef\xbb\xbf"):
        text = text[3:]
    text = text.replace(b"\r\n", b"\n") + b"\n"
    section, i = b"", 0
    while i < len(text):
        char = text[i : i + 1]
        if char in _BLANK:
            i += 1
        elif char in b"#;":
            i = _line_end(text, i)
        elif char == b"[":
            section, i = _section(text, i)
            if not section:
                return
        else:
            key, value, i = _entry(text, i)
            if not key:
                return
            yield section + b"." + key, value


def _line_end(text: bytes, i: int) -> int:
    end = text.find(b"\n", i)
    return len(text) if end < 0 else end


def _section(text: bytes, i: int) -> tuple[bytes, int]:
    """The section's name and where it ends. An empty name means a syntax error."""
    end = i + 1
    quoted = False
    while end < len(text) and text[end : end + 1] != b"\n":
        char = text[end : end + 1]
        if char == b"]" and not quoted:
            return _section_name(text[i + 1 : end]), end + 1
        if char == b"\\" and quoted:
            end += 1
        elif char == b'"':
            quoted = not quoted
        end += 1
    return b"", end


def _section_name(header: bytes) -> bytes:
    name = header.split(b'"')[0].rstrip(b" \t")
    sub = b'"' in header or b"." in name
    return name.split(b".")[0].lower() + (b".*" if sub else b"")


def _entry(text: bytes, i: int) -> tuple[bytes, bytes, int]:
    """Key, value and where they end. An empty key means a syntax error."""
    start = i
    while i < len(text) and text[i] in _KEY:
        i += 1
    key = text[start:i].lower()
    while text[i : i + 1] in (b" ", b"\t"):
        i += 1
    if text[i : i + 1] in (b"", b"\n"):
        return key, b"", i
    if text[i : i + 1] != b"=":
        return b"", b"", i
    value, i = _value(text, i + 1)
    return (b"" if value is None else key), value or b"", i


def _value(text: bytes, i: int) -> tuple[bytes | None, int]:
    """The value up to the end of its line, which a backslash continues. None means a syntax error."""
    value, kept, quoted = b"", 0, False  # `kept`: the length without trailing blanks
    while i < len(text) and (char := text[i : i + 1]) != b"\n":
        i += 1
        if char == b"\\":
            escaped = text[i : i + 1]
            i += 1
            if escaped not in _ESCAPES:
                return None, i
            value += _ESCAPES[escaped]
            kept = len(value)
        elif char == b'"':
            quoted = not quoted
            kept = len(value)
        elif char in b"#;" and not quoted:
            i = _line_end(text, i)
        elif quoted or char not in _BLANK:
            value += char
            kept = len(value)
        elif value:
            value += char
    return (None if quoted else value[:kept]), i
