"""A shared file: a tar.gz that any `tar` can read. `docs/format.md` has its layout.

    share.json            what it is, and what was left out
    conversations/        the agent's own lines, masked
    checkpoints/          what each one changed since its parent
    files/                the files of the newest checkpoint
    objects/              the content of other files, by its digest
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, BinaryIO

from rewind.checkpoint.share.entries import FORMAT, encode_entry
from rewind.checkpoint.share.giving.outgoing import OutCheckpoint, Outgoing
from rewind.checkpoint.share.path_names import text_of
from rewind.snapshot.trees.tree import DIR, LINK, TreeEntry
from rewind.snapshot.trees.tree import FILES as FILE_KINDS
from rewind.store.archive import ArchiveWriter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rewind.snapshot.scan.build import Progress

MANIFEST = b"share.json"
CONVERSATIONS, CHECKPOINTS, FILES, OBJECTS = b"conversations", b"checkpoints", b"files", b"objects"
_SHOWN = 10_000  # paths that were left out and are listed


class Package:
    """Everything that will be written, known in advance except the content of the files."""

    def __init__(self, outgoing: Outgoing, label: str) -> None:
        self.outgoing = outgoing
        self.label = label
        self.checkpoints = outgoing.checkpoints()
        self._listed: list[tuple[OutCheckpoint, list[list[Any]]]] = []
        self._contents: dict[bytes, tuple[OutCheckpoint, TreeEntry]] = {}  # by the id of the content
        for checkpoint in self.checkpoints:
            entries = list(checkpoint.changed_since(checkpoint.parent))
            self._listed.append((checkpoint, [encode_entry(entry) for entry in entries]))
            for entry in (one.entry for one in entries):
                if entry and entry.kind in FILE_KINDS:
                    self._contents.setdefault(entry.ref, (checkpoint, entry))

    @property
    def newest(self) -> OutCheckpoint:
        return self.checkpoints[-1]

    @property
    def files(self) -> int:
        """How many different file contents there are."""
        return len(self._contents)

    @property
    def size(self) -> int:
        """The unpacked bytes of all files and conversations."""
        return sum(entry.size for _, entry in self._contents.values()) + sum(
            c.size for c in self.outgoing.conversations)

    def write(self, file: BinaryIO, progress: Progress | None = None) -> None:
        """The same input gives the same bytes."""
        out = ArchiveWriter(file)
        _add_json(out, MANIFEST, self._manifest())
        out.add_dir(CONVERSATIONS, 0o755)
        for conversation in self.outgoing.conversations:
            name = CONVERSATIONS + b"/" + conversation.session.encode() + b".jsonl"
            out.add_file(name, 0o644, conversation.size, conversation.read())
        out.add_dir(CHECKPOINTS, 0o755)
        for number, (checkpoint, entries) in enumerate(self._listed, 1):
            _add_json(out, CHECKPOINTS + b"/%06d.json" % number, {**checkpoint.meta, "entries": entries})
        self._write_contents(out, progress)
        out.close()

    def _write_contents(self, out: ArchiveWriter, progress: Progress | None) -> None:
        written: set[bytes] = set()
        out.add_dir(FILES, 0o755)
        for shared in self.newest.changed_since(None):
            name, entry = FILES + b"/" + shared.path, shared.entry
            if entry and entry.kind in FILE_KINDS:
                out.add_file(name, entry.mode, entry.size, self.newest.content(entry))
                written.add(entry.ref)
                _tick(progress, len(written), self.files)
            elif entry and entry.kind == LINK:
                out.add_link(name, entry.ref)
            elif entry and entry.kind == DIR and shared.path:
                out.add_dir(name, entry.mode)
        out.add_dir(OBJECTS, 0o755)
        for oid in sorted(self._contents.keys() - written):
            checkpoint, entry = self._contents[oid]
            out.add_file(OBJECTS + b"/" + oid.hex().encode(), 0o644, entry.size, checkpoint.content(entry))
            written.add(oid)
            _tick(progress, len(written), self.files)

    def _manifest(self) -> Mapping[str, object]:
        outgoing = self.outgoing
        return {"format": FORMAT, "what": self.label, "checkpoints": len(self._listed),
                "newest": self.newest.id,
                "conversations": [{"session": c.session, "agent": c.agent, "title": c.title,
                                   "lines": c.lines, "turns": c.turns, "masked": len(c.secrets)}
                                  for c in outgoing.conversations],
                "withSecrets": outgoing.policy.with_secrets, "withIgnored": outgoing.policy.with_ignored,
                "leftOut": [[text_of(one.path), one.reason.decode()] for one in outgoing.left_out[:_SHOWN]]}


def _tick(progress: Progress | None, done: int, total: int) -> None:
    if progress:
        progress("Writing the file", done, total)


def _add_json(out: ArchiveWriter, name: bytes, value: Mapping[str, object]) -> None:
    raw = json.dumps(value, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    out.add_file(name, 0o644, len(raw), [raw])
