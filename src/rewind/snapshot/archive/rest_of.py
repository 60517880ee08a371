"""What can still be read of a damaged snapshot archive: everything before the damage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.errors import ArchiveRefused
from rewind.snapshot.archive.portable import TOP, Imported, TreeBuilder, open_archive, read_manifest
from rewind.snapshot.trees.tree import MISSING, is_git_dir
from rewind.store.archive import ArchiveReader

if TYPE_CHECKING:
    from rewind.store.blobs import BlobSink


def read_intact_part(path: str, sink: BlobSink) -> Imported:
    """A tree of what was read. Directories that the damage cut off are partial. Raises ArchiveRefused
    when not even the manifest can be read."""
    with open_archive(path) as file:
        reader = ArchiveReader(file, path, forbidden=is_git_dir, top=TOP, allow_links_out=True,
                               max_bytes=1 << 50)
        members = iter(reader)
        manifest = read_manifest(reader, path, next(members, None))
        builder = TreeBuilder(reader, manifest, sink)
        try:
            for member in members:
                builder.add(member)
        except ArchiveRefused:
            pass  # here is the damage
        return Imported(manifest, builder.finish_early(MISSING), builder)
