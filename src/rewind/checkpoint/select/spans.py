"""Spans: what a person names by `t4`, `t2..t4`, `SESSION:t4`, `A..B` or a checkpoint, as two states of the
code, one before and one after."""

from __future__ import annotations

from rewind.checkpoint.conversations.which_session import choose_session
from rewind.checkpoint.operation_log.lineage import here, lineage
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.select.code_at import CodeAt, PromptAt, SessionCode, read_prompt_at
from rewind.checkpoint.select.selectors import select
from rewind.checkpoint.select.turn_name import TurnName, turn_name
from rewind.errors import (
    CheckpointNotFound,
    CheckpointWithoutParent,
    ForkWithoutTurns,
    NoSession,
    SessionNotForked,
    SessionWithoutCode,
    TurnNotFound,
    TurnWithoutCheckpoint,
    UsageError,
)
from rewind.transcript.turns.turn_index import open_turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Union

    from rewind.checkpoint.project.state import State
    from rewind.transcript.find import SessionFile
    from rewind.transcript.turns.turn_tree import Row

    Turns = Union["SessionTurns", "LineTurns"]

_RANGE = ".."
_SHORT = 8  # characters of a session's id


class Span:
    """What one turn did, or the difference between two checkpoints: `before` and `after` are checkpoints.

    `after` is None for the last turn of a session if no checkpoint was made since. Then its changes are in
    the working tree, together with later ones. If the span is not a turn of a conversation, `session` is
    empty and `turn` None. In a project without conversations, `turn` is the number of the checkpoint on the
    line.
    """

    def __init__(self, before: Record, after: Record | None, label: str, *, session: str = "",
                 turn: int | None = None, prompt: str = "", exact: bool = True) -> None:
        self.before = before
        self.after = after
        self.label = label
        self.session = session
        self.turn = turn
        self.prompt = prompt
        self.exact = exact  # if false, `before` may contain a part of the turn, or lack edits before it

    def key(self) -> tuple[str, str]:
        return self.before.name, self.after.name if self.after else ""

    def order(self) -> tuple[float, int]:
        return self.after.sequence if self.after else float("inf"), self.before.sequence


def spans(state: State, texts: list[str], session: str | None = None) -> list[Span]:
    """The spans that these words name, oldest first and each once. `t4` is a turn of `session`, else of the
    session that `back` would use."""
    parser = _Parser(state, session)
    found = {span.key(): span for text in texts for span in parser.spans(text)}
    return sorted(found.values(), key=Span.order)


def ends(state: State, text: str) -> tuple[str, str | None] | None:
    """The names of the checkpoints at the ends of a range, `t2..t4` or `A..B`. None for the second means the
    project as it is now. None if the text is not a range: prompts may contain two dots, and paths may begin
    with them."""
    if _RANGE not in text or text.startswith(_RANGE) or any(map(str.isspace, text)):
        return None
    found = _Parser(state, None).spans(text)
    after = found[-1].after
    return found[0].before.name, after.name if after else None


def all_turns(state: State, session: str | None = None) -> Turns:
    """The turns of the named session, else of the session that `back` would use. In a project without
    conversations each checkpoint on the line is a turn."""
    try:
        return SessionTurns(state, choose_session(state, session).session, named=bool(session))
    except NoSession:
        return LineTurns(state)


def fork_span(state: State, text: str) -> Span:
    """What a whole fork changed: from the code with which it began to the code that it has now. The fork may
    have been made by Rewind or by the agent. `text` is its id or the beginning of it."""
    from rewind.checkpoint.conversations.session_tree import session_infos, shared_turns
    from rewind.transcript.find import find_session

    infos = session_infos(state)
    file = find_session([info.file for info in infos], text)
    info = next(one for one in infos if one.file is file)
    parent = next((one for one in infos if one.session_id == info.parent), None)
    if not info.parent:
        raise SessionNotForked(session=info.session_id)
    shared = shared_turns(info, parent) if parent else info.rewind_from_turn or 0
    turns = SessionTurns(state, info.file)
    if shared >= turns.total:
        raise ForkWithoutTurns(session=info.session_id)
    first, last = turns.span(shared + 1), turns.span(turns.total)
    if last.after is None:
        raise TurnWithoutCheckpoint(turn=turns.total, session=info.session_id)
    return Span(first.before, last.after, f"fork {info.session_id[:8]}", session=info.session_id,
                prompt=info.name, exact=first.exact)


class _Parser:
    """Reads the transcript of a session once for several words."""

    def __init__(self, state: State, session: str | None) -> None:
        self.state = state
        self.session = session
        self._turns: dict[str | None, Turns] = {}

    def spans(self, text: str) -> list[Span]:
        first, dots, last = text.partition(_RANGE)
        one, other = _whole_turn(first), _whole_turn(last)
        if not dots:
            return [self._turns_of(one.session).span(one.turn)] if one else [self._checkpoint(text)]
        if one and other:
            return self._turn_range(text, one, other)
        if one or other or not first or not last:
            raise UsageError(f"Not a range: {text}",
                             hint="`t2..t4` are the turns 2 to 4, `A..B` what changed from A to B.")
        return [Span(select(self.state, first), select(self.state, last), text)]

    def _turn_range(self, text: str, one: TurnName, other: TurnName) -> list[Span]:
        first, last = one.turn, other.turn
        if other.session not in (None, one.session) or first > last:
            raise UsageError(f"Not a range of turns: {text}",
                             hint="Both ends are turns of one session, the earlier one first: t2..t4")
        turns = self._turns_of(one.session)
        turns.check(first)
        turns.check(last)
        return [turns.span(turn) for turn in range(first, last + 1)]

    def _turns_of(self, session: str | None) -> Turns:
        session = session or self.session
        if session not in self._turns:
            self._turns[session] = all_turns(self.state, session)
        return self._turns[session]

    def _checkpoint(self, text: str) -> Span:
        record = select(self.state, text)
        parent = lineage(self.state).parent(record.name)
        if parent is None:
            raise CheckpointWithoutParent(checkpoint=record.name)
        return Span(parent, record, record.name)


def _whole_turn(text: str) -> TurnName | None:
    """`t4`, but not `t4+`, which is the checkpoint at its end."""
    name = turn_name(text)
    return name if name and not name.after else None


class SessionTurns:
    """The turns of one conversation, each with the checkpoints around it."""

    def __init__(self, state: State, session: SessionFile, named: bool = False) -> None:
        """`named`: the person named the session, so labels contain its id."""
        self.session = session
        self._of = f" of {session.session_id[:_SHORT]}" if named else ""
        index = open_turns(session.path, session.profile, state.derived)
        self.rows: list[Row] = index.turns(1, index.total)
        self._codes = SessionCode(state, session)
        self._prompts: dict[int, PromptAt] = {}
        self._befores: dict[int, CodeAt | None] = {}

    @property
    def total(self) -> int:
        return len(self.rows)

    def check(self, turn: int) -> None:
        if not 1 <= turn <= self.total:
            raise TurnNotFound(turn=turn, total=self.total,
                               hint=f"`rewind sessions show {self.session.session_id}` shows them.")

    def span(self, turn: int) -> Span:
        self.check(turn)
        before = self._before(turn)
        if before is None or self._is_borrowed(turn, before):
            raise self._without(turn)
        return Span(before.record, self._after(turn, before), f"turn {turn}{self._of}",
                    session=self.session.session_id, turn=turn, prompt=self.rows[turn - 1].prompt,
                    exact=before.exact)

    def _without(self, turn: int) -> SessionWithoutCode | TurnWithoutCheckpoint:
        if not self._codes.newest() and not any(
                code.exact for code in map(self._before, range(1, self.total + 1)) if code):
            return SessionWithoutCode(session=self.session.session_id)
        return TurnWithoutCheckpoint(turn=turn, session=self.session.session_id)

    def _prompt(self, turn: int) -> PromptAt:
        if turn not in self._prompts:
            self._prompts[turn] = read_prompt_at(self.session, self.rows[turn - 1].offset)
        return self._prompts[turn]

    def _before(self, turn: int) -> CodeAt | None:
        if turn not in self._befores:
            self._befores[turn] = self._codes.before(self._prompt(turn))
        return self._befores[turn]

    def _is_borrowed(self, turn: int, before: CodeAt) -> bool:
        """Whether the code before this turn is really the code before an earlier turn, or of another session.
        Then the changes of the two cannot be told apart."""
        if before.exact or before.record.trigger.get("late"):
            return False
        if not self._codes.newest():
            return True
        earlier = self._before(turn - 1) if turn > 1 else None
        return earlier is not None and before.record.sequence <= earlier.record.sequence

    def _after(self, turn: int, before: CodeAt) -> Record | None:
        """The checkpoint of the turn's end, else of the next prompt; None means the working tree."""
        # The end may be one that the agent's own rewind has left behind since.
        end = self._codes.end_of_turn(before, None)
        if end:
            return end
        if turn == self.total:
            code = self._codes.after_last(self._prompt(turn))
            return code.record if code and code.record.sequence > before.record.sequence else None
        following = self._before(turn + 1)
        if following is None or following.record.sequence <= before.record.sequence:
            raise TurnWithoutCheckpoint(turn=turn, session=self.session.session_id)
        return following.record


class LineTurns:
    """In a project without conversations: the checkpoints on the line as turns. The oldest is number 1."""

    def __init__(self, state: State) -> None:
        current = here(state)
        line = list(lineage(state).line(current.name)) if current else []
        self.records = line[::-1]

    @property
    def total(self) -> int:
        return len(self.records)

    def check(self, turn: int) -> None:
        if not 1 <= turn <= self.total:
            raise CheckpointNotFound(name=f"t{turn}", hint=f"The line has {self.total} checkpoints;"
                                                           " `rewind list` shows them.")

    def span(self, turn: int) -> Span:
        self.check(turn)
        record = self.records[turn - 1]
        if turn == 1:
            raise CheckpointWithoutParent(checkpoint=record.name)
        return Span(self.records[turn - 2], record, f"turn {turn}", turn=turn, prompt=record.description)
