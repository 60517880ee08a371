"""From a target to what it means here and now: the checkpoint with the code, the cut of the conversation,
and for steps that are undone or redone what becomes of the sessions they made."""

from __future__ import annotations

import os
import time

from rewind.agents.registry import is_under_root, profile_named
from rewind.checkpoint.chat import ChatPlan, NoConversation, made_of, plan_of_record
from rewind.checkpoint.rewind import operations as ops
from rewind.checkpoint.rewind import outside
from rewind.checkpoint.rewind import target as targets
from rewind.checkpoint.rewind.code import Wanted, first_that_differs, unsaved, whole
from rewind.checkpoint.rewind.code_at import SessionCode, code_before, read_prompt_at
from rewind.checkpoint.rewind.effects import inverses, leaves_something, was_done
from rewind.checkpoint.rewind.fork_code import code_put_aside
from rewind.checkpoint.rewind.left_alone import LeftAlone
from rewind.checkpoint.rewind.lineage import here, is_ordinary, lineage
from rewind.checkpoint.source import Source
from rewind.checkpoint.which_session import choose_session, recorded_session, session_at
from rewind.errors import (
    CheckpointNotFound,
    CompactedAway,
    NoParent,
    NoRestoreToUndo,
    NotAStep,
    NothingBeforePrompt,
    NothingToRedo,
    NothingToUndo,
    PromptGone,
    RewindError,
    SessionNotFound,
    TurnNotFound,
    TurnRunning,
    UnsavedEdits,
    UsageError,
)
from rewind.snapshot.change import Paths, differences
from rewind.transcript.boundary import BoundaryResult, NotEnoughPrompts, Prompt, find_boundary_by_user_prompts
from rewind.transcript.chain import Tail
from rewind.transcript.cut import Cut, TranscriptRewritten
from rewind.transcript.entries import entry_of
from rewind.transcript.find import session_with_id
from rewind.transcript.fork import NothingBeforeCut
from rewind.transcript.lines import end_of_lines, events_forward, open_transcript
from rewind.transcript.liveness import is_busy, why_open
from rewind.transcript.names import SUFFIX, session_id_of
from rewind.transcript.turn_index import open_turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import BinaryIO

    from rewind.agents.profile import Profile
    from rewind.checkpoint.plan import RestorePlan
    from rewind.checkpoint.record import Record
    from rewind.checkpoint.rewind.code_at import CodeAt
    from rewind.checkpoint.rewind.effects import Effect
    from rewind.checkpoint.rewind.operations import Operation
    from rewind.checkpoint.rewind.target import Request
    from rewind.checkpoint.state import State
    from rewind.snapshot.build import Snapshot
    from rewind.transcript.find import SessionFile
    from rewind.transcript.turn_index import TurnIndex
    from rewind.transcript.turn_tree import Row


class Destination:
    """What a target means. To be closed, for it may hold a temporary file."""

    def __init__(self, command: str, request: Request) -> None:
        self.command = command
        self.request = request
        self.in_place = request.in_place
        self.code: Wanted | None = None
        self.exact = True  # whether the code is that of the very moment
        self.chat: ChatPlan | None = None
        self.prompts: list[Prompt] = []  # that the conversation loses, newest last
        self.boundary: int | None = None
        self.effects: list[Effect] = []
        self.undoes: list[Operation] = []
        self.redoes: Operation | None = None
        self.resumes: Operation | None = None  # a killed operation that this one finishes
        self.turn: int | None = None  # the turn whose prompt is taken back first
        self.total = 0  # turns of the session, where they were counted
        self.index: TurnIndex | None = None
        self.start_anew: NothingBeforeCut | None = None
        self.lacks_conversation = False  # it should have been had, and could not be
        self.no_conversation = ""  # there is none, which is worth a remark before it is done
        self.notes: list[str] = []

    @property
    def record(self) -> Record | None:
        return self.code.record if self.code else None

    def __enter__(self) -> Destination:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self.chat:
            self.chat.close()


def resolve(state: State, request: Request) -> Destination:
    found: Destination = _RESOLVERS[type(request.target)](state, request)
    if found.command in (ops.RESTORE, ops.BACK):
        outside.add(state, found)
    for effect in found.effects if found.resumes is None else ():
        if effect.get("kind") == outside.OUTSIDE:
            outside.renew(effect)
    found.notes = [note for note in found.notes if note]
    return found


# a checkpoint

def _at_checkpoint(state: State, request: Request) -> Destination:
    record = state.timeline.find(request.target.name)
    paths: list[bytes] | None = request.target.paths
    half_done = state.operations().interrupted()
    if half_done and half_done.checkpoint == record.name and half_done.paths == paths and (
            half_done.command in (ops.RESTORE, ops.BACK, ops.UNDO, ops.FORWARD)):
        return _finish(state, request, half_done)
    found = Destination(ops.RESTORE, request)
    if request.wants_code:
        found.code = Wanted(record, paths, None, request.skip_missing, named=True)
    if request.wants_conversation:
        _add_conversation_of(state, found, record)
    return found


def _add_conversation_of(state: State, found: Destination, record: Record) -> None:
    """The code alone is better than nothing, unless the conversation is what was asked for."""
    request = found.request
    needed = not request.wants_code or request.in_place
    try:
        found.chat = plan_of_record(state, record)
        found.chat.check()
        return
    except NoConversation as error:
        if needed:
            raise
        found.no_conversation = f"{error.message} Only the code comes back."
    except NothingBeforeCut as error:
        if needed:
            raise
        found.start_anew = error
        found.notes.append(f"{error.message} {error.hint}")
    except RewindError as error:
        if needed:
            raise
        found.lacks_conversation = True
        found.notes.append(f"The conversation is left out: {error.message}")
    if found.chat:
        found.chat.close()
        found.chat = None


# prompts and turns

def _before_prompts(state: State, request: Request) -> Destination:
    n = request.target.n
    if n <= 0:
        raise UsageError(f"Cannot go back by {n} prompts.", hint="Give a number from 1 on.")
    half_done = state.operations().interrupted()
    if half_done and half_done.command == ops.BACK and half_done.begun.get("request") == request.key():
        return _finish(state, request, half_done)
    chosen = choose_session(state, request.target.session)
    session = chosen.session
    try:
        boundary = find_boundary_by_user_prompts(session.path, n, session.profile)
    except NotEnoughPrompts as error:
        error.hint = f"`rewind sessions show {session.session_id}` shows its turns."
        raise
    found = Destination(ops.BACK, request)
    found.notes.append(chosen.note)
    _add_boundary(state, found, session, boundary)
    return found


def _add_boundary(state: State, found: Destination, session: SessionFile, boundary: BoundaryResult) -> None:
    request, profile = found.request, session.profile
    found.boundary, found.prompts = boundary.boundary, boundary.prompts
    if request.wants_code:
        _add_code(state, found, code_before(state, session, boundary.boundary))
    if not request.wants_conversation:
        return
    found.chat = ChatPlan(profile, session.path, session.path, boundary.cut)
    if not boundary.resumable and not profile.fork["emptyResumes"]:
        found.start_anew = NothingBeforeCut(agent=profile.title, start=profile.commands["start"])
        if not found.code:
            raise found.start_anew
    if request.in_place:
        reason = why_open(profile, session.session_id, session.path,
                          recorded_session(state, session.session_id))
        found.notes.append(f"Refused without --force: {reason}" if reason else "")


def _add_code(state: State, found: Destination, code: CodeAt | None) -> None:
    if code is None:
        if not found.request.wants_conversation:
            raise NothingBeforePrompt()
        found.notes.append("No checkpoint is from before that prompt, so the code stays as it is.")
        return
    found.code, found.exact = Wanted(code.record), code.exact
    if not code.exact:
        minutes = round((time.time() - code.record.created) / 60)
        ago = f"{minutes} min ago" if minutes > 0 else "less than a minute ago"
        found.notes.append("The code is approximate. It comes from the last checkpoint before that prompt,"
                           f" made {ago}: {code.record.name}")


def _at_turn(state: State, request: Request) -> Destination:
    target = request.target
    session = _session(state, str(target.session))
    if request.wants_conversation and is_busy(session.profile, session.session_id,
                                              recorded_session(state, session.session_id)):
        raise TurnRunning(agent=session.profile.title)  # half a turn is nothing to continue from
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
        _add_boundary(state, found, session, _boundary_before(session, dropped, bool(kept)))
    else:
        _after_the_last(state, found, session, rows[at])
    if found.chat:
        found.chat.turns = len(kept)
    return found


def _session(state: State, text: str) -> SessionFile:
    """By its whole id, or by the path of its transcript."""
    if os.path.isabs(text) and text.endswith(SUFFIX):
        return session_at(text, state.project.home)
    found = session_with_id(state.project.root, text, home=state.project.home)
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


def _boundary_before(session: SessionFile, dropped: list[Row], resumable: bool) -> BoundaryResult:
    """Cut where the first dropped prompt begins; its parent is what the agent goes on from."""
    with open_transcript(session.path) as file:
        cut = Cut(dropped[0].offset, _parent_of(file, session.profile, dropped[0])).marked(file)
    return BoundaryResult(cut, [Prompt(row.prompt, row.offset, row.uuid) for row in dropped], resumable)


def _parent_of(file: BinaryIO, profile: Profile, row: Row) -> str | None:
    """The entry before a prompt on its branch; None where the order of the file is all there is."""
    if profile.links == "file-order":
        return None
    event = next(events_forward(file, row.offset), None)
    entry = entry_of(event, profile) if event else None
    chain = Tail(file, profile, row.offset).chain_of(entry)
    next(chain, None)
    before = next(chain, None)
    return before.id if before else ""


def _after_the_last(state: State, found: Destination, session: SessionFile, row: Row) -> None:
    with open_transcript(session.path) as file:
        cut = Cut(end_of_lines(file)).marked(file)
    found.boundary = cut.offset
    if found.request.wants_conversation:
        found.chat = ChatPlan(session.profile, session.path, session.path, cut)
    if found.request.wants_code:
        code = SessionCode(state, session).after_last(read_prompt_at(session, row.offset))
        if code:
            found.code, found.exact = Wanted(code.record), code.exact
        elif not found.request.wants_conversation:
            raise NothingBeforePrompt()
        else:
            found.notes.append("The code stays as it is: nothing came after this turn.")


# undo, and back from there

def _earlier_on_line(state: State, request: Request) -> Destination:
    operations = state.operations()
    half_done = operations.interrupted()
    if half_done and half_done.command == ops.UNDO:
        return _finish(state, request, half_done)
    standing = here(state)
    line = list(lineage(state).line(standing.name)) if standing else []
    record = first_that_differs(state, line, standing.name if standing else "")
    if record is None or standing is None:
        raise NothingToUndo()
    found = Destination(ops.UNDO, request)
    found.code = Wanted(record)
    passed = line[:[r.name for r in line].index(record.name)]
    found.notes += _ways_to_return(operations.undoable(), [r.name for r in passed])
    return found


def _ways_to_return(steps: list[Operation], passed: list[str]) -> list[str]:
    """How to return to what a restore left, where its place on the line is passed."""
    return [f"This goes past a {step.command} that left {step.before}. To return there:"
            f" rewind undo-restore {step.id}"
            for step in steps if step.checkpoint in passed and step.paths is None
            and step.command != ops.UNDO and step.before != step.checkpoint]


def _before_operation(state: State, request: Request) -> Destination:
    operations = state.operations()
    half_done, named = operations.interrupted(), request.target.op
    if half_done and half_done.command == ops.UNDO_RESTORE and not named:
        return _finish(state, request, half_done)
    found = Destination(ops.UNDO_RESTORE, request)
    found.undoes = _steps_to_undo(state, operations, named)
    code = [op for op in found.undoes if op.before]
    if code:
        paths = None if any(op.paths is None for op in code) else sorted(
            {path for op in code for path in op.paths or ()})
        found.code = Wanted(_kept(state, code[0].before), paths, whole(state, code[-1].checkpoint))
        found.notes += _made_since(state, code[0])
    found.effects = inverses(state, [effect for op in found.undoes for effect in op.effects
                                     if op.ended is not None or was_done(effect)])
    return found


def undo_target(state: State, operations: ops.Operations) -> Operation | None:
    """What `undo-restore` takes back, of what still leaves something to take back."""
    return next((op for op in operations.to_undo() if op.ended is None or op.before
                 or any(leaves_something(state, effect) for effect in op.effects)), None)


def _steps_to_undo(state: State, operations: ops.Operations, named: str) -> list[Operation]:
    """That step and all later ones, oldest first."""
    if not named:
        op = undo_target(state, operations)
        if op is None:
            raise NoRestoreToUndo()
        return [op]
    op = operations.find(named)
    if not op.can_undo:
        reason = ("it is undone already" if op.undone else "it was finished by a later one" if op.superseded
                  else "it left nothing to go back to" if op.is_step else "it is not a step")
        raise NotAStep(name=op.id, reason=reason)
    return operations.since(op)


def _kept(state: State, name: str) -> Record:
    try:
        return state.timeline.find(name)
    except CheckpointNotFound:
        raise NoRestoreToUndo(hint=f"The checkpoint to go back to was deleted: {name}") from None


def _made_since(state: State, op: Operation) -> list[str]:
    names = [r.name for r in state.timeline.all() if is_ordinary(r) and r.place == state.place
             and r.sequence > (op.sequence if op.ended else op.begun.get("sequence") or 0)]
    if not names:
        return []
    some = ", ".join(names[-3:])
    return [f"{len(names)} checkpoints were made since and stay: {some}" if len(names) > 1
            else f"One checkpoint was made since and stays: {some}"]


def _before_undo(state: State, request: Request) -> Destination:
    operations = state.operations()
    half_done = operations.interrupted()
    if half_done and half_done.command == ops.REDO:
        return _finish(state, request, half_done)
    op = redo_target(state, operations)
    if op is None:
        raise NothingToRedo()
    found = Destination(ops.REDO, request)
    found.redoes = op
    if op.before:
        found.code = Wanted(_kept(state, op.before), op.paths, whole(state, op.checkpoint))
    found.effects = inverses(state, [effect for effect in op.effects if op.ended or was_done(effect)])
    return found


def redo_target(state: State, operations: ops.Operations) -> Operation | None:
    """What `redo` takes back; none once a checkpoint with a new tree was made."""
    op = operations.to_redo()
    if op is None:
        return None
    since = [r for r in state.timeline.all() if is_ordinary(r) and r.place == state.place
             and r.sequence > op.sequence]
    if not since:
        return op
    left_alone, parents = LeftAlone(state, operations.mine()), lineage(state)
    return None if any(_is_new(state, r, parents.parent(r.name), left_alone) for r in since) else op


def refuse_unsaved(state: State, found: Destination, plan: RestorePlan, snapshot: Snapshot) -> None:
    """Edits that a redo would replace: since the checkpoint that the project stands on; of some paths, since
    the operation that is taken back."""
    if found.command != ops.REDO or found.resumes or found.code is None:
        return
    since = whole(state, found.redoes.checkpoint) if found.redoes and found.code.paths else here(state)
    last = next(reversed(state.operations().mine()), None)
    # What the last operation could not do is no edit: repeating it may do it.
    undone = {os.fsencode(path) for path in (last.ended or {}).get("remaining") or ()} if last else set()
    paths = [path for path in unsaved(state, plan, snapshot, since) if path not in undone]
    if paths and last and last.ended is None:
        # Nor is what an interrupted operation came to do before it was killed.
        for name in (last.before, last.checkpoint):
            edited = set(unsaved(state, plan, snapshot, whole(state, name)))
            paths = [path for path in paths if path in edited]
    if since and paths:
        raise UnsavedEdits(checkpoint=since.name, paths=", ".join(os.fsdecode(p) for p in paths[:5]))


def _is_new(state: State, record: Record, parent: Record | None, left_alone: LeftAlone) -> bool:
    """Whether work went on: a difference that is not just what the last operation left alone."""
    if parent is None or record.tree == parent.tree:
        return parent is None
    with Source(state, parent) as old, Source(state, record) as new:
        return any(not left_alone.covers(path) for path, _, _ in differences(
            parent.tree, old.tree, record.tree, new.tree, Paths()))


def _before_fork(state: State, request: Request) -> Destination:
    from rewind.checkpoint.session_tree import session_infos

    session = request.target.session
    info = next((i for i in session_infos(state) if i.session_id == session), None)
    if info is None:
        raise SessionNotFound(name=str(session)[:200])
    if not info.parent:
        raise NoParent(session=info.session_id)
    found = Destination(ops.FORWARD, request)
    backup = code_put_aside(state).get(info.session_id) if request.wants_code else None
    if backup:
        found.code = Wanted(state.timeline.find(backup))
    elif request.wants_code:
        found.notes.append("The code stays as it is: making this fork left it alone, or that was undone.")
    return found


# finishing what a killed process began

def _finish(state: State, request: Request, op: Operation) -> Destination:
    """The same, as the log has it: the tree and the transcript are not what they were when it began."""
    found = Destination(op.command, request)
    found.resumes = op
    by_id = {one.id: one for one in state.operations().all}
    found.undoes = [by_id[id] for id in op.undoes if id in by_id]
    found.redoes = by_id.get(op.redoes)
    if op.checkpoint:
        left = found.undoes[-1] if found.undoes else found.redoes
        found.code = Wanted(_kept(state, op.checkpoint), op.paths,
                            whole(state, left.checkpoint) if left else None, request.skip_missing)
    if op.command in (ops.UNDO_RESTORE, ops.REDO):
        found.effects = op.effects
        return found
    if request.wants_conversation:
        _finish_conversation(state, found, op)
    found.effects += [effect for effect in op.effects if effect.get("kind") == outside.OUTSIDE]
    return found


def _finish_conversation(state: State, found: Destination, op: Operation) -> None:
    wanted = op.begun.get("conversation")
    if not isinstance(wanted, dict):
        return
    found.in_place = bool(wanted.get("inPlace"))
    for effect in op.effects:
        if effect.get("kind") != outside.OUTSIDE and was_done(effect):
            # Noted again, so that undoing this takes it back.
            found.effects.append({**effect, **made_of(str(effect["path"]))})
            found.notes.append("The conversation was brought back before the interruption:"
                               f" {effect.get('sessionId') or session_id_of(str(effect.get('path')))}")
            return
    path, offset, mark = wanted.get("path"), wanted.get("offset"), wanted.get("mark")
    profile = profile_named(str(wanted.get("agent")), state.project.home)
    if op.command == ops.RESTORE and found.record:
        _add_conversation_of(state, found, found.record)
        return
    if not isinstance(path, str) or not isinstance(offset, int) or not is_under_root(profile, path):
        return
    found.chat = ChatPlan(profile, path, path, Cut(offset, wanted.get("leaf"), True,
                                                   mark if isinstance(mark, dict) else None))
    try:
        found.chat.check()
    except TranscriptRewritten as error:
        error.hint = (f"To finish it for the code alone: rewind restore {op.checkpoint} --code-only."
                      " To undo it: rewind undo-restore")
        raise


_RESOLVERS = {
    targets.AtCheckpoint: _at_checkpoint, targets.BeforePrompts: _before_prompts, targets.AtTurn: _at_turn,
    targets.EarlierOnLine: _earlier_on_line, targets.BeforeOperation: _before_operation,
    targets.BeforeUndo: _before_undo, targets.BeforeFork: _before_fork,
}
