"""Taking back a turn, or bringing back files and hunks: the plan, conflicts, and what was done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from rewind.controller import BOTH, CHECKPOINT, CODE, PROMPT, BroughtBack, Reverted
from rewind.tui.dialogs.choose import Choose
from rewind.tui.dialogs.dialog import Confirm, Notice
from rewind.tui.dialogs.outcome import about_notes
from rewind.tui.flows.flows import carry_out, make_plan, offer
from rewind.tui.frame import Frame
from rewind.tui.parts.details import Span
from rewind.tui.parts.screen_words import path, plan_lines
from rewind.words import plural, safe_lines

if TYPE_CHECKING:
    from rewind.checkpoint.map.by_session import Item
    from rewind.checkpoint.records.source import KeptPath
    from rewind.checkpoint.rewind.outcome import Outcome
    from rewind.checkpoint.rewind.plan import Plan
    from rewind.checkpoint.rewind.target import Target

    MakeTarget = Callable[[str], Target]

_HOW = (("theirs", "Take the old version", "in conflicts, the old lines replace what is there now"),
        ("ours", "Keep what is there now", "in conflicts, nothing changes; the rest is brought back"),
        ("markers", "Write conflict markers", "into text files, to be resolved by hand"))
FORK_HOW = (("theirs", "Take the fork's version", "in conflicts, its lines replace what is there now"),
            ("ours", "Keep what is there now", "in conflicts, nothing changes; the rest of the fork comes"),
            _HOW[2])
_DONE = {"Revert": "Reverted", "Bring back": "Brought back", "Adopt": "Adopted"}
_NAMED = 20  # conflicts
_STAYS = "Everything else stays as it is. Rewind saves the current state first; U undoes it."


async def bring_back(app: Frame, span: Span, parts: dict[bytes, list[str]]) -> bool:
    """Bring back the old side of these files and hunks."""
    old = span.old
    if old is None:
        return False
    return await merge(app, "Bring back", lambda how: BroughtBack(
        old, span.new, parts, how=how, label=span.label, session=span.session))


async def revert(app: Frame, item: Item) -> bool:
    """Take back what a turn did, and keep everything later."""
    words, session = _named(item)
    if not words:
        await app.push_screen_wait(Notice("Nothing to revert", "No checkpoint has what it did."))
        return False
    return await merge(app, "Revert", lambda how: Reverted([words], session, how=how))


def _named(item: Item) -> tuple[str, str | None]:
    """What `Reverted` takes: a turn and its session, a range of checkpoints, or a checkpoint."""
    row = item.row
    if item.kind == PROMPT and item.turn and item.session:
        return f"t{item.turn}", item.session.session_id
    if item.kind != CHECKPOINT:
        return f"{row.before.name}..{row.after.name}" if row and row.before and row.after else "", None
    return item.record.name if item.record else "", None


async def merge(app: Frame, title: str, target: MakeTarget, what: str = CODE,
                ways: Sequence[tuple[str, str, str]] = _HOW) -> bool:
    """`ways` are the choices for conflicts."""
    plan = await _settled(app, title, target, what, ways)
    if plan is None or plan.code is None:
        return False
    if not plan.code.changes:
        await app.push_screen_wait(Notice("Nothing to do", [Text(safe_lines(plan.about), "bold"),
                                                            Text("The code is already as it would be.")]))
        return False
    done = await carry_out(app, plan, Confirm(title, _plan_lines(plan), title), f"{title}…")
    if done is None:
        return False
    command = done.resume if what == BOTH else ""
    await offer(app, "Done", _done_lines(done, _DONE[title]), command, done.for_agent)
    return True


async def _settled(app: Frame, title: str, target: MakeTarget, what: str,
                   ways: Sequence[tuple[str, str, str]]) -> Plan | None:
    """A plan without conflicts, or with what the person wants to be done about them."""
    how = ""
    while True:
        plan = await make_plan(app, target(how), what)
        if plan is None or plan.code is None or not plan.code.conflicts:
            return plan
        conflicts = plan.code.conflicts
        body = [Text(f"{plural(len(conflicts), 'conflict')}. Nothing is written before you choose.", "bold"),
                *[_remarked("! ", "red", kept) for kept in conflicts[:_NAMED]]]
        if len(conflicts) > _NAMED:
            body.append(Text(f"… and {len(conflicts) - _NAMED:,} more"))
        choices = [choice for choice in ways if choice[0] != how]
        chosen = await app.push_screen_wait(Choose(title, body, choices))
        if chosen is None:
            return None
        how = chosen


def _plan_lines(plan: Plan) -> list[Text]:
    assert plan.code is not None
    lines = [Text(safe_lines(plan.about), "bold"), Text(plan.code.counts(), "dim"), *plan_lines(plan.code)]
    lines += [_remarked("settled: ", "yellow", kept) for kept in plan.code.settled]
    return [*lines, *about_notes(plan.all_notes()), Text(""), Text(_STAYS, "dim")]


def _remarked(sign: str, style: str, kept: KeptPath) -> Text:
    return Text.assemble((sign, style), path(kept.path), (f"  ({kept.remark()})", "dim"))


def _done_lines(done: Outcome, verb: str) -> list[Text]:
    lines = [Text(f"{verb} {safe_lines(done.about)}", "bold"), Text(done.plan.counts() + ".")]
    lines += [Text.assemble(("not done: ", "red"), f"{path(name)} ({reason})")
              for name, reason in done.remaining]
    return [*lines, *about_notes(done.notes), Text("Press U to undo this.", "dim")]
