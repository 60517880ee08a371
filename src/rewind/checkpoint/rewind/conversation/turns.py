"""Resolves targets in a conversation: before the latest prompts, before or after a turn, before a fork was
made."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, BinaryIO

from rewind.agents.profile import Profile
from rewind.checkpoint.conversations.bring_back import ConversationPlan
from rewind.checkpoint.conversations.recorded_sessions import recorded_session
from rewind.checkpoint.conversations.which_session import choose_session, session_at
from rewind.checkpoint.operation_log import operations as ops
from rewind.checkpoint.operation_log.fork_code import replaced_code
from rewind.checkpoint.project.state import State
from rewind.checkpoint.rewind import target as targets
from rewind.checkpoint.rewind.destination import Destination
from rewind.checkpoint.rewind.files.code_to_restore import CodeToRestore
from rewind.checkpoint.rewind.finish import finish
from rewind.checkpoint.rewind.target import Request
from rewind.checkpoint.select.code_at import CodeAt, PromptAt, SessionCode, prompt_at
from rewind.errors import (
    CompactedAway,
    NoParent,
    NotEnoughPrompts,
    NothingBeforeCut,
    NothingBeforePrompt,
    PromptGone,
    RewindError,
    SessionNotFound,
    TurnNotFound,
    TurnRunning,
    UsageError,
)
from rewind.transcript.find import SessionFile, session_with_id
from rewind.transcript.kinds import kind_of
from rewind.transcript.liveness import check_in_place, is_busy, why_open
from rewind.transcript.names import SUFFIX
from rewind.transcript.place.boundary import BoundaryResult, boundary_in
from rewind.transcript.place.cut import Cut
from rewind.transcript.read.chain import Tail
from rewind.transcript.read.conversation import open_conversation
from rewind.transcript.read.entries import Prompt, entry_of
from rewind.transcript.read.lines import end_of_lines, events_forward
from rewind.transcript.turns.turn_index import TurnIndex, open_turns
from rewind.transcript.turns.turn_tree import Row

if TYPE_CHECKING:
    from rewind.checkpoint.rewind.destination import Resolver


def _before_prompts(state: State, request: Request, target: targets.BeforePrompts) -> Destination:
    n = target.n
    if n <= 0:
        raise UsageError(f"Cannot go back {n} prompts.", hint="Use a number of at least 1.")
    half_done = state.operations().interrupted()
    if half_done and half_done.command == ops.BACK and half_done.begun.get("request") == request.key():
        return finish(state, request, half_done)
    looks = _CutPoints(n, request.wants_code)
    chosen = choose_session(state, target.session, with_prompt=True, has_prompt=looks.has_prompt)
    session = chosen.session
    try:
        look = looks.at(session)
    except NotEnoughPrompts as error:
        error.hint = f"To see its turns: rewind sessions show {session.session_id}"
        raise
    found = Destination(ops.BACK, request)
    found.notes.append(chosen.note)
    _add_boundary(state, found, session, look)
    return found


class _CutPoint:
    """Where a transcript is cut, and what identifies the first prompt that is dropped."""

    def __init__(self, boundary: BoundaryResult, prompt: PromptAt | None) -> None:
        self.boundary = boundary
        self.prompt = prompt  # None if no code is wanted


class _CutPoints:
    """Finds the cut in each transcript that may be meant, once: whether it has a prompt is found in the same
    way."""

    def __init__(self, n: int, wants_code: bool) -> None:
        self._n = n
        self._wants_code = wants_code
        self._found: dict[str, _CutPoint] = {}

    def has_prompt(self, session: SessionFile) -> bool:
        try:
            self.at(session)
        except NotEnoughPrompts as error:
            return bool(error.fields["found"])
        except (RewindError, OSError):
            return False
        return True

    def at(self, session: SessionFile) -> _CutPoint:
        if session.path not in self._found:
            with open_conversation(session.path, session.profile) as file:
                boundary = boundary_in(file, self._n, session.profile)
                self._found[session.path] = _cut_point(file, session.profile, boundary, self._wants_code)
        return self._found[session.path]


def _cut_point(file: BinaryIO, profile: Profile, boundary: BoundaryResult, wants_code: bool) -> _CutPoint:
    return _CutPoint(boundary, prompt_at(file, profile, boundary.prompts[0].offset) if wants_code else None)


def _add_boundary(state: State, found: Destination, session: SessionFile, look: _CutPoint) -> None:
    request, profile, boundary = found.request, session.profile, look.boundary
    found.boundary, found.prompts = boundary.boundary, boundary.prompts
    if look.prompt:
        _add_code(found, SessionCode(state, session).before(look.prompt))
    if not request.wants_conversation:
        return
    found.conversation = ConversationPlan(profile, session.path, session.path, boundary.cut)
    found.conversation.check_format()
    if not boundary.resumable and not profile.fork["emptyResumes"]:
        found.start_anew = NothingBeforeCut(agent=profile.title, start=profile.commands["start"])
        if not found.code:
            raise found.start_anew
    if request.in_place:
        check_in_place(profile)
        reason = why_open(profile, session.session_id, session.path,
                          recorded_session(state, session.session_id))
        found.notes.append(f"Refused without --force: {reason}" if reason else "")


def _add_code(found: Destination, code: CodeAt | None) -> None:
    if code is None:
        if not found.request.wants_conversation:
            raise NothingBeforePrompt()
        found.notes.append("No checkpoint is from before that prompt, so the code stays as it is.")
        return
    found.code, found.exact = CodeToRestore(code.record), code.exact
    if not code.exact:
        minutes = round((time.time() - code.record.created) / 60)
        ago = f"{minutes} min ago" if minutes > 0 else "less than a minute ago"
        found.notes.append("The code is approximate. It comes from the last checkpoint before that prompt,"
                           f" made {ago}: {code.record.name}")


def _at_turn(state: State, request: Request, target: targets.AtTurn) -> Destination:
    session = _session(state, target.session)
    if request.wants_conversation and is_busy(session.profile, session.session_id,
                                              recorded_session(state, session.session_id)):
        raise TurnRunning(agent=session.profile.title)  # a session cannot continue from half a turn
    index = open_turns(session.path, session.profile, state.derived)
    rows = index.turns(1, index.total)
    at = _row_of(rows, target.turn, target.uuid)
    kept = rows[:at + 1] if target.after else rows[:at]
    dropped = rows[len(kept):]
    found = Destination(ops.BACK, request)
    found.index, found.total = index, index.total
    if dropped:
        found.turn = dropped[0].turn
        _refuse_compacted(session.profile, index, kept[-1] if kept else dropped[0])
        _add_boundary(state, found, session, _before_row(session, dropped, bool(kept), request.wants_code))
    else:
        _after_the_last(state, found, session, rows[at])
    if found.conversation:
        found.conversation.turns = len(kept)
    return found


def _session(state: State, text: str) -> SessionFile:
    """The session with this id, or with this path of its transcript."""
    if os.path.isabs(text) and text.endswith(SUFFIX):
        return session_at(text, state.project.home)
    found = session_with_id(state.area(), text, home=state.project.home)
    if found is None:
        raise SessionNotFound(name=text[:200])
    return found


def _row_of(rows: list[Row], turn: int, uuid: str) -> int:
    if uuid:
        at = next((at for at, row in enumerate(rows) if row.uuid == uuid), None)
        if at is None:
            raise PromptGone()
        return at
    if not 1 <= turn <= len(rows):
        raise TurnNotFound(turn=turn, total=len(rows))
    return turn - 1


def _refuse_compacted(profile: Profile, index: TurnIndex, row: Row) -> None:
    compaction = profile.compaction
    if compaction and not compaction["resumable"] and any(c > row.offset for c in index.compactions):
        raise CompactedAway(agent=profile.title)


def _before_row(session: SessionFile, dropped: list[Row], resumable: bool, wants_code: bool) -> _CutPoint:
    """Cut where the first dropped prompt begins. The agent continues from the parent of that prompt."""
    profile = session.profile
    prompts = [Prompt(row.prompt, row.offset, row.uuid, row.stamp) for row in dropped]
    with open_conversation(session.path, profile) as file:
        start = kind_of(profile).start_of_prompt(file, profile, dropped[0].offset)
        cut = Cut(start, _parent_of(file, profile, dropped[0])).marked(file)
        return _cut_point(file, profile, BoundaryResult(cut, prompts, resumable), wants_code)


def _parent_of(file: BinaryIO, profile: Profile, row: Row) -> str | None:
    """The id of the entry before a prompt on its branch; None if the agent reads the file in order."""
    if profile.links == "file-order":
        return None
    event = next(events_forward(file, row.offset), None)
    entry = entry_of(event, profile) if event else None
    chain = Tail(file, profile, row.offset).chain_of(entry)
    next(chain, None)
    before = next(chain, None)
    return before.id if before else ""


def _after_the_last(state: State, found: Destination, session: SessionFile, row: Row) -> None:
    wants_code = found.request.wants_code
    with open_conversation(session.path, session.profile) as file:
        cut = Cut(end_of_lines(file)).marked(file)
        prompt = prompt_at(file, session.profile, row.offset) if wants_code else None
    found.boundary = cut.offset
    if found.request.wants_conversation:
        found.conversation = ConversationPlan(session.profile, session.path, session.path, cut)
        found.conversation.check_format()
    if prompt:
        code = SessionCode(state, session).after_last(prompt)
        if code:
            found.code, found.exact = CodeToRestore(code.record), code.exact
        elif not found.request.wants_conversation:
            raise NothingBeforePrompt()
        else:
            found.notes.append("The code stays as it is: no checkpoint was made after this turn.")


def _before_fork(state: State, request: Request, target: targets.BeforeFork) -> Destination:
    from rewind.checkpoint.conversations.session_tree import session_infos

    session = target.session
    info = next((i for i in session_infos(state) if i.session_id == session), None)
    if info is None:
        raise SessionNotFound(name=session[:200])
    if not info.parent:
        raise NoParent(session=info.session_id)
    found = Destination(ops.FORWARD, request)
    backup = replaced_code(state).get(info.session_id) if request.wants_code else None
    if backup:
        found.code = CodeToRestore(state.files.read(backup))
    elif request.wants_code:
        found.notes.append("The code stays as it is: making this fork did not change it, or that was undone.")
    return found


RESOLVERS: dict[type[targets.Target], Resolver] = {
    targets.BeforePrompts: _before_prompts, targets.AtTurn: _at_turn, targets.BeforeFork: _before_fork,
}
