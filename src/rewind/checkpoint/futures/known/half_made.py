"""Futures that are being made. A note is written before the first directory is made, and deleted when all is
done. From a note that a killed process left, `rewind forks` knows what can be removed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypedDict

from rewind import jsonfile
from rewind.checkpoint.futures.known.directory import (
    delete_directory,
    foreign_file,
    forget_broken,
    forget_place,
    work_trees,
)
from rewind.checkpoint.project.identity import sweep_place
from rewind.checkpoint.project.state import State
from rewind.errors import WorkNotSaved
from rewind.files import make_private_dir
from rewind.transcript.write.content import new_session_id

if TYPE_CHECKING:
    from rewind.checkpoint.project.known_forks import KnownFork

NOTES = "making"
_MAX_BYTES = 1 << 16


class HalfMade(TypedDict, total=False):
    """A note. In one that was read, the first four are texts."""

    sessionId: str  # the id of the note
    name: str
    dir: str
    point: str
    again: str
    existed: bool  # whether the directory existed before
    workTrees: list[str]  # git's linked work trees from before


class Making:
    """`with Making(state, name, folder, checkpoint):` around the work. If it fails, everything is cleared
    away. `again` is the session of a removed future that is being brought back."""

    def __init__(self, state: State, name: str, folder: str, checkpoint: str, again: str = "") -> None:
        self.state = state
        self.note: HalfMade = {
            "sessionId": new_session_id(), "name": name, "dir": folder, "point": checkpoint,
            "again": again, "existed": os.path.isdir(folder), "workTrees": sorted(work_trees(state))}
        self.path = _path_of(state, self.note["sessionId"])

    def __enter__(self) -> None:
        make_private_dir(os.path.dirname(self.path))
        _sweep_drafts(os.path.dirname(self.path))
        jsonfile.write(self.path, self.note)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is not None:
            _clear_away(self.state, self.note)
        os.unlink(self.path)


def _sweep_drafts(folder: str) -> None:
    """Delete drafts of notes that killed processes left. The caller holds the lock."""
    for name in os.listdir(folder):
        if name.endswith(".tmp"):
            os.unlink(os.path.join(folder, name))


def half_made(state: State) -> list[HalfMade]:
    """The notes of killed processes. Empty while a process is at work, because the note may be its own."""
    found = [note for note in _notes(state) if not _is_whole(state, note)]
    working = bool(found) and state.lock_now_ns is None and state.is_busy()
    return [] if working else found


def _notes(state: State) -> list[HalfMade]:
    folder = state.project.path(NOTES)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    found = [_read(os.path.join(folder, name)) for name in names if name.endswith(".json")]
    return [note for note in found if note]


def _read(path: str) -> HalfMade | None:
    found: Any = jsonfile.read_or_empty(path, _MAX_BYTES)
    note: HalfMade = found
    texts = all(isinstance(note.get(key), str) for key in ("sessionId", "name", "dir", "point"))
    return note if texts and os.path.basename(path) == note["sessionId"] + ".json" else None


def _path_of(state: State, session: str) -> str:
    return state.project.path(NOTES, f"{session}.json")


def _is_whole(state: State, note: HalfMade) -> bool:
    """Whether the process was killed after the last step: everything that the note describes exists."""
    known = _known_fork_at(state, note["dir"])
    path = str((known or {}).get("path") or "")
    return bool(known) and os.path.isdir(note["dir"]) and (not path or os.path.lexists(path))


def _known_fork_at(state: State, folder: str) -> KnownFork | None:
    return next((one for one in state.forks().all
                 if one.get("dir") == folder and one.get("point") and not one.get("removed")), None)


def remove_half_made(state: State, note: HalfMade, *, force: bool = False) -> None:
    """The caller holds the lock. If somebody put another file there, nothing is deleted."""
    found = "" if force or not os.path.isdir(note["dir"]) else foreign_file(
        state, state.files.read(note["point"]), note["dir"], note["sessionId"])
    if found:
        raise WorkNotSaved(name=note["name"], what=f"{found} is in no checkpoint")
    _clear_away(state, note)
    os.unlink(_path_of(state, note["sessionId"]))


def _clear_away(state: State, note: HalfMade) -> None:
    """Delete the half-made directory; an empty directory that existed before stays."""
    forget_place(state, note["dir"])
    _mend_git(state, note)
    for place in state.places():
        sweep_place(state.dir_of(place))
    delete_directory(note["dir"], keep_empty=bool(note.get("existed")))
    known = _known_fork_at(state, note["dir"])
    if known and note.get("again"):
        state.forks().change(known["sessionId"], {"removed": note["point"]})
    elif known:
        state.forks().remove(known["sessionId"])


def _mend_git(state: State, note: HalfMade) -> None:
    known = note.get("workTrees")
    if isinstance(known, list):
        forget_broken(state, note["dir"], known)


def sweep(state: State) -> None:
    """Delete the notes of futures that are complete, and incomplete data of git that would keep it from
    making another work tree. The caller holds the lock."""
    for note in _notes(state):
        if _is_whole(state, note):
            os.unlink(_path_of(state, note["sessionId"]))
        elif not os.path.lexists(os.path.join(note["dir"], ".git")):
            _mend_git(state, note)
