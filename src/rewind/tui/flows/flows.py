"""Everything that changes something: choose, see the plan, confirm, see the outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.text import Text

from rewind.controller import BOTH, CODE, BeforeOperation, BeforeUndo, Controller, EarlierOnLine
from rewind.errors import ChangedSincePlan, RewindError, TurnRunning
from rewind.tui.dialogs.choose import ChooseIntent
from rewind.tui.dialogs.dialog import Ask, Confirm, Notice
from rewind.tui.dialogs.outcome import OutcomeDialog, about_files, about_notes
from rewind.tui.dialogs.working import Failure, Working
from rewind.tui.frame import Frame
from rewind.tui.parts.screen_words import plan_lines
from rewind.words import from_home, one_line, plural, safe_lines, shortened

if TYPE_CHECKING:
    from rewind.checkpoint.map.by_session import Item
    from rewind.checkpoint.operation_log.operations import Operation
    from rewind.checkpoint.rewind.outcome import Outcome
    from rewind.checkpoint.rewind.plan import Plan
    from rewind.checkpoint.rewind.target import Target
    from rewind.snapshot.scan.build import Progress

    Work = Callable[[Controller, Progress], Any]
    ForceableWork = Callable[[Controller, Progress, bool], Any]

_BACKED_UP = "Rewind saves the current state first. Press U afterwards to undo."


@dataclass(frozen=True)
class OverridableRefusal:
    """A refusal that the person may override."""

    error: type[RewindError]
    title: str
    meaning: str
    yes: str
    no: str = "Cancel"


_AT_WORK = OverridableRefusal(TurnRunning, "An agent is at work", "Wait until it is done or stop it; or go"
                              " ahead, and the agent finds other files than it expects.", "Go ahead", "Wait")


async def attempt(app: Frame, title: str, work: Work) -> Any:
    """Do the work in a thread, with a controller of its own: the result, or the failure."""
    def opened(progress: Progress) -> Any:
        with app.host.open() as controller:
            return work(controller, progress)

    return await app.push_screen_wait(Working(title, opened))


async def run_work(app: Frame, title: str, work: Work) -> Any:
    """The result; None if it failed, which the person has seen."""
    return await report_if_failed(app, await attempt(app, title, work))


async def run_or_force(app: Frame, title: str, work: ForceableWork, refusal: OverridableRefusal) -> Any:
    """As `run_work`; if it is refused for this one reason, the person may override that."""
    result = await attempt(app, title, lambda controller, progress: work(controller, progress, False))
    if isinstance(result, Failure) and isinstance(result.error, refusal.error):
        question = [Text(safe_lines(result.message)), Text(refusal.meaning, "dim")]
        if not await app.push_screen_wait(Confirm(refusal.title, question, refusal.yes, refusal.no,
                                                  dangerous=True)):
            return None
        result = await attempt(app, title, lambda controller, progress: work(controller, progress, True))
    return await report_if_failed(app, result)


async def report_if_failed(app: Frame, result: Any) -> Any:
    if not isinstance(result, Failure):
        return result
    if isinstance(result.error, ChangedSincePlan):
        hint = Text("Choose it again to see the new plan.", "dim")
        await app.push_screen_wait(Notice("Nothing was changed", [Text(result.message), hint]))
    else:
        await app.push_screen_wait(Notice("That did not work", result.text()))
    return None


# a plan, from the first look to what was done

async def make_plan(app: Frame, target: Target, what: str) -> Plan | None:
    plan: Plan | None = await run_work(app, "Working out the plan…", lambda c, p: c.plan(target, what))
    return plan


async def carry_out(app: Frame, plan: Plan, question: Confirm, title: str) -> Outcome | None:
    """None if the person declined, or it failed."""
    if not await app.push_screen_wait(question):
        return None
    done: Outcome | None = await run_or_force(
        app, title, lambda c, p, force: c.apply(plan, force=force, progress=p), _AT_WORK)
    return done


async def offer(app: Frame, title: str, lines: list[Text], command: str = "", note: str = "") -> None:
    """Show what happened; the command is run now if the person wants that."""
    if await app.push_screen_wait(OutcomeDialog(title, lines, command, note)):
        app.leave_for(command)


async def continue_with(app: Frame, name: str, find: Work) -> None:
    command = await run_work(app, "Looking…", find)
    if command is not None:
        await offer(app, "Continue", [Text(one_line(name), "bold")], command)


async def go_back(app: Frame, item: Item) -> bool:
    intent = await app.push_screen_wait(ChooseIntent(item))
    plan = await make_plan(app, item.target(), intent) if intent else None
    if intent is None or plan is None:
        return False
    done = await carry_out(app, plan, Confirm("The plan", _plan_lines(plan), "Go back"), "Going back…")
    if done is None:
        return False
    app.go_on = done.resume or app.go_on
    await offer(app, "Done", _done_lines(done, intent), done.resume)
    return True


def _plan_lines(plan: Plan) -> list[Text]:
    lines = []
    if plan.session:
        left_out = f", without {plural(len(plan.prompts), 'prompt')}:" if plan.prompts else ""
        lines.append(Text.assemble(("Conversation  ", "bold"), f"a fork of {plan.session[:8]}{left_out}"))
        lines += [Text.assemble(("  > ", "cyan"), shortened(one_line(prompt.text), 60))
                  for prompt in plan.prompts[:5]]
        lines += [Text(f"  … and {len(plan.prompts) - 5} more", "dim")] if len(plan.prompts) > 5 else []
    if plan.code:
        already = f"is already as in {plan.code.checkpoint}"
        lines.append(Text.assemble(("Code  ", "bold"), already if plan.code.empty else plan.code.summary()))
        lines += [Text("  ").append(line) for line in plan_lines(plan.code)]
    else:
        lines.append(Text.assemble(("Code  ", "bold"), "stays as it is"))
    lines += about_notes([plan.no_conversation, *plan.all_notes()])
    return [*lines, Text(""), Text(_BACKED_UP if plan.code else "The old session stays as it is.", "dim")]


def _done_lines(done: Outcome, intent: str) -> list[Text]:
    lines = about_files(done)
    if done.conversation and done.conversation.fork:
        session = done.conversation.fork["session_id"]
        lines.append(Text.assemble("The conversation is a new session: ", (session, "cyan")))
    elif intent != CODE:
        lines.append(Text("There is no new session."))
    if done.plan.changes:
        lines.append(Text("Reload your agent session."))
    return [*lines, *about_notes(done.notes), Text("Press U to undo this.", "dim")]


# undo and the like

async def undo(app: Frame) -> bool:
    return await _step(app, "Undo", EarlierOnLine(), CODE)


async def redo(app: Frame) -> bool:
    return await _step(app, "Redo", BeforeUndo())


async def undo_restore(app: Frame) -> bool:
    return await _step(app, "Undo the last operation", BeforeOperation())


async def _step(app: Frame, title: str, target: Target, what: str = BOTH) -> bool:
    plan = await make_plan(app, target, what)
    if plan is None:
        return False
    lines = [*about_notes([plan.intention]), *_code_lines(plan), *about_notes(plan.all_notes())]
    done = await carry_out(app, plan, Confirm(title, lines, title), f"{title}…")
    if done is None:
        return False
    lines = about_files(done) if done.record else [Text("Only the conversation moved.")]
    way_on = "Press r to go forward again." if done.can_redo else "Press U to undo this."
    await offer(app, "Done", [*lines, *about_notes(done.notes), Text(way_on, "dim")])
    return True


def _code_lines(plan: Plan) -> list[Text]:
    if plan.code is None:
        return [Text("The code stays as it is; only the conversation moves.")]
    return [Text(plan.code.summary(), "bold"), *plan_lines(plan.code)]


async def undo_operation(app: Frame, op: Operation) -> bool:
    """It and all later ones."""
    if not op.can_undo:
        reason = "It is undone already." if op.undone else "It left nothing to undo."
        await app.push_screen_wait(Notice("Nothing to undo", [Text(reason)]))
        return False
    return await _step(app, "Undo from here on", BeforeOperation(op.id))


async def save(app: Frame) -> bool:
    question = "Description (optional)"
    text = await app.push_screen_wait(Ask("Save a checkpoint", question, may_be_empty=True))
    if text is None:
        return False
    saved = await run_work(app, "Saving…", lambda c, p: c.save(text, progress=p))
    if saved is None:
        return False
    app.notify(f"Saved {saved.record.name}")
    return True


async def protect(app: Frame) -> bool:
    """Offer to protect a directory that Rewind does not know yet."""
    root = app.host.root
    question = [Text(from_home(root), "bold"),
                Text("Shall Rewind protect this directory? It makes the first checkpoint now.")]
    if not await app.push_screen_wait(Confirm("Not protected yet", question, "Protect it", "No")):
        return False

    def init(progress: Progress) -> bool:
        Controller.init(root, progress=progress)[0].close()
        return True

    making = Working("Making the first checkpoint…", init)
    return bool(await report_if_failed(app, await app.push_screen_wait(making)))
