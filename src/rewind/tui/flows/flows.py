"""The conversations with a person that change something: choose, see the plan, confirm, and then be told."""

from __future__ import annotations

from rich.text import Text

from rewind.controller import BOTH, CODE, BeforeOperation, BeforeUndo, EarlierOnLine
from rewind.errors import ChangedSincePlan, TurnRunning
from rewind.tui.dialogs.dialog import Ask, Confirm, Tell
from rewind.tui.dialogs.intent_dialog import ChooseIntent
from rewind.tui.dialogs.outcome import Outcome, about_files, about_notes
from rewind.tui.dialogs.working import Failure, Working
from rewind.tui.parts.words import from_home, one_line, plan_lines
from rewind.words import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rewind.checkpoint.map.by_session import Item
    from rewind.checkpoint.rewind.apply import Outcome as Done
    from rewind.checkpoint.rewind.log.operations import Operation
    from rewind.checkpoint.rewind.plan import Plan
    from rewind.checkpoint.rewind.target import Target
    from rewind.controller import Controller
    from rewind.snapshot.scan.build import Progress
    from rewind.tui.app import RewindApp

    Work = Callable[[Controller, Progress], Any]
    Forceful = Callable[[Controller, Progress, bool], Any]

_BACKED_UP = "Rewind saves the current state first. Press U afterwards to undo."


async def do(app: RewindApp, title: str, work: Work) -> Any:
    """The result; None when it failed, which the person has been told."""
    result = await attempt(app, title, work)
    if isinstance(result, Failure):
        await app.push_screen_wait(Tell("That did not work", result.text()))
        return None
    return result


async def attempt(app: RewindApp, title: str, work: Work) -> Any:
    def opened(progress: Progress) -> Any:
        with app.host.open() as controller:
            return work(controller, progress)

    return await app.push_screen_wait(Working(title, opened))


async def insist(app: RewindApp, title: str, work: Forceful) -> Any:
    """As `do`; where an agent is at work, the person may want it all the same."""
    result = await attempt(app, title, lambda controller, progress: work(controller, progress, False))
    if isinstance(result, Failure) and isinstance(result.error, TurnRunning):
        question = [Text(result.message), Text("Wait until it is done or stop it; or go ahead, and the agent"
                                               " finds other files than it expects.", "dim")]
        if not await app.push_screen_wait(Confirm("An agent is at work", question, "Go ahead", "Wait",
                                                  dangerous=True)):
            return None
        result = await attempt(app, title, lambda controller, progress: work(controller, progress, True))
    if isinstance(result, Failure):
        hint = Text("Choose it again to see the new plan.", "dim")
        lines = [Text(result.message), hint] if isinstance(result.error, ChangedSincePlan) else result.text()
        await app.push_screen_wait(Tell("Nothing was changed" if isinstance(result.error, ChangedSincePlan)
                                        else "That did not work", lines))
        return None
    return result


async def go_back(app: RewindApp, item: Item) -> bool:
    intent = await app.push_screen_wait(ChooseIntent(item))
    if intent is None:
        return False
    plan: Plan | None = await do(app, "Working out the plan…",
                                 lambda controller, _: controller.plan(item.target(), intent))
    if plan is None or not await app.push_screen_wait(Confirm("The plan", _plan_lines(plan), "Go back")):
        return False
    done: Done | None = await apply_plan(app, "Going back…", plan)
    if done is None:
        return False
    app.go_on = done.resume or app.go_on
    if await app.push_screen_wait(Outcome("Done", _done_lines(done, intent), done.resume)):
        app.leave_for(done.resume)
    return True


async def apply_plan(app: RewindApp, title: str, plan: Plan) -> Done | None:
    done: Done | None = await insist(
        app, title,
        lambda controller, progress, force: controller.apply(plan, force=force, progress=progress))
    return done


def _plan_lines(plan: Plan) -> list[Text]:
    lines = []
    if plan.session:
        left_out = f", without {plural(len(plan.prompts), 'prompt')}:" if plan.prompts else ""
        lines.append(Text.assemble(("Chat  ", "bold"), f"a fork of {plan.session[:8]}{left_out}"))
        lines += [Text.assemble(("  > ", "cyan"), _short(prompt.text)) for prompt in plan.prompts[:5]]
        lines += [Text(f"  … and {len(plan.prompts) - 5} more", "dim")] if len(plan.prompts) > 5 else []
    if plan.code:
        already = f"is already as in {plan.code.checkpoint}"
        lines.append(Text.assemble(("Code  ", "bold"), already if plan.code.empty else plan.code.summary()))
        lines += [Text("  ").append(line) for line in plan_lines(plan.code)]
    else:
        lines.append(Text.assemble(("Code  ", "bold"), "stays as it is"))
    lines += about_notes([plan.no_conversation, *plan.all_notes()])
    return [*lines, Text(""), Text(_BACKED_UP if plan.code else "The old session stays as it is.", "dim")]


def _short(text: str) -> str:
    text = one_line(text)
    return text if len(text) <= 60 else text[:59] + "…"


def _done_lines(done: Done, intent: str) -> list[Text]:
    lines = about_files(done)
    if done.chat and done.chat.fork:
        lines.append(Text.assemble("The chat is a new session: ", (done.chat.fork["session_id"], "cyan")))
    elif intent != CODE:
        lines.append(Text("There is no new session."))
    if done.plan.changes:
        lines.append(Text("Reload your agent session."))
    return [*lines, *about_notes(done.notes), Text("Press U to undo this.", "dim")]


# undo and the like

async def undo(app: RewindApp) -> bool:
    return await _step(app, "Undo", EarlierOnLine(), CODE)


async def redo(app: RewindApp) -> bool:
    return await _step(app, "Redo", BeforeUndo())


async def take_back(app: RewindApp) -> bool:
    return await _step(app, "Undo the last operation", BeforeOperation())


async def _step(app: RewindApp, title: str, target: Target, what: str = BOTH) -> bool:
    plan: Plan | None = await do(app, "Working out the plan…", lambda c, p: c.plan(target, what))
    if plan is None or not await app.push_screen_wait(
            Confirm(title, [*_code_lines(plan), *about_notes(plan.all_notes())], title)):
        return False
    done = await apply_plan(app, f"{title}…", plan)
    if done is None:
        return False
    lines = about_files(done) if done.record else [Text("Only the conversation moved.")]
    way_on = "Press r to go forward again." if done.can_redo else "Press U to undo this."
    await app.push_screen_wait(Outcome("Done", [*lines, *about_notes(done.notes), Text(way_on, "dim")]))
    return True


def _code_lines(plan: Plan) -> list[Text]:
    if plan.code is None:
        return [Text("The code stays as it is; only the conversation moves.")]
    return [Text(plan.code.summary(), "bold"), *plan_lines(plan.code)]


async def undo_operation(app: RewindApp, op: Operation) -> bool:
    """It and all later ones."""
    if not op.can_undo:
        reason = "It is undone already." if op.undone else "It left nothing to undo."
        await app.push_screen_wait(Tell("Nothing to undo", [Text(reason)]))
        return False
    return await _step(app, "Undo from here on", BeforeOperation(op.id))


async def save(app: RewindApp) -> bool:
    question = "Description (optional)"
    text = await app.push_screen_wait(Ask("Save a checkpoint", question, empty=True))
    if text is None:
        return False
    saved = await do(app, "Saving…", lambda c, p: c.save(text, progress=p))
    if saved is None:
        return False
    app.notify(f"Saved {saved.record.name}")
    return True


async def protect(app: RewindApp) -> bool:
    """For a directory that Rewind does not know yet."""
    from rewind.controller import Controller

    root = app.host.root
    question = [Text(from_home(root), "bold"),
                Text("Shall Rewind protect this directory? It makes the first checkpoint now.")]
    if not await app.push_screen_wait(Confirm("Not protected yet", question, "Protect it", "No")):
        return False

    def init(progress: Progress) -> bool:
        Controller.init(root, progress=progress)[0].close()
        return True

    result = await app.push_screen_wait(Working("Making the first checkpoint…", init))
    if isinstance(result, Failure):
        await app.push_screen_wait(Tell("That did not work", result.text()))
        return False
    return True
