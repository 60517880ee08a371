"""The turns of a conversation, found in one pass forward that can stop and later continue where it stopped.

`read/index.py` finds the same by holding every entry in memory. This only knows for each entry which prompt
it belongs to. `tests/transcript/turns/test_turn_index.py` compares the two.
"""

from __future__ import annotations

from rewind.agents.profile import pick
from rewind.transcript.read.chain import is_soon_after
from rewind.transcript.read.entries import entry_of, is_compaction
from rewind.transcript.read.index import native_parent
from rewind.transcript.read.leaf import WITHIN, NamedLeaf, named_leaf, newest_below
from rewind.transcript.read.prompts import IF_ANSWERED, prompt_text
from rewind.transcript.read.titles import shortened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Optional, TypedDict

    from rewind.agents.profile import Profile
    from rewind.transcript.read.entries import Entry
    from rewind.transcript.read.lines import Event

    Place = tuple[int, int]  # of an entry: the number of its prompt, and how many entries lead to it
    FindOld = Callable[[str], Optional[Place]]

    class State(TypedDict):
        """A tree as it is remembered. Tuples come back from JSON as lists."""

        count: int
        compactions: list[int]
        parent: str | None
        first: str
        lines: int
        known: list[list[Any]]  # the arguments of each `Known`
        missing: list[str]
        main: Any  # a `Place`, or None
        mainStamp: str
        compacted: int
        named: list[Any] | None  # the arguments of a `NamedLeaf`

STATE = {"count", "compactions", "parent", "first", "lines", "known", "missing", "main",
         "mainStamp", "named", "compacted"}  # the keys of `State`
SHORT = 160  # how much of a prompt is remembered
_RECENT = 512  # how many entries are remembered: the next entry has one of them as its parent


class NotResumable(Exception):
    """An entry that is not remembered is needed. The file must be read from its beginning."""


class Row:
    """A genuine prompt, in the order of the file. `turn` is None on an abandoned branch."""

    __slots__ = ("depth", "number", "offset", "parent", "parent_id", "prompt", "stamp", "turn", "uuid")

    def __init__(self, number: int, turn: int | None, offset: int, uuid: str, stamp: str | None,
                 prompt: str, parent: int, parent_id: str, depth: int) -> None:
        self.number = number
        self.turn = turn
        self.offset = offset
        self.uuid = uuid
        self.stamp = stamp
        self.prompt = prompt
        self.parent = parent  # the number of the prompt before it on its branch; 0: none
        self.parent_id = parent_id
        self.depth = depth


class Known:
    """What is remembered of an entry: its place, and what is needed to choose the leaf."""

    __slots__ = ("depth", "id", "is_main", "offset", "owner", "parent")

    def __init__(self, id: str, owner: int, depth: int, parent: str, offset: int, is_main: bool) -> None:
        self.id = id
        self.owner = owner
        self.depth = depth
        self.parent = parent
        self.offset = offset
        self.is_main = is_main

    @property
    def place(self) -> Place:
        return self.owner, self.depth


class TurnTree:
    def __init__(self, profile: Profile, session_id: str) -> None:
        self.profile = profile
        self.session_id = session_id
        self.new: list[Row] = []  # prompts that this pass found
        self.count = 0  # of all prompts
        self.compactions: list[int] = []
        self.parent_session: str | None = None
        self.first_prompt = ""
        self.is_odd = False  # an id occurs twice, or a parent comes later: this pass cannot handle that
        self._lines = 0
        self._known: dict[str, Known] = {}
        self._missing: set[str] = set()
        self._main: Place | None = None
        self._main_stamp = ""
        self._named: NamedLeaf | None = None
        self._last_compaction = -1  # its offset
        self._find_old: FindOld | None = None
        self._waiting: list[tuple[Entry, str, str | None]] = []  # from an undecided slash command on
        self._resume_before: tuple[int, State] | None = None

    # continuing later

    def dump(self) -> State:
        recent = list(self._known.values())[-_RECENT:]
        named = self._named
        return {"count": self.count, "compactions": list(self.compactions),
                "parent": self.parent_session, "first": self.first_prompt, "lines": self._lines,
                "known": [[k.id, k.owner, k.depth, k.parent, k.offset, k.is_main] for k in recent],
                "missing": sorted(self._missing), "main": self._main,
                "mainStamp": self._main_stamp, "compacted": self._last_compaction,
                "named": [named.id, named.offset, named.exact] if named else None}

    @classmethod
    def load(cls, profile: Profile, session_id: str, state: State, old: FindOld) -> TurnTree:
        tree = cls(profile, session_id)
        tree.count, tree.compactions = state["count"], list(state["compactions"])
        tree.parent_session, tree.first_prompt = state["parent"], state["first"]
        tree._lines = state["lines"]
        tree._known = {values[0]: Known(*values) for values in state["known"]}
        tree._missing = set(state["missing"])
        tree._main = tuple(state["main"]) if state["main"] else None
        tree._main_stamp = state["mainStamp"]
        tree._named = NamedLeaf(*state["named"]) if state["named"] else None
        tree._last_compaction = state["compacted"]
        tree._find_old = old
        return tree

    def resume_point(self, end: int) -> tuple[int, State]:
        """Where to continue later, and with which state: before a slash command that is not answered yet."""
        return self._resume_before or (end, self.dump())

    # reading

    def add(self, event: Event) -> None:
        data = event.data
        entry = entry_of(event, self.profile)
        if entry and entry.speaker and self._waiting:
            self._place_waiting(entry.speaker)
        if entry and entry.prompt == IF_ANSWERED and not self._waiting:
            self._resume_before = event.offset, self.dump()
        self._lines += 1
        if self.parent_session is None:
            self.parent_session = native_parent(data, self.profile, self._lines, self.session_id)
        if is_compaction(data, self.profile):
            self.compactions.append(event.offset)
        if entry is None:
            self._named = named_leaf(event, self.profile) or self._named
            return
        if entry.is_compaction:
            self._last_compaction = entry.offset
        text, stamp = "", None
        if entry.prompt:
            text = prompt_text(data, self.profile)
            found = pick(data, self.profile.lines["timestamp"])
            stamp = found if isinstance(found, str) else None
        self._place_or_wait(entry, text, stamp)

    def _place_or_wait(self, entry: Entry, text: str, stamp: str | None) -> None:
        if self._waiting or entry.prompt == IF_ANSWERED:
            self._waiting.append((entry, text, stamp))
        else:
            self._place(entry, text, stamp)

    def _place_waiting(self, speaker: str) -> None:
        waiting, self._waiting, self._resume_before = self._waiting, [], None
        for entry, text, stamp in waiting:
            entry.resolve_if_answered(speaker)
            self._place(entry, text, stamp)

    def finish(self, size: int) -> Place:
        """There is nothing more for now. Returns the place of the entry from which the agent continues."""
        resume_before = self._resume_before
        self._place_waiting("")
        self._resume_before = resume_before
        return self._place_below_named(size) or self._main or (0, 0)

    def _place_below_named(self, size: int) -> Place | None:
        """The same as in `chain.Tail`."""
        named = self._named
        if self.profile.links == "file-order" or not named or not named.id or named.offset < size - WITHIN:
            return None
        leaf = self._known.get(named.id)
        if leaf is None and self._find(named.id):
            raise NotResumable  # too long ago
        if leaf is None or not leaf.is_main or self._last_compaction >= leaf.offset:
            return None
        return newest_below(leaf, named, reversed(list(self._known.values())), self._known.get).place

    def _place(self, entry: Entry, text: str, stamp: str | None) -> None:
        owner, depth = self._place_before(entry) or (0, 0)
        depth += 1
        if entry.is_prompt:
            self.count += 1
            self.new.append(Row(self.count, None, entry.offset, entry.id, stamp, beginning_of(text), owner,
                                entry.parent, depth))
            self.first_prompt = self.first_prompt or shortened(text)
            owner = self.count
        if self.profile.links != "file-order":
            self.is_odd = self.is_odd or entry.id in self._known or entry.id in self._missing
            self._known[entry.id] = Known(entry.id, owner, depth, entry.parent, entry.offset, entry.is_main)
        if entry.is_main:
            self._main = owner, depth
            self._main_stamp = entry.stamp

    def _place_before(self, entry: Entry) -> Place | None:
        """The same as `chain.parent_of`."""
        if self.profile.links == "file-order":
            return self._main
        if entry.parent:
            found = self._find(entry.parent)
            if found is None:
                self._missing.add(entry.parent)
                soon = self._main and is_soon_after(self._main_stamp, entry.stamp, self.profile)
                return self._main if soon else None
            return found
        before = next((place for place in map(self._find, entry.logical) if place), None)
        return before or (self._main if entry.is_compaction else None)

    def _find(self, id: str) -> Place | None:
        known = self._known.get(id)
        if known is not None or not self._find_old or id in self._missing:
            return known.place if known else None
        found = self._find_old(id)
        if found is None:
            raise NotResumable
        return found


def beginning_of(text: str) -> str:
    return " ".join(text[:SHORT * 4].split())[:SHORT]
