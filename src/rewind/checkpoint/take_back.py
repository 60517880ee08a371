"""The conversation's part of `undo-restore` and `redo`: a fork goes to the trash and comes back from it,
a rewritten transcript and its backup change places."""

from __future__ import annotations

import errno
import os

from rewind.agents.registry import profile_named
from rewind.checkpoint.branches import Branches
from rewind.checkpoint.chat import back_up_transcript, check_ours
from rewind.checkpoint.which_session import recorded_session
from rewind.errors import RewindError
from rewind.files import make_private_dir
from rewind.transcript.cursor import header_length
from rewind.transcript.entries import entry_of
from rewind.transcript.in_place import back_up, put_back, same_bytes
from rewind.transcript.lines import events_forward, open_transcript, size_of
from rewind.transcript.liveness import SessionInUse, is_open, why_open
from rewind.transcript.names import is_session_id, session_id_of
from rewind.transcript.sidecars import remove_from_index, sidecar_paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rewind.checkpoint.state import State

TRASH = "trash"


class TakenBack:
    """What was done about the conversation, and what leads forward again."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.forward: dict[str, Any] = {}


def take_back(state: State, entry: dict[str, Any]) -> TakenBack:
    """Undo the conversation's part of a step."""
    result = TakenBack()
    fork, rewritten = entry.get("fork"), entry.get("transcript_backup")
    if isinstance(fork, dict):
        _fork_to_trash(state, fork, result)
    if isinstance(rewritten, dict) and rewritten.get("backup"):
        result.forward["transcript"] = _change_places(state, rewritten, result)
    return result


def go_forward(state: State, forward: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Do it again: the fields for the new step in the history, and what to say."""
    fields: dict[str, Any] = {}
    result = TakenBack()
    fork, rewritten = forward.get("fork"), forward.get("transcript")
    if isinstance(fork, dict) and bring_from_trash(state, fork):
        fields["fork"] = fork
        result.notes.append(f"The fork is back: {fork['sessionId']}")
    if isinstance(rewritten, dict) and rewritten.get("backup"):
        fields["transcript_backup"] = _change_places(state, rewritten, result)
    return fields, result.notes


def check_take_back(state: State, entry: dict[str, Any], force: bool) -> None:
    """Refuse before anything is touched: a rewritten session that a client has open stays as it is."""
    rewritten = entry.get("transcript_backup") or entry.get("transcript")
    if isinstance(rewritten, dict) and rewritten.get("backup") and not force:
        profile = profile_named(str(rewritten.get("agent")), state.project.home)
        path = str(rewritten["path"])
        session = session_id_of(path)
        open_for = is_open(profile, session, recorded_session(state, session))
        # Not by its age alone: we wrote it ourselves just now.
        if open_for:
            raise SessionInUse(reason=why_open(profile, session, path))


def _change_places(state: State, rewritten: dict[str, Any], result: TakenBack) -> dict[str, Any]:
    """Put the backup in the transcript's place, and what was there into a backup of its own."""
    path, backup = str(rewritten["path"]), str(rewritten["backup"])
    profile = profile_named(str(rewritten.get("agent")), state.project.home)
    check_ours(profile, path)
    if same_bytes(path, backup):
        return dict(rewritten)  # killed after this was done
    kept = back_up_transcript(state, path) if os.path.lexists(path) else None
    put_back(backup, path)
    result.notes.append(f"The transcript is as it was before; what it had become is in {kept}")
    return {**rewritten, "backup": kept}


# trash

def _fork_to_trash(state: State, fork: dict[str, Any], result: TakenBack) -> None:
    session = str(fork.get("sessionId"))
    if not os.path.lexists(str(fork.get("path"))):
        if _in_trash(state, session):
            result.forward["fork"] = fork  # killed after this was done
        return
    if was_continued(state, fork):
        result.notes.append(f"The fork was continued, so it is kept: {session}")
        return
    move_to_trash(state, fork)
    result.forward["fork"] = fork
    result.notes.append(f"The fork that was made is in the trash now: {session}")


def was_continued(state: State, fork: dict[str, Any]) -> bool:
    """Whether something was said in it since it was made, or a client has it open."""
    profile = profile_named(str(fork.get("agent")), state.project.home)
    session, size, header = str(fork.get("sessionId")), fork.get("size"), fork.get("header")
    if is_open(profile, session, recorded_session(state, session)):
        return True
    if not isinstance(size, int) or not isinstance(header, int):
        return True  # nobody knows: it is kept
    with open_transcript(str(fork.get("path"))) as file:
        # Droid may have rewritten line 1 since, which moves the rest.
        made_up_to = header_length(file) + size - header
        entries = (entry_of(event, profile) for event in events_forward(file, made_up_to))
        return size_of(file) < made_up_to or any(entry and entry.prompt for entry in entries)


def _trash_folder(state: State, session: str) -> str:
    if not is_session_id(session):
        raise RewindError(f"{session!r} is not the id of a session.")
    return state.project.path(TRASH, session)


def _in_trash(state: State, session: str) -> bool:
    return is_session_id(session) and os.path.isdir(_trash_folder(state, session))


def move_to_trash(state: State, fork: dict[str, Any]) -> None:
    """The transcript and what lies beside it, out of the agent's sight."""
    profile = profile_named(str(fork.get("agent")), state.project.home)
    path, session = str(fork["path"]), str(fork["sessionId"])
    folder = _trash_folder(state, session)
    make_private_dir(folder)
    for one in (*sidecar_paths(path, profile), path):  # the transcript last: until then it is a session
        if os.path.lexists(one):
            move_file(one, os.path.join(folder, os.path.basename(one)))
    Branches(state).change(session, {"trashed": True})
    remove_from_index(os.path.dirname(path), session)


def bring_from_trash(state: State, fork: dict[str, Any]) -> bool:
    profile = profile_named(str(fork.get("agent")), state.project.home)
    path, session = str(fork["path"]), str(fork["sessionId"])
    if not _in_trash(state, session):
        return os.path.lexists(path)
    folder = _trash_folder(state, session)
    make_private_dir(os.path.dirname(path))
    for one in (*sidecar_paths(path, profile), path):
        kept = os.path.join(folder, os.path.basename(one))
        if os.path.lexists(kept) and not os.path.lexists(one):
            move_file(kept, one)
    if not os.listdir(folder):
        os.rmdir(folder)
    Branches(state).change(session, {"trashed": False})
    return os.path.lexists(path)


def move_file(source: str, target: str) -> None:
    """Rename, or copy and delete where the two lie on different disks."""
    try:
        os.rename(source, target)
        return
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    if os.path.lexists(target):
        os.unlink(target)
    back_up(source, target)
    os.unlink(source)
