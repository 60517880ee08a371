"""Files outside the project that an agent edits by name: their previous content is kept with a checkpoint.

`outside` in its record lists these files; `madeBy` identifies the user and the machine. No other files
outside the project are captured, and these are never exported.
"""

from __future__ import annotations

import os
import stat

from rewind.fast.sha256 import sha256
from rewind.files import read_bounded
from rewind.snapshot.scan.read import GONE, read_file
from rewind.snapshot.trees.tree import CHUNKED, FILE, TreeEntry, decode_pieces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Outside, OutsideFile, Record
    from rewind.paths import Project
    from rewind.store.blobs import BlobSink
    from rewind.store.objects import ObjectStore

FIELD: Final = "outside"
MADE_BY: Final = "madeBy"
PRIVATE = (FIELD, MADE_BY)  # never leave this machine
_MOST = 500  # files of one checkpoint
_ID_FILE = "machine-id"
_NEVER = ("/proc", "/dev", "/sys")


class KeptFile:
    """One file: its path, and its entry, which is None if there was no file."""

    __slots__ = ("entry", "path", "skipped")

    def __init__(self, path: bytes, entry: TreeEntry | None, skipped: str = "") -> None:
        self.path = path
        self.entry = entry
        self.skipped = skipped  # a word for the reason why its content was not kept

    def to_json(self) -> OutsideFile:
        found: OutsideFile = {"path": os.fsdecode(self.path)}
        if self.skipped:
            return {**found, "skipped": self.skipped}
        if self.entry is None:
            return {**found, "absent": True}
        pieces: OutsideFile = {"pieces": True} if self.entry.kind == CHUNKED else {}
        entry = self.entry
        return {**found, "mode": entry.mode, "size": entry.size, "ref": entry.ref.hex(), **pieces}


def from_json(data: object) -> KeptFile | None:
    """None if Rewind cannot have written this."""
    if not isinstance(data, dict) or not isinstance(data.get("path"), str):
        return None
    try:
        path = os.fsencode(data["path"])
        if not path.startswith(b"/") or b"\0" in path or os.path.normpath(path) != path:
            return None
        if data.get("skipped") or data.get("absent") is True:
            return KeptFile(path, None, str(data.get("skipped") or ""))
        ref, mode, size = bytes.fromhex(data["ref"]), data["mode"], data["size"]
    except (KeyError, TypeError, ValueError):
        return None
    if len(ref) != 32 or not isinstance(mode, int) or not isinstance(size, int) or size < 0:
        return None
    return KeptFile(path, TreeEntry(CHUNKED if data.get("pieces") else FILE, mode & 0o7777, size, ref))


def kept_outside(record: Record) -> list[KeptFile]:
    found = record.data.get(FIELD)
    each = map(from_json, found[:_MOST]) if isinstance(found, list) else ()
    return [one for one in each if one is not None]


def object_ids(store: ObjectStore, record: Record) -> list[bytes]:
    """The ids of all objects that these files need."""
    ids = []
    for one in kept_outside(record):
        if one.entry:
            ids.append(one.entry.ref)
        if one.entry and one.entry.kind == CHUNKED and one.entry.ref not in store.lost:
            ids += [oid for _, oid in decode_pieces(store.get(one.entry.ref))]
    return ids


# keeping

def keep(state: State, paths: list[str]) -> Outside:
    """Store the current content of these files. Returns fields for the record of a checkpoint. The caller
    holds the lock."""
    limit = int(state.settings.get("maxFileSizeMb") * (1 << 20))
    kept = [read_outside_file(os.fsencode(path), state.objects, limit) for path in paths[:_MOST]
            if may_be_kept(state.project, path)]
    try:
        return fields(state.project.home, kept)
    except OSError:
        return {}  # without an id for this user the files are not kept; the checkpoint is made anyway


def fields(home: str, kept: list[KeptFile]) -> Outside:
    if not kept:
        return {}
    return {FIELD: [one.to_json() for one in kept], MADE_BY: user_and_machine(home)}


def may_be_kept(project: Project, path: str) -> bool:
    """False for files of the project (every checkpoint has them), of Rewind itself and of the system."""
    own = (project.root, project.state, project.home, os.path.realpath(project.state),
           os.path.realpath(project.home), *_NEVER)
    inside = any(path == place or path.startswith(place.rstrip("/") + "/") for place in own)
    return os.path.realpath(path) == path and not inside and "/.agent/rewind/" not in path + "/"


def read_outside_file(path: bytes, sink: BlobSink | None = None, limit: int | None = None) -> KeptFile:
    """A file as it is now. Files of other users and special files are not read."""
    try:
        info = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return KeptFile(path, None)
    except OSError:
        return KeptFile(path, None, "unreadable")
    if not stat.S_ISREG(info.st_mode):
        return KeptFile(path, None, "not-a-file")
    if info.st_uid != os.geteuid():
        return KeptFile(path, None, "not-yours")
    read = read_file(path, sink, limit=limit)
    if read.failure is not None:
        return KeptFile(path, None, read.failure.decode() if read.failure != GONE else "")
    return KeptFile(path, TreeEntry(read.kind, stat.S_IMODE(info.st_mode), read.size, read.ref))


def user_and_machine(home: str) -> str:
    """An id of this user on this machine. Only they may write these files again."""
    try:
        machine = read_bounded("/etc/machine-id", 1000)
    except OSError:
        machine = b""
    return sha256(_own_id(home) + b"\n" + machine.strip() + b"\n%d" % os.geteuid()).hex()[:32]


def has_kept(home: str) -> bool:
    """Whether this user has kept such a file in any project. Cheap, because most users never do."""
    return os.path.exists(os.path.join(home, _ID_FILE))


def _own_id(home: str) -> bytes:
    """A random number in Rewind's home, made on first use."""
    path = os.path.join(home, _ID_FILE)
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return read_bounded(path, 1000)
    with os.fdopen(fd, "wb") as file:
        made = os.urandom(16).hex().encode()
        file.write(made)
    return made


def move_kept_files_to_previous(state: State, gone: Record, going: set[str]) -> Record | None:
    """Before a checkpoint is deleted, move its kept files to the checkpoint before it: the files had the same
    content then. Returns that checkpoint if its record was rewritten."""
    from rewind.checkpoint.records.record import Record  # not for a hook that only keeps

    earlier = [r for r in state.timeline.all() if r.sequence < gone.sequence and r.place == gone.place
               and r.name not in going and r.name != gone.name]
    heir = earlier[-1] if earlier else None
    if heir is None or heir.data.get(MADE_BY, gone.data.get(MADE_BY)) != gone.data.get(MADE_BY):
        return None
    own = kept_outside(heir)
    held = {one.path for one in own}
    both = own + [one for one in kept_outside(gone) if one.path not in held]
    renewed = Record({**heir.data, FIELD: [one.to_json() for one in both], MADE_BY: gone.data.get(MADE_BY)})
    state.timeline.write(renewed)
    return renewed
