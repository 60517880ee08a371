"""Moving a store between global storage and the project. If the process is killed at any moment, there is one
complete store, and the same command finishes the move.

On one file system the move is a rename. Otherwise the new directory is filled first; it becomes a store when
its `store.json` is written, and the old one stops being a store when its `store.json` is deleted. While both
exist, the one in global storage counts (`paths.state_of`), so in either direction a single step decides.
"""

from __future__ import annotations

import filecmp
import os
import shutil
import stat
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from rewind import jsonfile
from rewind.checkpoint.project import identity, known_stores
from rewind.checkpoint.project.init import PROJECT_FILE
from rewind.checkpoint.project.locked import locked
from rewind.errors import InTheWay, RewindError
from rewind.fast import sqlite
from rewind.files import fsync_dir, give_to_owner, make_durable_dir, read_bounded, write_atomic
from rewind.paths import STORE_FILE, Project, global_state, project_state
from rewind.project_marker import marker_path, read_marker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rewind.checkpoint.project.state import State
    from rewind.snapshot.scan.build import Progress

_MOVING = "moving.json"  # names the store in a directory that is being filled
_LEFT_BEHIND = (STORE_FILE, _MOVING, "lock", "lock.waiting", "staging")
_LOCKS = ("hooks.lock", "place.lock", "place.lock.waiting")  # of each place
_DERIVED = "scan-cache.db"  # made again, because it belongs to one particular database file
_PIECE = 1 << 20


def move_store(state: State, mode: str, progress: Progress | None = None) -> Project:
    """The project with its state in the other directory. The caller closes `state`."""
    old, store_id = state.project, state.store_info["id"]
    new = Project(old.root, _target(old, store_id, mode), old.home, old.place, old.main)
    if new.state == old.state:
        _remove_leftover(old, store_id)
        return old
    _check(new, store_id)
    with locked(state, "config", all_places=True):
        state.close()
        jsonfile.write(old.path(PROJECT_FILE), {"root": old.main})
        make_durable_dir(os.path.dirname(new.state))
        if not _rename(old.state, new.state, store_id):
            _copy(old.state, new.state, store_id, progress)
            _drop(old.state, store_id)
    give_to_owner(new.state)
    _note(new, store_id)
    return new


def _target(project: Project, store_id: str, mode: str) -> str:
    if mode == project.mode:
        return project.state
    return project_state(project.main) if mode == "project" else global_state(store_id, project.home)


def _check(new: Project, store_id: str) -> None:
    if new.mode == "project" and not os.path.isdir(new.main):
        raise RewindError(f"There is no directory {new.main}", hint="Bring the project back first.")
    if os.path.islink(new.state) or os.path.islink(os.path.dirname(new.state)):
        raise InTheWay(path=new.state)
    if os.path.lexists(new.state) and not _is_ours(new.state, store_id) and any(
            not name.startswith(f".{_MOVING}") for name in os.listdir(new.state)):
        raise InTheWay(path=new.state)


def _is_ours(folder: str, store_id: str) -> bool:
    """Whether the directory is this store, or was left by an earlier attempt to move it."""
    return known_stores.store_id_in(folder) == store_id or _moving(folder) == store_id


def _moving(folder: str) -> str:
    return str(jsonfile.read_or_empty(os.path.join(folder, _MOVING), 1 << 16).get("id", ""))


def _rename(old: str, new: str, store_id: str) -> bool:
    """Move the whole directory at once; False if they are on different file systems."""
    if os.stat(old).st_dev != os.stat(os.path.dirname(new)).st_dev:
        return False
    if os.path.lexists(new):
        _drop(new, store_id)
    try:
        os.rename(old, new)
    except OSError:
        return False  # for example, it is a mount point
    for folder in (os.path.dirname(old), os.path.dirname(new)):
        fsync_dir(folder)
    return True


# from one file system to another

def _copy(old: str, new: str, store_id: str, progress: Progress | None) -> None:
    make_durable_dir(new)
    os.chmod(new, 0o700)
    jsonfile.write(os.path.join(new, _MOVING), {"id": store_id, "from": old})
    _unlink(os.path.join(new, STORE_FILE))
    with _quiet(os.path.join(old, "objects.db")):
        files = dict(_files(old))
        done, total = 0, sum(info.st_size for info in files.values())
        _remove_others(new, files)
        for path, info in files.items():
            _copy_one(os.path.join(old, path), os.path.join(new, path), info)
            done += info.st_size
            if progress:
                progress("Moving", done, total)
    for folder, _, _ in os.walk(new):
        fsync_dir(folder)
    write_atomic(os.path.join(new, STORE_FILE), read_bounded(os.path.join(old, STORE_FILE), 1 << 20))
    _unlink(os.path.join(new, _MOVING))


@contextmanager
def _quiet(path: str) -> Iterator[None]:
    """Hold a read transaction, so that no other process moves the log into the database when it closes it."""
    if not os.path.exists(path):
        yield
        return
    with closing(sqlite.connect(path, timeout=10, isolation_level=None)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM sqlite_master").fetchall()
        yield


def _files(top: str) -> Iterator[tuple[str, os.stat_result]]:
    """Every file that is to be moved, by its path in the directory."""
    for at, folders, names in os.walk(top):
        below = os.path.relpath(at, top)
        folders[:] = [name for name in folders if below != "." or name not in _LEFT_BEHIND]
        for name in names:
            path = os.path.normpath(os.path.join(below, name))
            info = os.lstat(os.path.join(top, path))
            if not _is_left(path) and stat.S_ISREG(info.st_mode):
                yield path, info


def _is_left(path: str) -> bool:
    name = os.path.basename(path)
    return (path in _LEFT_BEHIND or name in _LOCKS or name.startswith((_DERIVED, "temporary-"))
            or name.endswith((".tmp", "-shm")))


def _remove_others(new: str, files: dict[str, os.stat_result]) -> None:
    """Remove files that an earlier attempt copied and that are no longer in the store."""
    for path, _ in list(_files(new)):
        if path not in files:
            os.unlink(os.path.join(new, path))


def _copy_one(old: str, new: str, info: os.stat_result) -> None:
    """A file that an earlier attempt copied is compared, and so is the one that was just written."""
    if os.path.lexists(new) and _is_same(old, new):
        return
    os.makedirs(os.path.dirname(new), mode=0o700, exist_ok=True)
    with open(old, "rb") as source, open(new, "wb") as target:
        os.fchmod(target.fileno(), stat.S_IMODE(info.st_mode))
        shutil.copyfileobj(source, target, _PIECE)
        target.flush()
        os.fsync(target.fileno())
    os.utime(new, ns=(info.st_atime_ns, info.st_mtime_ns))
    if not _is_same(old, new):
        raise RewindError(f"The copy of {old} differs from the original.",
                          hint="Check the disk, then try again. The store was not moved.")


def _is_same(old: str, new: str) -> bool:
    filecmp.clear_cache()  # its cache compares times, which were copied
    return filecmp.cmp(old, new, shallow=False)


# afterwards

def _drop(folder: str, store_id: str) -> None:
    """Delete a store directory. `moving.json` is deleted last, so that the next attempt recognises what a
    killed one left."""
    jsonfile.write(os.path.join(folder, _MOVING), {"id": store_id})
    _unlink(os.path.join(folder, STORE_FILE))  # from here on this is not a store
    fsync_dir(folder)
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        elif name != _MOVING:
            _unlink(path)
    shutil.rmtree(folder, ignore_errors=True)


def _note(new: Project, store_id: str) -> None:
    if new.mode == "global":
        _remove_empty(os.path.join(new.main, ".agent"))
        known_stores.change(new.home, store_id, lambda entry: entry.pop("dir", None))
        identity.mark(new, store_id)
    elif read_marker(new.main) == store_id:
        _unlink(marker_path(new.main))


def _remove_leftover(project: Project, store_id: str) -> None:
    """Delete the other directory if a move to this one was killed before it had deleted it."""
    other = (project_state(project.main) if project.mode == "global"
             else global_state(store_id, project.home))
    if os.path.isdir(other) and not os.path.islink(other) and _is_ours(other, store_id):
        _drop(other, store_id)
    if project.mode == "global":
        _remove_empty(os.path.join(project.main, ".agent"))


def _remove_empty(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:
        pass  # something else is in it


def _unlink(path: str) -> None:
    if os.path.lexists(path):
        os.unlink(path)
