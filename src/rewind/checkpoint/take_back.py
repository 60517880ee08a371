"""The conversation's part of `undo-restore` and `redo`: a fork goes to the trash and comes back from it,
a rewritten transcript and its backup change places."""

from __future__ import annotations

import errno
import os

from rewind import quickjson
from rewind.agents.registry import is_under_root, profile_named
from rewind.checkpoint.branches import Branches
from rewind.checkpoint.chat import BACKUPS, check_ours, free_backup_name, note_in_index, stamp_of
from rewind.checkpoint.unfinished import Unfinished
from rewind.checkpoint.which_session import recorded_session
from rewind.errors import RewindError
from rewind.files import draft_of, make_private_dir, read_bounded, write_atomic
from rewind.transcript.cursor import header_length
from rewind.transcript.entries import entry_of
from rewind.transcript.fork import temp_of
from rewind.transcript.in_place import copy_whole, put_back, same_bytes
from rewind.transcript.lines import events_forward, open_transcript, size_of
from rewind.transcript.liveness import SessionInUse, is_open, why_open
from rewind.transcript.names import SUFFIX, is_session_id, session_id_of
from rewind.transcript.sidecars import remove_from_index, sidecar_paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rewind.agents.profile import Profile
    from rewind.checkpoint.state import State

    Save = Callable[[], None]
    Note = Callable[[dict[str, Any]], None]

TRASH = "trash"
_FORK_GONE = "The fork is not in the trash any more, so it stays away: "
_BACKUP_GONE = "The conversation stays as it is, for its backup is gone: "
TOLD = "fork.json"  # in each directory of the trash: what lies there and where it was


class TakenBack:
    """What was done about the conversation, and what leads forward again."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.forward: dict[str, Any] = {}
        self.lacking = False  # something of it is not there any more


def take_back(state: State, entry: dict[str, Any], save: Save) -> TakenBack:
    """Undo the conversation's part of a step. `save` writes the history that the entry is part of."""
    result = TakenBack()
    fork, rewritten = entry.get("fork"), entry.get("transcript_backup")
    if isinstance(fork, dict):
        _fork_to_trash(state, fork, result, save)
    if isinstance(rewritten, dict) and rewritten.get("path"):
        def note(fields: dict[str, Any]) -> None:
            rewritten["other"] = fields["backup"]
            save()

        done = _change_places(state, rewritten, result, note)
        result.forward.update({"transcript": done} if done else {})
    return result


def go_forward(state: State, forward: dict[str, Any], note: Note) -> TakenBack:
    """Do it again. What is done is noted in the new step of the history before it is done; what cannot be had
    back any more is told, and the step is done without it."""
    result = TakenBack()
    fork, rewritten = forward.get("fork"), forward.get("transcript")
    if isinstance(fork, dict) and not _can_return(state, fork):
        note({})
        result.lacking = True
        result.notes.append(_FORK_GONE + fork["sessionId"])
    elif isinstance(fork, dict):
        note({"fork": {key: value for key, value in fork.items() if key != "trash"}})
        if not os.path.lexists(str(fork.get("path"))):  # else killed after this was done
            bring_from_trash(state, fork)
        result.notes.append(f"The fork is back: {fork.get('sessionId')}")
    if isinstance(rewritten, dict) and rewritten.get("path"):
        done = _change_places(state, rewritten, result, lambda fields: note({"transcript_backup": fields}))
        note({"transcript_backup": done} if done else {})
    return result


def foretold(state: State, step: dict[str, Any], *, forward: bool) -> list[str]:
    """What `take_back` or `go_forward` would do about the conversation, in words."""
    fork, rewritten = step.get("fork"), step.get("transcript_backup") or step.get("transcript")
    found = []
    if isinstance(fork, dict) and forward:
        found.append(f"Would bring the fork back: {fork.get('sessionId')}" if _can_return(state, fork)
                     else _FORK_GONE + fork["sessionId"])
    elif isinstance(fork, dict) and os.path.lexists(str(fork.get("path"))):
        found.append(("Would keep the fork, for it was continued: " if was_continued(state, fork) else
                      "Would move the fork to the trash: ") + str(fork.get("sessionId")))
    if isinstance(rewritten, dict) and rewritten.get("path"):
        backup = rewritten.get("backup")
        gone = backup and not os.path.lexists(backup)
        found.append(f"{_BACKUP_GONE}{backup}" if gone
                     else f"Would put the backup in the transcript's place: {rewritten['path']}")
    try:
        check_take_back(state, step, force=False)
    except SessionInUse as error:
        found.append(f"It is refused without --force: {error.fields['reason']}")
    return found


def fork_of(entry: dict[str, Any]) -> str:
    """The session that a step made; none if it was killed before that was there."""
    fork = entry.get("fork")
    if not isinstance(fork, dict) or not os.path.lexists(str(fork.get("path"))):
        return ""
    return str(fork.get("sessionId") or "")


def rewritten_by(entry: dict[str, Any]) -> str:
    """The session that a step cut in its own file; none if it was killed before it did."""
    rewritten = entry.get("transcript_backup")
    if not isinstance(rewritten, dict) or not rewritten.get("path"):
        return ""
    path, backup = str(rewritten["path"]), rewritten.get("backup")
    untouched = same_bytes(path, str(backup)) if backup else not os.path.lexists(path)
    return "" if untouched else session_id_of(path)


def check_take_back(state: State, entry: dict[str, Any], force: bool) -> None:
    """Refuse before anything is touched: a rewritten session that a client has open stays as it is."""
    rewritten = entry.get("transcript_backup") or entry.get("transcript")
    if not isinstance(rewritten, dict) or not rewritten.get("path") or force:
        return
    profile = profile_named(str(rewritten.get("agent")), state.project.home)
    path = str(rewritten["path"])
    session = session_id_of(path)
    recorded = recorded_session(state, session)
    reason = why_open(profile, session, path, recorded)
    # Its age alone says nothing if it is as we left it.
    if reason and (is_open(profile, session, recorded) or not _is_as_made(path, rewritten.get("made"))):
        raise SessionInUse(reason=reason, hint="Close it first. With --force its whole history may be lost"
                                               " when that client goes on.")


def _is_as_made(path: str, made: object) -> bool:
    return not os.path.lexists(path) or made == stamp_of(path)


def _change_places(state: State, rewritten: dict[str, Any], result: TakenBack,
                   note: Note) -> dict[str, Any] | None:
    """Put the backup in the transcript's place, and what was there into a backup of its own. None when there
    is no such backup any more."""
    path, backup = str(rewritten["path"]), rewritten.get("backup")
    profile = profile_named(str(rewritten.get("agent")), state.project.home)
    check_ours(profile, path)
    if backup and (os.path.dirname(backup) != state.project.path(BACKUPS) or os.path.islink(backup)):
        raise NotAFork(path=backup)
    fields: dict[str, Any] = {"path": path, "agent": profile.name}
    if same_bytes(path, backup) if backup else not os.path.lexists(path):  # killed after this was done
        return {**fields, "backup": rewritten.get("other") or backup}
    if backup and not os.path.lexists(backup):
        result.lacking = True
        result.notes.append(_BACKUP_GONE + backup)
        return None
    fields["backup"] = kept = free_backup_name(state, path) if os.path.lexists(path) else None
    if backup:
        with Unfinished(state.project, temp_of(path)):
            put_back(backup, path, kept, lambda: note(dict(fields)))
        fields["made"] = stamp_of(path)
    else:  # there was no such file before
        make_private_dir(state.project.path(BACKUPS))
        note(fields)
        move_file(path, str(kept))
    result.notes.append("The transcript has changed places with its backup" + (
        f"; what it was until now is in {kept}" if kept else "."))
    return fields


# trash

class NotAFork(RewindError):
    """It does not lie where its agent keeps sessions, so it is left alone: {path}"""

    hint = "Move or delete it yourself."


def _checked(state: State, fork: dict[str, Any]) -> tuple[Profile, str, str]:
    """(profile, path, session) of a fork. Its path comes from a file in the project, and a repository may
    bring such a file along: only what lies where the agent keeps its sessions is ever moved."""
    path, session = fork.get("path"), fork.get("sessionId")
    profile = profile_named(str(fork.get("agent")), state.project.home)
    if (not isinstance(path, str) or not isinstance(session, str) or not is_session_id(session)
            or os.path.basename(path) != session + SUFFIX or not is_under_root(profile, path)):
        raise NotAFork(path=path)
    return profile, path, session


def _fork_to_trash(state: State, fork: dict[str, Any], result: TakenBack, save: Save) -> None:
    try:
        _, path, session = _checked(state, fork)
    except NotAFork as error:
        result.notes.append(f"{error.message} {error.hint}")
        return
    if not os.path.lexists(path):
        if fork.get("trash"):
            result.forward["fork"] = fork  # killed after this was done
        return
    if was_continued(state, fork):
        result.notes.append(f"The fork was continued, so it is kept: {session}")
        return
    move_to_trash(state, fork, save)
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
        return size_of(file) < made_up_to or any(entry and entry.tells for entry in entries)


def move_to_trash(state: State, fork: dict[str, Any], save: Save) -> None:
    """The transcript and what lies beside it, out of the agent's sight. Each deletion has a directory of
    its own, so nothing that is there is ever written over; `fork["trash"]` names it, noted first."""
    profile, path, session = _checked(state, fork)
    fork["trash"] = _free_name(state, session)
    save()
    folder = state.project.path(TRASH, fork["trash"])
    make_private_dir(folder)
    told = {"sessionId": session, "path": path, "agent": profile.name}
    with Unfinished(state.project, draft_of(os.path.join(folder, TOLD))):
        write_atomic(os.path.join(folder, TOLD), quickjson.dump_file(told))
    for one in (path, *sidecar_paths(path, profile)):  # what is left beside it does no harm
        if os.path.lexists(one):
            move_file(one, os.path.join(folder, os.path.basename(one)))
    remove_from_index(os.path.dirname(path), session)


def trashed(state: State) -> list[dict[str, Any]]:
    """The forks in the trash, the latest deletion of each first; `trash` is the directory's name."""
    top = state.project.path(TRASH)
    found = []
    for name in sorted(os.listdir(top), key=_by_age, reverse=True) if os.path.isdir(top) else ():
        told = _told(os.path.join(top, name))
        if told and is_session_id(name) and os.path.lexists(
                os.path.join(top, name, str(told.get("sessionId")) + SUFFIX)):
            found.append({**told, "trash": name})
    return found


def _told(folder: str) -> dict[str, Any] | None:
    try:
        told = quickjson.loads(read_bounded(os.path.join(folder, TOLD), 1 << 20))
    except (OSError, ValueError, RecursionError, RewindError):
        return None
    known = isinstance(told, dict) and is_session_id(str(told.get("sessionId")))
    return told if known else None


def _by_age(name: str) -> tuple[str, int]:
    session, _, number = name.partition(".")
    return session, int(number) if number.isdigit() else 0


def _free_name(state: State, session: str) -> str:
    for number in range(10_000):
        name = f"{session}.{number}" if number else session
        if not os.path.lexists(state.project.path(TRASH, name)):
            return name
    raise RewindError("There is no free name in the trash.", hint="Empty it.")


class PlaceTaken(RewindError):
    """There is a session in its place, so the deleted one stays in the trash: {session}"""

    hint = "Move that session away first: {path}"


def _can_return(state: State, fork: dict[str, Any]) -> bool:
    """Whether it is still there to be brought back, or is back already."""
    _, path, session = _checked(state, fork)
    kept = [one["trash"] for one in trashed(state) if one["sessionId"] == session]
    return fork.get("trash") in kept or os.path.lexists(path)


def bring_from_trash(state: State, fork: dict[str, Any]) -> None:
    profile, path, session = _checked(state, fork)
    if os.path.lexists(path):
        raise PlaceTaken(session=session, path=path)
    if not _can_return(state, fork):
        raise RewindError(f"The trash does not hold it any more: {session}", hint="It cannot be had back.")
    folder = state.project.path(TRASH, str(fork["trash"]))
    make_private_dir(os.path.dirname(path))
    for one in (*sidecar_paths(path, profile), path):
        kept = os.path.join(folder, os.path.basename(one))
        if os.path.lexists(kept) and not os.path.lexists(one):
            move_file(kept, one)
    os.unlink(os.path.join(folder, TOLD))
    if not os.listdir(folder):
        os.rmdir(folder)
    note_in_index(profile, {**(Branches(state).find(session) or {}), "path": path})


def move_file(source: str, target: str) -> None:
    """Rename, or copy and delete where the two lie on different disks."""
    try:
        os.rename(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        copy_whole(source, target)
        os.unlink(source)
