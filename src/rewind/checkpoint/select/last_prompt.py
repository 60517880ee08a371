"""The last prompt before a checkpoint: the checkpoint probably contains the work for this prompt."""

from __future__ import annotations

from rewind.agents.registry import profile_named
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record, cursor_of, prompt_start
from rewind.errors import RewindError
from rewind.transcript.names import session_id_of
from rewind.transcript.place.cursor import place_in
from rewind.transcript.read.conversation import open_conversation
from rewind.transcript.turns.turn_index import TurnIndex, open_turns
from rewind.transcript.turns.turn_tree import Row


class LastPrompt:
    """`turn` is its number in the session as it is now."""

    def __init__(self, session_id: str, turn: int, text: str) -> None:
        self.session_id = session_id
        self.turn = turn
        self.text = text


class LastPrompts:
    """Answers for many checkpoints: each transcript is indexed once."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._known: dict[str, tuple[TurnIndex, list[Row]] | None] = {}

    def before(self, record: Record) -> LastPrompt | None:
        """None if there is no conversation, or its transcript is gone or was rewritten since."""
        cursor, path = cursor_of(record), record.transcript.get("original_path")
        if not cursor or not isinstance(path, str):
            return None
        try:
            known = self._turns(path, str(record.transcript.get("agent")))
            if known is None:
                return None
            with open_conversation(path, known[0].profile) as file:
                place = place_in(file, cursor)
        except (RewindError, OSError):
            return None
        row = _last(known[1], place, record) if place is not None else None
        return LastPrompt(session_id_of(path, known[0].profile), row.turn or 0, row.prompt) if row else None

    def _turns(self, path: str, agent: str) -> tuple[TurnIndex, list[Row]] | None:
        if path not in self._known:
            self._known[path] = None
            index = open_turns(path, profile_named(agent, self._state.project.home), self._state.derived)
            self._known[path] = (index, index.turns(1, index.total))
        return self._known[path]


def _last(rows: list[Row], place: int, record: Record) -> Row | None:
    before = [row for row in rows if row.offset < place]
    # A client may write a prompt before its hook runs. Nothing was done for that prompt yet.
    prompt = record.trigger.get("promptText") if record.trigger.get("event") == "UserPromptSubmit" else None
    if before and isinstance(prompt, str) and prompt_start(prompt) == prompt_start(before[-1].prompt):
        before.pop()
    return before[-1] if before else None
