"""A whole conversation at once: turns, chain, compactions, title."""

from __future__ import annotations

from itertools import islice

from rewind.agents.profile import pick
from rewind.agents.registry import profile_for
from rewind.transcript.names import session_id_of
from rewind.transcript.read.chain import Tail
from rewind.transcript.read.conversation import open_conversation
from rewind.transcript.read.entries import read_prompt
from rewind.transcript.read.lines import events_forward, size_of
from rewind.transcript.read.titles import read_title

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from rewind.agents.profile import Profile
    from rewind.jsonfile import JsonObject
    from rewind.transcript.read.entries import Prompt


def native_parent(data: JsonObject, profile: Profile, line: int, own: str) -> str | None:
    """The session that this one was forked from, if the agent itself did that and this line says so."""
    native = profile.native
    parent = pick(data, native["session"]) if native and line <= native["within"] else None
    return parent if isinstance(parent, str) and parent != own else None


class Turn:
    """A genuine prompt. `turn` numbers those on the active chain from 1; None on an abandoned branch."""

    __slots__ = ("offset", "prompt", "timestamp", "turn", "uuid")

    def __init__(self, turn: int | None, prompt: Prompt) -> None:
        self.turn = turn
        self.offset = prompt.offset
        self.prompt = prompt.text
        self.uuid = prompt.uuid
        self.timestamp = prompt.stamp if isinstance(prompt.stamp, str) else None

    @property
    def active(self) -> bool:
        return self.turn is not None


class SessionIndex:
    """`turns` are all genuine prompts in file order. `chain` holds the ids of the active chain."""

    def __init__(self, path: str, profile: Profile) -> None:
        self.session_id = session_id_of(path, profile)
        self.path = path
        self.profile = profile
        self.turns: list[Turn] = []
        self.chain: list[str] = []
        self.compactions: list[int] = []
        self.title = ""
        self.parent_session: str | None = None  # according to the agent itself
        self.size = 0

    @property
    def active_turns(self) -> list[Turn]:
        return [turn for turn in self.turns if turn.active]


def read_index(path: str, profile: Profile | None = None) -> SessionIndex:
    index = SessionIndex(path, profile or profile_for(path))
    with open_conversation(path, index.profile) as file:
        index.size = size_of(file)
        index.parent_session = _native_parent(file, index)
        tail = Tail(file, index.profile, index.size)
        _add_turns(index, tail)
        index.compactions = sorted(tail.compactions)
        first = next((turn.prompt for turn in index.turns if turn.prompt.strip()), "")
        index.title = read_title(file, index.profile, index.size, first)
    return index


def _native_parent(file: BinaryIO, index: SessionIndex) -> str | None:
    within = index.profile.native["within"] if index.profile.native else 0
    parents = (native_parent(event.data, index.profile, number, index.session_id)
               for number, event in enumerate(islice(events_forward(file, 0, index.size), within), 1))
    return next((parent for parent in parents if parent is not None), None)


def _add_turns(index: SessionIndex, tail: Tail) -> None:
    chain = list(tail.chain())[::-1]
    tail.read_all()
    index.chain = [entry.id for entry in chain]
    on_chain = {entry.offset for entry in chain}
    number = 0
    for entry in reversed(tail.entries):
        if entry.is_prompt:
            is_active = entry.offset in on_chain
            number += is_active
            prompt = read_prompt(tail.file, entry, index.profile)
            index.turns.append(Turn(number if is_active else None, prompt))
