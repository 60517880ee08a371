"""The project's store: is it writable and complete, is it too large, would a build include it?"""

from __future__ import annotations

import os
from collections.abc import Iterator

from rewind.checkpoint.project.state import State
from rewind.checkpoint.project.vanished import vanished
from rewind.checkpoint.upkeep.disk_use import disk_use
from rewind.errors import RewindError
from rewind.install.doctor.finding import Finding, ok, problem, warning
from rewind.install.doctor.packers import unprotected_builds
from rewind.paths import Project
from rewind.snapshot.rules.rules import MB


def check_writable(project: Project) -> Finding:
    read_only = bool(os.statvfs(project.state).f_flag & getattr(os, "ST_RDONLY", 1))
    closed = [path for path in (project.state, project.path("checkpoints"), project.path("objects.db"))
              if os.path.exists(path) and not os.access(path, os.W_OK)]
    if read_only or closed:
        where = closed[0] if closed else project.state
        return problem("project", f"Rewind cannot write its state: {where}",
                       "Check its owner, its permissions, and whether the disk is mounted read-only.")
    return ok("project", f"Protected: {project.root}")


def check_store(state: State) -> list[Iterator[Finding]]:
    return [_vanished(state), _packers(state), _budget(state)]


def errors_as_findings(found: Iterator[Finding]) -> Iterator[Finding]:
    """If the store cannot be read, report it as a finding and go on with the other checks."""
    try:
        yield from found
    except RewindError as error:
        yield problem("store", error.message, error.hint)
    except OSError as error:
        yield problem("store", f"{error.strerror}: {error.filename}", "Check the permissions.")


def _vanished(state: State) -> Iterator[Finding]:
    name = vanished(state)
    if name:
        yield problem("checkpoints", f"Something other than Rewind removed checkpoints: {name} is gone.",
                      "Keep them out of reach: rewind config --set storage.mode=global")


def _packers(state: State) -> Iterator[Finding]:
    """Builds that would include the checkpoints, with the secrets in them."""
    if state.project.mode != "project":
        return
    for what, file in unprotected_builds(state.project.main):
        yield warning("packing", f"{what} would include the checkpoints in .agent/, with everything in them.",
                      f"Run `rewind config --set storage.mode=global`, or add the line .agent/ to {file}")


def _budget(state: State) -> Iterator[Finding]:
    used, cap = disk_use(state), state.settings.get("storage.maxSizeMb") * MB
    if used > cap:
        yield warning("disk", f"The checkpoints take {used / MB:,.0f} MB; storage.maxSizeMb allows"
                              f" {cap / MB:,.0f}.",
                      "`rewind gc` collects old ones, `rewind gc --keep N` more of them;"
                      " `rewind config --set storage.maxSizeMb=…` allows more.")
