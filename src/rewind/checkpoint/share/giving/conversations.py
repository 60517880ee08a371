"""A conversation to be shared or pushed: the agent's own lines, masked, up to a certain line."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from rewind.agents.profile import Profile
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record, cursor_of
from rewind.checkpoint.share.giving.left_out import Policy
from rewind.checkpoint.share.giving.mask import Masker, masker_for
from rewind.transcript.place.cursor import place_in
from rewind.transcript.read.conversation import open_conversation
from rewind.transcript.read.lines import end_of_lines, lines_forward, stored
from rewind.transcript.turns.turn_index import open_turns

_PIECE = 1 << 20
_SHOWN = 200


@dataclass(eq=False)
class SecretInConversation:
    """A secret in a conversation: its kind, its turn (0: unknown), and its line."""

    kind: str
    turn: int
    line: int


class OutConversation:
    """`read` returns the masked bytes. A masked line is still one line, so `lines_at` can say how far a
    checkpoint goes. `until` is the offset in the agent's own file where the conversation is cut; None takes
    all of it."""

    def __init__(self, state: State, path: str, profile: Profile, session_id: str, policy: Policy,
                 until: int | None = None) -> None:
        self.session = session_id
        self.agent = profile.name
        self.secrets: list[SecretInConversation] = []
        self.size = 0
        index = open_turns(path, profile, state.derived)
        masker = masker_for(state.project, policy.with_secrets)
        self.title = masker.text(index.title or "")
        self.turns = 0
        self._starts = array("Q")  # where the lines begin in the agent's own file
        self._original = open_conversation(path, profile)
        import tempfile  # slow to load, and a push without a conversation does not need it

        self._masked: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 `close` closes it
        try:
            self._rows = [(row.offset, row.turn or 0) for row in index.turns(1, index.total)]
            self._mask(masker, until)
        except BaseException:
            self.close()
            raise

    @property
    def lines(self) -> int:
        return len(self._starts)

    def _mask(self, masker: Masker, until: int | None) -> None:
        file = stored(self._original)
        end = end_of_lines(file)
        end = end if until is None else min(end, until)
        for offset, raw in lines_forward(file, 0, end):
            masked, kinds = masker.line(raw)
            self._starts.append(offset)
            self.size += self._masked.write(masked)
            if kinds and len(self.secrets) < _SHOWN:
                turn = self._turn_at(offset)
                self.secrets += [SecretInConversation(kind, turn, len(self._starts)) for kind in kinds]
        self.turns = sum(1 for offset, _ in self._rows if offset < end)

    def _turn_at(self, offset: int) -> int:
        at = bisect_right(self._rows, (offset, 1 << 60))
        return self._rows[at - 1][1] if at else 0

    def lines_at(self, record: Record) -> int | None:
        """How many lines there were when the checkpoint was made; None if it is of another conversation."""
        cursor = cursor_of(record)
        place = place_in(self._original, cursor) if cursor else None
        return None if place is None else min(self.lines, bisect_left(self._starts, place))

    def read(self) -> Iterator[bytes]:
        self._masked.seek(0)
        return iter(lambda: self._masked.read(_PIECE), b"")

    def close(self) -> None:
        self._original.close()
        self._masked.close()
