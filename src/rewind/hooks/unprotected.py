"""An event where no project is protected: the project is initialised if the settings say so. If not, the
person is told once in each session."""

from __future__ import annotations

import errno
import os

from rewind.errors import RewindError
from rewind.fast import quickjson
from rewind.hooks.event import EDIT
from rewind.hooks.memory.hook_state import HookState
from rewind.hooks.memory.log import write_log
from rewind.index import load_index
from rewind.paths import STORE_FILE, project_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.config.load import Settings
    from rewind.hooks.event import HookEvent
    from rewind.paths import Project

WARNING = "[rewind] Warning: No .agent/rewind/ found. Run 'rewind init' first."
COPIED = ("This project is a copy, so it got a store of its own. To use the checkpoints that were copied with"
          " it: rewind init --trust")
_INITIALISING = ("SessionStart", "UserPromptSubmit", "PreToolUse")


def initialise(event: HookEvent, starts: list[str], settings: Settings, home: str, *,
               is_copy: bool) -> tuple[Project | None, str]:
    """The project that was made at or above one of `starts`; or None, and the error that prevented it, if
    there was one."""
    if event.name not in _INITIALISING:
        return None, ""
    from rewind.checkpoint.project.init import init_project, root_to_protect, wanted_mode

    try:
        for start in starts:
            root = root_to_protect(start, settings.get("init.auto"))
            # This user did not make a state directory that is already there, so only the user may trust it.
            # The state of a copied project is known, and the copy gets a store of its own.
            if root and (is_copy or not os.path.lexists(project_state(root))):
                state, _ = init_project(root, home, wanted_mode(settings, root), False)
                state.close()
                return state.project, ""
    except RewindError as error:
        return None, error.sentences()
    except OSError as error:
        return None, (f"Rewind cannot make a store in {home}: {error.strerror or error}. Nothing here is"
                      " protected. Run `rewind doctor`.")
    return None, ""


def why_lost(start: str, home: str) -> str:
    """What is wrong if the index knows a project here whose store lost the file with its id."""
    index, at = load_index(home), os.path.realpath(start)
    while at != os.path.dirname(at):
        known = index.at(at)
        state = index.storage(home, known[0]) if known else ""
        if state and os.path.isdir(state):
            if not os.access(state, os.R_OK | os.X_OK):
                return not_readable(state, os.strerror(errno.EACCES))
            return (f"{os.path.join(state, STORE_FILE)} is missing, so nothing here is protected."
                    " Run `rewind init --trust` to make a new one; the checkpoints are kept.")
        at = os.path.dirname(at)
    return ""


def not_readable(state: str, why: str) -> str:
    return f'Rewind cannot read {state}: {why}. Make it yours again: sudo chown -R "$(id -un)" {state}'


def warning(event: HookEvent, home: str, reason: str) -> tuple[str, str]:
    """What to print on standard output and on standard error, once in each session. A reason is told at the
    start of the session, and everything else after the first edit."""
    at_start = event.name == "SessionStart" and bool(reason)
    after_edit = event.name == "PostToolUse" and event.tool_kind == EDIT
    if reason and event.name in _INITIALISING:
        write_log(home, f"{event.name}: {reason} (in {event.cwd})")
    if not (at_start or after_edit) or not _is_first_warning(event, home, can_repeat=at_start):
        return "", ""
    if at_start:
        return quickjson.dumps({"systemMessage": f"Rewind: {reason}"}), ""
    return "", f"[rewind] Warning: {reason}" if reason else WARNING


def _is_first_warning(event: HookEvent, home: str, can_repeat: bool) -> bool:
    """`can_repeat`: the answer if it cannot be noted that this session was warned."""
    from rewind.hooks.memory.hook_files_lock import HookFilesLock

    with HookFilesLock(home):
        state = HookState(home)
        if event.session in state.warned:
            return False
        state.warned.append(event.session)
        return not os.path.isdir(home) or state.save() or can_repeat
