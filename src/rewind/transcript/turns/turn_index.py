"""Remembers where each turn of a transcript begins. A file that has grown is read from its former end on.

If it has shrunk or is another file, it is read completely. The memory is a database that may be lost.
"""

from __future__ import annotations

import os
from _thread import allocate_lock  # `threading` is slow to load

from rewind.fast import quickjson
from rewind.transcript.names import session_id_of
from rewind.transcript.place.cursor import fingerprint
from rewind.transcript.read.conversation import open_conversation
from rewind.transcript.read.index import read_index
from rewind.transcript.read.lines import lines_forward, parse, size_of, stored
from rewind.transcript.read.titles import read_title
from rewind.transcript.turns.turn_tree import STATE, NotResumable, Row, TurnTree, beginning_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, BinaryIO, Protocol, TypedDict

    from rewind.agents.profile import Profile
    from rewind.jsonfile import JsonObject
    from rewind.transcript.turns.turn_tree import Place, State

    class Memory(Protocol):
        def query(self, statement: str, values: tuple[object, ...] = ()) -> list[Any]: ...

        def write(self, changes: Iterable[tuple[str, list[tuple[object, ...]]]]) -> bool: ...

    class Facts(TypedDict):
        """What is known about a whole transcript without reading its turns."""

        total: int
        messages: int
        title: str
        parentSession: str | None
        compactions: list[int]
        size: int

    class Memo(TypedDict):
        """What is remembered of a file, as JSON. Without a tree, it is read from its beginning each time."""

        profile: str
        rules: int
        facts: Facts
        tree: State | None

    Ends = tuple[str, str]
    Known = tuple[str, int, Ends, Memo]  # stamp, where to continue, fingerprints of what was read, the rest

RULES = 2  # to be raised when transcripts are read by other rules: what is remembered is then of no use
_FACTS = {"total", "messages", "title", "parentSession", "compactions", "size"}
_SAMPLE = 16 << 10
_COLUMNS = "number, turn, offset, uuid, stamp, prompt, parent, parent_id, depth"
_FORGET = "DELETE FROM turns WHERE path=? AND number>?"
_INSERT = f"INSERT OR REPLACE INTO turns (path, {_COLUMNS}) VALUES(?,?,?,?,?,?,?,?,?,?)"
_NUMBER = "UPDATE turns SET turn=? WHERE path=? AND number=?"
_REMEMBER = "INSERT OR REPLACE INTO turn_files VALUES(?,?,?,?,?,?)"
_update_lock = allocate_lock()  # two readers of one long file would do the work twice


class TurnIndex:
    """Turns by number. `total` counts the turns on the active chain, `messages` its entries."""

    def __init__(self, path: str, profile: Profile, memory: Memory, facts: Facts,
                 rows: list[Row] | None) -> None:
        self.path = path
        self.profile = profile
        self.total = facts["total"]
        self.messages = facts["messages"]
        self.title = facts["title"]
        self.parent_session = facts["parentSession"]
        self.compactions = facts["compactions"]
        self.size = facts["size"]
        self._memory = memory
        self._rows = rows  # only if nothing can be remembered

    def turns(self, first: int, last: int) -> list[Row]:
        """The active turns from number `first` to `last`."""
        if self._rows is not None:
            return [r for r in self._rows if r.turn is not None and first <= r.turn <= last]
        return self._query("turn BETWEEN ? AND ? ORDER BY turn", first, last)

    def abandoned(self, start: int, end: int) -> list[Row]:
        """Prompts between these offsets that are not on the active chain."""
        if self._rows is not None:
            return [r for r in self._rows if r.turn is None and start <= r.offset < end]
        low = self._query("offset<=? ORDER BY number DESC LIMIT 1", start)
        since = low[0].number if low else 0
        return self._query("number>=? AND turn IS NULL AND offset>=? AND offset<?", since, start, end)

    def _query(self, where: str, *values: object) -> list[Row]:
        return _query_rows(self._memory, self.path, where, *values)

    def is_compacted_between(self, start: int, end: int) -> bool:
        return any(start < offset < end for offset in self.compactions)


def _query_rows(memory: Memory, path: str, where: str, *values: object) -> list[Row]:
    rows = memory.query(f"SELECT {_COLUMNS} FROM turns WHERE path=? AND {where}", (path, *values))
    return [Row(*row) for row in rows]


def open_turns(path: str, profile: Profile, memory: Memory,
               identity: tuple[int, int] | None = None) -> TurnIndex:
    """With `identity`, every file but the one that was looked at before is refused."""
    with open_conversation(path, profile, identity) as file:
        work = _Work(path, profile, memory, file)
        found = work.as_remembered()
        if found:
            return found
        with _update_lock:
            return work.as_remembered() or work.bring_up_to_date()


def stamp_of(info: os.stat_result) -> str:
    """While it is the same, the file is the one that was read, and was read by today's rules."""
    return f"{info.st_size} {info.st_mtime_ns} {info.st_ino} {RULES}"


def _is_sound(memo: JsonObject) -> bool:
    facts, tree = memo["facts"], memo["tree"]
    return _FACTS.issubset(facts) and (tree is None or STATE.issubset(tree))


def _ends(file: BinaryIO, upto: int) -> Ends:
    """Fingerprints of the beginning and the end of the first `upto` bytes."""
    file = stored(file)
    return fingerprint(file, 0, min(_SAMPLE, upto)), fingerprint(file, max(0, upto - _SAMPLE), upto)


class _Work:
    """The turns of one transcript, from the memory or read now."""

    def __init__(self, path: str, profile: Profile, memory: Memory, file: BinaryIO) -> None:
        self.path = path
        self.profile = profile
        self.memory = memory
        self.file = file
        # Taken now: a conversation in several files does not grow after it was opened.
        self.stamp = stamp_of(os.fstat(file.fileno()))
        self.size = 0

    def as_remembered(self) -> TurnIndex | None:
        """None if the file has changed since, or was never read."""
        known = self._recall()
        if known and known[0] == stamp_of(os.fstat(self.file.fileno())):
            return TurnIndex(self.path, self.profile, self.memory, known[3]["facts"], None)
        return None

    def bring_up_to_date(self) -> TurnIndex:
        self.size = size_of(self.file)
        known = self._recall()
        state = known[3]["tree"] if known else None
        if known and state and self._is_continued(known):
            try:
                return self._read_what_is_new(state, known[1])
            except NotResumable:
                pass  # it refers to something long ago
        return self._read_all()

    def _recall(self) -> Known | None:
        """What is known from the last time."""
        for stamp, upto, head, tail, text in self.memory.query(
                "SELECT stamp, upto, head, tail, state FROM turn_files WHERE path=?", (self.path,)):
            try:
                memo = quickjson.loads(text)
                if (memo["profile"], memo["rules"]) == (self.profile.name, RULES) and _is_sound(memo):
                    return stamp, upto, (head, tail), memo
            except (ValueError, TypeError, KeyError, AttributeError):
                pass  # a damaged memory counts as none
        return None

    def _is_continued(self, known: Known) -> bool:
        _, upto, ends, _ = known
        if self.size < upto or ends != _ends(self.file, upto):
            return False
        # In a log of operations a later line may take back an earlier one.
        only_grew: Callable[[int], bool] | None = getattr(self.file, "only_grew", None)
        return only_grew is None or only_grew(upto)

    def _read_all(self) -> TurnIndex:
        tree = TurnTree(self.profile, session_id_of(self.path, self.profile))
        return self._extend(tree, [], 0)

    def _read_what_is_new(self, state: State, upto: int) -> TurnIndex:
        tree = TurnTree.load(self.profile, session_id_of(self.path, self.profile), state, self._find_old)
        rows = _query_rows(self.memory, self.path, "number<=? ORDER BY number", state["count"])
        if len(rows) != state["count"]:
            raise NotResumable
        return self._extend(tree, rows, upto)

    def _extend(self, tree: TurnTree, known: list[Row], start: int) -> TurnIndex:
        """The known rows, and those of what is read from `start` on."""
        end = self._feed(tree, start)
        leaf = tree.finish(self.size)
        if tree.is_odd:
            return self._read_in_memory()
        return self._keep(tree, known, leaf, end)

    def _find_old(self, id: str) -> Place | None:
        """Prompts and their parents are found however old they are: the agent's own rewind leads there."""
        for number, parent, depth, uuid in self.memory.query(
                "SELECT number, parent, depth, uuid FROM turns WHERE path=? AND (uuid=? OR parent_id=?)"
                " ORDER BY number LIMIT 1", (self.path, id, id)):
            return (number, depth) if uuid == id else (parent, depth - 1)
        return None

    def _feed(self, tree: TurnTree, start: int) -> int:
        """Returns the end of the last complete line."""
        end = start
        for offset, raw in lines_forward(self.file, start, self.size):
            events = parse(offset, raw)
            if not raw.endswith(b"\n") and not events:
                break  # it is being written
            for event in events:
                tree.add(event)
            end = offset + len(raw)
        return end

    def _keep(self, tree: TurnTree, known: list[Row], leaf: Place, end: int) -> TurnIndex:
        rows = known + tree.new
        changed = _number(rows, leaf[0])
        upto, state = tree.resume_point(end)
        facts: Facts = {
            "total": sum(1 for r in rows if r.turn is not None), "messages": leaf[1],
            "title": read_title(self.file, self.profile, self.size, tree.first_prompt),
            "parentSession": tree.parent_session, "compactions": tree.compactions, "size": self.size}
        updates: list[tuple[object, ...]] = [(r.turn, self.path, r.number) for r in changed
                                             if r.number <= len(known)]
        return self._write(facts, state, rows, len(known), updates, upto)

    def _read_in_memory(self) -> TurnIndex:
        """For a file that the tree cannot follow. The reader that holds all of it in memory reads it from its
        beginning each time."""
        index = read_index(self.path, self.profile)
        rows = [Row(number, turn.turn, turn.offset, turn.uuid, turn.timestamp, beginning_of(turn.prompt),
                    parent=0, parent_id="", depth=0) for number, turn in enumerate(index.turns, 1)]
        facts: Facts = {
            "total": len(index.active_turns), "messages": len(index.chain), "title": index.title,
            "parentSession": index.parent_session, "compactions": index.compactions, "size": self.size}
        return self._write(facts, None, rows, 0, [], self.size)

    def _write(self, facts: Facts, state: State | None, rows: list[Row], old: int,
               updates: list[tuple[object, ...]], upto: int) -> TurnIndex:
        """Remember it. The first `old` rows are there already, and `updates` gives some other numbers."""
        memo: Memo = {"profile": self.profile.name, "rules": RULES, "facts": facts, "tree": state}
        inserted: list[tuple[object, ...]] = [
            (self.path, r.number, r.turn, r.offset, r.uuid, r.stamp, r.prompt, r.parent, r.parent_id, r.depth)
            for r in rows[old:]]
        kept = self.memory.write([
            (_FORGET, [(self.path, old)]), (_INSERT, inserted), (_NUMBER, updates),
            (_REMEMBER, [(self.path, self.stamp, upto, *_ends(self.file, upto), quickjson.dumps(memo))])])
        return TurnIndex(self.path, self.profile, self.memory, facts, None if kept else rows)


def _number(rows: list[Row], leaf: int) -> list[Row]:
    """Number the turns that lead to the prompt `leaf`. Returns the rows whose number changed."""
    active = set()
    while leaf and leaf not in active:
        active.add(leaf)
        leaf = rows[leaf - 1].parent
    changed = []
    turn = 0
    for row in rows:
        turn += row.number in active
        wanted = turn if row.number in active else None
        if row.turn != wanted:
            row.turn = wanted
            changed.append(row)
    return changed
