"""Who works in a project: the lock of a place, and that of the store that all places share.

Who takes the lock first brings the state directory up to date, and notes at the end what has been mended.
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
_REGAIN = 60.0  # seconds for the lock of the store, once the work that it is for is done


def locked(state: State, what: str, wait: float = 10.0, *, all_places: bool = False) -> _Locked:
    """`with locked(state, "save"):` makes this process the one that works in this place, and the one that
    writes to the store. `all_places`: what nobody may be at work beside, wherever that is."""
    places = sorted(state.places()) if all_places else [state.place]
    return _Locked(state, [Lock(os.path.join(state.dir_of(place), PLACE_LOCK), what, in_line=True)
                           for place in places],
                   Lock(state.project.path(LOCK), what, wait, in_line=True))


def locked_for_upkeep(state: State, what: str, wait: float) -> _Locked:
    """The store alone, and after all who wait for it."""
    return _Locked(state, [], Lock(state.project.path(LOCK), what, wait, upkeep=True))


def release_store_lock(state: State) -> _StoreLockReleased:
    """`with release_store_lock(state):` around what takes long and is about this place alone: others may
    write to the store meanwhile."""
    return _StoreLockReleased(state, state.held_store_lock if state.can_release_store_lock() else None)


class _Locked:
    """The lock of a place first, then that of the store: so two can never wait for each other. Who works in a
    place has its lock from beginning to end, and the store's while it writes."""

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
            # Who had to wait for the place is not sent away for the moment in which others write.
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
    """The store is for others, the place still ours."""

    def __init__(self, state: State, held: Lock | None) -> None:
        self._state = state
        self._held = held  # None: the lock is kept

    def __enter__(self) -> None:
        held = self._held
        if held:
            self._state.objects.begin_unlocked(lambda: _StoreLockForMoment(self._state, held))
            self._state.held_store_lock = None  # there is no other within this one
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
    """The lock of the store for a moment, for who has released it."""

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
    _refuse_moved(state)  # while we waited


def _refuse_moved(state: State) -> None:
    if not os.path.lexists(state.project.path(STORE_FILE)):
        raise StoreMoved(path=state.project.state)


def _upgrade(state: State) -> None:
    """The first writer of this version: the old history becomes the beginning of the log. Records stay as
    they are; an earlier version that is still running refuses the store from now on."""
    from rewind.checkpoint.records.seal import sealed

    info = read_store_file(state.project)  # another process may have done it meanwhile
    if info["format"] < FORMAT:
        from rewind.checkpoint.log.lineage import here

        operations, current, newest = state.operations(), here(state), state.timeline.newest()
        operations.import_old_history(current.name if current else "", newest.sequence if newest else 0)
        info = sealed({**info, "format": FORMAT})
        jsonfile.write(state.project.path(STORE_FILE), info)
        operations.delete_old_history()
    state.store_info = info


def _note_healed(state: State) -> None:
    """What was damaged has been stored anew: checkpoints that lacked it are whole again."""
    from rewind.checkpoint.repair.check_records import missing_in

    damage = state.damage()
    damage.objects &= state.objects.lost
    names = list(damage.checkpoints)
    damage.checkpoints = {name: missing for name in names if (missing := missing_in(state, name))}
    try:
        damage.save()
    except OSError:
        pass  # a full disk: the marks say too much, and the next healing or `validate` corrects them
