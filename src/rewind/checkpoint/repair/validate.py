"""`rewind validate`: what is wrong with a project's state, and which checkpoints are affected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.agents.registry import profiles
from rewind.checkpoint.records.seal import is_broken
from rewind.checkpoint.repair.check_records import (
    CHECKPOINT,
    CONFIGURATION,
    INTERRUPTED,
    MONITOR,
    STORE,
    Examined,
    Problem,
    examine_records,
)
from rewind.checkpoint.repair.own_files import check_own_files
from rewind.checkpoint.rewind.operation_words import interrupted_text
from rewind.checkpoint.save.watching import check_now, missed_text
from rewind.config.load import load_usable
from rewind.errors import CheckpointNotFound, RewindError, StoreUnavailable
from rewind.fast import quickjson

if TYPE_CHECKING:
    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Record
    from rewind.snapshot.scan.build import Progress


def validate(state: State, *, deep: bool, progress: Progress | None = None) -> list[str]:
    """The problems, each as a sentence; empty if there are none."""
    return [problem.text for problem in examine(state, deep=deep, progress=progress).problems]


def examine(state: State, *, deep: bool, progress: Progress | None = None) -> Examined:
    found = Examined()
    found.problems += [Problem(CONFIGURATION, text)
                       for text in load_usable(state.project.home, state.project.state)[1]]
    found.problems += _check_profiles(state) + _check_operations(state) + _check_monitor(state)
    found.problems += check_own_files(state, deep=deep)
    if deep:
        renew_index(state)
        records, damaged = read_records(state)
    else:
        records, damaged = state.timeline.all(), state.timeline.damaged
    found.problems += [Problem(CHECKPOINT, f"{error.message}. It cannot be restored. The other checkpoints"
                                           " are fine.", name) for name, error in damaged.items()]
    try:
        store = state.objects
        if deep:
            found.problems += [Problem(STORE, text) for text in store.check()]
        examine_records(state, records, found, store, deep=deep, progress=progress)
    except StoreUnavailable:
        raise  # a full disk is not damage
    except RewindError as error:
        found.unusable = error.message
        found.problems.append(Problem(STORE, error.message))
    return found


def renew_index(state: State) -> None:
    """Delete the derived database if it differs from the records or is damaged; it is then made anew."""
    indexed = dict(state.derived.query("SELECT name, summary FROM records"))
    names = [name for name in state.files.stamps() if name in indexed]
    are_right = all(_is_indexed_right(state, name, indexed[name]) for name in names)
    if not are_right or not state.derived.is_sound():
        state.forget_derived()
    state.close()


def _is_indexed_right(state: State, name: str, text: object) -> bool:
    try:
        record = state.files.read(name)
    except RewindError:
        return True  # the index has the only other copy of this record
    try:
        return is_broken(record.data) or bool(quickjson.loads(str(text)) == record.data)
    except (ValueError, RecursionError):
        return False


def read_records(state: State) -> tuple[list[Record], dict[str, RewindError]]:
    """The records as their files have them, not as the index does, oldest first; and the unreadable ones."""
    records, damaged = [], {}
    for name in state.files.stamps():
        try:
            records.append(state.files.read(name))
        except CheckpointNotFound:
            continue
        except RewindError as error:
            damaged[name] = error
    return sorted(records, key=lambda record: record.sequence), damaged


def _check_profiles(state: State) -> list[Problem]:
    try:
        profiles(state.project.home)
    except RewindError as error:
        return [Problem(STORE, f"{error.message}. Until it is corrected, checkpoints hold no conversation.")]
    return []


def _check_operations(state: State) -> list[Problem]:
    try:
        op = state.interrupted()
    except RewindError as error:
        return [Problem(STORE, f"{error.message}. {error.hint}")]
    return [Problem(INTERRUPTED, interrupted_text(op))] if op else []


def _check_monitor(state: State) -> list[Problem]:
    if state.settings.get("scan.monitor") == "off" or not state.cache.monitored():
        return []
    try:
        missed = check_now(state)
    except (RewindError, OSError):
        return []  # problems of the store are found later
    return [Problem(MONITOR, missed_text(missed))] if missed else []
