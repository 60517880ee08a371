"""A whole conversation, read once from its beginning: turns, chain, compactions, title."""

from __future__ import annotations

from rewind.agents.profile import pick
from rewind.agents.registry import profile_for
from rewind.transcript.names import session_id_of
from rewind.transcript.read.chain import can_be_named, follow
from rewind.transcript.read.conversation import open_conversation
from rewind.transcript.read.entries import entry_of, is_compaction
from rewind.transcript.read.leaf import WITHIN, named_leaf, newest_below
from rewind.transcript.read.lines import events_forward, size_of
from rewind.transcript.read.prompts import IF_ANSWERED, prompt_text
from rewind.transcript.read.titles import read_title

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from rewind.agents.profile import Profile
    from rewind.jsonfile import JsonObject
    from rewind.transcript.read.entries import Entry
    from rewind.transcript.read.leaf import NamedLeaf
    from rewind.transcript.read.lines import Event


def native_parent(data: JsonObject, profile: Profile, line: int, own: str) -> str | None:
    """The session that this one was forked from, if the agent itself did that and this line tells."""
    native = profile.native
    parent = pick(data, native["session"]) if native and line <= native["within"] else None
    return parent if isinstance(parent, str) and parent != own else None


class Turn:
    """A genuine prompt. `turn` numbers those on the active chain from 1; None on an abandoned branch."""

    __slots__ = ("active", "offset", "prompt", "timestamp", "turn", "uuid")

    def __init__(self, offset: int, prompt: str, uuid: str, timestamp: str | None) -> None:
        self.turn: int | None = None
        self.offset = offset
        self.prompt = prompt
        self.uuid = uuid
        self.active = False
        self.timestamp = timestamp


class SessionIndex:
    """`turns` are all genuine prompts in file order; `chain` are the ids of the active chain."""

    def __init__(self, path: str, profile: Profile) -> None:
        self.path = path
        self.profile = profile
        self.session_id = session_id_of(path, profile)
        self.turns: list[Turn] = []
        self.chain: list[str] = []
        self.compactions: list[int] = []
        self.title = ""
        self.parent_session: str | None = None  # as the agent itself tells it
        self.size = 0

    @property
    def active_turns(self) -> list[Turn]:
        return [turn for turn in self.turns if turn.active]


def read_index(path: str, profile: Profile | None = None) -> SessionIndex:
    profile = profile or profile_for(path)
    with open_conversation(path, profile) as file:
        return _Reader(path, profile).read(file)


class _Reader:
    def __init__(self, path: str, profile: Profile) -> None:
        self.index = SessionIndex(path, profile)
        self.profile = profile
        self.entries: list[Entry] = []
        self._found: dict[int, tuple[str, str | None]] = {}  # offset of a prompt -> text, timestamp
        self._pending: list[Entry] = []  # slash commands that wait for an answer
        self._named: NamedLeaf | None = None
        self._lines = 0

    def read(self, file: BinaryIO) -> SessionIndex:
        self.index.size = size_of(file)
        for event in events_forward(file, 0, self.index.size):
            self._lines += 1
            self._see(event)
        for entry in self._pending:
            entry.resolve_if_answered("")
        self._number_turns()
        first = next((turn.prompt for turn in self.index.turns if turn.prompt.strip()), "")
        self.index.title = read_title(file, self.profile, self.index.size, first)
        return self.index

    def _see(self, event: Event) -> None:
        data, index = event.data, self.index
        if index.parent_session is None:
            index.parent_session = native_parent(data, self.profile, self._lines, index.session_id)
        if is_compaction(data, self.profile):
            index.compactions.append(event.offset)
        entry = entry_of(event, self.profile)
        if entry is None:
            self._named = named_leaf(event, self.profile) or self._named
            return
        self._add(entry, event)

    def _add(self, entry: Entry, event: Event) -> None:
        self.entries.append(entry)
        if entry.tells:
            for waiting in self._pending:
                waiting.resolve_if_answered(entry.tells)
            self._pending = []
        if entry.prompt:
            stamp = pick(event.data, self.profile.lines["timestamp"])
            self._found[entry.offset] = (prompt_text(event.data, self.profile),
                                         stamp if isinstance(stamp, str) else None)
            if entry.prompt == IF_ANSWERED:
                self._pending.append(entry)

    def _number_turns(self) -> None:
        chain = self._chain()
        chain.reverse()
        self.index.chain = [entry.id for entry in chain]
        on_chain = {entry.offset for entry in chain}
        number = 0
        for entry in self.entries:
            if entry.is_prompt:
                text, stamp = self._found[entry.offset]
                turn = Turn(entry.offset, text, entry.id, stamp)
                turn.active = entry.offset in on_chain
                self.index.turns.append(turn)
        for turn in self.index.turns:
            if turn.active:
                number += 1
                turn.turn = number

    def _chain(self) -> list[Entry]:
        """Newest first."""
        main = [entry for entry in self.entries if entry.is_main]
        if self.profile.links == "file-order":
            return main[::-1]
        by_id = {entry.id: entry for entry in self.entries}  # the latest line with an id counts
        leaf = self._below_named(by_id) or (main[-1] if main else None)

        def main_before(offset: int) -> Entry | None:
            from bisect import bisect_left

            at = bisect_left([entry.offset for entry in main], offset)
            return main[at - 1] if at else None

        return list(follow(leaf, by_id.get, main_before, self.profile))

    def _below_named(self, by_id: dict[str, Entry]) -> Entry | None:
        named = self._named
        leaf = by_id.get(named.id) if named and named.offset >= self.index.size - WITHIN else None
        if named is None or leaf is None or not can_be_named(leaf, self.entries):
            return None
        return newest_below(leaf, named, reversed(self.entries), by_id.get)
