"""All changes between two points: of turns, between two checkpoints, or between a checkpoint and now."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rewind.controller import Controller, Difference, hunks
from rewind.controller import comparing as c
from rewind.errors import PathNotFound, RewindError
from rewind.web.reads import shapes
from rewind.web.reads.patches import file_lines, status_of
from rewind.web.reads.paths import named_path, paths_in
from rewind.web.reads.query import Query

if TYPE_CHECKING:
    from rewind.checkpoint.changes.turn_changes import TurnChanges
    from rewind.snapshot.diff.compare import Comparison
    from rewind.snapshot.trees.tree import TreeEntry
    from rewind.web.reads import answer_types, parts
    from rewind.web.render.rows import Row

    Change = tuple[bytes, TreeEntry | None, TreeEntry | None]

_MOST_FILES = 2000
_COUNTED = 300  # files whose lines are counted
_NOW = "now"


def review(controller: Controller, query: Query) -> answer_types.Review:
    """The files, and both ends in words."""
    start, end, words = _ends(controller, query)
    files: list[answer_types.ChangedFile] = []
    with _difference(controller, start, end) as difference:
        for number, change in enumerate(difference.changes[:_MOST_FILES]):
            one = _compared(difference, change) if number < _COUNTED else None
            counts = one.counts if one else None
            files.append({"path": shapes.path_text(change[0]), "status": status_of(*change[1:]),
                          "added": counts and counts[0], "removed": counts and counts[1]})
        more, counted = max(0, len(difference.changes) - _MOST_FILES), len(difference.changes) <= _COUNTED
    return {"from": start, "to": end, "words": words, "files": files, "more": more, "counted": counted,
            "added": sum(one["added"] or 0 for one in files),
            "removed": sum(one["removed"] or 0 for one in files)}


def file(controller: Controller, query: Query) -> answer_types.FileReview:
    """One of the files, line by line."""
    start, end, _ = _ends(controller, query)
    text = query.text("path", 4096)
    path = named_path(text, lambda: paths_in(_difference(controller, start, end)))
    with _difference(controller, start, end, [path]) as difference:
        found = next((one for one in difference.changes if one[0] == path), None)
        if found is None:
            raise PathNotFound(path=text, checkpoint="This difference")
        one = _compared(difference, found)
        shown = file_lines(text, one)
        return {**shown, "hunks": _hunks(one, shown["rows"]) if start != _NOW else []}


def _hunks(one: Comparison, rows: list[Row]) -> list[parts.HunkRow]:
    """Each by its id and the row of its first change."""
    if one.verdict != c.TEXT:
        return []
    found: list[parts.HunkRow] = []
    at = 0
    for hunk in hunks(one.old_lines, one.new_lines, one.blocks):
        low, high = hunk.old_range
        first = next((n for n in range(at, len(rows)) if _is_in(rows[n], low, high, hunk.new_start)), None)
        if first is not None:
            found.append({"id": hunk.id, "row": first})
            at = first + 1
    return found


def _is_in(row: Row, low: int, high: int, new_start: int) -> bool:
    kind, before, after = row[:3]
    return bool(low < before <= high if kind == "del" else kind == "add" and after > new_start)


def _ends(controller: Controller, query: Query) -> tuple[str, str, answer_types.Ends]:
    if query.text("session", 200):
        return _of_turns(controller, query)
    names = [query.text(key, 100) or _NOW for key in ("from", "to")]
    start, end = (name if name == _NOW else query.checkpoint_named(name) for name in names)
    return start, end, {"from": _words(controller, start), "to": _words(controller, end)}


def _of_turns(controller: Controller, query: Query) -> tuple[str, str, answer_types.Ends]:
    session = controller.session_file(query.text("session", 200)).session_id
    first = query.number("turn", 1, low=1)
    last = max(first, query.number("last", first, low=1))
    ends = [_changes(controller, session, number) for number in (first, last)]
    words: answer_types.Ends = {"from": f"before turn {first}",
                           "to": f"after turn {last}" if last > first else "after"}
    return ends[0]["from"], ends[1]["to"], words


def _changes(controller: Controller, session: str, turn: int) -> TurnChanges:
    found = controller.turns(session, turn, 1).turns
    if not found or not found[0].changes:
        raise RewindError(f"No checkpoint tells what turn {turn} changed.",
                          hint="Register the hooks: rewind config --register-hooks")
    return found[0].changes


def _words(controller: Controller, name: str) -> str:
    if name == _NOW:
        return "the files now"
    return controller.find(name).description or name


@contextmanager
def _difference(controller: Controller, start: str, end: str,
                paths: list[bytes] | None = None) -> Iterator[Difference]:
    """What changed from `start` to `end`. If `start` is now, the sides of the difference are exchanged."""
    if start != _NOW:
        with controller.diff(start, None if end == _NOW else end, paths=paths) as found:
            yield found
        return
    with controller.diff(end, None, paths=paths) as found:
        changes = [(path, new, old) for path, old, new in found.changes]
        yield Difference(found.new, found.old, changes, found.not_captured)


def _compared(difference: Difference, change: Change) -> Comparison:
    return c.compare(*change, difference.old.content, difference.new.content)
