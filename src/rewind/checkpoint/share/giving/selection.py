"""What a person wants to share: a session, some of its turns, or a checkpoint; with all its checkpoints."""

from __future__ import annotations

import re

from rewind.checkpoint.conversations.bring_back import plan_of_record
from rewind.checkpoint.conversations.which_session import choose_session
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record, session_of
from rewind.checkpoint.select.selectors import select
from rewind.checkpoint.select.spans import SessionTurns
from rewind.checkpoint.share.giving.conversations import OutConversation
from rewind.checkpoint.share.giving.left_out import Policy
from rewind.errors import RewindError, UsageError
from rewind.transcript.find import SessionFile, find_session, project_sessions
from rewind.transcript.names import is_session_id

_TURNS = re.compile(r"(?:(?P<session>[^:]+):)?(?:t|turn:)(?P<first>[0-9]{1,9})"
                    r"(?:\.\.(?:t|turn:)?(?P<last>[0-9]{1,9}))?")
_SHORTEST = 6


class ShareSelection:
    """`records` are oldest first. `until` is the offset where the conversation is cut; None takes all of it.
    Without a `session`, the conversation is the one in the checkpoint, if there is one."""

    def __init__(self, label: str, records: list[Record], session: SessionFile | None = None,
                 until: int | None = None) -> None:
        self.label = label
        self.records = records
        self.session = session
        self.until = until
        self.notes: list[str] = []

    def conversations(self, state: State, policy: Policy) -> list[OutConversation]:
        if self.session:
            file = self.session
            return [OutConversation(state, file.path, file.profile, file.session_id, policy, self.until)]
        record = self.records[-1]
        if not record.data.get("hasTranscript"):
            return []
        with plan_of_record(state, record) as plan:
            return [OutConversation(state, plan.source, plan.profile, plan.session_id, policy,
                                    plan.cut.offset)]


def select_for_share(state: State, words: list[str]) -> ShareSelection:
    """`SESSION`, `SESSION t3..t7`, `t3..t7`, `SESSION:t4`, or any selector of a checkpoint."""
    if len(words) > 2:
        raise UsageError("Too many words.",
                         hint="Name a session, turns of it, or a checkpoint, then the file.")
    turns = _TURNS.fullmatch(words[-1])
    if len(words) == 2 and (turns is None or turns["session"]):
        raise UsageError(f"Not a range of turns: {words[1]}", hint="After a session, name turns: t3..t7")
    if turns:
        return _turns(state, words[0] if len(words) == 2 else turns["session"], turns)
    session = _session(state, words[0])
    if session:
        return _whole(state, session)
    record = select(state, words[0])
    return ShareSelection(f"checkpoint {record.name}", [record])


def _session(state: State, text: str) -> SessionFile | None:
    """The session with this id or this beginning of an id. A number and a checkpoint's name are none."""
    if len(text) < _SHORTEST or not is_session_id(text) or text.replace("_", "").isdigit():
        return None
    files = project_sessions(state.area(), home=state.project.home)
    return find_session(files, text) if any(f.session_id.startswith(text) for f in files) else None


def _whole(state: State, session: SessionFile) -> ShareSelection:
    turns = SessionTurns(state, session)
    return ShareSelection(f"session {session.session_id}", _records(state, turns, 1, turns.total), session)


def _turns(state: State, named: str | None, match: re.Match[str]) -> ShareSelection:
    session = choose_session(state, named).session
    turns = SessionTurns(state, session)
    first, last = int(match["first"]), int(match["last"] or match["first"])
    turns.check(first)
    turns.check(last)
    if first > last:
        raise UsageError(f"Not a range of turns: {match[0]}", hint="The earlier turn comes first: t3..t7")
    until = turns.rows[last].offset if last < turns.total else None
    label = f"turn {first}" if first == last else f"turns {first} to {last}"
    found = ShareSelection(f"{label} of session {session.session_id}", _records(state, turns, first, last),
                           session, until)
    if first > 1:
        found.notes.append(f"The conversation is shared from its beginning to turn {last},"
                           " because the agent could not go on without it.")
    return found


def _records(state: State, turns: SessionTurns, first: int, last: int) -> list[Record]:
    """Those around each turn, and those that the session made in between."""
    found: dict[str, Record] = {}
    for turn in range(first, last + 1):
        try:
            span = turns.span(turn)
        except RewindError:
            continue  # this turn has no checkpoint
        found.update({record.name: record for record in (span.before, span.after) if record})
    if not found:
        raise RewindError(f"No checkpoint belongs to session {turns.session.session_id}.",
                          hint="Share a checkpoint instead: rewind share last FILE")
    numbers = [record.sequence for record in found.values()]
    for record in state.timeline.all():
        if (record.kind != "backup" and min(numbers) <= record.sequence <= max(numbers)
                and session_of(record) == turns.session.session_id):
            found[record.name] = record
    return sorted(found.values(), key=lambda r: r.sequence)
