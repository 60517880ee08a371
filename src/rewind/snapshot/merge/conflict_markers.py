"""How a conflict is written into a text file: both versions, between lines of `<<<<<<<`, `=======`,
`>>>>>>>`."""

from __future__ import annotations

_LENGTH = 7


def with_markers(ours: list[bytes], theirs: list[bytes], labels: tuple[str, str],
                 end: bytes) -> list[bytes]:
    return [_marker(b"<", labels[0], end), *_with_end(ours, end), _marker(b"=", "", end),
            *_with_end(theirs, end), _marker(b">", labels[1], end)]


def ends_in_cr(lines: list[bytes], at: int) -> bool | None:
    """For a last line without an end, the line before decides. None if there is none."""
    if not lines:
        return None
    line = lines[at]
    if not line.endswith(b"\n"):
        if not at:
            return None
        line = lines[at - 1]
    return line.endswith(b"\r\n")


def _with_end(lines: list[bytes], end: bytes) -> list[bytes]:
    if lines and not lines[-1].endswith(b"\n"):
        return [*lines[:-1], lines[-1] + end]
    return lines


def _marker(sign: bytes, label: str, end: bytes) -> bytes:
    text = label.encode("utf-8", "surrogateescape")
    return sign * _LENGTH + (b" " + text if text else b"") + end
