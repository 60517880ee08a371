"""What a turn did to the files: the difference between the checkpoints around it, counted and remembered."""

from __future__ import annotations

from rewind import quickjson
from rewind.checkpoint.source import Source
from rewind.errors import RewindError
from rewind.snapshot.change import Paths, differences
from rewind.snapshot.compare import compare
from rewind.snapshot.content import whole
from rewind.snapshot.tree import DIR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rewind.checkpoint.record import Record
    from rewind.checkpoint.state import State
    from rewind.snapshot.tree import Entry

_NAMED = 100  # files that are listed,
_COUNTED = 40  # and whose lines are counted


def changes_between(state: State, old: Record, new: Record) -> dict[str, Any] | None:
    """{files, added, removed, more}; None where it cannot be told. Nothing changed: no files."""
    if old.format != "objects" or new.format != "objects":
        return None  # an archive would have to be unpacked for it
    if old.tree == new.tree:
        return {"files": [], "added": 0, "removed": 0, "more": 0}
    key = f"{old.tree.hex()} {new.tree.hex()}"
    for (text,) in state.derived.query("SELECT summary FROM turn_changes WHERE trees=?", (key,)):
        try:
            known: dict[str, Any] = quickjson.loads(text)
            return known
        except ValueError:
            pass  # then it is found out again
    try:
        found = _compare(state, old, new)
    except RewindError:
        return None
    state.derived.write([("INSERT OR REPLACE INTO turn_changes VALUES(?, ?)",
                          [(key, quickjson.dumps(found))])])
    return found


def _compare(state: State, old: Record, new: Record) -> dict[str, Any]:
    files: list[dict[str, Any]] = []
    more = added = removed = 0
    with Source(state, old) as before, Source(state, new) as after:
        def read(side: Source) -> Any:
            return lambda path, entry, limit: whole(entry, side.blobs) if entry.size <= limit else None

        for path, then, now in differences(old.tree, before.tree, new.tree, after.tree, Paths()):
            if _is_directory(then, now):
                continue
            if len(files) >= _NAMED:
                more += 1
                continue
            counts = compare(path, then, now, read(before), read(after)).counts \
                if len(files) < _COUNTED else None
            plus, minus = counts or (None, None)
            added, removed = added + (plus or 0), removed + (minus or 0)
            files.append({"path": path.decode("utf-8", "backslashreplace"),
                          "status": "added" if then is None else "deleted" if now is None else "modified",
                          "added": plus, "removed": minus})
    return {"files": files, "added": added, "removed": removed, "more": more}


def _is_directory(then: Entry | None, now: Entry | None) -> bool:
    return all(entry is None or entry.kind == DIR for entry in (then, now))
