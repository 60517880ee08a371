"""`rewind config --register-hooks` and `--unregister-hooks`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rewind.cli.open_and_answer import Args, note
from rewind.controller import load_usable
from rewind.errors import NotInitialised, RewindError, UsageError
from rewind.install.doctor.check_hooks import lacks_hooks
from rewind.install.machine.installer import (
    Registered,
    agents_found,
    agents_with_hooks,
    register_hooks,
    unregister_hooks,
)
from rewind.install.machine.system import System
from rewind.paths import Project, current_dir
from rewind.words import safe

if TYPE_CHECKING:
    from typing import TypedDict

    from rewind.agents.profile import Profile

    class HooksJson(TypedDict):
        agent: str
        files: list[str]
        problem: str | None


def are_given(args: Args) -> bool:
    """Whether the hooks are to be changed."""
    if args.register_hooks and args.unregister_hooks:
        raise UsageError("--register-hooks and --unregister-hooks contradict each other.",
                         hint="Give one of them.")
    changes = bool(args.register_hooks or args.unregister_hooks)
    if args.in_project and not changes:
        raise UsageError("--in-project requires --register-hooks or --unregister-hooks.",
                         hint="Settings go into the project's file unless you pass --global.")
    return changes


def change_hooks(args: Args, home: str, project: Project | None) -> list[Registered]:
    root = _root(args, project) if args.in_project else None
    if args.unregister_hooks:
        agents = agents_with_hooks(home)
        return _dry(agents) if args.dry_run else unregister_hooks(agents, project=root)
    system = System(home)
    agents = agents_found(home)
    if not os.access(system.shim, os.X_OK):
        raise RewindError("Rewind is not installed yet, so there is nothing that agents could call.",
                          hint="Run `rewind install`, which also registers the hooks.")
    if not agents:
        raise RewindError("No agent has been used here yet.",
                          hint="Start yours once, or name it: `rewind install --agents claude`.")
    if args.dry_run:
        return _dry(agents)
    # The person's own hooks serve all projects, so the tier of this project does not count.
    settings, _ = load_usable(home, project.state if project and root else None)
    return register_hooks(agents, str(settings.get("tier")), system.shim, project=root)


def _root(args: Args, project: Project | None) -> str:
    if project:
        return project.root
    if args.unregister_hooks:
        return os.path.realpath(args.project or current_dir())
    raise NotInitialised(path=os.path.abspath(args.project or current_dir()))


def _dry(agents: list[Profile]) -> list[Registered]:
    return [Registered(profile, []) for profile in agents]


def report_hooks(hooks: list[Registered], args: Args) -> None:
    words = "registered with" if args.register_hooks else "removed from"
    for one in hooks:
        title = one.profile.title
        if one.problem:
            note(f"warning: {safe(one.problem)}")
        elif args.dry_run:
            print(f"The hooks would be {words} {title}")
        elif one.files:
            print(f"The hooks were {words} {title}: {', '.join(safe(file) for file in one.files)}")
            if args.register_hooks and one.consent:
                note(one.consent)
        elif args.register_hooks:
            print(f"{title} has these hooks already")
        else:
            print(f"{title} has no hooks of Rewind")


def hooks_json(hooks: list[Registered]) -> list[HooksJson]:
    return [{"agent": one.profile.name, "files": one.files, "problem": one.problem or None} for one in hooks]


def tell_missing_hooks(home: str, project: Project | None) -> None:
    """The settings of a tier apply at once, but its hooks must be registered."""
    settings, _ = load_usable(home, project.state if project else None)
    if lacks_hooks(home, str(settings.get("tier")), project.root if project else None):
        where = " --in-project" if project and project.path("") in settings.source("tier") else ""
        note(f"Some hooks of this tier are not registered: `rewind config --register-hooks{where}`"
             " registers them.")
