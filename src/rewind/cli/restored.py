"""How a plan and its outcome are shown; shared by every command that goes back or forward."""

from __future__ import annotations

import sys

from rewind.checkpoint.plan import RestorePlan
from rewind.cli.session import note, print_json
from rewind.cli.style import path_json, plural, safe, shown, style_for
from rewind.errors import DONE, PARTIAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any

    from rewind.checkpoint.chat import Done
    from rewind.checkpoint.restore import Restored

_REASONS = {
    "ignored": "came later and is ignored by git",
    "ignored-large": "ignored by git and too large to be captured",
    "skip-list": "on the list of things that can be made again",
    "too-large": "larger than maxFileSizeMb",
    "unreadable": "not readable",
    "special": "not a file, link or directory",
    "pins-only": "only pinned files are captured there",
    "not-captured": "could not be captured first",
    "changed": "changed before the late checkpoint could read it",
    "too-deep": "more directories deep than Rewind looks",
    "not-empty": "something in it stays",
    "missing": "the store has lost it",
    "mount-point": "something is mounted there",
    "in-the-way": "a directory that holds files to be kept is in the way",
    "no-directory": "what is there now is no directory; name it, too, to have it replaced",
}


def common_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--force", action="store_true", help="go ahead although files changed meanwhile")
    parser.add_argument("--dry-run", action="store_true", help="show what would happen, touch nothing")


def explain(reason: str) -> str:
    return _REASONS.get(reason, reason)


def plan_json(plan: RestorePlan, **more: object) -> dict[str, Any]:
    return {
        "checkpoint": plan.checkpoint, "backup": None,
        "written": [path_json(p) for p in plan.written],
        "deleted": [path_json(p) for p in plan.deleted],
        "kept": [path_json(k.path, reason=k.reason) for k in plan.kept],
        "changedSince": [path_json(p) for p in plan.foreign], "fork": None, **more}


def show_plan(plan: RestorePlan | None, as_json: bool, notes: Sequence[str] = (), **more: object) -> int:
    """None: the code stays as it is, only the conversation would move. `notes` tell how it would."""
    if as_json:
        shown_plan = plan_json(plan or RestorePlan(""), dryRun=True, remaining=[],
                               notes=[*(plan.notes if plan else []), *notes])
        print_json({**shown_plan, "checkpoint": plan.checkpoint if plan else None, **more})
        return DONE
    if plan is None:
        print("The code stays as it is; only the conversation would move.")
    else:
        print_plan(plan)
    for text in notes:
        print(text)
    return DONE


def print_plan(plan: RestorePlan) -> None:
    paint = style_for(sys.stdout)
    fresh = {c.path for c in plan.changes if c.before is None}
    foreign = set(plan.foreign)
    for path in plan.written:
        sign, colour = ("+", "green") if path in fresh else ("~", "yellow")
        _line(paint(sign, colour), path, "changed since the last checkpoint" if path in foreign else "")
    for path in plan.deleted:
        _line(paint("-", "red"), path, "newer than the last checkpoint" if path in foreign else "")
    for kept in plan.kept:
        _line(paint("=", "dim"), kept.path, f"kept: {explain(kept.reason)}")
    print(f"Plan: {_counts(plan)}, to be as in {plan.checkpoint}" if not plan.empty
          else f"The code is already as in {plan.checkpoint}")
    for text in plan.notes:
        print(safe(text))


def _line(sign: str, path: bytes, remark: str) -> None:
    print(f"{sign} {shown(path)}" + (f"  ({remark})" if remark else ""))


def _counts(plan: RestorePlan) -> str:
    parts = [f"{plural(len(plan.written), 'path')} written", f"{len(plan.deleted):,} deleted"]
    if plan.kept:
        parts.append(f"{len(plan.kept):,} kept")
    return ", ".join(parts)


def show_restored(restored: Restored, as_json: bool, way_back: str = "undo-restore",
                  alone: str = "") -> int:
    """The outcome; exit code 3 when something is not as the checkpoint has it. `alone` is what to say when
    the step was about the conversation only."""
    if as_json:
        print_json(restored_json(restored))
        return DONE if restored.complete else PARTIAL
    tell_restored(restored)
    record, chat = restored.record, restored.chat
    if record is None:
        print(alone)
    elif not restored.plan.changes and restored.complete and chat is None:
        print(f"Already as it was in {record.name}")
    else:
        print(f"Restored to {record.name}. Reload your agent session.")
    tell_chat(chat)
    for text in restored.notes:
        note(text)
    if way_back and (restored.backup or chat or record is None):
        note(f"`rewind {way_back}` takes this back.")
    return DONE if restored.complete else PARTIAL


def restored_json(restored: Restored) -> dict[str, Any]:
    remaining = [path_json(p, reason=reason) for p, reason in restored.remaining]
    return {**plan_json(restored.plan, dryRun=False, remaining=remaining),
            "checkpoint": restored.record.name if restored.record else None,
            "backup": restored.backup.name if restored.backup else None,
            **chat_json(restored.chat), "notes": restored.notes}


def chat_json(chat: Done | None) -> dict[str, Any]:
    return {"fork": chat.fork if chat else None,
            "in_place": {"backup": chat.backup} if chat and not chat.fork else None}


def tell_restored(restored: Restored) -> None:
    """What happened to the files."""
    paint = style_for(sys.stderr)
    if restored.plan.changes:
        note(_counts(restored.plan) + ".")
    for kept in restored.plan.kept:
        if not kept.conflict:
            note(f"  kept {shown(kept.path)} ({explain(kept.reason)})")
    for path, reason in restored.remaining:
        note(f"{paint('not restored:', 'yellow')} {shown(path)} ({explain(reason)})")


def tell_chat(chat: Done | None) -> None:
    """What happened to the conversation, and how to go on with it."""
    if chat is None:
        return
    if chat.fork:
        print(f"Fork created: {chat.fork['session_id']}")
        if chat.fork["resume"]:
            note("Go on with:")
            note(f"  {chat.fork['resume']}")
    else:
        print("Chat rewritten in-place")
        if chat.backup:
            note(f"The whole conversation is kept in {chat.backup}")
