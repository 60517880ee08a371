"""Where the agent continues: at the last entry, unless a line names another one.

Claude Code 2.1.325 writes such a line now and then, and the latest counts. The client continues from the
newest descendant of the named entry, whatever else was written later, for example by a second client. If the
line names the entry exactly, only descendants after the line count.
"""

from __future__ import annotations

from rewind.agents.profile import holds, pick

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Optional, Protocol, TypeVar

    from rewind.agents.profile import Profile
    from rewind.transcript.read.lines import Event

    class Node(Protocol):
        id: str
        parent: str
        offset: int
        is_main: bool

    N = TypeVar("N", bound=Node)

# The client writes such a line at the end of each turn and about every 64 KB. No reader searches further
# back: the file of a client that writes no such lines would be read completely.
WITHIN = 1 << 20


class NamedLeaf:
    """A line that names the entry to continue from. An empty `id` cancels an earlier line."""

    def __init__(self, id: str, offset: int, exact: bool) -> None:
        self.id = id
        self.offset = offset
        self.exact = exact


def named_leaf(event: Event, profile: Profile) -> NamedLeaf | None:
    rule = profile.leaf
    if rule is None or not holds(rule["line"], event.data):
        return None
    id = pick(event.data, rule["id"])
    if not isinstance(id, str):
        return None
    return NamedLeaf(id if id.strip("0-") else "", event.offset, holds(rule.get("exact") or {}, event.data))


def marks_of_leaf(profile: Profile) -> list[bytes]:
    """Every line that names a leaf contains one of these. An empty mark is in every line. If there are no
    marks, the agent writes no such lines."""
    line = profile.leaf["line"] if profile.leaf else []
    found: list[bytes] = []
    for where in line if isinstance(line, list) else [line]:
        texts = next((values for values in where.values() if all(isinstance(v, str) for v in values)), [""])
        found += [text.encode() if _is_plain(text) else b"" for text in texts]
    return found


def _is_plain(text: str) -> bool:
    """Whether every JSON writer writes it unchanged."""
    return text.isascii() and text.replace("-", "").replace("_", "").isalnum()


def newest_below(leaf: N, named: NamedLeaf, newest_first: Iterable[N],
                 find: Callable[[str], Optional[N]]) -> N:
    """The newest main-line entry that descends from the named one, else the named one."""
    floor = max(leaf.offset, named.offset) if named.exact else leaf.offset
    seen: set[str] = set()
    for entry in newest_first:
        if entry.offset <= floor:
            break
        if entry.is_main and _descends(entry, leaf, find, seen):
            return entry
    return leaf


def _descends(entry: N, leaf: N, find: Callable[[str], Optional[N]], seen: set[str]) -> bool:
    """Followed by parents only. `seen` are entries that are known not to descend from it."""
    at: N | None = entry
    while at is not None and at.offset > leaf.offset and at.id not in seen:
        seen.add(at.id)
        if at.parent == leaf.id:
            return True
        at = find(at.parent) if at.parent else None
    return False
