"""What a person does with forks: rename, promote, delete and undelete them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rewind.agents.registry import profile_named
from rewind.checkpoint.conversations.recorded_sessions import recorded_session
from rewind.checkpoint.conversations.rename_fork import title_change, write_title
from rewind.checkpoint.conversations.session_tree import SessionInfo
from rewind.checkpoint.conversations.trash import (
    bring_from_trash,
    check_free,
    file_in_trash,
    free_name,
    move_to_trash,
    trashed,
)
from rewind.checkpoint.operation_log import operations as ops
from rewind.checkpoint.operation_log.lineage import here
from rewind.checkpoint.project.state import State
from rewind.checkpoint.rewind.effects.kind import RENAME, TRASH, UNTRASH
from rewind.errors import NotMadeByRewind, RewindError, SessionInUse, SessionNotFound
from rewind.transcript.find import SessionFile
from rewind.transcript.liveness import is_open
from rewind.transcript.read.lines import open_transcript
from rewind.transcript.read.titles import plain_title, read_title

if TYPE_CHECKING:
    from rewind.checkpoint.operation_log.line import Effect
    from rewind.checkpoint.project.known_forks import KnownFork

    class Deleted(Effect):
        """A deleted fork, with the title that a person knows it by."""

        title: str

_LONGEST_NAME = 200


def checked_name(name: str) -> str:
    name = " ".join(name.split())
    if not name or len(name) > _LONGEST_NAME:
        raise RewindError(f"A name must have 1 to {_LONGEST_NAME} characters.", hint="Choose another one.")
    return name


def rename(state: State, info: SessionInfo, name: str) -> None:
    """Change the name in Rewind's lists and in the agent's own, where it is the title of the transcript."""
    name, before = checked_name(name), (info.known_fork or {}).get("name")
    effect: Effect = {"kind": RENAME, "sessionId": info.session_id, "before": before, "after": name,
                      **title_change(info, name)}
    with logged_operation(state, ops.RENAME, effect):
        state.forks().change(info.session_id, _about(info, {"name": name}))
        note = write_title(state, effect) if "titleAfter" in effect else (  # else it keeps no titles there
            f"The name is Rewind's own: {info.file.profile.title}'s list keeps its title.")
    info.notes += [note] if note else []


@contextmanager
def logged_operation(state: State, command: str, *done: Effect, resumes: str | None = None) -> Iterator[None]:
    """Log an operation on one fork. Deleting several forks is one operation for each. If the process is
    killed, the operation has no end."""
    operations, current, sequence = state.operations(), here(state), state.timeline.last_sequence()
    name = current.name if current else ""
    op = operations.begin(command, before=name, effects=list(done), session=done[0]["sessionId"],
                          sequence=sequence, resumes=resumes)
    try:
        yield
    except Exception:
        operations.end(op, result=ops.PARTIAL, here=name, sequence=sequence, effects=[])
        raise
    operations.end(op, result=ops.DONE, here=name, sequence=sequence, effects=list(done))


def promote(state: State, info: SessionInfo, parent: SessionInfo | None) -> None:
    """Mark a fork as the one to continue and archive its parent. Transcripts are not changed."""
    forks = state.forks()
    forks.change(info.session_id, _about(info, {"promoted": True, "archived": False}))
    if parent:
        forks.change(parent.session_id, _about(parent, {"archived": True, "promoted": False}))


def _about(info: SessionInfo, changes: KnownFork) -> KnownFork:
    if info.known_fork:
        return changes
    return {"parentSessionId": info.native_parent, "agent": info.file.profile.name, "path": info.file.path,
            **changes}


def delete(state: State, info: SessionInfo) -> None:
    """Move a fork to the trash, from where `undelete` brings it back."""
    check_deletable(state, info)
    effect = trash_effect(state, info.file)
    with logged_operation(state, ops.DELETE, effect):
        move_to_trash(state, effect)


def trash_effect(state: State, file: SessionFile) -> Effect:
    return {"kind": TRASH, "sessionId": file.session_id, "agent": file.profile.name,
            "path": file.path, "trash": free_name(state, file.session_id)}


def check_deletable(state: State, info: SessionInfo) -> None:
    if not info.made_by_rewind:
        raise NotMadeByRewind(session=info.session_id)
    if is_open(info.file.profile, info.session_id, recorded_session(state, info.session_id)):
        raise SessionInUse(reason=f"{info.file.profile.title} is running {info.session_id}",
                           hint="Close it first.")


def deleted(state: State) -> list[Deleted]:
    forks = state.forks()
    return [{**one, "title": (forks.find(str(one["sessionId"])) or {}).get("name")
             or plain_title(_title(state, one))}
            for one in trashed(state)]


def _title(state: State, one: Effect) -> str:
    path = file_in_trash(state, str(one["trash"]), one)
    try:
        with open_transcript(path) as file:
            return read_title(file, profile_named(str(one.get("agent")), state.project.home))
    except RewindError:
        return ""


def undelete(state: State, session_id: str) -> str:
    """Bring a deleted fork back to where it was. Returns its id."""
    found = [b for b in trashed(state) if b["sessionId"] == session_id
             or (len(session_id) >= 6 and str(b["sessionId"]).startswith(session_id))]
    if len({b["sessionId"] for b in found}) != 1:
        raise SessionNotFound(name=session_id, hint="`rewind forks list` shows what is in the trash.")
    check_free(state, found[0])
    with logged_operation(state, ops.UNDELETE, {"kind": UNTRASH, **found[0]}):
        bring_from_trash(state, found[0])
    return str(found[0]["sessionId"])
