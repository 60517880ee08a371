"""Where each turn of a transcript begins, remembered: a file that grew is read from where it ended before.

It is read anew when it shrank or is not the file that it was. The memory is a database that may be lost.
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
from rewind.transcript.turns.turn_tree import STATE, NotResumable, Row, TurnTree, short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, BinaryIO, Optional, Protocol, TypedDict

    from rewind.agents.profile import Profile
    from rewind.jsonfile import JsonObject
    from rewind.transcript.turns.turn_tree import Place, State

    class Memory(Protocol):
        def query(self, statement: str, values: tuple[object, ...] = ()) -> list[Any]: ...

        def write(self, changes: Iterable[tuple[str, list[tuple[object, ...]]]]) -> bool: ...

    class Facts(TypedDict):
        """What is known of a whole transcript without reading its turns."""

        total: int
        messages: int
        title: str
        parentSession: str | None
        compactions: list[int]
        size: int

    class Memo(TypedDict):
        """What is remembered of a file, as JSON. Without a tree it is read from its beginning each time."""

        profile: str
        rules: int
        facts: Facts
        tree: State | None

    Known = Optional[tuple[str, int, str, str, Memo]]

FACTS = {"total", "messages", "title", "parentSession", "compactions", "size"}
RULES = 2  # what is remembered is no use once the rules by which a transcript is read are others
_SAMPLE = 16 << 10
_COLUMNS = "number, turn, offset, uuid, stamp, prompt, parent, parent_id, depth"
_FORGET = "DELETE FROM turns WHERE path=? AND number>?"
_INSERT = f"INSERT OR REPLACE INTO turns (path, {_COLUMNS}) VALUES(?,?,?,?,?,?,?,?,?,?)"
_NUMBER = "UPDATE turns SET turn=? WHERE path=? AND number=?"
_REMEMBER = "INSERT OR REPLACE INTO turn_files VALUES(?,?,?,?,?,?)"
_building = allocate_lock()  # two readers of one long file would do the work twice


class TurnIndex:
    """Turns by number. `total` counts those on the active chain, `messages` all entries of it."""

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
        self._rows = rows  # only where nothing can be remembered

    def turns(self, first: int, last: int) -> list[Row]:
        """The active ones from number `first` to `last`."""
        if self._rows is not None:
            return [r for r in self._rows if r.turn is not None and first <= r.turn <= last]
        return self._query("turn BETWEEN ? AND ? ORDER BY turn", first, last)

    def abandoned(self, start: int, end: int) -> list[Row]:
        """Prompts in a part of the file that are not on the active chain."""
        if self._rows is not None:
            return [r for r in self._rows if r.turn is None and start <= r.offset < end]
        low = self._query("offset<=? ORDER BY number DESC LIMIT 1", start)
        since = low[0].number if low else 0
        return self._query("number>=? AND turn IS NULL AND offset>=? AND offset<?", since, start, end)

    def _query(self, where: str, *values: object) -> list[Row]:
        rows = self._memory.query(f"SELECT {_COLUMNS} FROM turns WHERE path=? AND {where}",
                                  (self.path, *values))
        return [Row(*row) for row in rows]

    def is_compacted_between(self, start: int, end: int) -> bool:
        return any(start < offset < end for offset in self.compactions)


def open_turns(path: str, profile: Profile, memory: Memory,
               identity: tuple[int, int] | None = None) -> TurnIndex:
    """With `identity`, of no other file than the one that was looked at before."""
    with open_conversation(path, profile, identity) as file:
        stamp = stamp_of(os.fstat(file.fileno()))  # now: several files read as one do not grow any more
        found = _as_remembered(path, profile, memory, file)
        if found:
            return found
        with _building:
            return (_as_remembered(path, profile, memory, file)
                    or _bring_up_to_date(path, profile, memory, file, stamp))


def stamp_of(info: os.stat_result) -> str:
    """By which a file is known to be the one that was read, and by the same rules."""
    return f"{info.st_size} {info.st_mtime_ns} {info.st_ino} {RULES}"


def _remembered(path: str, profile: Profile, memory: Memory) -> Known:
    """(stamp, upto, head, tail, state) of the last time."""
    for stamp, upto, head, tail, text in memory.query(
            "SELECT stamp, upto, head, tail, state FROM turn_files WHERE path=?", (path,)):
        try:
            state = quickjson.loads(text)
            if (state["profile"], state["rules"]) == (profile.name, RULES) and _is_sound(state):
                return stamp, upto, head, tail, state
        except (ValueError, TypeError, KeyError, AttributeError):
            pass  # a rotten memory is none
    return None


def _is_sound(state: JsonObject) -> bool:
    facts, tree = state["facts"], state["tree"]
    return FACTS.issubset(facts) and (tree is None or STATE.issubset(tree))


def _as_remembered(path: str, profile: Profile, memory: Memory, file: BinaryIO) -> TurnIndex | None:
    known = _remembered(path, profile, memory)
    if known and known[0] == stamp_of(os.fstat(file.fileno())):
        return TurnIndex(path, profile, memory, known[4]["facts"], None)
    return None


def _bring_up_to_date(path: str, profile: Profile, memory: Memory, file: BinaryIO, stamp: str) -> TurnIndex:
    known = _remembered(path, profile, memory)
    work = _Work(path, profile, memory, file, size_of(file))
    if known and known[4]["tree"] and _is_continued(file, known):
        try:
            return work.go_on(known, stamp)
        except NotResumable:
            pass  # it hangs off something long ago
    return work.start(stamp)


def _is_continued(file: BinaryIO, known: Known) -> bool:
    assert known is not None
    _, upto, head, tail, _ = known
    if size_of(file) < upto or (head, tail) != _ends(file, upto):
        return False
    # In a log of operations a later line may take back an earlier one.
    only_grew: Callable[[int], bool] | None = getattr(file, "only_grew", None)
    return only_grew is None or only_grew(upto)


def _ends(file: BinaryIO, upto: int) -> tuple[str, str]:
    file = stored(file)
    return (fingerprint(file, 0, min(_SAMPLE, upto)), fingerprint(file, max(0, upto - _SAMPLE), upto))


class _Work:
    def __init__(self, path: str, profile: Profile, memory: Memory, file: BinaryIO, size: int) -> None:
        self.path = path
        self.profile = profile
        self.memory = memory
        self.file = file
        self.size = size

    def start(self, stamp: str) -> TurnIndex:
        tree = TurnTree(self.profile, session_id_of(self.path, self.profile))
        end = self._read(tree, 0)
        leaf = tree.finish(self.size)
        if tree.is_odd:
            return self._odd(stamp)
        return self._keep(tree, tree.new, 0, leaf, stamp, end)

    def go_on(self, known: Known, stamp: str) -> TurnIndex:
        assert known is not None
        state = known[4]["tree"]
        assert state is not None
        tree = TurnTree.load(self.profile, session_id_of(self.path, self.profile), state, self._find_old)
        end = self._read(tree, known[1])
        leaf = tree.finish(self.size)
        if tree.is_odd:
            return self._odd(stamp)
        rows = [Row(*row) for row in self.memory.query(
            f"SELECT {_COLUMNS} FROM turns WHERE path=? AND number<=? ORDER BY number",
            (self.path, state["count"]))]
        if len(rows) != state["count"]:
            raise NotResumable
        return self._keep(tree, rows + tree.new, len(rows), leaf, stamp, end)

    def _find_old(self, id: str) -> Place | None:
        """Prompts, and what they hang off, are found however old they are: the agent's own rewind leads
        there."""
        for number, parent, depth, uuid in self.memory.query(
                "SELECT number, parent, depth, uuid FROM turns WHERE path=? AND (uuid=? OR parent_id=?)"
                " ORDER BY number LIMIT 1", (self.path, id, id)):
            return (number, depth) if uuid == id else (parent, depth - 1)
        return None

    def _read(self, tree: TurnTree, start: int) -> int:
        """Feed the tree; returns the end of the last line that is whole."""
        end = start
        for offset, raw in lines_forward(self.file, start, self.size):
            events = parse(offset, raw)
            if not raw.endswith(b"\n") and not events:
                break  # it is being written
            for event in events:
                tree.see(event)
            end = offset + len(raw)
        return end

    def _keep(self, tree: TurnTree, rows: list[Row], old: int, leaf: Place, stamp: str,
              end: int) -> TurnIndex:
        changed = _number(rows, leaf[0])
        upto, state = tree.resume_point(end)
        facts: Facts = {
            "total": sum(1 for r in rows if r.turn is not None), "messages": leaf[1],
            "title": read_title(self.file, self.profile, self.size, tree.first_prompt),
            "parentSession": tree.parent_session, "compactions": tree.compactions, "size": self.size}
        updates: list[tuple[object, ...]] = [(r.turn, self.path, r.number) for r in changed
                                             if r.number <= old]
        return self._write(facts, state, rows, old, updates, stamp, upto)

    def _odd(self, stamp: str) -> TurnIndex:
        """By the reader that holds everything in memory. Such a file is read from its beginning each time."""
        index = read_index(self.path, self.profile)
        rows = [Row(number, turn.turn, turn.offset, turn.uuid, turn.timestamp, short(turn.prompt), 0, "", 0)
                for number, turn in enumerate(index.turns, 1)]
        facts: Facts = {
            "total": len(index.active_turns), "messages": len(index.chain), "title": index.title,
            "parentSession": index.parent_session, "compactions": index.compactions, "size": self.size}
        return self._write(facts, None, rows, 0, [], stamp, self.size)

    def _write(self, facts: Facts, state: State | None, rows: list[Row], old: int,
               updates: list[tuple[object, ...]], stamp: str, upto: int) -> TurnIndex:
        memo: Memo = {"profile": self.profile.name, "rules": RULES, "facts": facts, "tree": state}
        inserted: list[tuple[object, ...]] = [
            (self.path, r.number, r.turn, r.offset, r.uuid, r.stamp, r.prompt, r.parent, r.parent_id, r.depth)
            for r in rows[old:]]
        kept = self.memory.write([
            (_FORGET, [(self.path, old)]), (_INSERT, inserted), (_NUMBER, updates),
            (_REMEMBER, [(self.path, stamp, upto, *_ends(self.file, upto), quickjson.dumps(memo))])])
        return TurnIndex(self.path, self.profile, self.memory, facts, None if kept else rows)


def _number(rows: list[Row], leaf: int) -> list[Row]:
    """Number the turns that lead to the prompt `leaf`; returns the rows whose number changed."""
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
