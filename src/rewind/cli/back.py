"""Take back the last prompts: the conversation up to there comes back as a fork beside the old session.

With --both the code comes back, too, as it was before the first of those prompts. Nothing is lost: the old
session stays, the code is saved first, and `rewind undo-restore` takes it all back.
"""

from __future__ import annotations

import sys

from rewind.cli.progress import ProgressLine
from rewind.cli.restored import chat_json, plan_json, print_plan, restored_json, tell_chat, tell_restored
from rewind.cli.session import note, open_controller, print_json
from rewind.cli.style import plural, safe, style_for
from rewind.errors import DONE, PARTIAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from rewind.checkpoint.go_back import Back, BackPlan

summary = "take back the last prompts: the chat, and with --both the code"
examples = ("rewind back                   # before the last prompt, chat only",
            "rewind back 2 --both          # before the last two prompts, code and chat",
            "rewind back --both --dry-run", "rewind back --copy            # the prompt to the clipboard")
_LONGEST = 300


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("n", nargs="?", type=int, default=1, metavar="N", help="how many prompts (1)")
    parser.add_argument("--both", action="store_true", help="bring back the code, too")
    parser.add_argument("--in-place", action="store_true",
                        help="cut the session's own transcript instead of making a fork")
    parser.add_argument("--copy", action="store_true", help="put the prompts on the clipboard")
    parser.add_argument("--session", metavar="ID", help="a session, or the path of a transcript")
    parser.add_argument("--force", action="store_true",
                        help="go ahead although files changed, or the session is open")
    parser.add_argument("--dry-run", action="store_true", help="show what would happen, touch nothing")


def run(args: argparse.Namespace) -> int:
    controller = open_controller(args)
    if args.dry_run:
        plan = controller.plan_back(args.n, both=args.both, in_place=args.in_place, session=args.session)
        return _show_plan(plan, args)
    with ProgressLine() as progress:
        back = controller.rewind_back(args.n, both=args.both, in_place=args.in_place,
                                      session=args.session, force=args.force, progress=progress)
    if args.json:
        print_json(_json(back))
    else:
        _tell(back)
    if args.copy:
        _copy(back.plan)
    return PARTIAL if back.code and not back.code.complete else DONE


def _prompts(plan: BackPlan) -> list[dict[str, Any]]:
    return [{"text": p.text, "offset": p.offset, "uuid": p.uuid} for p in plan.boundary.prompts]


def _plan_json(plan: BackPlan) -> dict[str, Any]:
    code = plan.code and {"checkpoint": plan.code.record.name, "exact": plan.code.exact}
    return {"session": plan.chat.session_id, "boundary": plan.boundary.boundary, "prompts": _prompts(plan),
            "fork": None, "in_place": None, "code": code, "notes": plan.notes}


def _json(back: Back) -> dict[str, Any]:
    found = {**_plan_json(back.plan), **chat_json(back.chat), "notes": back.notes, "dryRun": False}
    if back.code and found["code"]:
        done = restored_json(back.code)
        keys = ("backup", "written", "deleted", "kept", "remaining")
        found["code"].update({key: done[key] for key in keys})
    return found


def _show_plan(plan: BackPlan, args: argparse.Namespace) -> int:
    if args.json:
        found = {**_plan_json(plan), "dryRun": True}
        if plan.code_plan and found["code"]:
            listed = plan_json(plan.code_plan)
            keys = ("written", "deleted", "kept", "changedSince")
            found["code"].update({key: listed[key] for key in keys})
        print_json(found)
        return DONE
    _tell_prompts(plan, "to take back")
    if plan.code_plan:
        print_plan(plan.code_plan)
    if not plan.start_anew:
        print(f"{'Would cut' if args.in_place else 'Would fork'} session {plan.chat.session_id}")
    for text in [*plan.notes, *([plan.start_anew.hint] if plan.start_anew else [])]:
        note(text)
    return DONE


def _tell(back: Back) -> None:
    _tell_prompts(back.plan)
    if back.code:
        tell_restored(back.code)
        code = back.plan.code
        if code and not back.code.complete:
            note(f"Some of the code could not be brought back from {code.record.name}")
        elif code and code.exact:
            note(f"The code is as it was in {code.record.name}")
    for text in back.notes:
        note(text)
    tell_chat(back.chat)
    if back.chat is None:
        print("The code was restored; the conversation begins anew.")
    note("`rewind undo-restore` takes this back.")


def _tell_prompts(plan: BackPlan, said: str = "taken back") -> None:
    paint = style_for(sys.stderr)
    prompts = plan.boundary.prompts
    note(f"{plural(len(prompts), 'prompt')} {said}:")
    for prompt in prompts:
        text = safe(" ".join(prompt.text.split()))
        note(f"  {paint('>', 'cyan')} {text if len(text) <= _LONGEST else text[:_LONGEST - 1] + '…'}")


def _copy(plan: BackPlan) -> None:
    from rewind.cli.clipboard import copy

    text = "\n\n".join(prompt.text for prompt in plan.boundary.prompts)
    how = copy(text)
    if how:
        note(f"{plural(len(plan.boundary.prompts), 'prompt')} copied to the clipboard ({how}).")
    else:
        note("There is no clipboard here, so this is the text:")
        note(safe(text) if "\n" not in text else "\n".join(safe(line) for line in text.split("\n")))
