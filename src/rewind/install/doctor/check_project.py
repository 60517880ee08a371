"""Is this project protected, and are checkpoints made? The newest conversation, Watchman, errors of hooks."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator

from rewind import jsonfile
from rewind.checkpoint.project.init import root_to_protect
from rewind.checkpoint.project.missed import Missed
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import timestamp
from rewind.checkpoint.rewind.operation_words import interrupted_text
from rewind.checkpoint.save.capture import LARGE
from rewind.config.load import Settings
from rewind.errors import RewindError
from rewind.install.doctor.check_store import check_store, check_writable, errors_as_findings
from rewind.install.doctor.client_version import numbers, version_in
from rewind.install.doctor.finding import Finding, ok, problem, warning
from rewind.install.machine.system import System
from rewind.paths import Project
from rewind.transcript.find import SessionFile, latest_sessions

_SLACK = 600.0  # seconds that a turn may go on without an event that makes a checkpoint
_RECENT = 86_400.0
_TOO_OFTEN = 3
_MAX_BYTES = 1 << 20
_TAIL = 64 << 10
_MANY = 50_000  # files: with more than that, a walk takes long enough to recommend Watchman
_LOOK = "The log has more: {log}"


# no project here

def check_place(start: str, settings: Settings) -> Finding:
    """For a directory that is in no project."""
    own = os.path.realpath(os.path.expanduser("~"))
    start = os.path.realpath(start)
    if (own + "/").startswith(start.rstrip("/") + "/"):
        return warning("project", f"Not a project directory: {start}",
                       "Run `rewind doctor` in one, or with `-C DIR`.")
    wanted = settings.get("init.auto")
    root = root_to_protect(start, wanted)
    if root:
        return warning("project", f"Not protected yet. The next session of an agent here does it: {root}",
                       "Run `rewind init` to do it now.")
    return problem("project", f"Not protected, and hooks do not do it by themselves here (init.auto is"
                              f" {wanted}): {start}", "Run `rewind init` in the project's top directory.")


# the project

def check_project(project: Project, system: System) -> Iterator[Finding]:
    try:
        state = State(project, forgiving=True)
    except RewindError as error:
        yield problem("project", error.message, error.hint)
        return
    try:
        yield check_writable(project)
        for found in (_newest(state, system), _interrupted(state), *check_store(state), _watchman(state)):
            yield from errors_as_findings(found)
    finally:
        state.close()
    yield from _missed(project)
    yield from _hook_errors(project, system)


def _newest(state: State, system: System) -> Iterator[Finding]:
    """Whether hooks have made checkpoints of the latest conversation, and which client it belongs to."""
    # A backup has a trigger as well, but a person made it.
    by_hooks = [r for r in state.timeline.all() if r.trigger.get("event") and r.kind != "backup"]
    last = max((record.created for record in by_hooks), default=0.0)
    sessions = list(_sessions(state))
    newest = sessions[0] if sessions else None
    since = max(last, _installed(system))
    if newest and since and newest.modified > since + _SLACK:
        yield warning("checkpoints", f"{newest.profile.title} has worked here since the last checkpoint that"
                                     f" a hook made, in session {newest.session_id}",
                      "Restart the agent, so that it reads its settings again. If that does not help,"
                      " check the other findings here.")
    elif by_hooks:
        at = time.strftime("%Y-%m-%d %H:%M", time.localtime(last))
        yield ok("checkpoints", f"Checkpoints by hooks: {len(by_hooks):,}, the last at {at}")
    else:
        yield ok("checkpoints", "No checkpoint by a hook yet; they begin with the agent's next session")
    yield from _clients(sessions)


def _sessions(state: State) -> Iterator[SessionFile]:
    """The sessions, latest first, without the forks of Rewind that nobody has continued."""
    forks = state.forks()
    for session in latest_sessions(state.area(), state.project.home):
        made = forks.find(session.session_id)
        if made is None or made.get("size") != session.size:
            yield session


def _installed(system: System) -> float:
    try:
        return os.stat(system.shim).st_mtime
    except OSError:
        return 0.0


def _clients(sessions: list[SessionFile]) -> Iterator[Finding]:
    latest: dict[str, SessionFile] = {}
    for session in sessions:
        latest.setdefault(session.profile.name, session)
    for session in latest.values():
        since = (session.profile.leaf or {}).get("since")
        version = version_in(session) if since else ""
        if since and version and numbers(version) < numbers(since):
            yield warning("client", f"{session.profile.title} {version} is old: it does not continue from"
                          f" where a conversation was cut. {since} and later do.",
                          f"Update {session.profile.title}.")


def _interrupted(state: State) -> Iterator[Finding]:
    op = state.interrupted()
    if op:
        yield problem("restore", f"`rewind {op.command}` was interrupted.", f"{interrupted_text(op)}.")


def _watchman(state: State) -> Iterator[Finding]:
    """Whether Watchman tells what changed, in a project where a walk of all files takes long."""
    wanted, files = state.settings.get("scan.monitor"), state.cache.files()
    if wanted == "off" or (wanted == "auto" and files <= LARGE):
        return
    from rewind.checkpoint.save.watching import missed_here, off_path
    from rewind.snapshot.watchman.where import find_socket

    missed = missed_here(state)
    if missed:
        at, paths = missed
        yield warning("watchman", f"Watchman missed changes ({at}: {', '.join(paths)}). Every checkpoint"
                                  f" looks at all {files:,} files instead.",
                      f"To ask it again: rm {shlex.quote(off_path(state))}")
    elif find_socket(os.environ):
        asked = state.cache.monitored()
        yield ok("watchman", f"Watchman is asked what changed among {files:,} files" if asked
                 else "Watchman is running; Rewind asks it from the next checkpoint on")
    elif wanted == "watchman":
        yield warning("watchman", "scan.monitor is watchman, but no Watchman is running.",
                      "Start it: watchman watch-project " + shlex.quote(state.project.root))
    elif files >= _MANY:
        yield warning("watchman", f"{files:,} files: checkpoints would be faster with Watchman.",
                      "Install it, then: watchman watch-project " + shlex.quote(state.project.root))


# what hooks left behind

def _missed(project: Project) -> Iterator[Finding]:
    """Events without a checkpoint, even if later events have one."""
    missed = Missed(project)
    for one in missed.late:
        yield ok("late", f"Still being saved, since {one.get('at')}: {one.get('description')}")
    if missed.events:
        first, last = missed.events[0], missed.events[-1]
        when = str(last.get("at")) if first is last else f"{first.get('at')} to {last.get('at')}"
        yield warning("missing", f"{missed.text} ({when})",
                      _LOOK.format(log=project.path("rewind.log")))


def _hook_errors(project: Project, system: System) -> Iterator[Finding]:
    name, log = "hook errors", project.path("rewind.log")
    data = jsonfile.read_or_empty(project.own("hook-state.json"), _MAX_BYTES)
    errors, failures = data.get("errors"), data.get("failures")
    last = errors[-1] if isinstance(errors, list) and errors and isinstance(errors[-1], dict) else {}
    if isinstance(failures, int) and failures > 0:
        said = f"{last.get('message', 'no reason was noted')} ({last.get('at', '')} {last.get('action', '')})"
        times = "The last hook" if failures == 1 else f"The last {failures} hooks"
        yield (problem if failures >= _TOO_OFTEN else warning)(
            name, f"{times} could not make a checkpoint: {said}", _LOOK.format(log=log))
        return
    yield from check_log(log)
    yield from check_log(system.log)


def check_log(path: str) -> Iterator[Finding]:
    """Warn about a recent line in a log."""
    line = _recent_line(path)
    if line:
        yield warning("hook errors", f"A hook said in the last day: {line}", _LOOK.format(log=path))


def _recent_line(path: str) -> str:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            lines = file.read(_TAIL).decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines and time.time() - timestamp(lines[-1].split(" ")[0]) < _RECENT else ""
    except (OSError, ValueError, IndexError):
        return ""
