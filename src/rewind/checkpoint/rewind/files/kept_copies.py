"""What another program wrote to files while a restore replaced them, as a checkpoint of only these files.

The backup was made earlier and does not have it. Restoring this checkpoint writes these files and no others.
"""

from __future__ import annotations

import os

from rewind.checkpoint.save.create import new_record
from rewind.snapshot.trees.tree import DIR, Tree, TreeEntry
from rewind.words import and_more

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Code, Record
    from rewind.store.blobs import BlobSink

class StoreEverything:
    """A sink that stores every object, even if the store has it already: during a restore other processes may
    write to the store, and a collection may delete an object that no checkpoint needs yet."""

    in_bulk = False

    def __init__(self, sink: BlobSink) -> None:
        self._sink = sink

    def has(self, oid: bytes) -> bool:
        return False

    def put_packed(self, oid: bytes, packed: bytes) -> None:
        self._sink.put_packed(oid, packed)


ONLY_THESE = b"kept-copy"  # the reason why these trees know only some names
_FIRST = 3


def trees_of(files: dict[bytes, TreeEntry], put: Callable[[bytes], bytes]) -> bytes:
    """The root of trees that contain these files and know nothing about other names."""
    here: dict[bytes, TreeEntry] = {}
    below: dict[bytes, dict[bytes, TreeEntry]] = {}
    for path, entry in files.items():
        name, slash, rest = path.partition(b"/")
        if slash:
            below.setdefault(name, {})[rest] = entry
        else:
            here[name] = entry
    for name, inside in below.items():
        here[name] = TreeEntry(DIR, 0o755, 0, trees_of(inside, put))
    return put(Tree(here, ONLY_THESE).encode())


def keep_copies(state: State, files: dict[bytes, TreeEntry], going_to: Record) -> Record:
    """Make that checkpoint. The caller holds the lock; the content of the files is in the store already."""
    store = state.objects
    root, rules = trees_of(files, store.put), store.put(state.rules().to_json())
    store.commit()  # content first, then the record that refers to it
    code: Code = {
        "format": "objects", "tree": root.hex(), "rules": rules.hex(), "fileCount": len(files),
        "totalSize": sum(entry.size for entry in files.values()), "newBytes": 0, "uncovered": 0}
    record = new_record(state, "backup", f"Written while going back to {going_to.name}", code,
                        {"trigger": {"event": "restore", "checkpoint": going_to.name}})
    state.timeline.write(record)
    return record


def kept_note(record: Record, paths: list[bytes]) -> str:
    names = and_more([os.fsdecode(path) for path in paths], _FIRST)
    return (f"Another program wrote to {names} while the restore replaced it. What it wrote is kept:"
            f" rewind restore {record.name}")
