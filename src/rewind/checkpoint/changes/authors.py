"""Who made a change: a turn of an agent, or the person between two turns.

Changes from a turn's prompt to its end count as the turn's, whatever tool made them. Changes from there to
the next prompt count as the person's. A turn that was interrupted has no end, so it lasts until the next
prompt.
"""

from __future__ import annotations

from collections.abc import Iterable

from rewind.checkpoint.operation_log.lineage import Lineage
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record, cursor_of, prompt_start
from rewind.errors import RewindError
from rewind.transcript.find import SessionFile, session_with_id
from rewind.transcript.place.cursor import place_in
from rewind.transcript.read.conversation import open_conversation
from rewind.transcript.turns.turn_index import open_turns
from rewind.transcript.turns.turn_tools import TurnTools, tools_of_turn
from rewind.transcript.turns.turn_tree import Row

Running = tuple[Record, ...]  # the first checkpoint of each running turn, the latest last
AGENT, YOU, GIT = "agent", "you", "git"
_IN_A_TURN = ("PreToolUse", "PostToolUse", "Stop")


class Author:
    """`turn` is None if its number is not known: the transcript is gone, or the agent rewrote it."""

    def __init__(self, kind: str, began: Record | None = None, turn: int | None = None,
                 prompt: str = "") -> None:
        self.kind = kind
        self.session = began.session if began else None
        self.turn = turn
        self.prompt = prompt


class Authors:
    """Answers for many changes: the records are read once, and each transcript when it is needed."""

    def __init__(self, state: State, parents: Lineage) -> None:
        self._prompts = _Prompts(state)
        self._turn_by_record, self._after, self._newest = _replay(parents)
        self._known: dict[str, Author] = {}
        self._tools: dict[str, TurnTools] = {}

    def author_of(self, record: Record) -> Author:
        """Who made the changes between a checkpoint and its parent."""
        return self._author(self.turn_of(record))

    def turn_of(self, record: Record) -> Record | None:
        """The first checkpoint of the turn that made them; None if it was the person."""
        return self._turn_by_record.get(record.name)

    def tools_of(self, record: Record) -> TurnTools | None:
        """The tools that this turn used, if its transcript tells; None if it was the person."""
        began = self.turn_of(record)
        if began is None:
            return None
        if began.name not in self._tools:
            self._tools[began.name] = self._prompts.tools(began)
        return self._tools[began.name]

    def current_author(self, record: Record) -> Author:
        """Who changes files now, while the project stands on this checkpoint. If later checkpoints exist, the
        project was rewound to it, and no turn continues."""
        returned = self._newest.get(record.place, 0) > record.sequence
        running = () if returned else self._after.get(record.name)
        return self._author(running[-1] if running else None)

    def _author(self, began: Record | None) -> Author:
        if began is None:
            return Author(YOU)
        if began.name not in self._known:
            row = self._prompts.row(began)
            prompt = began.trigger.get("promptText")
            self._known[began.name] = Author(AGENT, began, row.turn if row else None,
                                             row.prompt if row else prompt if isinstance(prompt, str) else "")
        return self._known[began.name]


def _replay(parents: Lineage) -> tuple[dict[str, Record | None], dict[str, Running], dict[str, int]]:
    """Checkpoint -> the first checkpoint of the turn that changed it; checkpoint -> the turns that run after
    it; place -> the number of its last checkpoint."""
    by: dict[str, Record | None] = {}
    after: dict[str, Running] = {}
    newest: dict[str, int] = {}  # by place
    for record in sorted(parents.records.values(), key=lambda r: r.sequence):
        parent = parents.parent(record.name)
        # There are checkpoints in between, so the project was rewound to the parent, and no turn continues.
        returned = parent is not None and newest.get(record.place, 0) > parent.sequence
        running = after.get(parent.name, ()) if parent and not returned else ()
        by[record.name] = _turn_of(record, running)
        after[record.name] = _running_after(record, running)
        if not record.imported:
            newest[record.place] = record.sequence
    return by, after, newest


def _turn_of(record: Record, running: Running) -> Record | None:
    if record.trigger.get("event") in _IN_A_TURN:
        return _of_session(record, running) or record
    return running[-1] if running else None


def _running_after(record: Record, running: Running) -> Running:
    event, own = record.trigger.get("event"), _of_session(record, running)
    others = tuple(r for r in running if r is not own)
    if event == "UserPromptSubmit":
        # A prompt that was typed while a turn ran has that turn's id and begins no new turn.
        same = own and own.trigger.get("promptId") and (
            own.trigger["promptId"] == record.trigger.get("promptId"))
        return running if same else (*others, record)
    if event in ("PreToolUse", "PostToolUse"):
        return running if own else (*running, record)
    is_end = event in ("Stop", "SessionEnd") or (
        event == "SessionStart" and record.trigger.get("source") != "compact")
    return others if is_end and not record.trigger.get("subagent") else running


def _of_session(record: Record, running: Running) -> Record | None:
    return next((r for r in running if r.session == record.session), None)


class _Prompts:
    """Finds the prompt with which a turn began in its transcript."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._known: dict[str, tuple[SessionFile, list[Row]] | None] = {}

    def row(self, began: Record) -> Row | None:
        """None if the transcript does not tell."""
        try:
            known = self._session(began.session or "")
            if known is None:
                return None
            file, rows = known
            return _row_of(rows, _place(file, began), began)
        except (RewindError, OSError):
            return None

    def tools(self, began: Record) -> TurnTools:
        row, known = self.row(began), self._known.get(began.session or "")
        try:
            if row and known:
                return tools_of_turn(known[0].path, known[0].profile, row.offset)
        except (RewindError, OSError):
            pass
        return TurnTools()

    def _session(self, id: str) -> tuple[SessionFile, list[Row]] | None:
        if id not in self._known:
            self._known[id] = None
            found = session_with_id(self._state.area(), id, home=self._state.project.home)
            if found:
                index = open_turns(found.path, found.profile, self._state.derived)
                self._known[id] = found, index.turns(1, index.total)
        return self._known[id]


def _place(file: SessionFile, record: Record) -> int | None:
    """Where the transcript ended when the checkpoint was made. Claude Code creates the file after the first
    prompt, so without a conversation it is the beginning."""
    cursor = cursor_of(record)
    if not cursor:
        return None if record.data.get("hasTranscript") else 0
    with open_conversation(file.path, file.profile) as opened:
        return place_in(opened, cursor)


def _row_of(rows: Iterable[Row], place: int | None, began: Record) -> Row | None:
    if place is None:
        return None
    before = [row for row in rows if row.offset < place]
    if began.trigger.get("event") != "UserPromptSubmit":
        return before[-1] if before else None
    # A client may write a prompt before or after its hook runs.
    following = [row for row in rows if row.offset >= place][:1]
    text = prompt_start(began.trigger.get("promptText"))
    return next((row for row in (*before[-1:], *following) if prompt_start(row.prompt) == text), None)
