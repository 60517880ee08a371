"""Git's wildmatch (with WM_PATHNAME) as byte regexes.

Every choice but the last is atomic, so that matching takes polynomial time for any pattern: `*a*a*a*b` from a
hostile repository cannot stall a checkpoint.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

SPECIAL = frozenset(b"*?[\\")

_SLASH, _STAR = b"/", b"*"
_DEEP = b"**/"  # any number of directories
_DEEPER = b"**\\/"  # at least one: git allows none only before a plain slash
_REST = b"**"
_ANY = b"[^/]"

_UPPER = frozenset(range(ord("A"), ord("Z") + 1))
_LOWER = frozenset(range(ord("a"), ord("z") + 1))
_DIGIT = frozenset(b"0123456789")
_GRAPH = frozenset(range(0x21, 0x7F))
_ALNUM = _UPPER | _LOWER | _DIGIT

# Git's own ctype: only ASCII in any locale, and \v and \f are not spaces.
_CLASSES = {
    b"alnum": _ALNUM,
    b"alpha": _UPPER | _LOWER,
    b"blank": frozenset(b" \t"),
    b"cntrl": frozenset(range(0x20)) | {0x7F},
    b"digit": _DIGIT,
    b"graph": _GRAPH,
    b"lower": _LOWER,
    b"print": _GRAPH | {0x20},
    b"punct": _GRAPH - _ALNUM,
    b"space": frozenset(b" \t\n\r"),
    b"upper": _UPPER,
    b"xdigit": frozenset(b"0123456789abcdefABCDEF"),
}


class Malformed(Exception):
    """The pattern is not well formed, so it matches nothing."""


class Glob:
    """One pattern. It becomes a regex when it is first needed."""

    __slots__ = ("_pattern", "_regex", "_suffix", "_tail", "_tokens", "_width")

    def __init__(self, pattern: bytes) -> None:
        self._pattern = pattern
        self._tokens: list[bytes] | None = None
        self._regex: re.Pattern[bytes] | None = None
        self._width = 0
        self._suffix: bytes | None = None
        if pattern[:1] == b"*" and not SPECIAL.intersection(pattern[1:]) and b"/" not in pattern:
            self._suffix = pattern[1:]
        self._tail: bytes | None = None  # of `**/one/two`, the most usual form of a pattern with `**`
        if pattern.startswith(_DEEP) and not SPECIAL.intersection(pattern[3:]):
            self._tail = pattern[3:]

    def match(self, text: bytes, start: int) -> bool:
        """Whether all of `text` from `start` matches."""
        if self._suffix is not None:
            return text.endswith(self._suffix, start) and text.find(b"/", start) < 0
        if self._tail is not None:
            return text.endswith(self._tail, start) and (
                len(text) - start == len(self._tail) or text.endswith(b"/" + self._tail, start))
        if self._pattern == _REST:
            return True
        if self._tokens is None:
            self._read()
        # So the size of a regex is also limited by the longest path.
        if self._width > len(text) - start:
            return False
        return (self._regex or self._compile()).fullmatch(text, start) is not None

    def _read(self) -> None:
        try:
            self._tokens = list(_tokenize(self._pattern))
        except Malformed:
            self._tokens = [b"(?!)"]
        self._width = sum(t not in (_STAR, _DEEP, _REST) for t in self._tokens)

    def _compile(self) -> re.Pattern[bytes]:
        import re  # most projects need no regex, and the import is slow

        self._regex = re.compile(_Regex().whole(self._tokens or []), re.DOTALL)
        return self._regex


class _Regex:
    """Builds one regex. `*` inside a segment and `**` between segments take the leftmost match and never try
    another: whatever would match after a later one also matches after the leftmost."""

    def __init__(self) -> None:
        self._groups = 0

    def whole(self, tokens: list[bytes]) -> bytes:
        leads = [b""]
        runs: list[list[bytes]] = [[]]
        for token in tokens:
            if token in (_DEEP, _DEEPER):
                leads.append(b"(?:[^/]*/)*?" if token == _DEEP else b"[^/]*/(?:[^/]*/)*?")
                runs.append([])
            else:
                runs[-1].append(token)
        parts = [lead + self._run(run) for lead, run in zip(leads, runs)]
        return parts[0] + b"".join(map(self._atomic, parts[1:-1])) + b"".join(parts[1:][-1:])

    def _run(self, tokens: list[bytes]) -> bytes:
        return b"/".join(map(self._segment, _split(tokens, _SLASH)))

    def _segment(self, tokens: list[bytes]) -> bytes:
        if tokens == [_REST]:
            return b".*"
        chunks = [b"".join(chunk) for chunk in _split(tokens, _STAR)]
        if len(chunks) == 1:
            return chunks[0]
        middle = (self._atomic(b"[^/]*?" + chunk) for chunk in chunks[1:-1])
        return chunks[0] + b"".join(middle) + b"[^/]*" + chunks[-1]

    def _atomic(self, regex: bytes) -> bytes:
        # `(?>…)` needs Python 3.11; a lookahead is atomic everywhere.
        self._groups += 1
        return b"(?=(?P<g%d>%s))(?P=g%d)" % (self._groups, regex, self._groups)


def _split(tokens: list[bytes], at: bytes) -> list[list[bytes]]:
    parts: list[list[bytes]] = [[]]
    for token in tokens:
        if token == at:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _tokenize(pattern: bytes) -> Iterator[bytes]:
    i = 0
    while i < len(pattern):
        char = pattern[i : i + 1]
        if char == b"*":
            token, i = _stars(pattern, i)
            yield token
            continue
        if char == b"[":
            members, i = bracket(pattern, i)
            yield _charset(members)
            continue
        if char == b"\\":
            i += 1
            if i == len(pattern):
                raise Malformed
        i += 1
        yield _ANY if char == b"?" else _literal(pattern[i - 1])


def _stars(pattern: bytes, start: int) -> tuple[bytes, int]:
    end = start
    while pattern[end : end + 1] == b"*":
        end += 1
    if end - start > 1 and (start == 0 or pattern[start - 1 : start] == b"/"):
        if end == len(pattern):
            return _REST, end
        if pattern[end : end + 1] == b"/":
            return _DEEP, end + 1
        if pattern[end : end + 2] == b"\\/":
            return _DEEPER, end + 2
    return _STAR, end


def _literal(char: int) -> bytes:
    return _SLASH if char == ord("/") else b"\\x%02x" % char


def _charset(members: set[int]) -> bytes:
    if not members:
        return b"(?!)"
    return b"[%s]" % b"".join(b"\\x%02x" % char for char in sorted(members))


def bracket(pattern: bytes, start: int) -> tuple[set[int], int]:
    """The bytes that the bracket expression at `start` matches, and its end."""
    i = start + 1
    negated = pattern[i : i + 1] in (b"!", b"^")
    i += negated
    try:
        members, end = _members(pattern, i)
    except IndexError:
        raise Malformed from None
    if negated:
        members = set(range(1, 256)) - members
    return members - {ord("/")}, end


def _members(pattern: bytes, i: int) -> tuple[set[int], int]:
    """The bytes listed from `i` up to the closing bracket. Raises IndexError if there is none."""
    members: set[int] = set()
    low: int | None = None  # the character that may be the start of a range
    first = True
    while first or pattern[i] != ord("]"):
        first = False
        char = pattern[i]
        if char == ord("-") and low is not None and pattern[i + 1] != ord("]"):
            high, i = _escaped(pattern, i + 1)
            members.update(range(low, high + 1))
            low = None
        elif char == ord("[") and (end := _class_end(pattern, i)):
            members |= _class(pattern[i + 2 : end - 1])
            i, low = end + 1, None
        else:
            low, i = _escaped(pattern, i)
            members.add(low)
    return members, i + 1


def _escaped(pattern: bytes, i: int) -> tuple[int, int]:
    i += pattern[i] == ord("\\")
    return pattern[i], i + 1


def _class_end(pattern: bytes, i: int) -> int:
    """The position of the `]` of a `[:class:]` that starts at `i`; 0 if it is something else."""
    if pattern[i + 1] != ord(":"):
        return 0
    end = pattern.find(b"]", i + 2)
    if end < 0:
        raise Malformed
    return end if end > i + 2 and pattern[end - 1] == ord(":") else 0


def _class(name: bytes) -> frozenset[int]:
    if name not in _CLASSES:
        raise Malformed
    return _CLASSES[name]
