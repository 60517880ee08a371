"""Checkpoints in format `archive`: a damaged file is written anew from any whole copy of its content."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from rewind.checkpoint.conversations.links import FILE as CONVERSATION_FILE
from rewind.checkpoint.conversations.links import snapshot_of
from rewind.checkpoint.conversations.stored import write_gz
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import ARCHIVE, Record, cursor_of
from rewind.checkpoint.records.source import Source
from rewind.checkpoint.repair.check_records import read_conversation
from rewind.checkpoint.repair.files import Repairs
from rewind.checkpoint.repair.quarantine import Quarantine
from rewind.checkpoint.repair.rescue_conversation import transcripts
from rewind.errors import RewindError
from rewind.files import PRIVATE_FILE, fsync_dir
from rewind.snapshot.archive.portable import read_intact_part, read_snapshot, write_snapshot
from rewind.snapshot.scan.cache import ScanCache
from rewind.snapshot.scan.scan import scan
from rewind.snapshot.trees.tree import Tree
from rewind.store.blobs import oid_of
from rewind.store.objects import ObjectStore, remove_database
from rewind.transcript.place.cursor import place_in
from rewind.transcript.read.lines import open_transcript

if TYPE_CHECKING:
    from rewind.store.blobs import Blobs


def repair_archives(state: State, records: list[Record], quarantine: Quarantine, copies: list[str],
                    dry_run: bool) -> Repairs:
    """Also replaces, in `records`, the records that had to be changed."""
    done: Repairs = []
    for number, record in enumerate(records):
        if record.format != "archive":
            continue
        one = _Archive(state, record, quarantine, dry_run)
        if (snapshot_of(record) or {}).get("file") and not one.conversation_is_whole():
            done.append((f"conversation of {record.name}", one.repair_conversation()))
        if not one.code_is_whole():
            done.append((f"archive of {record.name}", one.repair_code(records, copies)))
            records[number] = one.record
    return done


@dataclass
class _Archive:
    state: State
    record: Record
    quarantine: Quarantine
    dry_run: bool

    def _put(self, path: str, write: Callable[[int], None]) -> None:
        """Write a draft, keep a copy of the damaged file, and replace it. A dry run only writes the draft."""
        draft = self.state.project.path(f"temporary-{os.getpid()}-rescued")
        fd = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, PRIVATE_FILE)
        try:
            write(fd)
            os.fsync(fd)
            if os.path.lexists(path):
                self.quarantine.keep_copy(path)
            if not self.dry_run:
                os.replace(draft, path)
                fsync_dir(os.path.dirname(path))
        finally:
            os.close(fd)
            if os.path.lexists(draft):
                os.unlink(draft)

    # code

    def code_is_whole(self) -> bool:
        try:
            with Source(self.state, self.record) as source:
                source.rules()
                return True
        except RewindError:
            return False

    def repair_code(self, records: list[Record], copies: list[str]) -> str:
        path = self.state.files.path(self.record.name, ARCHIVE)
        with closing(self._whole_copies(records, copies)) as found:
            for where, blobs in found:
                with suppress(RewindError, OSError):
                    self._put(path, partial(self._write, blobs))
                    return where
        return self._save_the_rest(path)

    def _write(self, blobs: Blobs, fd: int) -> None:
        def trees(oid: bytes) -> Tree:
            return Tree.decode(blobs.get(oid))

        with os.fdopen(os.dup(fd), "wb") as file:
            write_snapshot(file, self.record.data, self.record.tree, trees, blobs, self._rules(blobs))

    def _whole_copies(self, records: list[Record],
                      copies: list[str]) -> Generator[tuple[str, Blobs], None, None]:
        """Everything that may hold the same tree. Each copy is read into a store of its own, which is removed
        before the next one is tried, because the disk may be nearly full."""
        for other in records:
            if other.tree == self.record.tree and other.name != self.record.name:
                with suppress(RewindError, OSError), Source(self.state, other) as source:
                    yield f"from {other.name}, which holds the same", source.blobs
        for copy in copies:
            with suppress(RewindError, OSError), self._temporary_store() as store:
                store.put(read_snapshot(copy, store, allow_links_out=True, max_bytes=1 << 50).rules)
                yield f"from {os.path.basename(copy)}", store
        with suppress(RewindError, OSError), self._temporary_store() as store:
            scan(self.state.root, self.state.rules(), ScanCache(None), store, keep=True)
            yield "from the project, which has not changed since", store

    @contextmanager
    def _temporary_store(self) -> Iterator[ObjectStore]:
        store = ObjectStore(self.state.project.path(f"temporary-{os.getpid()}-pool.db"), create=True)
        try:
            yield store
        finally:
            store.close()
            remove_database(store.path)

    def _rules(self, blobs: Blobs) -> bytes:
        now = self.state.rules().to_json()
        if oid_of(now) == self.record.rules:
            return now
        try:
            return blobs.get(self.record.rules)
        except RewindError:
            return self.state.objects.get(self.record.rules)

    def _save_the_rest(self, path: str) -> str:
        """The files before the damage become a checkpoint that is marked as incomplete."""
        store = self.state.objects
        try:
            rest = read_intact_part(path, store)
            store.put(rest.rules)
        except (RewindError, OSError):
            store.rollback()
            return "it cannot be read"
        claimed = self.record.code.get("fileCount")
        lost = max(1, claimed - rest.files if isinstance(claimed, int) else 1)
        code = {**self.record.code, "format": "objects", "tree": rest.root.hex(), "fileCount": rest.files,
                "totalSize": rest.bytes, "rules": oid_of(rest.rules).hex(), "lost": lost,
                "was": self.record.code["tree"]}
        if self.dry_run:
            store.rollback()
        else:
            store.commit()
            self.record = Record({**self.record.data, "code": code})
            self.quarantine.keep_copy(path)
            self.state.files.write(self.record)
            os.unlink(path)
        return f"{rest.files:,} files could be read; the rest is lost"

    # conversation

    def conversation_is_whole(self) -> bool:
        try:
            read_conversation(self.state, self.record)
            return True
        except (RewindError, OSError):
            return False

    def repair_conversation(self) -> str:
        path = self.state.files.path(self.record.name, CONVERSATION_FILE)
        noted = (snapshot_of(self.record) or {}).get("bytes")
        size = noted if isinstance(noted, int) else 0
        whole = [file for file in transcripts(self.state)
                 if self._is_beginning(file, size)]
        if whole:
            self._put(path, lambda fd: write_gz(whole[0], fd, size))
            return "from the transcript"
        if os.path.lexists(path):
            self.quarantine.keep_copy(path)
        return "there is no other copy"

    def _is_beginning(self, path: str, size: int) -> bool:
        """Whether this file begins with the conversation of the checkpoint, by the hashes in its record."""
        try:
            with open_transcript(path) as file:
                return place_in(file, cursor_of(self.record)) == size
        except (RewindError, OSError):
            return False
