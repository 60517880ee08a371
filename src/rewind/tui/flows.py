"""The conversations with a person that change something: choose, see the plan, confirm, and then be told."""

from __future__ import annotations

from rich.text import Text

from rewind.checkpoint.running import TurnRunning
from rewind.checkpoint.step import CODE
from rewind.errors import ChangedSincePlan
from rewind.tui.dialog import Ask, Confirm, Tell
from rewind.tui.intent_dialog import ChooseIntent
from rewind.tui.outcome import Outcome, about_files, about_notes
from rewind.tui.words import from_home, one_line, plan_lines, plan_sum, plural
from rewind.tui.working import Failure, Working

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rewind.checkpoint.plan import RestorePlan
    from rewind.checkpoint.restore import Restored
    from rewind.checkpoint.step import Step, Taken
    from rewind.checkpoint.story import Item
    from rewind.controller import Controller
    from rewind.snapshot.build import Progress
    from rewind.tui.app import RewindApp

    Work = Callable[[Controller, Progress], Any]
    Forceful = Callable[[Controller, Progress, bool], Any]

_BACKED_UP = "The state of now is saved first: U takes this back."


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
    step: Step | None = await do(app, "Working out the plan…",
                                 lambda controller, _: controller.plan_step(item, intent))
    if step is None or not await app.push_screen_wait(Confirm("The plan", _step_lines(step), "Go back")):
        return False
    taken: Taken | None = await insist(
        app, "Going back…",
        lambda controller, progress, force: controller.take_step(step, force=force, progress=progress))
    if taken is None:
        return False
    app.go_on = taken.resume or app.go_on
    await app.push_screen_wait(Outcome("Done", _taken_lines(taken, intent), taken.resume))
    return True


def _step_lines(step: Step) -> list[Text]:
    lines = []
    if step.session:
        left_out = f", without {plural(len(step.prompts), 'prompt')}:" if step.prompts else ""
        lines.append(Text.assemble(("Chat  ", "bold"), f"a fork of {step.session[:8]}{left_out}"))
        lines += [Text.assemble(("  > ", "cyan"), _short(text)) for text in step.prompts[:5]]
        lines += [Text(f"  … and {len(step.prompts) - 5} more", "dim")] if len(step.prompts) > 5 else []
    if step.code:
        already = f"is already as in {step.code.checkpoint}"
        lines.append(Text.assemble(("Code  ", "bold"), already if step.code.empty else plan_sum(step.code)))
        lines += [Text("  ").append(line) for line in plan_lines(step.code)]
    else:
        lines.append(Text.assemble(("Code  ", "bold"), "stays as it is"))
    lines += about_notes(step.notes)
    return [*lines, Text(""), Text(_BACKED_UP if step.code else "The old session stays as it is.", "dim")]


def _short(text: str) -> str:
    text = one_line(text)
    return text if len(text) <= 60 else text[:59] + "…"


def _taken_lines(taken: Taken, intent: str) -> list[Text]:
    lines = about_files(taken.restored)
    if taken.chat and taken.chat.fork:
        lines.append(Text.assemble("The chat is a new session: ", (taken.chat.fork["session_id"], "cyan")))
    elif intent != CODE:
        lines.append(Text("There is no new session."))
    if taken.restored and taken.restored.plan.changes:
        lines.append(Text("Reload your agent session."))
    return [*lines, *about_notes(taken.notes), Text("U takes this back.", "dim")]


# undo and the like

async def undo(app: RewindApp) -> bool:
    return await _step(app, "Undo", lambda c, p: c.plan_undo(), lambda c, p, f: c.undo(force=f, progress=p))


async def redo(app: RewindApp) -> bool:
    return await _step(app, "Redo", lambda c, p: c.plan_redo(), lambda c, p, f: c.redo(force=f, progress=p),
                       lambda c: c.foretell(forward=True))


async def take_back(app: RewindApp) -> bool:
    return await _step(app, "Take back the last step", lambda c, p: c.plan_undo_restore(),
                       lambda c, p, f: c.undo_restore(force=f, progress=p),
                       lambda c: c.foretell(forward=False), taking_back=True)


async def _step(app: RewindApp, title: str, plan: Work, work: Forceful,
                notes: Callable[[Controller], list[str]] = lambda c: [], taking_back: bool = False) -> bool:
    found = await do(app, "Working out the plan…", lambda c, p: (plan(c, p), notes(c)))
    if found is None or not await app.push_screen_wait(
            Confirm(title, [*_plan_lines(found[0]), *about_notes(found[1])], title)):
        return False
    done: Restored | None = await insist(app, f"{title}…", work)
    if done is None:
        return False
    lines = about_files(done) if done.record else [Text("Only the conversation moved.")]
    way_on = "U takes this back." if not taking_back else "r goes forward again." if done.can_redo else ""
    await app.push_screen_wait(Outcome("Done", [*lines, *about_notes(done.notes), Text(way_on, "dim")]))
    return True


def _plan_lines(plan: RestorePlan | None) -> list[Text]:
    if plan is None:
        return [Text("The code stays as it is; only the conversation moves.")]
    return [Text(plan_sum(plan), "bold"), *plan_lines(plan), *about_notes(plan.notes)]


async def save(app: RewindApp) -> bool:
    question = "What is special about this moment? (may be empty)"
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
