"""Restoring files outside the project: how they were at a checkpoint, and writing them.

A checkpoint keeps such a file only if an agent is about to edit it. So the content at a checkpoint is the one
that the first checkpoint from there on has kept. A file that none of them has kept was not edited since.
"""

from __future__ import annotations

import os

from rewind.checkpoint.records.outside import (
    FIELD,
    MADE_BY,
    KeptFile,
    fields,
    from_json,
    has_kept,
    kept_outside,
    may_be_kept,
    read_outside_file,
    user_and_machine,
)
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.rewind.effects.kind import OUTSIDE, EffectKind, EffectsResult
from rewind.errors import ChangedSincePlan, RewindError
from rewind.snapshot.apply.applier import Applier
from rewind.snapshot.trees.change import Change
from rewind.words import explain, plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from rewind.checkpoint.operation_log.line import ChangedOutside, Effect
    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Outside
    from rewind.checkpoint.rewind.destination import Destination

_STRANGERS = ("Files outside the project that were kept by another user or on another machine stay as they"
              " are.")
_MOVED = "a directory on the way is a symbolic link now"


# what to restore

def add(state: State, found: Destination) -> None:
    """Add the files to a destination with code if they are wanted, else a note that they stay as they are."""
    if found.record is None or (found.code and found.code.paths) or found.resumes:
        return
    if not (found.request.outside or has_kept(state.project.home)):
        return
    wanted, strangers = _files_at(state, found.record)
    effect: Effect = {"kind": OUTSIDE, "by": user_and_machine(state.project.home) if wanted else "",
                      "files": [{"path": os.fsdecode(one.path), "after": one.to_json()} for one in wanted]}
    compare_with_disk(effect)
    if found.request.outside:
        found.effects += [effect] if effect["files"] else []
        found.notes += [_STRANGERS] if strangers else []
    elif len(effect["files"]) == 1:
        found.notes.append("1 file outside the project stays as it is: --outside brings it back")
    elif effect["files"]:
        found.notes.append(f"{plural(len(effect['files']), 'file')} outside the project stay as they are:"
                           " --outside brings them back")


def _files_at(state: State, record: Record) -> tuple[list[KeptFile], int]:
    """The files as they were at a checkpoint, and how many were kept by somebody else."""
    wanted: dict[bytes, KeptFile] = {}
    strangers: set[bytes] = set()
    later = [r for r in state.timeline.all()
             if r.sequence >= record.sequence and r.place == state.place and r.data.get(FIELD)]
    mine = user_and_machine(state.project.home) if later else ""
    for one in later:
        for kept in kept_outside(one):
            if one.data.get(MADE_BY) == mine:
                wanted.setdefault(kept.path, kept)
            else:
                strangers.add(kept.path)
    return [kept for kept in wanted.values() if not kept.skipped], len(strangers - wanted.keys())


def compare_with_disk(effect: Effect) -> None:
    """Keep only the files that differ from what is wanted, with their current content as `before`."""
    files: list[ChangedOutside] = []
    for one in _files(effect):
        now = read_outside_file(os.fsencode(one["path"]))
        if now.skipped or not _is_as(now, one["after"]):
            files.append({**one, "before": now.to_json()})
    effect["files"] = files


def _files(effect: Effect) -> list[ChangedOutside]:
    found = effect.get("files")
    return [one for one in found if isinstance(one, dict) and from_json(one.get("after"))
            ] if isinstance(found, list) else []


def _is_as(now: KeptFile, wanted: object) -> bool:
    other = from_json(wanted)
    return other is not None and not now.skipped and now.entry == other.entry


def changes(effects: Iterable[Effect]) -> list[tuple[str, bytes]]:
    """(sign, path) of every file that these effects create, change or delete."""
    found = []
    for effect in effects:
        for one in _files(effect) if effect.get("kind") == OUTSIDE else ():
            after, before = from_json(one["after"]), from_json(one.get("before"))
            if after:
                sign = "-" if after.entry is None else "~" if before and before.entry else "+"
                found.append((sign, after.path))
    return found


def key(effects: Iterable[Effect]) -> list[Any]:
    """For the digest of a plan: equal if the same would be done to the same files."""
    return [effect["files"] for effect in effects if effect.get("kind") == OUTSIDE]


def _in_words(effect: Effect) -> list[str]:
    files = changes([effect])
    deleted = sum(sign == "-" for sign, _ in files)
    parts = [f"{plural(len(files) - deleted, 'file')} written"] if len(files) > deleted else []
    parts += [f"{plural(deleted, 'file')} deleted"] if deleted else []
    return [f"Outside the project: {', '.join(parts)}."] if parts else []


# before and while it is done

def store_current_content(state: State, effects: list[Effect], resumed: bool) -> Outside:
    """Store the current content of the files. Returns fields for the backup, which is made before anything is
    written. If an interrupted operation is finished (`resumed`), `before` stays as the log has it. The caller
    holds the lock."""
    kept: dict[bytes, KeptFile] = {}
    for effect in effects:
        for one in _files(effect) if effect.get("kind") == OUTSIDE else ():
            now = read_outside_file(os.fsencode(one["path"]), state.objects)
            if not now.skipped:
                kept[now.path] = now
            if not resumed or "before" not in one:
                one["before"] = now.to_json()
    return fields(state.project.home, list(kept.values()))


def _restore_file(state: State, one: ChangedOutside) -> list[str]:
    wanted = from_json(one["after"])
    if wanted is None:
        return []
    path = os.fsdecode(wanted.path)
    now = read_outside_file(wanted.path)
    if not may_be_kept(state.project, path):
        reason = _MOVED
    elif now.skipped:
        reason = explain(now.skipped)
    elif _is_as(now, one["after"]):
        return []
    else:
        reason = _write(state, wanted, now)
    return [f"not restored: {path} ({reason})"] if reason else []


def _write(state: State, wanted: KeptFile, now: KeptFile) -> str:
    """Returns why it could not be done, or nothing."""
    folder, name = os.path.split(wanted.path)
    same = wanted.entry and now.entry and wanted.entry.same_content(now.entry)
    action = "delete" if wanted.entry is None else "chmod" if same else "write"
    change = Change(action, name, wanted.entry, now.entry)
    if not os.path.isdir(folder):
        return "its directory is gone"
    applier = Applier(folder, state.objects, state.staging, state.lock_now_ns or 0)
    try:
        applier.prepare([change])
        failed = applier.run([change]).failed
    except ChangedSincePlan:
        return "it changed while the restore was running"
    except (RewindError, OSError) as error:
        return getattr(error, "message", None) or str(error)
    return failed[0][1] if failed else ""


class OutsideFiles(EffectKind):
    def inverse(self, state: State, effect: Effect, chosen: list[Effect]) -> Effect | None:
        turned: list[ChangedOutside] = [
            {"path": one["path"], "before": one["after"], "after": one["before"]}
            for one in _files(effect) if from_json(one.get("before"))]
        return {**effect, "files": [one for one in turned if not one["after"].get("skipped")]}

    def preview_notes(self, state: State, effect: Effect) -> list[str]:
        return _in_words(effect)

    def do(self, state: State, effect: Effect, done: EffectsResult) -> Effect | None:
        if effect.get("by") != user_and_machine(state.project.home):
            done.lacking = True
            done.notes.append(_STRANGERS)
            return None
        failed = [text for one in _files(effect) for text in _restore_file(state, one)]
        done.lacking |= bool(failed)
        done.notes += _in_words(effect) + failed
        return effect
