"""Every reason why Rewind may not be protecting a project, each with its fix. It changes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from rewind.config.load import Settings, load_usable
from rewind.install.doctor.check_hooks import check_hooks
from rewind.install.doctor.check_installation import check_installation
from rewind.install.doctor.check_plugin import check_plugins
from rewind.install.doctor.check_project import check_log, check_place, check_project
from rewind.install.doctor.finding import Finding, ok, problem, warning
from rewind.install.machine.system import System
from rewind.paths import find_project


def examine(home: str, start: str, environ: Mapping[str, str] | None = None) -> list[Finding]:
    """The findings for the project at or above `start`, in the order in which to fix them."""
    environ = os.environ if environ is None else environ
    system = System(home)
    project = find_project(start, home)
    settings, problems = load_usable(home, project.state if project else None)
    root = project.root if project else os.path.realpath(start)
    found = [*check_installation(system, environ), *check_hooks(system, str(settings.get("tier")), root),
             *check_plugins(system, root), *_check_settings(settings, problems)]
    if project:
        return [*found, *check_project(project, system)]
    return [*found, check_place(start, settings), *check_log(system.log)]


def _check_settings(settings: Settings, problems: list[str]) -> Iterator[Finding]:
    for text in problems:
        yield problem("configuration", text, "`rewind config --unset KEY` removes a setting, `rewind config`"
                                             " shows them all.")
    if not problems:
        yield ok("configuration", f"Tier {settings.get('tier')}")
    if not settings.get("protect"):
        yield warning("guard", "The guard is switched off: agents may reach the checkpoints.",
                      "Run `rewind config --global --set protect=true`.")
