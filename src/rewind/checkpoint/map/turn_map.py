"""What happened in a project: turns, edits by hand between them, manual checkpoints and operations. It is
made from the index of records and reads no transcript."""

from __future__ import annotations

from rewind.checkpoint.operation_log.lineage import here_among, parents_of, partial_backups
from rewind.checkpoint.operation_log.operations import ADOPT, APPLY, REVERT, Operation
from rewind.errors import RewindError

TYPE_CHECKING = False
if TYPE_CHECKING:

    from rewind.checkpoint.changes.turn_changes import Changes
    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.timeline import Brief

TURN, EDIT, CHECKPOINT, OPERATION = "turn", "edit", "checkpoint", "operation"
_TOOLS = ("PreToolUse", "PostToolUse")
_MERGED = (REVERT, APPLY, ADOPT)  # Rewind made these changes when it was asked to, so they are not edits


class MapRow:
    """One row. `before` and `after` are the checkpoints around its changes; `number` is the one to go to."""

    def __init__(self, kind: str, text: str, time: float, before: Brief | None, after: Brief | None) -> None:
        self.kind = kind
        self.text = text
        self.time = time
        self.before = before
        self.after = after
        self.record: Brief | None = None  # the checkpoint itself, or the one before a turn
        self.session: str | None = None
        self.op: Operation | None = None
        self.parent: MapRow | None = None  # the row that it continues
        self.here = False
        self.ended = True  # whether the end of the turn was captured
        self.turn: int | None = None  # its number in the present conversation
        self.offset: int | None = None  # of its prompt in the transcript
        self.abandoned = False  # the conversation went on from an earlier turn
        self.label = ""  # a name that a person gave it
        self.by_others = False  # an edit while a turn of another session was running
        self.checkpoints: list[Brief] = []
        self.changes: Changes | None = None

    @property
    def number(self) -> int | None:
        return self.record.sequence if self.record else None


def turn_map(state: State, *, backups: bool = False, session: str | None = None,
             everywhere: bool = False) -> list[MapRow]:
    """Newest first. `everywhere` includes all work trees."""
    briefs = [b for b in reversed(state.timeline.briefs()) if everywhere or b.place == state.place]
    current = here_among(state, briefs)
    shown = {b.name for b in briefs if backups or b.kind != "backup" or b.name == current}
    rows = _Builder(briefs, parents_of(briefs, partial_backups(state, briefs)), shown).rows(current)
    if session:
        rows = [row for row in rows if (row.session or "").startswith(session)]
    else:
        rows = _with_operations(rows, _operations(state))
    return rows[::-1]


class _Builder:
    """Goes through the records, oldest first."""

    def __init__(self, briefs: list[Brief], parents: dict[str, str | None], shown: set[str]) -> None:
        self._briefs = briefs
        self._by_name = {b.name: b for b in briefs}
        self._parents = parents
        self._shown = shown
        self._rows: list[MapRow] = []
        self.state: dict[str, MapRow | None] = {}  # the row that left the code as a checkpoint has it
        self._turns: dict[str | None, MapRow] = {}  # the last turn of each session

    def rows(self, current: str) -> list[MapRow]:
        for brief in self._briefs:
            self.state[brief.name] = self._see(brief)
        at = self.state.get(current)
        if at:
            at.here = True
        return self._rows

    def _see(self, b: Brief) -> MapRow | None:
        if b.imported or b.kind == "backup":
            return self._aside(b)
        if b.event == "UserPromptSubmit":
            return self._prompt(b)
        turn = self._turns.get(b.session)
        if b.event == "Stop" and turn:
            turn.after, turn.ended = b, True
            return self._belongs(b, turn)
        if b.event in _TOOLS and turn and not turn.ended:
            return self._belongs(b, turn)
        if b.event in _MERGED or b.event in (None, "Stop") or b.kind != "auto":
            return self._checkpoint(b)
        return self._edit(b) or self._state_before(b)

    def _belongs(self, b: Brief, turn: MapRow) -> MapRow:
        turn.checkpoints.append(b)
        turn.label = b.label or turn.label
        return turn

    def _prompt(self, b: Brief) -> MapRow | None:
        turn = self._turns.get(b.session)
        if turn and not turn.ended:
            if b.prompt_id and turn.before and b.prompt_id == turn.before.prompt_id:
                return self._belongs(b, turn)  # it was typed while the turn ran
            turn.after = b  # interrupted: nothing says where its work ended and the person's began
            state: MapRow | None = turn
        else:
            state = self._edit(b) or self._state_before(b)
        row = MapRow(TURN, _prompt_text(b), b.created, b, None)
        row.record, row.session, row.ended, row.parent = b, b.session, False, state
        self._turns[b.session] = row
        self._rows.append(row)
        self._belongs(b, row)
        return state

    def _edit(self, b: Brief) -> MapRow | None:
        """A row for what changed since the checkpoint before, other than by a turn of this session."""
        before = self._by_name.get(self._parents.get(b.name) or "")
        if before is None or before.tree == b.tree:
            return None
        row = MapRow(EDIT, "", b.created, before, b)
        row.session, row.parent = b.session, self._state_before(b)
        row.by_others = any(not turn.ended for session, turn in self._turns.items() if session != b.session)
        self._rows.append(row)
        return row

    def _checkpoint(self, b: Brief) -> MapRow:
        before = self._by_name.get(self._parents.get(b.name) or "")
        row = MapRow(CHECKPOINT, b.description, b.created, before, b)
        row.record, row.session, row.parent = b, b.session, self._state_before(b)
        row.checkpoints.append(b)
        self._rows.append(row)
        return row

    def _aside(self, b: Brief) -> MapRow | None:
        """A backup holds the state before an operation, and an imported checkpoint was never a state here."""
        return self._checkpoint(b) if b.name in self._shown else self._state_before(b)

    def _state_before(self, b: Brief) -> MapRow | None:
        return self.state.get(self._parents.get(b.name) or "")


def _prompt_text(b: Brief) -> str:
    return b.prompt or b.description.removeprefix("Before: ")


def _operations(state: State) -> list[Operation]:
    """The operations that ended. An unreadable log is reported elsewhere."""
    try:
        return [op for op in state.operations().mine() if op.ended and not op.superseded]
    except RewindError:
        return []


def _with_operations(rows: list[MapRow], operations: list[Operation]) -> list[MapRow]:
    """Puts each operation after everything that began before it."""
    found: list[MapRow] = []
    waiting = list(reversed(operations))
    for row in rows:
        at = (row.after if row.kind == EDIT else row.record) or row.after
        while waiting and at and waiting[-1].sequence < at.sequence:
            found.append(_operation(waiting.pop()))
        found.append(row)
    return found + [_operation(op) for op in reversed(waiting)]


def _operation(op: Operation) -> MapRow:
    row = MapRow(OPERATION, "", op.time, None, None)
    row.op = op
    return row
