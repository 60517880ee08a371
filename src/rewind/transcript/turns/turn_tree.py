"""The turns of a conversation, found in one pass forward that can stop and go on where it stopped.

What `index.py` finds by holding every entry in memory, this finds by knowing of each entry only which prompt
it answers to. `tests/transcript/turns/test_turn_index.py` holds the two against each other.
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

    Place = tuple[int, int]  # number of the prompt that it answers to, and how many entries lead there
    FindOld = Callable[[str], Optional[Place]]

    class State(TypedDict):
        """A tree as it is remembered. What are tuples here comes back from JSON as lists."""

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
         "mainStamp", "named", "compacted"}  # what `dump` gives
SHORT = 160  # so much of a prompt is remembered
_RECENT = 512  # entries whose place is remembered: what comes next hangs off one of them


class NotResumable(Exception):
    """Something refers to an entry that is not remembered: the file must be read from its beginning."""


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
    """Of an entry only this is remembered: its place, and what choosing the leaf needs."""

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
        self.is_odd = False  # ids that are there twice, or parents that come later: nothing for this pass
        self._lines = 0
        self._known: dict[str, Known] = {}
        self._missing: set[str] = set()
        self._main: Place | None = None
        self._main_stamp = ""
        self._named: NamedLeaf | None = None
        self._compacted = -1  # where the last compaction stands
        self._old: FindOld | None = None
        self._waiting: list[tuple[Entry, str, str | None]] = []  # a slash command, and what follows it
        self._safe: tuple[int, State] | None = None

    # going on later

    def dump(self) -> State:
        recent = list(self._known.values())[-_RECENT:]
        named = self._named
        return {"count": self.count, "compactions": list(self.compactions),
                "parent": self.parent_session, "first": self.first_prompt, "lines": self._lines,
                "known": [[k.id, k.owner, k.depth, k.parent, k.offset, k.is_main] for k in recent],
                "missing": sorted(self._missing), "main": self._main,
                "mainStamp": self._main_stamp, "compacted": self._compacted,
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
        tree._compacted = state["compacted"]
        tree._old = old
        return tree

    def resume_point(self, end: int) -> tuple[int, State]:
        """Where to go on later, and with what: before a slash command that nobody has answered yet."""
        return self._safe or (end, self.dump())

    # reading

    def see(self, event: Event) -> None:
        data = event.data
        entry = entry_of(event, self.profile)
        if entry and entry.speaker and self._waiting:
            self._settle(entry.speaker)
        if entry and entry.prompt == IF_ANSWERED and not self._waiting:
            self._safe = event.offset, self.dump()
        self._lines += 1
        if self.parent_session is None:
            self.parent_session = native_parent(data, self.profile, self._lines, self.session_id)
        if is_compaction(data, self.profile):
            self.compactions.append(event.offset)
        if entry is None:
            self._named = named_leaf(event, self.profile) or self._named
            return
        if entry.is_compaction:
            self._compacted = entry.offset
        text, stamp = "", None
        if entry.prompt:
            text = prompt_text(data, self.profile)
            found = pick(data, self.profile.lines["timestamp"])
            stamp = found if isinstance(found, str) else None
        self._queue(entry, text, stamp)

    def _queue(self, entry: Entry, text: str, stamp: str | None) -> None:
        if self._waiting or entry.prompt == IF_ANSWERED:
            self._waiting.append((entry, text, stamp))
        else:
            self._place(entry, text, stamp)

    def _settle(self, speaker: str) -> None:
        waiting, self._waiting, self._safe = self._waiting, [], None
        for entry, text, stamp in waiting:
            entry.resolve_if_answered(speaker)
            self._place(entry, text, stamp)

    def finish(self, size: int) -> Place:
        """Nothing more comes for now: the place of the entry that the agent goes on from."""
        safe = self._safe
        self._settle("")
        self._safe = safe
        return self._below_named(size) or self._main or (0, 0)

    def _below_named(self, size: int) -> Place | None:
        """As `chain.Tail` has it."""
        named = self._named
        if self.profile.links == "file-order" or not named or not named.id or named.offset < size - WITHIN:
            return None
        leaf = self._known.get(named.id)
        if leaf is None and self._find(named.id):
            raise NotResumable  # too long ago
        if leaf is None or not leaf.is_main or self._compacted >= leaf.offset:
            return None
        return newest_below(leaf, named, reversed(list(self._known.values())), self._known.get).place

    def _place(self, entry: Entry, text: str, stamp: str | None) -> None:
        owner, depth = self._before(entry) or (0, 0)
        depth += 1
        if entry.is_prompt:
            self.count += 1
            self.new.append(Row(self.count, None, entry.offset, entry.id, stamp, short(text), owner,
                                entry.parent, depth))
            self.first_prompt = self.first_prompt or shortened(text)
            owner = self.count
        if self.profile.links != "file-order":
            self.is_odd = self.is_odd or entry.id in self._known or entry.id in self._missing
            self._known[entry.id] = Known(entry.id, owner, depth, entry.parent, entry.offset, entry.is_main)
        if entry.is_main:
            self._main = owner, depth
            self._main_stamp = entry.stamp

    def _before(self, entry: Entry) -> Place | None:
        """As `chain.parent_of` has it."""
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
        if known is not None or not self._old or id in self._missing:
            return known.place if known else None
        found = self._old(id)
        if found is None:
            raise NotResumable
        return found


def short(text: str) -> str:
    return " ".join(text[:SHORT * 4].split())[:SHORT]
