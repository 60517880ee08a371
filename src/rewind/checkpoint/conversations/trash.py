"""The trash: deleted forks, each in a directory of its own, until a collection deletes them."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

from rewind import jsonfile
from rewind.agents.profile import Profile
from rewind.agents.registry import is_under_root, profile_named
from rewind.checkpoint.conversations.bring_back import note_in_index
from rewind.checkpoint.project.state import State
from rewind.checkpoint.project.unfinished import Unfinished
from rewind.errors import NotAFork, PlaceTaken, RewindError
from rewind.files import draft_of, make_private_dir
from rewind.transcript.names import SUFFIX, is_session_id, session_id_of
from rewind.transcript.read.entries import entry_of
from rewind.transcript.read.lines import events_forward, open_transcript
from rewind.transcript.write.import_session import delete_imported, import_session
from rewind.transcript.write.in_place import copy_whole
from rewind.transcript.write.sidecars import remove_from_index, sidecar_paths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rewind.checkpoint.operation_log.line import Effect
    from rewind.checkpoint.project.known_forks import KnownFork

TRASH = "trash"
_LAST_LINE = ".last"  # suffix of a file that a client wrote when the fork was already in the trash
ABOUT = "fork.json"  # in each directory of the trash: which fork it is and where it was


def checked_fork(state: State, fork: Mapping[str, object]) -> tuple[Profile, str, str]:
    """(profile, path, session) of a fork. Its path comes from a file that a repository may contain, so only
    files where the agent keeps its sessions are ever moved."""
    path, session = fork.get("path"), fork.get("sessionId")
    profile = profile_named(str(fork.get("agent")), state.project.home)
    if (not isinstance(path, str) or not isinstance(session, str) or not is_session_id(session)
            or not path.endswith(SUFFIX) or session_id_of(path, profile) != session
            or not is_under_root(profile, path)):
        raise NotAFork(path=path)
    return profile, path, session


def free_name(state: State, session: str, wanted: str = "", by_then: dict[str, bool] | None = None) -> str:
    """An unused name in the trash, so that no deleted fork replaces another. `wanted` is tried first.
    `by_then` says for some names whether they will be in use."""
    for name in (wanted, session, *(f"{session}.{number}" for number in range(1, 10_000))):
        known = (by_then or {}).get(name)
        if name and not (os.path.lexists(state.project.path(TRASH, name)) if known is None else known):
            return name
    raise RewindError("There is no free name in the trash.", hint="Empty it.")


def holds(state: State, fork: Mapping[str, object]) -> bool:
    return any(one["sessionId"] == fork.get("sessionId") and one["trash"] == fork.get("trash")
               for one in trashed(state))


def move_to_trash(state: State, fork: Effect) -> None:
    """Move the transcript and its sidecar files to `fork["trash"]`, where the agent does not see them."""
    profile, path, session = checked_fork(state, fork)
    folder = state.project.path(TRASH, str(fork["trash"]))
    make_private_dir(folder)
    delete_imported(session, profile, state.project.root)
    about = {"sessionId": session, "path": path, "agent": profile.name}
    with Unfinished(state.project, draft_of(os.path.join(folder, ABOUT))):
        jsonfile.write(os.path.join(folder, ABOUT), about)
    for one in (path, *sidecar_paths(path, profile)):  # a sidecar file that stays does no harm
        if os.path.lexists(one):
            move_file(one, os.path.join(folder, os.path.basename(one)))
    remove_from_index(os.path.dirname(path), session)


def trashed(state: State) -> list[Effect]:
    """The forks in the trash; of several deletions of a fork the latest is first. Each is an effect without
    its kind, in which `trash` is the name of the directory."""
    top = state.project.path(TRASH)
    found: list[Effect] = []
    for name in sorted(os.listdir(top), key=_by_age, reverse=True) if os.path.isdir(top) else ():
        about = _about(os.path.join(top, name))
        if about and is_session_id(name) and os.path.lexists(file_in_trash(state, name, about)):
            found.append({**about, "trash": name})
    return found


def file_in_trash(state: State, name: str, about: Mapping[str, object]) -> str:
    """The path of the transcript in the trash, where it keeps its file name."""
    path = str(about.get("path"))
    kept = os.path.basename(path) if path.endswith(SUFFIX) else str(about.get("sessionId")) + SUFFIX
    return state.project.path(TRASH, name, kept)


def _about(folder: str) -> Effect | None:
    found: Any = jsonfile.read_or_empty(os.path.join(folder, ABOUT), 1 << 20)
    about: Effect = found
    return about if is_session_id(str(about.get("sessionId"))) else None


def _by_age(name: str) -> tuple[str, int]:
    session, _, number = name.partition(".")
    return session, int(number) if number.isdigit() else 0


def check_free(state: State, fork: Mapping[str, object]) -> None:
    profile, path, session = checked_fork(state, fork)
    if not is_free(path, profile):
        raise PlaceTaken(session=session, path=path)


def is_free(path: str, profile: Profile) -> bool:
    """Whether a fork can be restored to this path. A client that had just left the fork may have created the
    file again for a last line, which is not part of the conversation."""
    if not os.path.lexists(path):
        return True
    try:
        with open_transcript(path) as file:
            entries = (entry_of(event, profile) for event in events_forward(file))
            return not os.path.islink(path) and not any(entry and entry.speaker for entry in entries)
    except RewindError:
        return False


def bring_from_trash(state: State, fork: Effect) -> None:
    profile, path, session = checked_fork(state, fork)
    check_free(state, fork)
    if not holds(state, fork):
        raise RewindError(f"The trash no longer holds {session}", hint="It cannot be recovered.")
    folder = state.project.path(TRASH, str(fork["trash"]))
    make_private_dir(os.path.dirname(path))
    if os.path.lexists(path):
        move_file(path, os.path.join(folder, os.path.basename(path) + _LAST_LINE))
    import_session(os.path.join(folder, os.path.basename(path)), profile, session, state.project.root)
    for one in (*sidecar_paths(path, profile), path):
        kept = os.path.join(folder, os.path.basename(one))
        if os.path.lexists(kept) and not os.path.lexists(one):
            move_file(kept, one)
    os.unlink(os.path.join(folder, ABOUT))
    if not os.listdir(folder):
        os.rmdir(folder)
    known: KnownFork = state.forks().find(session) or {}
    note_in_index(profile, {**known, "path": path})


def move_file(source: str, target: str) -> None:
    """Rename, or copy and delete where the two lie on different disks."""
    try:
        os.rename(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        copy_whole(source, target)
        os.unlink(source)
