"""Checkpoints as commits of our repository: one commit each, with what has changed since its parent.

`files/` are the files themselves, as git keeps them best; `changes.jsonl` says what git's trees cannot:
full modes, empty directories, what was left out and why. The commit's first parent is the checkpoint's own
parent. If that is not the newest commit, the newest one is its second parent. So the ref only ever moves
forward, however often the project went back, and every checkpoint is reached from it.
"""

from __future__ import annotations

from rewind.checkpoint.remote.names import CHANGES, META, path_in_git
from rewind.checkpoint.remote.push.fast_import import FastImport
from rewind.checkpoint.remote.repository import Progress
from rewind.checkpoint.share.entries import FORMAT, encode_entry
from rewind.checkpoint.share.giving.outgoing import DELETED, OutCheckpoint, OutEntry, Outgoing
from rewind.fast import quickjson

_LINK = b"120000"


class Outbox:
    def __init__(self, fast: FastImport, ref: str, written: dict[str, bytes]) -> None:
        self._fast = fast
        self._ref = ref
        self._written = written
        self._tip = next(reversed(list(written.values())), b"")
        self._blobs: dict[str, bytes] = {}  # by digest: each content is sent once

    def write(self, outgoing: Outgoing, names: set[str], progress: Progress | None = None) -> None:
        """Those of these names, oldest first; they are not there yet. They are in `written` afterwards."""
        new = outgoing.checkpoints(names)
        for done, one in enumerate(new, 1):
            self._write(one)
            if progress:
                progress("Preparing", done, len(new))
        for one in new:
            self._written[one.id] = self._fast.commit_of(self._written[one.id])

    def _write(self, one: OutCheckpoint) -> None:
        fast, entries = self._fast, list(one.changed_since(one.parent))
        blobs = {entry.path: self._blob(entry) for entry in entries if entry.kind in ("file", "link")}
        parent = self._written[one.parent.id] if one.parent else b""
        # A file in whose place is a directory now, in which git sees nothing.
        gone = [entry.path for entry in entries if entry.kind == "dir" and parent
                and fast.look(parent, path_in_git(entry.path))[0] == b"blob"]
        others = [self._tip] if parent and parent != self._tip else []
        commit = fast.commit(self._ref, one.id.encode(), int(one.record.created), parent or self._tip, others)
        if not parent and self._tip:
            fast.delete_all()  # it only follows the newest one so that the ref moves forward
        for path in gone:
            fast.delete(path_in_git(path))
        for entry in entries:
            self._put(entry, blobs)
        fast.write_inline(META, _line({"format": FORMAT, **one.meta}))
        fast.write_inline(CHANGES, b"".join(_line(encode_entry(entry)) for entry in entries))
        self._written[one.id] = self._tip = commit

    def _blob(self, entry: OutEntry) -> bytes:
        if entry.kind == "link":
            return self._fast.blob(len(entry.target), [entry.target])
        if entry.digest not in self._blobs:
            self._blobs[entry.digest] = self._fast.blob(entry.size, entry.read())
        return self._blobs[entry.digest]

    def _put(self, entry: OutEntry, blobs: dict[bytes, bytes]) -> None:
        path = path_in_git(entry.path)
        if entry.kind in (DELETED, "left-out"):
            self._fast.delete(path)
        elif entry.kind != "dir":
            mode = _LINK if entry.kind == "link" else b"100755" if entry.mode & 0o100 else b"100644"
            self._fast.write(path, mode, blobs[entry.path])


def _line(value: object) -> bytes:
    return quickjson.dumps(value, sort_keys=True).encode("utf-8", "surrogatepass") + b"\n"
