"""Who works in a project: the lock of a place, and the lock of the store that all places share.

Taking the locks also cleans up and upgrades the state directory. Releasing them notes what was repaired.
"""

from __future__ import annotations

import os
import time

from rewind import jsonfile
from rewind.checkpoint.project.identity import enter_place
from rewind.checkpoint.project.state import FORMAT, LOCK, PLACE_LOCK, read_store_file
from rewind.errors import RewindError, StateUnwritable, StoreMoved
from rewind.files import give_to_owner
from rewind.lock import Lock
from rewind.paths import STORE_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from rewind.checkpoint.project.state import State

_MOMENT = 0.5
_REGAIN = 60.0  # seconds to wait for the store's lock again, with work that only has to be written


def locked(state: State, what: str, wait: float = 10.0, *, all_places: bool = False) -> _Locked:
    """`with locked(state, "save"):` makes this process the only one that works in this place and writes to
    the store. With `all_places`, nobody may work in any place meanwhile."""
    places = sorted(state.places()) if all_places else [state.place]
    return _Locked(state, [Lock(os.path.join(state.dir_of(place), PLACE_LOCK), what, in_line=True)
                           for place in places],
                   Lock(state.project.path(LOCK), what, wait, in_line=True))


def locked_for_upkeep(state: State, what: str, wait: float) -> _Locked:
    """The store's lock only, after all other processes that wait for it."""
    return _Locked(state, [], Lock(state.project.path(LOCK), what, wait, upkeep=True))


def release_store_lock(state: State) -> _StoreLockReleased:
    """`with release_store_lock(state):` around long work on this place only, so that others may write to the
    store meanwhile."""
    return _StoreLockReleased(state, state.held_store_lock if state.can_release_store_lock() else None)


class _Locked:
    """The lock of the place is taken first, then the lock of the store, so that two processes never wait for
    each other. The place's lock is held from beginning to end, the store's while it is written."""

    def __init__(self, state: State, places: list[Lock], store: Lock) -> None:
        self._state = state
        self._places = places
        self._store = store

    def __enter__(self) -> None:
        until = time.monotonic() + self._store.wait
        try:
            for lock in self._places:
                lock.wait = max(0.0, until - time.monotonic())
                _take(self._state, lock)
            # A process that waited for the place may wait a moment more while others write to the store.
            self._store.wait = min(self._store.wait, max(_MOMENT, until - time.monotonic()))
            _take(self._state, self._store)
            self._state.begin_writing(self._store.now_ns(), bool(self._places))
            if self._state.store_info["format"] < FORMAT:
                _upgrade(self._state)
        except BaseException:
            self._close()
            raise
        self._state.held_store_lock = self._store

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._state.held_store_lock = None
        try:
            self._state.end_writing()
            if self._state.take_healed():
                _note_healed(self._state)
        except RewindError:
            self._state.close()
        if not os.geteuid():
            give_to_owner(self._state.project.state)
        self._close()

    def _close(self) -> None:
        for lock in (self._store, *reversed(self._places)):
            lock.close()


class _StoreLockReleased:
    """Others may take the store's lock; the place's lock is still ours."""

    def __init__(self, state: State, held: Lock | None) -> None:
        self._state = state
        self._held = held  # None: the lock is kept

    def __enter__(self) -> None:
        held = self._held
        if held:
            self._state.objects.begin_unlocked(lambda: _StoreLockForMoment(self._state, held))
            self._state.held_store_lock = None  # so that it is not released twice
            held.close()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self._held:
            try:
                _regain(self._state, self._held)
            finally:
                self._state.objects.end_unlocked()
                self._state.forget_timeline()
            self._state.held_store_lock = self._held


class _StoreLockForMoment:
    """Takes the released store lock again for a moment."""

    def __init__(self, state: State, held: Lock) -> None:
        self._state = state
        self._held = held

    def __enter__(self) -> None:
        _regain(self._state, self._held)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._held.close()


def _regain(state: State, lock: Lock) -> None:
    lock.wait = _REGAIN
    _take(state, lock)


def _take(state: State, lock: Lock) -> None:
    try:
        _refuse_moved(state)
        enter_place(state.project)
        lock.__enter__()
    except PermissionError as error:
        raise StateUnwritable(reason=error.strerror, path=state.project.state)
    except FileNotFoundError:
        raise StoreMoved(path=state.project.state)
    _refuse_moved(state)  # it may have been moved while we waited


def _refuse_moved(state: State) -> None:
    if not os.path.lexists(state.project.path(STORE_FILE)):
        raise StoreMoved(path=state.project.state)


def _upgrade(state: State) -> None:
    """The first writer of this version makes the old history the beginning of the log. Records stay as they
    are. An earlier version that is still running refuses the store from now on."""
    from rewind.checkpoint.records.seal import sealed

    info = read_store_file(state.project)  # another process may have done it meanwhile
    if info["format"] < FORMAT:
        from rewind.checkpoint.operation_log.lineage import here

        operations, current, newest = state.operations(), here(state), state.timeline.newest()
        operations.import_old_history(current.name if current else "", newest.sequence if newest else 0)
        info = sealed({**info, "format": FORMAT})
        jsonfile.write(state.project.path(STORE_FILE), info)
        operations.delete_old_history()
    state.store_info = info


def _note_healed(state: State) -> None:
    """Damaged objects were stored again, so the checkpoints that lacked them are complete."""
    from rewind.checkpoint.repair.check_records import missing_in

    damage = state.damage()
    damage.objects &= state.objects.lost
    names = list(damage.checkpoints)
    damage.checkpoints = {name: missing for name in names if (missing := missing_in(state, name))}
    try:
        damage.save()
    except OSError:
        pass  # a full disk: too many marks stay, until the next repair or `validate` removes them
