"""Writes checkpoints into our repository: one commit for each, with what has changed since its parent.

`files/` holds the files themselves. `changes.jsonl` says what git's trees cannot: full modes, empty
directories, what was left out and why. The commit's first parent is the checkpoint's own parent. If that is
not the newest commit, the newest one is its second parent. So the ref only moves forward, even if the project
went back, and every checkpoint can be reached from it.
"""

from __future__ import annotations

from rewind.checkpoint.remote.names import CHANGES, META, path_in_git
from rewind.checkpoint.remote.push.fast_import import FastImport
from rewind.checkpoint.remote.repository import Progress
from rewind.checkpoint.share.entries import FORMAT, encode_entry
from rewind.checkpoint.share.giving.outgoing import OutCheckpoint, Outgoing
from rewind.fast import quickjson
from rewind.snapshot.trees.tree import DIR, FILES, LINK, UNCOVERED, TreeEntry


class Outbox:
    def __init__(self, fast: FastImport, ref: str, written: dict[str, bytes]) -> None:
        self._fast = fast
        self._ref = ref
        self._written = written
        self._tip = next(reversed(list(written.values())), b"")
        self._blobs: dict[bytes, bytes] = {}  # by the id of the content, so that each is sent once

    def write(self, outgoing: Outgoing, names: set[str], progress: Progress | None = None) -> None:
        """Write the checkpoints with these names, which are new, and add them to `written`."""
        new = outgoing.checkpoints(names)
        for done, one in enumerate(new, 1):
            self._write(one)
            if progress:
                progress("Preparing", done, len(new))
        for one in new:
            self._written[one.id] = self._fast.commit_of(self._written[one.id])

    def _write(self, one: OutCheckpoint) -> None:
        fast, entries = self._fast, list(one.changed_since(one.parent))
        blobs = {shared.path: self._blob(one, shared.entry) for shared in entries
                 if shared.entry and shared.entry.kind in (*FILES, LINK)}
        parent = self._written[one.parent.id] if one.parent else b""
        # A directory in the place of a file: git does not see an empty one, and would keep the file.
        gone = [shared.path for shared in entries if shared.entry and shared.entry.kind == DIR and parent
                and fast.look(parent, path_in_git(shared.path))[0] == b"blob"]
        others = [self._tip] if parent and parent != self._tip else []
        commit = fast.commit(self._ref, one.id.encode(), int(one.record.created), parent or self._tip, others)
        if not parent and self._tip:
            fast.delete_all()  # the newest commit is its parent only so that the ref moves forward
        for path in gone:
            fast.delete(path_in_git(path))
        for shared in entries:
            self._put(shared.path, shared.entry, blobs)
        fast.write_inline(META, _line({"format": FORMAT, **one.meta}))
        fast.write_inline(CHANGES, b"".join(_line(encode_entry(shared)) for shared in entries))
        self._written[one.id] = self._tip = commit

    def _blob(self, one: OutCheckpoint, entry: TreeEntry) -> bytes:
        if entry.kind == LINK:
            return self._fast.blob(len(entry.ref), [entry.ref])
        if entry.ref not in self._blobs:
            self._blobs[entry.ref] = self._fast.blob(entry.size, one.content(entry))
        return self._blobs[entry.ref]

    def _put(self, path: bytes, entry: TreeEntry | None, blobs: dict[bytes, bytes]) -> None:
        if entry is None or entry.kind == UNCOVERED:
            self._fast.delete(path_in_git(path))
        elif entry.kind != DIR:
            mode = b"120000" if entry.kind == LINK else b"100755" if entry.mode & 0o100 else b"100644"
            self._fast.write(path_in_git(path), mode, blobs[path])


def _line(value: object) -> bytes:
    return quickjson.dumps(value, sort_keys=True).encode("utf-8", "surrogatepass") + b"\n"
