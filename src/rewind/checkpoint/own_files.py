"""The small files of a state directory: whether each is as it was written."""

from __future__ import annotations

import os

from rewind import quickjson
from rewind.checkpoint.record import METADATA, decode_record, is_name
from rewind.checkpoint.seal import is_broken
from rewind.errors import FormatTooNew, RewindError
from rewind.files import read_bounded
from rewind.paths import STORE_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.state import State

HISTORY, BRANCHES, PINS, GITIGNORE = "restore-history.json", "branches.json", "pins.json", ".gitignore"
GITIGNORE_TEXT = b"*\n"
_MAX_BYTES = 16 << 20
# What is gone when a file cannot be used any more.
MEANING = {HISTORY: "the steps that could be undone and redone",
           BRANCHES: "the names of forks, and which of them Rewind made",
           PINS: "which files are always captured; they are pinned again when the agent edits them"}


def check_own_files(state: State, *, deep: bool) -> list[str]:
    problems = []
    for name in (STORE_FILE, HISTORY, BRANCHES, PINS):
        problem = problem_of(state, name)
        if problem == CHANGED and not deep:
            continue  # checksums are a matter of the long look
        # That the history does not parse is told elsewhere, with what to do.
        if problem and not (name == HISTORY and problem == UNREADABLE):
            problems.append(f"{state.project.path(name)} {problem}.")
    if not _is_gitignore_right(state):
        problems.append(f"{state.project.path(GITIGNORE)} is missing or changed, so git may see the state.")
    for name in without_record(state):
        problems.append(f"{name} has lost its record, so it cannot be restored; the others can.")
    if deep:
        problems += [f"The metadata of {name} {text}." for name, text in changed_records(state).items()]
        problems += [f"{path} {text}." for path, text in changed_backups(state).items()]
    return problems


UNREADABLE = "is not readable"
CHANGED = "is not as it was written: something in it changed"


def problem_of(state: State, name: str) -> str:
    """What is wrong with one of the JSON files, or nothing."""
    try:
        data = quickjson.loads(read_bounded(state.project.path(name), _MAX_BYTES))
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, RecursionError, RewindError):
        return UNREADABLE
    if not isinstance(data, dict):
        return UNREADABLE
    return CHANGED if is_broken(data) else ""


def _is_gitignore_right(state: State) -> bool:
    try:
        return read_bounded(state.project.path(GITIGNORE), _MAX_BYTES) == GITIGNORE_TEXT
    except (OSError, RewindError):
        return False


def record_names(state: State) -> list[str]:
    try:
        return sorted(name for name in os.listdir(state.files.folder) if is_name(name))
    except FileNotFoundError:
        return []


def without_record(state: State) -> list[str]:
    """Checkpoints whose record is gone. A directory that was only reserved by a killed process is none:
    nothing ever knew it."""
    gone = [name for name in record_names(state) if not os.path.lexists(state.files.path(name, METADATA))]
    if not gone:
        return []
    known = {name for (name,) in state.derived.query("SELECT name FROM records")}
    known |= {str(record.data.get("parent")) for record in state.timeline.all()}
    try:
        collected = state.objects.last_deleted()  # a collection that was killed in the middle of it
    except RewindError:
        collected = ""
    # Whether it is still there is asked last: another process may be collecting it right now.
    return [name for name in gone if name in known and name > collected and state.files.is_reserved(name)]


def changed_records(state: State) -> dict[str, str]:
    """Records that can be read, and are not what was written."""
    found = {}
    for name in record_names(state):
        try:
            record = decode_record(name, read_bounded(state.files.path(name), 1 << 20))
        except (OSError, RewindError):
            continue  # told by the timeline
        if is_broken(record.data):
            found[name] = CHANGED
    return found


def changed_backups(state: State) -> dict[str, str]:
    """Backups of rewritten transcripts that are not what was copied."""
    from rewind.checkpoint.backup_sums import differs

    try:
        entries = state.history().entries
    except RewindError:
        return {}
    told = [entry.get("transcript_backup") for entry in entries]
    return {str(one["backup"]): CHANGED for one in told if isinstance(one, dict) and differs(one)}


def is_too_new(state: State, name: str) -> bool:
    """A record of a newer Rewind is not damage."""
    try:
        decode_record(name, read_bounded(state.files.path(name), 1 << 20))
    except FormatTooNew:
        return True
    except (OSError, RewindError):
        pass
    return False
