"""One step that a person chooses from the story: what would happen, and then, once it was confirmed, doing
exactly that. A prompt stands for the moment before it was given; a checkpoint for itself."""

from __future__ import annotations

from rewind.checkpoint import restore as going_back
from rewind.checkpoint.chat import NoConversation, plan_of_record
from rewind.checkpoint.go_back import plan_back, restore_checkpoint, rewind_back
from rewind.checkpoint.running import refuse_while_running
from rewind.checkpoint.story import CHECKPOINT, PROMPT
from rewind.errors import NOT_FOUND, ChangedSincePlan, RewindError
from rewind.transcript.fork import NothingBeforeCut
from rewind.transcript.turn_index import open_turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.chat import Done
    from rewind.checkpoint.go_back import BackPlan
    from rewind.checkpoint.plan import RestorePlan
    from rewind.checkpoint.restore import Restored
    from rewind.checkpoint.state import State
    from rewind.checkpoint.story import Item
    from rewind.snapshot.build import Progress

BOTH, CODE, CHAT = "both", "code", "chat"


class PromptGone(RewindError):
    """This prompt is not a part of the conversation any more."""

    exit_code = NOT_FOUND
    hint = "Look at the timeline again."


class NoCodeBefore(RewindError):
    """No checkpoint is from before this prompt, so there is no code to bring back."""

    exit_code = NOT_FOUND
    hint = "Choose the chat alone, or a later prompt."


class Step:
    """What is to be done: files by `code`, the conversation as a fork of `session`, with `notes` to read."""

    def __init__(self, item: Item, intent: str) -> None:
        self.item = item
        self.intent = intent
        self.code: RestorePlan | None = None
        self.session: str | None = None
        self.prompts: list[str] = []  # that are left out of the fork
        self.notes: list[str] = []
        self.back: BackPlan | None = None


class Taken:
    """What was done."""

    def __init__(self, restored: Restored | None, chat: Done | None, notes: list[str]) -> None:
        self.restored = restored
        self.chat = chat
        self.notes = notes

    @property
    def resume(self) -> str:
        """The command that goes on with the conversation."""
        return (self.chat.fork or {}).get("resume") or "" if self.chat else ""


def plan_step(state: State, item: Item, intent: str) -> Step:
    """Nothing is touched."""
    step = Step(item, intent)
    if item.kind == PROMPT:
        _plan_prompt(state, step)
    elif item.kind == CHECKPOINT:
        _plan_checkpoint(state, step)
    else:
        raise RewindError("There is nothing to go back to here.", hint="Choose a prompt or a checkpoint.")
    return step


def _plan_checkpoint(state: State, step: Step) -> None:
    record = step.item.record
    assert record is not None
    if step.intent != CODE:
        try:
            with plan_of_record(state, record) as chat:
                chat.check()
                step.session = chat.session_id
        except (NoConversation, NothingBeforeCut) as error:
            if step.intent == CHAT:
                raise
            step.notes.append(f"{error.message} Only the code comes back."
                              if isinstance(error, NoConversation) else f"{error.message} {error.hint}")
    if step.intent != CHAT:
        step.code = going_back.plan_only(state, record, None)


def _plan_prompt(state: State, step: Step) -> None:
    plan = _back(state, step)
    step.back = plan
    step.code = plan.code_plan
    step.notes = list(plan.notes)
    if step.intent == CODE:
        if plan.code is None:
            raise NoCodeBefore()
        return
    step.prompts = [prompt.text for prompt in plan.boundary.prompts]
    if plan.start_anew:
        step.notes.append(f"{plan.start_anew.message} {plan.start_anew.hint}")
    else:
        step.session = plan.chat.session_id


def _back(state: State, step: Step, *, plan_code: bool = True) -> BackPlan:
    """By the prompt's id, for the number of prompts after it may have grown since it was shown."""
    item = step.item
    assert item.session is not None
    file = item.session.file
    index = open_turns(file.path, file.profile, state.derived)
    rows = index.turns(1, index.total)
    after = next((len(rows) - at for at, row in enumerate(rows) if row.uuid == item.uuid), 0)
    if not after:
        raise PromptGone()
    return plan_back(state, after, both=step.intent != CHAT, in_place=False, session=file.path,
                     plan_code=plan_code)


def take_step(state: State, step: Step, *, force: bool = False,
              progress: Progress | None = None) -> Taken:
    """Refuses when files, or the conversation, are not as they were when the plan was shown."""
    refuse_while_running(state, force or step.intent == CHAT)  # a fork alone disturbs nobody
    if step.back is None or step.intent == CODE:
        return _restore(state, step, force, progress)
    back = step.back
    with state.locked("back"):
        now = _back(state, step, plan_code=False)
        if now.boundary.boundary != back.boundary.boundary or _code(now) != _code(back):
            raise ChangedSincePlan(paths="the conversation")
        done = rewind_back(state, now, force=force, progress=progress, expected=back.code_plan)
    return Taken(done.code, done.chat, done.notes)


def _restore(state: State, step: Step, force: bool, progress: Progress | None) -> Taken:
    record = step.back.code.record if step.back and step.back.code else step.item.record
    assert record is not None
    with state.locked("restore"):
        done = restore_checkpoint(state, record, mode=step.intent, expected=step.code,
                                  in_place=False, force=force, skip_backup=False, progress=progress)
    return Taken(done, done.chat, done.notes)


def _code(plan: BackPlan) -> str | None:
    return plan.code.record.name if plan.code else None
