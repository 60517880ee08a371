"""`rewind export` and `rewind import`: one whole checkpoint as one file, for the person's own use. What is
written for other people leaves out secrets: see `giving`."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import KINDS, Record, is_name, is_timestamp
from rewind.checkpoint.records.source import Source
from rewind.checkpoint.save.create import new_record
from rewind.errors import RewindError
from rewind.files import PRIVATE_FILE, fsync_dir, sweep_drafts
from rewind.snapshot.archive.portable import Imported, links_out, read_snapshot, write_snapshot
from rewind.snapshot.trees.listing import uncovered
from rewind.snapshot.trees.tree import Tree

if TYPE_CHECKING:
    from rewind.checkpoint.records.record import Code, Origin
    from rewind.jsonfile import JsonObject
    from rewind.snapshot.scan.build import Progress

_LONGEST_DESCRIPTION = 1000
_LONGEST_FIELD = 40


@dataclass(eq=False)
class Exported:
    """A checkpoint that was written to a file, or would be."""

    record: Record
    links: list[bytes]  # symbolic links that lead out of the tree
    size: int | None = None  # of the file


# to a file

def look_at_export(state: State, record: Record) -> Exported:
    with Source(state, record) as source:
        return Exported(record, links_out(record.tree, source.tree))


def export_to_stream(state: State, record: Record, file: BinaryIO,
                     progress: Progress | None = None) -> Exported:
    with Source(state, record) as source:
        rules = source.blobs.get(record.rules)
        write_snapshot(file, record.data, record.tree, source.tree, source.blobs, rules, progress)
        return Exported(record, links_out(record.tree, source.tree))


def export_to_file(state: State, record: Record, path: str, *, force: bool = False,
                   progress: Progress | None = None) -> Exported:
    with new_file(path, force) as file:
        exported = export_to_stream(state, record, file, progress)
        exported.size = file.tell()
    return exported


@contextmanager
def new_file(path: str, force: bool) -> Iterator[BinaryIO]:
    """Written beside its place and renamed at the end, so the file is complete or does not exist."""
    path = os.path.abspath(path)
    check_target(path, force)
    folder, name = os.path.split(path)
    name = name[:200]
    sweep_drafts(os.path.join(folder, name), ".part")
    temp = os.path.join(folder, f".{name}.{os.getpid()}.part")
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, PRIVATE_FILE)
    try:
        with os.fdopen(fd, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _put_in_place(temp, path, force)
    finally:
        if os.path.lexists(temp):
            os.unlink(temp)
    fsync_dir(folder)


def check_target(path: str, force: bool) -> None:
    try:
        info = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        _check_folder(os.path.dirname(os.path.abspath(path)))
        return
    if not stat.S_ISREG(info.st_mode):
        raise RewindError(f"{path} already exists and is not a regular file.",
                          hint="Name another file, or `-` to write to the standard output.")
    if not force:
        raise _exists(path)


def _check_folder(folder: str) -> None:
    if not os.path.isdir(folder):
        raise RewindError(f"There is no directory {folder}", hint="Make it first, or name another file.")


def _put_in_place(temp: str, path: str, force: bool) -> None:
    if force:
        os.replace(temp, path)
        return
    try:
        os.link(temp, path)  # unlike rename, it fails if somebody made the file in the meantime
    except FileExistsError:
        raise _exists(path)
    except OSError:
        if os.path.lexists(path):
            raise _exists(path)
        os.rename(temp, path)  # a file system without hard links


def _exists(path: str) -> RewindError:
    return RewindError(f"{path} already exists.", hint="Name another file, or repeat with `--force`.")


# from a file

class _Nowhere:
    """Keeps nothing: the archive is only checked."""

    def has(self, oid: bytes) -> bool:
        return True

    def put_packed(self, oid: bytes, packed: bytes) -> None:
        return


def look_at_import(path: str, *, allow_links_out: bool = False, max_bytes: int | None = None,
                   progress: Progress | None = None) -> Imported:
    """Check everything that an import checks, and store nothing."""
    nowhere: Any = _Nowhere()
    return read_snapshot(path, nowhere, allow_links_out=allow_links_out, max_bytes=max_bytes,
                         progress=progress)


def import_file(state: State, path: str, *, allow_links_out: bool = False,
                max_bytes: int | None = None, progress: Progress | None = None) -> Record:
    """A new checkpoint with what the file holds; the project is not touched. The caller locks."""
    store = state.objects
    before = store.added
    try:
        found = read_snapshot(path, store, allow_links_out=allow_links_out, max_bytes=max_bytes,
                              progress=progress)
        store.put(found.rules)
    except BaseException:
        store.rollback()
        raise
    return _write_record(state, found, store.added - before)


def _write_record(state: State, found: Imported, new_bytes: int) -> Record:
    # Not `create.write_record`: the project does not change, so undo and redo lead to the same place.
    state.objects.commit()
    state.objects.make_durable(state.on_shared_disk)
    code: Code = {
        "format": "objects", "tree": found.root.hex(),
        "rules": found.metadata["code"]["rules"], "fileCount": found.files,
        "totalSize": found.bytes, "newBytes": new_bytes,
        "uncovered": sum(1 for _ in uncovered(found.root, lambda oid: Tree.decode(state.objects.get(oid))))}
    record = new_record(state, "manual", _description(found.metadata), code,
                        {"imported": _origin(found.metadata)})
    state.timeline.write(record)
    return record


def _description(metadata: JsonObject) -> str:
    text = metadata.get("description")
    return text[:_LONGEST_DESCRIPTION] if isinstance(text, str) else ""


def _origin(metadata: JsonObject) -> Origin:
    """The record's name, time and kind where it came from. A stranger wrote them, so each is checked."""
    return {"name": _sound(metadata.get("name"), is_name),
            "createdAt": _sound(metadata.get("createdAt"), is_timestamp),
            "kind": _sound(metadata.get("kind"), KINDS.__contains__)}


def _sound(value: object, is_sound: Callable[[str], bool]) -> str | None:
    return value if isinstance(value, str) and len(value) < _LONGEST_FIELD and is_sound(value) else None
