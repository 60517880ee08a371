"""Where the agent goes on: at the last entry, unless a line of its own names another one.

Claude Code 2.1.325 writes such a line now and then. The latest one counts: the client goes on from the newest
entry that descends from the one it names, whatever else was written later, by a second client say. Of a line
that names the entry exactly, only descendants that come after the line count.
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

# The client writes such a line at the end of each turn and every 64 KB or so. No reader looks for an older
# one: else a file of a client that writes none would be read from its end to its beginning.
WITHIN = 1 << 20


class NamedLeaf:
    """A line that names the entry to go on from. An empty `id` takes back what an earlier one named."""

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
    """Every line that names a leaf holds one of these. An empty one tells nothing; none at all, that there is
    no such line."""
    line = profile.leaf["line"] if profile.leaf else []
    found: list[bytes] = []
    for where in line if isinstance(line, list) else [line]:
        texts = next((values for values in where.values() if all(isinstance(v, str) for v in values)), [""])
        found += [text.encode() if _is_plain(text) else b"" for text in texts]
    return found


def _is_plain(text: str) -> bool:
    """Whatever writes JSON writes this as it is."""
    return text.isascii() and text.replace("-", "").replace("_", "").isalnum()


def newest_below(leaf: N, named: NamedLeaf, newest_first: Iterable[N],
                 find: Callable[[str], Optional[N]]) -> N:
    """The newest entry that descends from the named one and may be gone on from; else the named one."""
    floor = max(leaf.offset, named.offset) if named.exact else leaf.offset
    seen: set[str] = set()
    for entry in newest_first:
        if entry.offset <= floor:
            break
        if entry.is_main and _descends(entry, leaf, find, seen):
            return entry
    return leaf


def _descends(entry: N, leaf: N, find: Callable[[str], Optional[N]], seen: set[str]) -> bool:
    """By parents alone. `seen` are those that are known not to."""
    at: N | None = entry
    while at is not None and at.offset > leaf.offset and at.id not in seen:
        seen.add(at.id)
        if at.parent == leaf.id:
            return True
        at = find(at.parent) if at.parent else None
    return False
