"""A snapshot as one self-contained tar.gz: written from a store, and read back into one.

The first member is `manifest.json`. Then come `files/` and everything below it, each directory followed by
its content, in the order of the names.
"""

from __future__ import annotations

import os
import stat

from rewind.errors import ArchiveRefused, FileNotThere, StoreDamaged
from rewind.snapshot.archive import manifest as manifests
from rewind.snapshot.trees.content import pieces_of
from rewind.snapshot.trees.listing import every_path
from rewind.snapshot.trees.tree import (
    CHUNKED,
    DIR,
    FILE,
    LINK,
    MISSING,
    UNCOVERED,
    Tree,
    TreeEntry,
    encode_pieces,
    is_git_dir,
)
from rewind.store import archive
from rewind.store.archive import ArchiveReader, ArchiveWriter, leads_out, shown
from rewind.store.blobs import CHUNK, oid_of, pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import BinaryIO

    from rewind.snapshot.archive.manifest import Manifest
    from rewind.store.archive import Member
    from rewind.store.blobs import Blobs, BlobSink
    from rewind.store.objects import ObjectStore

    Progress = Callable[[str, int, int], None]
    Trees = Callable[[bytes], Tree]

MANIFEST = b"manifest.json"
_SHARED = b"share.json"  # the first member of a shared file
TOP = b"files"
_NOT_EXPORTED = ("outside", "madeBy")  # files outside the project are not for others


# from a store to a file

def write_snapshot(file: BinaryIO, metadata: Mapping[str, object], root: bytes, trees: Trees,
                   blobs: Blobs, rules: bytes, progress: Progress | None = None) -> None:
    """The same snapshot always gives the same bytes. `rules` is the blob that the record names."""
    shared = {name: value for name, value in metadata.items() if name not in _NOT_EXPORTED}
    raw, total = _manifest(shared, root, trees, rules)
    out = ArchiveWriter(file)
    out.add_file(MANIFEST, 0o644, len(raw), [raw])
    out.add_dir(TOP, 0o755)
    done = 0
    for path, entry in every_path(root, trees):
        name = TOP + b"/" + path
        if entry.kind == DIR:
            out.add_dir(name, entry.mode)
        elif entry.kind != UNCOVERED:
            _add(out, name, entry, blobs)
            done += 1
            if progress:
                progress("Writing the archive", done, total)
    out.close()


def _add(out: ArchiveWriter, name: bytes, entry: TreeEntry, blobs: Blobs) -> None:
    if entry.kind == LINK:
        out.add_link(name, entry.ref)
    else:
        out.add_file(name, entry.mode, entry.size, _checked_chunks(pieces_of(entry, blobs)))


def _checked_chunks(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Refuse other chunk sizes: an archive does not say how a file was cut, so they would be lost."""
    size = CHUNK
    for piece in pieces:
        if size != CHUNK:
            raise StoreDamaged(what="a large file is not stored in chunks of the usual size")
        size = len(piece)
        yield piece


def _manifest(metadata: Mapping[str, object], root: bytes, trees: Trees,
              rules: bytes) -> tuple[bytes, int]:
    uncovered: list[tuple[bytes, bytes]] = []
    partial = [(b"", trees(root).partial)]
    files = 0
    for path, entry in every_path(root, trees):
        if entry.kind == UNCOVERED:
            uncovered.append((path, entry.ref))
        elif entry.kind == DIR:
            partial.append((path, trees(entry.ref).partial))
        else:
            files += 1
    partial = [(path, reason) for path, reason in partial if reason]
    return manifests.encode(metadata, rules, uncovered, partial), files


def links_out(root: bytes, trees: Trees) -> list[bytes]:
    """The links because of which an import refuses the snapshot, unless it is told to allow them."""
    return [path for path, entry in every_path(root, trees)
            if entry.kind == LINK and leads_out(path, entry.ref)]


# from a file to a store

class Imported:
    """The content of an archive. The caller stores `rules` and the record, then commits."""

    def __init__(self, manifest: Manifest, root: bytes, builder: _TreeBuilder) -> None:
        self.metadata = manifest.metadata
        self.root = root
        self.rules = manifest.rules
        self.files = builder.files
        self.bytes = builder.bytes


def read_snapshot(path: str, store: ObjectStore, *, allow_links_out: bool = False,
                  max_bytes: int | None = None, progress: Progress | None = None) -> Imported:
    """Check the whole archive, then put its content into the store. The caller commits.

    The second pass checks the same as the first, so changing the archive in between cannot bring in anything
    that would have been refused.
    """
    with open_archive(path) as file:
        def one_pass(what: str, sink: BlobSink | None) -> tuple[Manifest, _TreeBuilder]:
            file.seek(0)
            reader = ArchiveReader(file, path, forbidden=is_git_dir, top=TOP,
                                   allow_links_out=allow_links_out, max_bytes=max_bytes)
            size = os.fstat(file.fileno()).st_size
            return _read(reader, path, sink, lambda: progress and progress(what, file.tell(), size))

        checked, _ = one_pass("Checking the archive", None)
        manifest, built = one_pass("Importing", store)
    if manifest.digest != checked.digest:
        raise ArchiveRefused(file=path, reason="it changed while it was read.")
    return Imported(manifest, manifest.tree, built)


def open_archive(path: str) -> BinaryIO:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise FileNotThere(file=path)
    except OSError as error:
        raise ArchiveRefused(file=path, reason=f"it cannot be read ({error.strerror}).")
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise ArchiveRefused(file=path, reason="it is not a regular file.")
    return os.fdopen(fd, "rb")


def _read(reader: ArchiveReader, path: str, sink: BlobSink | None,
          tick: Callable[[], object]) -> tuple[Manifest, _TreeBuilder]:
    members = iter(reader)
    manifest = _read_manifest(reader, path, next(members, None))
    builder = _TreeBuilder(reader, manifest, sink)
    for member in members:
        builder.add(member)
        tick()
    if builder.finish() != manifest.tree:
        reader.refuse("its content does not match its manifest.")
    return manifest, builder


def read_intact_part(path: str, sink: BlobSink) -> Imported:
    """What can still be read of a damaged archive: everything before the damage. Directories that the damage
    cut off are partial. Raises ArchiveRefused if not even the manifest can be read."""
    with open_archive(path) as file:
        reader = ArchiveReader(file, path, forbidden=is_git_dir, top=TOP, allow_links_out=True,
                               max_bytes=1 << 50)
        members = iter(reader)
        manifest = _read_manifest(reader, path, next(members, None))
        builder = _TreeBuilder(reader, manifest, sink)
        try:
            for member in members:
                builder.add(member)
        except ArchiveRefused:
            pass  # the damage begins here
        return Imported(manifest, builder.finish_early(MISSING), builder)


def _read_manifest(reader: ArchiveReader, path: str, member: Member | None) -> Manifest:
    if member is not None and member.name == _SHARED:
        reader.refuse("it was written by `rewind share`. To open it: rewind open FILE")
    if member is None or member.name != MANIFEST or member.kind != archive.FILE:
        reader.refuse("it is not a snapshot: it does not begin with a manifest.")
    if member.size > manifests.MAX_BYTES:
        reader.refuse(f"its manifest is {member.size} bytes long.")
    try:
        return manifests.decode(path, member.read(member.size))
    except ValueError as error:
        reader.refuse(f"its manifest is not usable: {error}.")


class _Folder:
    """A directory that is being filled."""

    def __init__(self, path: bytes, mode: int) -> None:
        self.path = path
        self.mode = mode
        self.entries: dict[bytes, TreeEntry] = {}


class _TreeBuilder:
    """Makes trees from members that come directory by directory. Only open directories are in memory."""

    def __init__(self, reader: ArchiveReader, manifest: Manifest, sink: BlobSink | None) -> None:
        self._refuse = reader.refuse
        self._uncovered = manifest.uncovered
        self._partial = manifest.partial
        self._sink = sink
        self._open: list[_Folder] = []
        self._root = b""
        self.files = 0
        self.bytes = 0

    def add(self, member: Member) -> None:
        if member.name == TOP and member.kind == archive.DIR:
            self._open.append(_Folder(TOP, 0))
            return
        if not member.name.startswith(TOP + b"/"):
            self._refuse(f"{shown(member.name)} is not part of a snapshot.")
        folder, _, name = member.name.rpartition(b"/")
        while self._open and self._open[-1].path != folder:
            self._close()
        if not self._open:
            self._refuse(f"{shown(member.name)} does not follow its directory.")
        if member.kind == archive.DIR:
            self._open.append(_Folder(member.name, member.mode))
        else:
            entry = self._open[-1].entries[name] = self._entry(member)
            self.files += 1
            self.bytes += entry.size

    def finish(self) -> bytes:
        while self._open:
            self._close()
        for path in (*self._uncovered, *self._partial):
            self._refuse(f"its manifest names {shown(path)}, which is not a directory in the archive.")
        return self._root

    def finish_early(self, reason: bytes) -> bytes:
        """For a damaged archive: the directories that are still open become partial, for this reason."""
        if not self._open:
            self._refuse("nothing in it can be read.")
        for folder in self._open:
            self._partial[folder.path[len(TOP) + 1:]] = reason
        while self._open:
            self._close()
        return self._root

    def _entry(self, member: Member) -> TreeEntry:
        if member.kind == archive.LINK:
            return TreeEntry(LINK, 0, len(member.target), member.target)
        if member.size <= CHUNK:
            return TreeEntry(FILE, member.mode, member.size, self._put(member.read(CHUNK)))
        pieces = []
        while member.left:
            data = member.read(CHUNK)
            pieces.append((len(data), self._put(data)))
        return TreeEntry(CHUNKED, member.mode, member.size, self._put(encode_pieces(pieces)))

    def _close(self) -> None:
        folder = self._open.pop()
        path = folder.path[len(TOP) + 1:]
        for name, reason in self._uncovered.pop(path, {}).items():
            if name in folder.entries:
                there = shown(folder.path + b"/" + name)
                self._refuse(f"its manifest lists {there} as not captured, but it is there.")
            folder.entries[name] = TreeEntry(UNCOVERED, 0, 0, reason)
        tree = self._put(Tree(folder.entries, self._partial.pop(path, b"")).encode())
        if self._open:
            name = folder.path.rpartition(b"/")[2]
            self._open[-1].entries[name] = TreeEntry(DIR, folder.mode, 0, tree)
        else:
            self._root = tree

    def _put(self, data: bytes) -> bytes:
        oid = oid_of(data)
        if self._sink and not self._sink.has(oid):
            self._sink.put_packed(oid, pack(data))
        return oid
