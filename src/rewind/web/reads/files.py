"""The files at any point: the tree with counts of changes, the history of a file, and who wrote its lines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

from rewind.controller import DIR, LINK, UNCOVERED, Controller, Side, every_path, iso_time
from rewind.errors import PathNeverSeen, PathNotFound, RewindError
from rewind.web.reads import shapes
from rewind.web.reads.paths import named_path
from rewind.web.reads.query import Query
from rewind.web.render.colours import coloured, lexer_for, line_html

if TYPE_CHECKING:
    from rewind.checkpoint.records.record import Record
    from rewind.checkpoint.search.file_heat import Heat
    from rewind.checkpoint.search.file_log import LogEntry
    from rewind.checkpoint.select.last_prompt import LastPrompt
    from rewind.checkpoint.turns.blame.blame import BlamedLine
    from rewind.snapshot.trees.tree import TreeEntry
    from rewind.web.reads import answer_types, parts

NOW = "now"
_MOST_LISTED = 2000
_MOST_FOUND = 200
_MOST_CHANGES = 200
_MOST_LINES = 5000
_LONGEST_LINE = 2000
_PATIENCE = 3.0  # seconds in which changes are counted
_KINDS = {DIR: "folder", LINK: "link", UNCOVERED: "uncovered"}
_HEAT: dict[tuple[str, str], Heat] = {}  # (project, checkpoint) -> what was counted; it never changes
_MOST_REMEMBERED = 10


# the tree

def tree(controller: Controller, query: Query) -> answer_types.Tree:
    """One folder, or with `q` all paths that contain this text."""
    at, words = query.checkpoint_or_now("at"), query.text("q", 200).strip().casefold()
    heat = _heat(controller, at)
    with_gone = query.choice("gone", ("no", "yes")) == "yes"
    with controller.side(at) as side:
        if words:
            found = list(_search(side, heat, words, with_gone))
            most = _MOST_FOUND
        else:
            found = _folder(side, heat, _path(query, "under", side, heat), with_gone)
            most = _MOST_LISTED
    return {"point": _words(controller, at), "under": query.text("under", 4096),
            "entries": found[:most], "more": max(0, len(found) - most), "gone": len(heat.gone),
            "most": max(heat.times.values(), default=0), "complete": heat.complete}


def _path(query: Query, key: str, side: Side, heat: Heat) -> bytes:
    """The path that the page names, which may have escapes of a path that it was shown."""
    text = query.text(key, 4096)
    return named_path(text, lambda: (*(path for path, _ in every_path(side.root, side.tree)),
                                     *heat.times)) if text else b""


def _heat(controller: Controller, at: str | None) -> Heat:
    here = controller.here()
    name = at or (here.name if here else "")
    key = controller.project.root, name
    if key not in _HEAT:
        found = controller.heat(name, _PATIENCE)
        if len(_HEAT) >= _MOST_REMEMBERED:
            _HEAT.pop(next(iter(_HEAT)), None)
        _HEAT[key] = found
    return _HEAT[key]


def _folder(side: Side, heat: Heat, folder: bytes, with_gone: bool) -> list[parts.Entry]:
    prefix = folder + b"/" if folder else b""
    entries = _entries(side, folder)
    gone = {path[len(prefix):].split(b"/")[0] for path in heat.gone if path.startswith(prefix)}
    if entries is None and not gone:
        raise PathNotFound(path=shapes.path_text(folder), checkpoint=side.name)
    here = entries or {}
    found = [_entry(prefix + name, entry, heat) for name, entry in here.items()]
    if with_gone:
        found += [_gone(prefix + name, heat) for name in gone if name not in here]
    return sorted(found, key=lambda one: (one["kind"] != "folder", one["name"].casefold(), one["name"]))


def _entries(side: Side, folder: bytes) -> dict[bytes, TreeEntry] | None:
    found = side.tree(side.root)
    for name in folder.split(b"/") if folder else ():
        entry = found.entries.get(name)
        if entry is None or entry.kind != DIR:
            return None
        found = side.tree(entry.ref)
    return found.entries


def _search(side: Side, heat: Heat, words: str, with_gone: bool) -> Iterator[parts.Entry]:
    for path, entry in every_path(side.root, side.tree):
        if entry.kind != DIR and words in shapes.path_text(path).casefold():
            yield _entry(path, entry, heat)
    for path in sorted(heat.gone) if with_gone else ():
        if words in shapes.path_text(path).casefold():
            yield _gone(path, heat)


def _entry(path: bytes, entry: TreeEntry, heat: Heat) -> parts.Entry:
    kind = _KINDS.get(entry.kind, "file")
    return {**_named(path), "kind": kind, "gone": False, **_changes(path, kind == "folder", heat),
            "size": entry.size if kind == "file" else None}


def _gone(path: bytes, heat: Heat) -> parts.Entry:
    kind = "file" if path in heat.gone else "folder"
    return {**_named(path), "kind": kind, "gone": True, **_changes(path, kind == "folder", heat),
            "size": None}


def _named(path: bytes) -> parts.PathName:
    text = shapes.path_text(path)
    return {"path": text, "name": text.rsplit("/", 1)[-1]}


def _changes(path: bytes, is_folder: bool, heat: Heat) -> parts.EntryChanges:
    """How often a file changed, or all files of a folder."""
    paths = [one for one in heat.times if one.startswith(path + b"/")] if is_folder else [path]
    last = max((heat.last[one] for one in paths if one in heat.last), key=lambda r: r.sequence, default=None)
    return {"changes": sum(heat.times.get(one, 0) for one in paths),
            "hottest": max((heat.times.get(one, 0) for one in paths), default=0),
            "last": {"checkpoint": last.name, "createdAt": last.created_at} if last else None}


def _words(controller: Controller, at: str | None) -> parts.Point:
    """A point as a person would name it."""
    if at is None:
        return {"name": NOW, "words": "now", "createdAt": None, "prompt": None}
    record = controller.find(at)
    prompt = controller.last_prompt(record)
    return {"name": record.name, "words": _turn_words(record, prompt) or record.description or record.name,
            "createdAt": record.created_at, "prompt": _prompt(prompt)}


def _turn_words(record: Record, prompt: LastPrompt | None) -> str:
    event = record.trigger.get("event")
    if event == "UserPromptSubmit" and record.session:
        return f"before turn {prompt.turn + 1 if prompt else 1}"
    return f"after turn {prompt.turn}" if event == "Stop" and prompt else ""


def _prompt(prompt: LastPrompt | None) -> parts.PromptOf | None:
    if prompt is None:
        return None
    return {"sessionId": prompt.session_id, "turn": prompt.turn, "text": prompt.text[:300]}


# one file

def _file(controller: Controller, query: Query) -> tuple[str | None, bytes]:
    at = query.checkpoint_or_now("at")
    with controller.side(at) as side:
        return at, _path(query, "path", side, _heat(controller, at))


def log(controller: Controller, query: Query) -> answer_types.FileLog:
    """Like `rewind log`: the checkpoints and operations that changed a file, newest first."""
    _, path = _file(controller, query)
    count = query.number("count", _MOST_CHANGES, low=1, high=_MOST_CHANGES)
    damaged: dict[str, RewindError] = {}
    found = list(islice(controller.log(path, damaged), count + 1))
    return {"path": query.text("path", 4096), "changes": [_logged(controller, one) for one in found[:count]],
            "more": len(found) > count, "leftOut": len(damaged)}


def _logged(controller: Controller, entry: LogEntry) -> answer_types.FileChange:
    record, op = entry.record, entry.operation
    known = [one.counts for one in entry.compared() if one.counts]
    return {"checkpoint": record.name, "operation": op.id if op else None,
            "createdAt": op.at if op else record.created_at, "status": entry.status, "kind": record.kind,
            "added": sum(a for a, _ in known), "removed": sum(d for _, d in known),
            "text": controller.describe(op) if op else record.description, "prompt": _prompt(entry.prompt)}


def blame(controller: Controller, query: Query) -> answer_types.Blame:
    """Like `rewind blame`: the lines in colours, and who wrote each run of lines."""
    at, path = _file(controller, query)
    start = query.number("from", 1, low=1)
    found, why = _lines(controller, path, at)
    part = found[start - 1:start - 1 + _MOST_LINES]
    return {"path": query.text("path", 4096), "point": _words(controller, at), "total": len(found),
            "from": start, "lines": _html(part, shapes.path_text(path)), "runs": list(_runs(part)),
            "why": why}


def _lines(controller: Controller, path: bytes, at: str | None,
           ) -> tuple[list[BlamedLine], answer_types.WhyNoLines | None]:
    """A file without lines is no error: a binary file, a link, or a file that is not there."""
    try:
        return controller.blame(path, at).lines, None
    except (PathNotFound, PathNeverSeen) as error:
        return [], {"there": False, "message": error.message}
    except RewindError as error:
        if error.exit_code != 1:
            raise
        return [], {"there": True, "message": error.message}


def _html(lines: list[BlamedLine], path: str) -> list[str]:
    texts = [_cut(line.text.rstrip(b"\r\n").decode("utf-8", "replace")) for line in lines]
    found = coloured("\n".join(texts), lexer_for("", path))
    return [line_html(line) for line in found[:len(lines)]]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_LINE else text[:_LONGEST_LINE] + "…"


def _runs(lines: list[BlamedLine]) -> Iterator[parts.LineAuthor]:
    """Groups of successive lines that came with the same change."""
    def change(line: BlamedLine) -> tuple[Any, ...]:
        return line.author, line.record, line.commit and line.commit.id, line.path

    for _, (first, *others) in groupby(lines, change):
        yield {**author(first), "lines": 1 + len(others)}


def author(line: BlamedLine) -> parts.LineAuthor:
    by, record, commit = line.author, line.record, line.commit
    return {"lines": 0, "who": line.who, "sessionId": by.session, "turn": by.turn, "prompt": by.prompt[:300],
            "checkpoint": record.name if record and not commit else None, "saved": record is not None,
            "at": iso_time(line.time) if line.time is not None else None,
            "commit": commit.id if commit else None, "summary": commit.summary if commit else "",
            "was": shapes.path_text(line.path)}
