"""Remove Rewind: its hooks from your agents' settings, the command, the library, your settings for it.

The checkpoints of your projects stay; the command prints where they are.
"""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

from rewind.cli.open_and_answer import Args, Parser, answer, note
from rewind.cli.output.ask import ask_yes, require_yes
from rewind.cli.output.style import paint
from rewind.errors import DONE, PARTIAL, RewindError
from rewind.install.machine.library import own_package
from rewind.install.machine.uninstaller import Uninstalled, UninstallPlan
from rewind.paths import current_dir, find_project, rewind_home
from rewind.words import safe

if TYPE_CHECKING:
    from typing import TypedDict

    class ProjectPlace(TypedDict):
        root: str
        state: str

    class UninstallJson(TypedDict):
        removed: list[str]
        hooks: list[str]
        remaining: list[ProjectPlace]
        problems: list[str]
        dryRun: bool

summary = "remove Rewind; the checkpoints of your projects stay"
examples = ("rewind uninstall --dry-run", "rewind uninstall", "rewind uninstall --yes")


def arguments(parser: Parser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")


def run(args: Args) -> int:
    plan = UninstallPlan(rewind_home(), _here(args.project))
    if args.dry_run:
        return answer(args, _json(plan, None), lambda: _show(plan))
    if plan.is_nothing:
        return answer(args, _json(plan, None, dry_run=False), lambda: _tell_nothing(plan))
    if not args.yes:
        _confirm(plan, args.json)
    done = plan.apply()  # from here on nothing can be imported: the library may be gone
    return answer(args, _json(plan, done), lambda: _report(plan, done),
                  code=PARTIAL if done.problems else DONE)


def _here(named: str | None) -> list[str]:
    """The project that the person stands in, which need not be a protected one."""
    start = os.path.realpath(named or os.environ.get("REWIND_PROJECT_ROOT") or current_dir())
    own = os.path.realpath(os.path.expanduser("~"))
    project = find_project(start)
    return [root for root in dict.fromkeys((project.root if project else start, start)) if root != own]


def _confirm(plan: UninstallPlan, as_json: bool) -> None:
    require_yes(as_json)
    _show(plan)
    if not ask_yes("Remove Rewind?", default=False):
        raise RewindError("Nothing was removed.")


def _tell_nothing(plan: UninstallPlan) -> None:
    print("Rewind is not installed here.")
    _tell_remaining(plan)


def _show(plan: UninstallPlan) -> None:
    print("Would remove:")
    for path in (*([plan.link] if plan.link else []), *plan.plugins, *plan.paths):
        print(f"  {safe(path)}")
    if plan.hook_files:
        print("Would remove the hooks from:")
        for path in plan.hook_files:
            print(f"  {safe(path)}")
    _tell_remaining(plan)


def _report(plan: UninstallPlan, done: Uninstalled) -> None:
    print("Removed Rewind." if not done.problems else "Removed Rewind, but not all of it.")
    for problem in done.problems:
        note(f"{paint('warning:', 'yellow', sys.stderr)} {safe(problem)}")
    for file in done.files:
        print(f"  hooks removed from {safe(file)}")
    _tell_remaining(plan)
    if not own_package().startswith(plan.system.folder + os.sep):
        note("The program that you ran stays: a checkout, or a package that `pipx uninstall agentrewind`"
             " or `uv tool uninstall agentrewind` removes.")


def _tell_remaining(plan: UninstallPlan) -> None:
    if not plan.remaining:
        return
    print("The checkpoints of these projects stay:")
    for one in plan.remaining:
        print(f"  {safe(one.root)}  in {safe(one.state)}")
    states = " ".join(shlex.quote(one.state) for one in plan.remaining)
    print(f"To remove them: rm -rf {safe(states)}")


def _json(plan: UninstallPlan, done: Uninstalled | None, dry_run: bool = True) -> UninstallJson:
    gone = [plan.link] if plan.link else []
    return {"removed": done.removed if done else [*gone, *plan.plugins, *plan.paths],
            "hooks": done.files if done else plan.hook_files,
            "remaining": [{"root": one.root, "state": one.state} for one in plan.remaining],
            "problems": done.problems if done else [], "dryRun": done is None and dry_run}
