"""One event, from payload to outcome: find the project, guard, decide, checkpoint.

Most events end without a checkpoint, so what only a checkpoint needs is imported when one is made.
"""

from __future__ import annotations

import os
import time

from rewind import jsonfile
from rewind.config.load import load_usable
from rewind.errors import RewindError, StoreNotTrusted
from rewind.fast import quickjson
from rewind.hooks import BLOCK, SCRIPT
from rewind.hooks.decide import decide
from rewind.hooks.event import EDIT, PROMPT_TEXT, SHELL, read_event
from rewind.hooks.memory.hook_state import HookState
from rewind.hooks.memory.log import log_for, now, write_log
from rewind.paths import STORE_FILE, find_project, rewind_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from rewind.config.load import Settings
    from rewind.hooks.decide import Decision
    from rewind.hooks.event import HookEvent
    from rewind.hooks.making.work import CheckpointFailed
    from rewind.hooks.memory.hook_files_lock import HookFilesLock
    from rewind.jsonfile import JsonObject
    from rewind.paths import Project

_TOO_OFTEN = 3  # failures in a row, after which the person is told


class Outcome:
    """What the agent sees: nearly always nothing. `finish` is called last, without the agent waiting."""

    __slots__ = ("code", "err", "finish", "out")

    def __init__(self, code: int = 0, out: str = "", err: str = "") -> None:
        self.code = code
        self.out = out
        self.err = err
        self.finish: Callable[[], None] | None = None


def handle(action: str, raw: bytes, environ: Mapping[str, str], *, is_own_process: bool = False) -> Outcome:
    """`is_own_process`: this process was started for the event, and the agent waits since then."""
    home = rewind_home()
    try:
        # A byte that is not UTF-8 is kept as in the name of a file, so that no other file is meant.
        payload = quickjson.loads(raw.decode("utf-8", "surrogateescape").removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        write_log(home, f"{action}: the payload is not JSON")
        return Outcome()
    event = read_event(action, payload, environ, home)
    if event is None:
        write_log(home, f"{action}: not an event of an agent that is known")
        return Outcome()
    found = _find(event, environ, home)
    settings, _ = load_usable(home, found.project.state if found.project else None)
    project, notices = found.project, []
    if project is None:
        from rewind.hooks.unprotected import COPIED, initialise, warning

        project, reason = initialise(event, _starts(event, environ), settings, home, is_copy=found.is_copy)
        if project is None:
            out, err = warning(event, home, reason or found.reason)
            return Outcome(out=out, err=err)
        notices = [COPIED] if found.is_copy else []
    return _Hook(event, project, settings, environ, found.store, is_own_process, notices).run()


class _Found:
    """The project that an event is about, or the reason why the project that is there is not used."""

    __slots__ = ("is_copy", "project", "reason", "store")

    def __init__(self, project: Project | None = None, store: JsonObject | None = None, reason: str = "",
                 is_copy: bool = False) -> None:
        self.project = project
        self.store = store  # what `store.json` says
        self.reason = reason
        self.is_copy = is_copy


def _find(event: HookEvent, environ: Mapping[str, str], home: str) -> _Found:
    """Looks in the agent's current directory first, because its work tree decides the place, and then in the
    agent's project directory. Only a store that this user made is used."""
    first = _Found()
    for start in _starts(event, environ):
        found = _found_at(start, home)
        if found.project:
            return found
        first = first if first.reason else found
    return first


def _starts(event: HookEvent, environ: Mapping[str, str]) -> list[str]:
    named = environ.get(event.profile.environment["project"] or "")
    return [path for path in (event.cwd, named) if path and os.path.isabs(path) and "\0" not in path]


def _found_at(start: str, home: str) -> _Found:
    try:
        project = find_project(start, home)
        if project:
            return _trusted(project)
        from rewind.hooks.unprotected import why_lost

        return _Found(reason=why_lost(start, home))
    except RewindError as error:
        return _Found(reason=error.sentences())


def _trusted(project: Project) -> _Found:
    from rewind.checkpoint.project.known_stores import is_known
    from rewind.index import load_index

    if project.mode == "project" and (os.path.islink(project.state)
                                      or os.path.islink(os.path.dirname(project.state))):
        return _Found(reason=f"{project.state} is behind a symbolic link, which Rewind does not follow."
                             " Remove the link, then run `rewind init`.")
    try:
        store = jsonfile.read(project.path(STORE_FILE), 1 << 20)
    except OSError as error:
        from rewind.hooks.unprotected import not_readable

        return _Found(reason=not_readable(project.state, error.strerror or str(error)))
    store_id = "" if store is None else str(store.get("id"))
    if is_known(project.home, store_id, project):
        return _Found(project, store)
    if not store_id:
        return _Found(reason=f"{project.path(STORE_FILE)} is not readable, so nothing here is protected."
                             " Run `rewind doctor`.")
    return _Found(reason=StoreNotTrusted(path=project.state).sentences(),
                  is_copy=store_id in load_index(project.home).stores)


class _Hook:
    """An event in a project that is protected. `notices`: what the person should be told once."""

    def __init__(self, event: HookEvent, project: Project, settings: Settings, environ: Mapping[str, str],
                 store: JsonObject | None, is_own_process: bool, notices: list[str]) -> None:
        self.event = event
        self.project = project
        self.store = store
        self.settings = settings
        self.environ = environ
        self.is_own_process = is_own_process
        self.notices = notices
        if store:
            from rewind.checkpoint.project.identity import update_index_and_marker

            said = update_index_and_marker(project, store["id"])
            self.notices += [said] if said else []
        self.state = HookState(project.place_dir)
        self._captured_files: list[str] = []  # the files of this edit that the newest checkpoint holds
        self._keeps_count = True  # whether the count of failures could be saved
        self._noted = False
        self._finish: Callable[[], None] | None = None

    def run(self) -> Outcome:
        blocked = self._guard()
        if blocked:
            return Outcome(BLOCK, err=blocked)
        try:
            outcome = self._run_noting_failure()
        except BaseException:
            if self._finish:  # the checkpoint is still being made
                self._finish()
            raise
        outcome.finish = self._finish
        return outcome

    def _run_noting_failure(self) -> Outcome:
        try:
            return self._handle()
        except Exception as error:
            # The agent's turn goes on. The log gets a line, and the next SessionStart tells the person.
            if not self._noted:
                self._failed(0, f"{type(error).__name__}: {error}", str(error))
            return self._greeting()

    def _failed(self, pid: int, message: str, reason: str) -> None:
        """Note that this event has no checkpoint, so that the person is told."""
        self._noted = True
        log_for(self.project, f"{self.event.name}: {message}")
        with self._lock_files():
            self.state = state = HookState(self.project.place_dir)
            state.note_ended(pid)
            state.note_error(now(), self.event.name, message)
            state.note_missed({"at": now(), "event": self.event.name, "session": self.event.session}, reason)
            state.forget(self.event.key())  # if the event is told again, it is tried again
            self._keeps_count = state.save()

    def _guard(self) -> str:
        event = self.event
        if event.name != "PreToolUse" or not event.tool_kind or not self.settings.get("protect"):
            return ""
        if event.tool_kind == EDIT and not any(map(self._may_be_ours, event.files())):
            return ""
        from rewind.hooks.guard import Guard

        try:
            guard = Guard(self.project.root, self.project.state, self.project.home)
            if event.tool_kind == SHELL:
                return guard.command(event.command, event.cwd)
            return next(filter(None, (guard.file(path, event.cwd) for path in event.files())), "")
        except Exception as error:
            log_for(self.project, f"guard: {type(error).__name__}: {error}")
            return ""

    def _may_be_ours(self, path: str) -> bool:
        """A quick test that may say yes too often, but never no: most edits are of a file of the project."""
        both = path + os.path.realpath(path)
        places = (os.path.realpath(self.project.state), os.path.realpath(self.project.home))
        return ".agent" in both or ".rewind" in both or any(place in both for place in places)

    def _handle(self) -> Outcome:
        self._note_notices()
        self._note_session()
        decision = decide(self.event, self.state, self.settings, self.settings.tier, time.time(),
                          known_session=self._is_known_session())
        to_pin, outside = [], []
        if self.event.is_coming_edit and (decision.checkpoint or decision.save_unprotected):
            to_pin, outside = self._unprotected_files(), self._files_outside(decision)
        if decision.checkpoint or to_pin or outside:
            self._checkpoint(decision, to_pin, outside)
        elif self._captured_files:
            with self._lock_files():
                self.state = HookState(self.project.place_dir)
                self._protect(self._captured_files)
                self.state.save()
        return self._greeting()

    def _checkpoint(self, decision: Decision, to_pin: list[str], outside: list[str]) -> None:
        from rewind.hooks.making.in_time import in_time
        from rewind.hooks.making.work import CheckpointJob, age_of_process

        def made(state: HookState, is_late: bool) -> None:
            self.state = state
            state.last_checkpoint = time.time()
            self._protect([*self._captured_files, *([] if is_late else to_pin)])
            state.failures = 0
            if self.event.name == "UserPromptSubmit":
                state.note_prompt(self.event.session, self.event.prompt[:PROMPT_TEXT])

        def failed(pid: int, error: CheckpointFailed) -> None:
            from rewind.checkpoint.project.missed import BUSY

            self._failed(pid, str(error), BUSY if error.kind == "Locked" else error.message)

        age = age_of_process() if self.is_own_process else 0.0
        script = self.environ.get(SCRIPT, "") if self.is_own_process else ""
        work = CheckpointJob(self.event, self.project, self.settings, self.store, decision.description,
                             to_pin, outside, age, made, failed)
        self._finish = in_time(work, int(script) if script.isdigit() else 0)

    def _lock_files(self) -> HookFilesLock:
        from rewind.hooks.memory.hook_files_lock import HookFilesLock

        return HookFilesLock(self.project.place_dir)

    def _note_notices(self) -> None:
        """Keep them for the next start of a session, unless this is one."""
        if not self.notices:
            return
        for text in self.notices:
            log_for(self.project, f"{self.event.name}: {text}")
        if self.event.name != "SessionStart":
            with self._lock_files():
                self.state = HookState(self.project.place_dir)
                self.state.notices += self.notices
                self.state.save()

    def _protect(self, paths: list[str]) -> None:
        self.state.protected += [path for path in paths if path not in self.state.protected]

    def _note_session(self) -> None:
        event = self.event
        if event.name not in ("SessionStart", "SessionEnd", "UserPromptSubmit", "Stop") or not event.session:
            return
        from rewind.hooks.memory.session_file import SessionMemory

        file = SessionMemory(self.project.place_dir)
        if event.name == "SessionStart":
            self._start_session(file)
        elif event.name == "SessionEnd":
            file.end(event)
        elif not event.is_machine_prompt:
            file.turn(event, running=event.name == "UserPromptSubmit")

    def _start_session(self, file: Any) -> None:
        from rewind.hooks.env_file import add_variables, env_file_of

        env_file = env_file_of(self.event, self.environ)
        file.begin(self.event, env_file, self.environ)
        if env_file:
            try:
                add_variables(env_file, self.event, self.project.root, self.environ)
            except OSError as error:
                log_for(self.project, f"env file: {error}")

    def _is_known_session(self) -> bool:
        if not self.event.continues_session:
            return False
        from rewind.hooks.already_saved import has_checkpoint

        return has_checkpoint(self.project, self.event.session)

    def _unprotected_files(self) -> list[str]:
        """The files that this edit is about and that no checkpoint is known to hold."""
        inside = self.project.root.rstrip("/") + "/"
        named = [os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
                 for path in self.event.files()]
        unknown = [path[len(inside):] for path in named
                   if path.startswith(inside) and path[len(inside):] not in self.state.protected
                   and os.path.lexists(path)]
        if not unknown:
            return []
        from rewind.hooks.already_saved import not_captured

        limit = self.settings.get("ignoredFileMaxKb") * 1024
        # A large file is pinned although it is captured: it would be left out if git began to ignore it.
        found = not_captured(self.project, unknown)
        found += [path for path in unknown if path not in found
                  and os.lstat(inside + path).st_size > limit]
        self._captured_files = [path for path in unknown if path not in found]
        return found

    def _files_outside(self, decision: Decision) -> list[str]:
        """The files outside the project that this edit is about and that the newest checkpoint lacks."""
        inside = self.project.root.rstrip("/") + "/"
        named = [path for path in map(os.path.realpath, self.event.files()) if not path.startswith(inside)]
        if not named:
            return []
        from rewind.hooks.already_saved import outside_files_to_keep

        return outside_files_to_keep(self.project, named, anyway=decision.checkpoint)

    def _greeting(self) -> Outcome:
        """At the start of a session: what is wrong, for the person, and a line for the agent."""
        if self.event.name != "SessionStart":
            return Outcome()
        said: dict[str, object] = {}
        notices = [*self.state.notices, *self.notices]
        missing = self._missing()
        if missing or notices:
            messages = [f"Rewind: {text}" for text in notices] + ([missing] if missing else [])
            said["systemMessage"] = " ".join(messages)
        if self.settings.get("hooks.sessionStartContext"):
            said["hookSpecificOutput"] = {"hookEventName": "SessionStart", "additionalContext": (
                "Rewind takes checkpoints of this project while you work. Restoring one is for the person"
                " at the keyboard; `rewind list` and `rewind diff` only show them.")}
        return Outcome(out=quickjson.dumps(said)) if said else Outcome()

    def _missing(self) -> str:
        """Which events have no checkpoint, if the person was not told yet, even if later events have one."""
        with self._lock_files():
            self.state = state = HookState(self.project.place_dir) if self._keeps_count else self.state
            last = state.errors[-1].get("message") if state.errors else "see rewind.log"
            if not self._keeps_count:
                # There is no count of failures. This event has failed, and the next ones will.
                return ("Rewind cannot write its state, so it makes no checkpoints here"
                        f" ({last}). Run `rewind doctor`.")
            state.note_killed()
            missed = state.take_unreported(leave=int(self._noted))  # the next start tells about this event
            if missed or state.notices:
                state.notices = []
                state.save()
        if state.failures >= _TOO_OFTEN:
            return (f"Rewind could not make its last {state.failures} checkpoints ({last})."
                    " Run `rewind doctor`.")
        if not missed:
            return ""
        from rewind.checkpoint.project.missed import sentence

        return f"Rewind: {sentence(missed)} Run `rewind doctor`."
