"""Code and conversation together: restore a checkpoint, take back prompts, and undo or redo that."""

from __future__ import annotations

import contextlib
import time

from rewind.agents.registry import is_under_root, profile_named
from rewind.checkpoint import restore as going_back
from rewind.checkpoint.chat import (
    ChatPlan,
    Done,
    NoConversation,
    check_ours,
    make_fork,
    plan_of_record,
    refuse_if_open,
    rewrite_in_place,
)
from rewind.checkpoint.code_for import code_at_prompt
from rewind.checkpoint.plan import RestorePlan
from rewind.checkpoint.restore import Restored
from rewind.checkpoint.take_back import (
    TakenBack,
    check_take_back,
    fork_of,
    go_forward,
    rewritten_by,
    take_back,
)
from rewind.checkpoint.which_session import choose_session, recorded_session
from rewind.errors import RewindError, UsageError
from rewind.transcript.boundary import NotEnoughPrompts, find_boundary_by_user_prompts
from rewind.transcript.cut import Cut, TranscriptRewritten
from rewind.transcript.fork import NothingBeforeCut
from rewind.transcript.liveness import SessionInUse, why_open

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rewind.checkpoint.code_for import CodeAt
    from rewind.checkpoint.record import Record
    from rewind.checkpoint.state import State
    from rewind.snapshot.build import Progress
    from rewind.transcript.boundary import BoundaryResult

    Note = Callable[[dict[str, Any]], None]


# a checkpoint

def restore_checkpoint(state: State, record: Record, *, mode: str, expected: RestorePlan | None,
                       in_place: bool, force: bool, skip_backup: bool,
                       progress: Progress | None, skip_missing: bool = False) -> Restored:
    if mode not in ("both", "code", "chat"):
        raise UsageError(f"There is no mode {mode}.", hint="It is `both`, `code` or `chat`.")
    with contextlib.ExitStack() as stack:
        plan: ChatPlan | None = None
        notes: list[str] = []
        failed = False
        begun = _begun(state, record, in_place) if mode == "both" else None
        if begun:
            plan, in_place, notes = begun.plan, begun.in_place, begun.notes
        elif mode != "code":
            plan, notes, failed = _chat_plan(state, record, stack, needed=mode == "chat" or in_place)
        step = _ChatStep(state, plan, in_place, force) if plan else None
        if step:
            step.check()
        if mode == "chat":
            assert step is not None
            result = Restored(record, RestorePlan(record.name))
            step.alone("restore")
        else:
            result = going_back.restore(state, record, expected=expected, force=force,
                                        skip_backup=skip_backup, progress=progress,
                                        position=record.sequence, chat=step, skip_missing=skip_missing)
        result.chat = step.done if step else None
        result.lacks_chat = failed
        result.notes += notes + (result.chat.notes if result.chat else [])
        return result


class _Begun:
    """The conversation's part of a step that a killed process left half done; no plan when that is done."""

    def __init__(self, plan: ChatPlan | None, in_place: bool, *notes: str) -> None:
        self.plan = plan
        self.in_place = in_place
        self.notes = list(notes)


def _begun(state: State, record: Record, in_place: bool) -> _Begun | None:
    """Finishing a `back` means cutting where it wanted to, not where the code's checkpoint stands."""
    entry = state.history().interrupted()
    if entry is None or entry["checkpoint"] != record.name:
        return None
    if entry["action"] in ("undo", "redo"):  # an `undo` is about the code, a `redo` has a part of its own
        return _Begun(None, False)
    wanted = entry.get("chat")
    wanted = wanted if isinstance(wanted, dict) else None
    in_place = bool(wanted.get("in_place")) if wanted else in_place
    done = rewritten_by(entry) if in_place else fork_of(entry)
    if done:
        return _Begun(None, in_place, f"The conversation was brought back before it was interrupted: {done}")
    if not wanted:
        return None
    path, offset, mark = wanted.get("path"), wanted.get("offset"), wanted.get("mark")
    profile = profile_named(str(wanted.get("agent")), state.project.home)
    if not isinstance(path, str) or not isinstance(offset, int) or not is_under_root(profile, path):
        return _Begun(None, False)
    plan = ChatPlan(profile, path, path, Cut(offset, wanted.get("leaf"), True,
                                             mark if isinstance(mark, dict) else None))
    try:
        plan.check()
    except TranscriptRewritten as error:
        error.hint = (f"`rewind restore {record.name} --code-only` finishes it for the code alone,"
                      " `rewind undo-restore` takes it back.")
        raise
    return _Begun(plan, in_place)


def _chat_plan(state: State, record: Record, stack: contextlib.ExitStack, *,
               needed: bool) -> tuple[ChatPlan | None, list[str], bool]:
    """The conversation's part, what to say about it, and whether it should have been had and was not: the
    code alone is better than nothing."""
    try:
        plan = stack.enter_context(plan_of_record(state, record))
        plan.check()
        return plan, [], False
    except NoConversation:
        if needed:
            raise
        return None, [], False
    except NothingBeforeCut as error:
        if needed:
            raise
        return None, [f"{error.message} {error.hint}"], False
    except RewindError as error:
        if needed:
            raise
        return None, [f"The conversation is left out: {error.message}"], True


def foretell_chat(state: State, record: Record, *, needed: bool, in_place: bool) -> list[str]:
    """What a restore would do about the conversation, in words. What it would refuse is refused."""
    with contextlib.ExitStack() as stack:
        plan, notes, _ = _chat_plan(state, record, stack, needed=needed or in_place)
        if plan is None:
            return notes
        notes.append(f"Would {'cut' if in_place else 'fork'} session {plan.session_id}")
        try:
            _ChatStep(state, plan, in_place, force=False).check()
        except SessionInUse as error:
            notes.append(f"It is refused without --force: {error.fields['reason']}")
        return notes


class _ChatStep:
    """What is done to the conversation, when its turn comes."""

    def __init__(self, state: State, plan: ChatPlan, in_place: bool, force: bool) -> None:
        self.state = state
        self.plan = plan
        self.in_place = in_place
        self.force = force
        self.done: Done | None = None

    def check(self) -> None:
        """Refuse before anything is touched."""
        if self.in_place:
            check_ours(self.plan.profile, self.plan.original)
            refuse_if_open(self.state, self.plan, self.force)

    def __call__(self, note: Note) -> None:
        if self.in_place:
            self.done = rewrite_in_place(self.state, self.plan, note, force=self.force)
        else:
            self.done = make_fork(self.state, self.plan, note)

    def alone(self, action: str) -> None:
        self(self.state.history().chat_step(action))


# prompts

class BackPlan:
    """What taking back some prompts means: where the conversation is cut, and whose code comes back."""

    def __init__(self, boundary: BoundaryResult, chat: ChatPlan, in_place: bool) -> None:
        self.boundary = boundary
        self.chat = chat
        self.in_place = in_place
        self.code: CodeAt | None = None
        self.code_plan: RestorePlan | None = None
        self.notes: list[str] = []

    @property
    def start_anew(self) -> NothingBeforeCut | None:
        """Why there is no conversation to go on from, and what to do instead."""
        profile = self.chat.profile
        if self.boundary.resumable or profile.fork["emptyResumes"]:
            return None
        return NothingBeforeCut(agent=profile.title, start=profile.commands["start"])


class Back:
    def __init__(self, plan: BackPlan) -> None:
        self.plan = plan
        self.chat: Done | None = None
        self.code: Restored | None = None
        self.notes = list(plan.notes)


def plan_back(state: State, n: int, *, both: bool, in_place: bool, session: str | None,
              plan_code: bool = True) -> BackPlan:
    if n <= 0:
        raise UsageError(f"Cannot go back by {n} prompts.", hint="Give a number from 1 on.")
    chosen = choose_session(state, session)
    found = chosen.session
    try:
        boundary = find_boundary_by_user_prompts(found.path, n, found.profile)
    except NotEnoughPrompts as error:
        error.hint = f"`rewind sessions show {found.session_id}` shows its turns."
        raise
    chat = ChatPlan(found.profile, found.path, found.path, boundary.cut)
    plan = BackPlan(boundary, chat, in_place)
    plan.notes += [chosen.note] if chosen.note else []
    if both:
        plan.code = code_at_prompt(state, found, boundary.boundary)
        plan.notes.append(about_code(plan.code))
        if plan.code and plan_code:
            plan.code_plan = going_back.plan_only(state, plan.code.record, None)
    if in_place:
        reason = why_open(found.profile, found.session_id, found.path,
                          recorded_session(state, found.session_id))
        plan.notes.append(f"It is refused without --force: {reason}" if reason else "")
    if plan.start_anew and not plan.code:
        raise plan.start_anew
    plan.notes = [note for note in plan.notes if note]
    return plan


def about_code(code: CodeAt | None) -> str:
    if code is None:
        return "No checkpoint is from before that prompt, so the code stays as it is."
    if code.exact:
        return ""
    minutes = round((time.time() - code.record.created) / 60)
    ago = f"{minutes} min ago" if minutes > 0 else "less than a minute ago"
    return (f"The code is approximate: the last checkpoint before that prompt, made {ago}:"
            f" {code.record.name}")


def rewind_back(state: State, plan: BackPlan, *, force: bool, progress: Progress | None,
                expected: RestorePlan | None = None) -> Back:
    """`expected` is the plan of the code that a person has seen: it is refused when that changed."""
    half_done = state.history().interrupted()
    if half_done and half_done.get("chat"):
        raise BackInterrupted(checkpoint=half_done["checkpoint"])
    result = Back(plan)
    step: _ChatStep | None = _ChatStep(state, plan.chat, plan.in_place, force)
    if plan.start_anew:
        result.notes.append(f"{plan.start_anew.message} {plan.start_anew.hint}")
        step = None
    if step:
        step.check()
    if plan.code:
        record = plan.code.record
        result.code = going_back.restore(state, record, action="back", expected=expected, force=force,
                                         progress=progress, position=record.sequence, chat=step,
                                         wanted=_wanted(plan) if step else None)
        result.notes += result.code.notes
    elif step:
        step.alone("back")
    result.chat = step.done if step else None
    result.notes += result.chat.notes if result.chat else []
    return result


def _wanted(plan: BackPlan) -> dict[str, Any]:
    """What the history must know to finish it, should this process be killed."""
    return {"agent": plan.chat.profile.name, "path": plan.chat.original, "offset": plan.chat.cut.offset,
            "leaf": plan.chat.cut.leaf, "mark": plan.chat.cut.mark, "in_place": plan.in_place}


class BackInterrupted(RewindError):
    """The last step back was interrupted, so what it left is not counted on."""

    hint = "`rewind restore {checkpoint}` finishes it, `rewind undo-restore` takes it back."


# back from there

def undo_restore(state: State, *, force: bool, progress: Progress | None) -> Restored:
    taken = TakenBack()

    def chat(entry: dict[str, Any], save: Callable[[], None]) -> dict[str, Any] | None:
        nonlocal taken
        taken = take_back(state, entry, save)
        return taken.forward or None

    entries = state.history().entries
    if entries:
        check_take_back(state, entries[-1], force)
    result = going_back.undo_restore(state, force=force, progress=progress, chat=chat)
    result = _told(result or Restored(None, RestorePlan("")), taken)
    result.can_redo = bool(state.history().redo)
    return result


def redo(state: State, target: dict[str, Any], *, force: bool, progress: Progress | None) -> Restored:
    forward = target.get("chat")
    forward = forward if isinstance(forward, dict) else None
    taken = TakenBack()

    def chat(note: Note) -> None:
        nonlocal taken
        taken = go_forward(state, forward or {}, note)

    if forward:
        check_take_back(state, forward, force)
    if target["checkpoint"]:
        result = going_back.restore(state, state.timeline.find(target["checkpoint"]), action="redo",
                                    paths=going_back.paths_of(target), force=force, progress=progress,
                                    leaving=going_back.left_by(state, target), position=target["position"],
                                    chat=chat if forward else None)
    else:
        history = state.history()
        chat(history.chat_step("redo"))
        result = Restored(None, RestorePlan(""))
    return _told(result, taken)


def _told(result: Restored, taken: TakenBack) -> Restored:
    result.notes += taken.notes
    result.lacks_chat = taken.lacking
    return result
