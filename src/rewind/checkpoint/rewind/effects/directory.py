"""Removing the directory of a fork, and bringing it back.

The directory is renamed first and deleted after the operation has ended in the log, so a killed process
leaves either the whole directory or a checkpoint of it. In `branches.json`, `aside` is its new path, and
`clearing` is the same path while it is being deleted.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rewind.checkpoint.futures.known.directory import (
    commit_for,
    delete_directory,
    foreign_file,
    forget_place,
    is_as,
    make_place,
)
from rewind.checkpoint.futures.known.half_made import Making, half_made, remove_half_made
from rewind.checkpoint.rewind.effects.kind import MKDIR, RMDIR, EffectKind, EffectsResult
from rewind.checkpoint.rewind.files.elsewhere import write_elsewhere
from rewind.errors import RewindError

if TYPE_CHECKING:
    from rewind.checkpoint.futures.known.lane import Lane
    from rewind.checkpoint.operation_log.line import Effect
    from rewind.checkpoint.project.known_forks import KnownFork
    from rewind.checkpoint.project.state import State

_NOTHING: KnownFork = {"removed": None, "aside": None, "clearing": None}


def removal_effect(lane: Lane, checkpoint: str) -> Effect:
    return {"kind": RMDIR, "sessionId": lane.session_id, "name": lane.name, "dir": lane.dir,
            "place": lane.place, "checkpoint": checkpoint, "aside": _free_name(lane.dir)}


def _free_name(folder: str) -> str:
    above, name = os.path.split(folder)
    number = 0
    while True:
        found = os.path.join(above, f".{name}.rewind-removed" + (f"-{number}" if number else ""))
        if not os.path.lexists(found):
            return found
        number += 1


def inverse_effect(effect: Effect) -> Effect | None:
    """None if no checkpoint has its content, or the log entry is invalid."""
    texts = [effect.get(key) for key in ("sessionId", "name", "dir", "place", "checkpoint")]
    if not all(isinstance(text, str) and text for text in texts) or not os.path.isabs(str(effect["dir"])):
        return None
    kind = MKDIR if effect["kind"] == RMDIR else RMDIR
    return {**effect, "kind": kind, "aside": _free_name(str(effect["dir"]))}


# removing

def move_away(state: State, effect: Effect) -> None:
    session, aside = str(effect["sessionId"]), str(effect["aside"])
    state.forks().change(session, {"removed": effect["checkpoint"] or True, "aside": aside})
    if not os.path.isdir(str(effect["dir"])):
        return
    try:
        os.rename(str(effect["dir"]), aside)
    except OSError as error:
        raise RewindError(f"{effect['dir']} could not be removed: {error.strerror}.") from error


def finish(state: State, session: str) -> None:
    """Delete the renamed directory. From here on only the checkpoint can bring it back."""
    known = state.forks().find(session) or {}
    aside = str(known.get("aside") or known.get("clearing") or "")
    if not known.get("removed") or not aside:
        return
    state.forks().change(session, {"aside": None, "clearing": aside})
    forget_place(state, str(known["dir"]))
    delete_directory(aside)
    state.forks().change(session, {"clearing": None})


def _was_changed(state: State, effect: Effect) -> bool:
    folder = str(effect["dir"])
    return os.path.isdir(folder) and bool(foreign_file(
        state, state.files.read(str(effect["checkpoint"])), folder, str(effect["place"])))


# bringing back

def _is_back(state: State, effect: Effect) -> bool:
    """Whether a process that was killed afterwards has brought it back already."""
    folder = str(effect["dir"])
    return os.path.isdir(folder) and not _is_half_made(state, folder) and is_as(
        state, state.files.read(str(effect["checkpoint"])), folder, str(effect["place"]))


def _move_back(state: State, session: str, folder: str) -> bool:
    """If a removal was killed before it deleted anything, rename the directory back. Returns whether that was
    so."""
    aside = str((state.forks().find(session) or {}).get("aside") or "")
    if not aside or not (os.path.isdir(aside) or os.path.isdir(folder)):
        return False
    if os.path.isdir(aside) and not os.path.lexists(folder):
        os.rename(aside, folder)
    return True


def _clear_half_made(state: State, folder: str) -> None:
    for note in half_made(state):
        if note["dir"] == folder:
            remove_half_made(state, note)


def _is_half_made(state: State, folder: str) -> bool:
    return any(note["dir"] == folder for note in half_made(state))


def write_directory(state: State, effect: Effect) -> None:
    """Write the directory of the checkpoint where it was. What a killed process left there is replaced."""
    folder = str(effect["dir"])
    _clear_half_made(state, folder)
    record = state.files.read(str(effect["checkpoint"]))
    session = str(effect["sessionId"])
    with Making(state, str(effect["name"]), folder, record.name, session):
        make_place(state, commit_for(state, record), folder, str(effect["place"]))
        write_elsewhere(state, record, folder, None, beside=(".git",))
        state.forks().change(session, _NOTHING)


class _Directory(EffectKind):
    def inverse(self, state: State, effect: Effect, chosen: list[Effect]) -> Effect | None:
        return inverse_effect(effect)


class Rmdir(_Directory):
    def preview_notes(self, state: State, effect: Effect) -> list[str]:
        folder = effect["dir"]
        return [f"Would remove the fork's directory: {folder}"] if os.path.isdir(str(folder)) else []

    def do(self, state: State, effect: Effect, done: EffectsResult) -> Effect | None:
        """Done to undo that the directory was brought back, and only if that loses nothing."""
        folder = str(effect["dir"])
        _clear_half_made(state, folder)
        if _was_changed(state, effect):
            done.notes.append(f"Kept the fork's directory, because it was changed: {folder}")
            return None
        move_away(state, effect)
        finish(state, str(effect["sessionId"]))
        done.notes.append(f"Removed the fork's directory: {folder}")
        return effect


class Mkdir(_Directory):
    def preview_notes(self, state: State, effect: Effect) -> list[str]:
        return [f"Would bring the fork's directory back: {effect['dir']}"]

    def do(self, state: State, effect: Effect, done: EffectsResult) -> Effect | None:
        folder, session = str(effect["dir"]), str(effect["sessionId"])
        if not _move_back(state, session, folder) and not _is_back(state, effect):
            if os.path.isdir(folder) and os.listdir(folder) and not _is_half_made(state, folder):
                done.lacking = True
                done.notes.append(
                    f"The fork's directory did not come back, because it is not empty: {folder}")
                return None
            finish(state, session)
            write_directory(state, effect)
        state.forks().change(session, _NOTHING)
        done.notes.append(f"The fork's directory is back: {folder}")
        return effect
