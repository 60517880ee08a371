"""Which files are journals of a SQLite database. The name is not enough: `notes-journal` may be a text
file."""

from __future__ import annotations

import os

from rewind.checkpoint.records.source import Source
from rewind.errors import StoreDamaged
from rewind.snapshot.scan.build import Snapshot
from rewind.snapshot.scan.sqlite_files import HEAD, is_journal, is_journal_at, journals_of, main_of
from rewind.snapshot.trees.content import pieces_of
from rewind.snapshot.trees.listing import entry_at
from rewind.snapshot.trees.tree import FILES, UNCOVERED, TreeEntry


def with_journals(paths: list[bytes], root: bytes, source: Source, snapshot: Snapshot) -> list[bytes]:
    """The paths, with the database and all journals of each that is one of them. An older database with a
    newer journal would be corrupt."""
    def then_and_now(path: bytes) -> tuple[TreeEntry | None, TreeEntry | None]:
        return (entry_at(source.tree, source.record.tree, path),
                entry_at(snapshot.tree, snapshot.root, path))

    def was_or_is_one(path: bytes) -> bool:
        then, now = then_and_now(path)
        return bool((now and now.kind in (*FILES, UNCOVERED) and is_journal_at(os.path.join(root, path)))
                    or (then and then.kind in FILES and is_journal(path, _head(then, source))))

    found = list(paths)
    for path in paths:
        main = main_of(path) or path
        if any(entry and entry.kind in FILES for entry in then_and_now(main)):
            journals = [one for one in journals_of(main) if was_or_is_one(one)]
            if path == main or path in journals:
                found += [main, *journals]
    return found


def _head(entry: TreeEntry, source: Source) -> bytes:
    try:
        return next(pieces_of(entry, source.blobs))[:HEAD]
    except StoreDamaged:
        return b""
