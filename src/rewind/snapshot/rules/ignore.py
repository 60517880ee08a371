"""Ignore files with git's exact semantics (checked against git 2.39), on byte paths.

Plain names, plain paths and `*.ext` are dictionary lookups. Only the rest needs a regex.
"""

from __future__ import annotations

from rewind.snapshot.rules.gitfiles import MAX_BYTES
from rewind.snapshot.rules.wildmatch import SPECIAL, Glob, Malformed, bracket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_BOM = b"\xef\xbb\xbf"
_MAX_ALTERNATIVES = 16


class IgnoreFile:
    """One parsed ignore file (gitignore syntax).

    `prefix` is put before every path before it is compared. It is `sub/dir/` if the file is above the
    project, and the project is at `sub/dir` relative to it.
    """

    __slots__ = ("_dirs", "_files", "_prefix", "patterns_count")

    def __init__(self, text: bytes, prefix: bytes = b"") -> None:
        self._prefix = prefix
        self._dirs = _Rules()
        self._files = _Rules()
        self.patterns_count = 0
        for line in _lines(text):
            self._add(line)
        self._dirs.freeze()
        self._files.freeze()

    def __bool__(self) -> bool:
        return self.patterns_count > 0

    def match(self, rel: bytes, is_dir: bool) -> bool | None:
        """True: ignored. False: re-included by a `!` pattern. None: no pattern matches."""
        rules = self._dirs if is_dir else self._files
        rank = rules.last_match(self._prefix + rel)
        return None if rank < 0 else rank % 2 == 1

    def _add(self, line: bytes) -> None:
        negated = line.startswith(b"!")
        body = line[1:] if negated else line
        only_dirs = body.endswith(b"/")
        if only_dirs:
            body = body[:-1]
        if not body:
            return
        rank = self.patterns_count * 2 + (not negated)
        self.patterns_count += 1
        for rules in (self._dirs,) if only_dirs else (self._dirs, self._files):
            rules.add(body, rank)


Chain = tuple[tuple[int, IgnoreFile], ...]
"""(length of the base in the project-relative path, file), lowest precedence first."""


def is_ignored(chain: Chain, rel: bytes, is_dir: bool) -> bool:
    """Whether `rel`, relative to the project, is ignored, assuming that its parents are not."""
    for base, file in reversed(chain):
        verdict = file.match(rel[base:], is_dir)
        if verdict is not None:
            return verdict
    return False


class _Rules:
    """The patterns that apply to one kind of entry, grouped by how they are looked up.

    A rank is twice the pattern's number, plus one if the pattern ignores. The highest rank decides.
    """

    __slots__ = ("endings", "globs", "name_heads", "names", "path_heads", "paths", "suffixes")

    def __init__(self) -> None:
        self.names: dict[bytes, int] = {}
        self.paths: dict[bytes, int] = {}
        self.suffixes: dict[int, dict[bytes, int]] = {}
        # (rank, applies to the name only, literal head, the rest), lowest rank first
        self.globs: list[tuple[int, bool, bytes, Glob]] = []
        self.freeze()

    def add(self, body: bytes, rank: int) -> None:
        by_name, body = _anchoring(body)
        for simple in _alternatives(body):
            self._add_simple(simple, by_name, rank)

    def _add_simple(self, body: bytes, by_name: bool, rank: int) -> None:
        literal = _unescape(body)
        if literal is not None:
            (self.names if by_name else self.paths)[literal] = rank
            return
        head = _literal_head(body)
        tail = body[len(head) :]
        if by_name and not head and tail[0] == ord("*") and not SPECIAL.intersection(tail[1:]):
            self.suffixes.setdefault(len(tail) - 1, {})[tail[1:]] = rank
        else:
            # Git also compares the head first and matches only the rest as a pattern. This has an effect: in
            # git 2.39, a `**` right after the head counts as leading, as in `foo**/bar`.
            self.globs.append((rank, by_name, head, Glob(tail)))

    def freeze(self) -> None:
        """Collect tuples that rule out most paths with one call each."""
        self.endings = tuple(suffix for same in self.suffixes.values() for suffix in same)
        self.name_heads = tuple({head for _, by_name, head, _ in self.globs if by_name})
        self.path_heads = tuple({head for _, by_name, head, _ in self.globs if not by_name})

    def last_match(self, rel: bytes) -> int:
        """The rank of the last pattern that matches, or -1."""
        name = rel[rel.rfind(b"/") + 1 :]
        best = self.names.get(name, -1)
        if self.paths:
            best = max(best, self.paths.get(rel, -1))
        if name.endswith(self.endings):
            best = max(best, self._last_suffix(name))
        if name.startswith(self.name_heads) or rel.startswith(self.path_heads):
            best = max(best, self._last_glob(rel, name, best))
        return best

    def _last_suffix(self, name: bytes) -> int:
        ends = ((name[len(name) - n :], same) for n, same in self.suffixes.items())
        return max(same.get(end, -1) for end, same in ends)

    def _last_glob(self, rel: bytes, name: bytes, best: int) -> int:
        for rank, by_name, head, glob in reversed(self.globs):
            if rank < best:
                break
            text = name if by_name else rel
            if text.startswith(head) and glob.match(text, len(head)):
                return rank
        return -1


def _lines(text: bytes) -> Iterator[bytes]:
    if len(text) > MAX_BYTES:
        return
    if text.startswith(_BOM):
        text = text[len(_BOM) :]
    for line in text.split(b"\n"):
        if line and not line.startswith(b"#"):
            if line.endswith(b"\r"):
                line = line[:-1]
            yield _trim(line.split(b"\0", 1)[0])  # git's patterns are C strings


def _trim(line: bytes) -> bytes:
    """Without trailing spaces, except one after a backslash. Tabs stay."""
    stripped = line.rstrip(b" ")
    backslashes = len(stripped) - len(stripped.rstrip(b"\\"))
    return line[: len(stripped) + backslashes % 2]


def _anchoring(body: bytes) -> tuple[bool, bytes]:
    """Whether the pattern looks at the name only, and the pattern without its anchor."""
    if b"/" not in body:
        return True, _without_idle_escapes(body)
    if body.startswith(b"/"):
        body = body[1:]
    if body.startswith(b"**/") and b"/" not in body[3:]:
        return True, _without_idle_escapes(body[3:])  # the same, but faster to look up
    return False, body


def _without_idle_escapes(body: bytes) -> bytes:
    """`\\#*#` as `#*#`: after the start of the line such an escape has no effect, but would need a regex."""
    if b"\\" not in body or b"[" in body:
        return body
    halves = body.split(b"\\\\")
    for char in (b"#", b"!", b" "):
        halves = [half.replace(b"\\" + char, char) for half in halves]
    return b"\\\\".join(halves)


def _alternatives(body: bytes) -> list[bytes]:
    """`*.py[co]` as `*.pyc` and `*.pyo`, so that usual brackets need no regex."""
    # What is not split here is only slower. `**` must not be split (see `_add_simple` about heads).
    if b"\\" in body or b"**" in body:
        return [body]
    found, rest = [b""], body
    while b"[" in rest:
        start = rest.index(b"[")
        try:
            members, end = bracket(rest, start)
        except Malformed:
            return []
        if members & SPECIAL or len(members) * len(found) > _MAX_ALTERNATIVES:
            return [body]
        found = [f + rest[:start] + bytes((m,)) for f in found for m in sorted(members)]
        rest = rest[end:]
    return [f + rest for f in found]


def _unescape(body: bytes) -> bytes | None:
    """The only name that the pattern matches. None if there may be several, or none."""
    if b"*" in body or b"?" in body or b"[" in body:
        return None
    if b"\\" not in body:
        return body
    halves = body.split(b"\\\\")
    if halves[-1].endswith(b"\\"):
        return None
    return b"\\".join(half.replace(b"\\", b"") for half in halves)


def _literal_head(body: bytes) -> bytes:
    for i, char in enumerate(body):
        if char in SPECIAL:
            return body[:i]
    return body
