"""Reads a shared file. Nothing in it is trusted, and nothing is written here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

from rewind.checkpoint.share.entries import FORMAT
from rewind.checkpoint.share.giving.package import CHECKPOINTS, CONVERSATIONS, FILES, MANIFEST, OBJECTS
from rewind.checkpoint.share.taking.incoming import Checked, Incoming
from rewind.errors import FormatTooNew
from rewind.fast.sha256 import sha256
from rewind.jsonfile import JsonObject
from rewind.snapshot.archive.portable import MANIFEST as EXPORTED
from rewind.snapshot.archive.portable import open_archive
from rewind.snapshot.trees.listing import every_path
from rewind.snapshot.trees.tree import DIR, LINK, UNCOVERED, encode_pieces, is_git_dir
from rewind.store import archive
from rewind.store.archive import ArchiveReader, Member, shown
from rewind.store.blobs import CHUNK, oid_of

_MAX_JSON = 256 << 20
_PIECE = 1 << 20


class SharedFile(Incoming):
    """`with SharedFile(path) as incoming:` has read and verified all of it once."""

    def __init__(self, path: str, max_bytes: int | None = None) -> None:
        self.label = path
        self._max_bytes = max_bytes
        self._file = open_archive(path)
        self._manifest: JsonObject = {}
        self._checkpoints: list[JsonObject] = []
        self._digests: dict[bytes, str] = {}  # member -> digest of its content
        self._plain: dict[bytes, tuple[bytes, Any]] = {}  # below `files/`
        try:
            self._scan()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> SharedFile:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    @property
    def what(self) -> str:
        found = self._manifest.get("what")
        return found[:200] if isinstance(found, str) else ""

    def _reader(self) -> ArchiveReader:
        self._file.seek(0)
        return ArchiveReader(self._file, self.label, forbidden=is_git_dir, top=FILES,
                             max_bytes=self._max_bytes)

    def _refuse(self, reason: str) -> NoReturn:
        self._reader().refuse(reason)

    # the first reading

    def _scan(self) -> None:
        reader = self._reader()
        members = iter(reader)
        first = next(members, None)
        if first is not None and first.name == EXPORTED:
            reader.refuse("it was written by `rewind export`. To add it: rewind import FILE")
        if first is None or first.name != MANIFEST or first.kind != archive.FILE:
            reader.refuse("it was not written by `rewind share`.")
        self._manifest = _object(first, reader)
        self.format = self._manifest.get("format")
        if type(self.format) is int and self.format > FORMAT:
            raise FormatTooNew(what=self.label, found=self.format, known=FORMAT)
        for member in members:
            self._take(member, reader)

    def _take(self, member: Member, reader: ArchiveReader) -> None:
        top, _, rest = member.name.partition(b"/")
        if top == CHECKPOINTS and rest:
            self._checkpoints.append(_object(member, reader))
        elif top == FILES:
            self._take_plain(member, rest)
        elif top == OBJECTS and rest:
            self._digests[member.name] = found = _digest(member)
            if found.encode() != rest:
                reader.refuse(f"{shown(member.name)} is not what its name says.")
        elif top != CONVERSATIONS and rest:
            reader.refuse(f"{shown(member.name)} is no part of a shared file.")

    def _take_plain(self, member: Member, path: bytes) -> None:
        if member.kind == archive.FILE:
            self._digests[member.name] = _digest(member)
            self._plain[path] = (archive.FILE, self._digests[member.name])
        elif path:
            self._plain[path] = (member.kind, member.target)

    # what `check` asks for

    def conversations(self) -> Iterable[JsonObject]:
        listed = self._manifest.get("conversations")
        for value in listed if isinstance(listed, list) else ():
            if not isinstance(value, dict) or not isinstance(value.get("session"), str):
                raise ValueError("a conversation in it is malformed")
            yield {**value, "read": self._reads(value["session"])}

    def _reads(self, session: str) -> Callable[[], Iterator[bytes]]:
        name = CONVERSATIONS + b"/" + session.encode("utf-8", "replace") + b".jsonl"

        def read() -> Iterator[bytes]:
            for member in self._reader():
                if member.name == name:
                    yield from _pieces(member)
                    return
            self._refuse(f"it lacks the conversation {shown(name)}.")

        return read

    def checkpoints(self) -> Iterable[tuple[Any, Iterable[Any]]]:
        for value in self._checkpoints:
            entries = value.get("entries")
            if not isinstance(entries, list):
                raise ValueError("a checkpoint in it has no entries")
            yield value, entries
        if not self._checkpoints:
            raise ValueError("it holds no checkpoint")

    def contents(self, wanted: set[str]) -> Iterator[tuple[str, Iterable[bytes]]]:
        given: set[str] = set()
        if not wanted:
            return
        for member in self._reader():
            digest = self._digests.get(member.name, "")
            if digest in wanted and digest not in given:
                given.add(digest)
                yield digest, _pieces(member)

    def check_files(self, checked: Checked) -> None:
        """Check that `files/`, which a person sees with `tar`, is what the newest checkpoint holds."""
        root = checked.checkpoints[-1].root
        held: dict[bytes, tuple[bytes, Any]] = {}
        for path, entry in every_path(root, checked.trees.tree):
            if entry.kind == DIR:
                held[path] = (archive.DIR, b"")
            elif entry.kind == LINK:
                held[path] = (archive.LINK, entry.ref)
            elif entry.kind != UNCOVERED:
                held[path] = (archive.FILE, entry.ref.hex())
        if held != self._plain:
            differs = min(path for path in {*held, *self._plain} if held.get(path) != self._plain.get(path))
            self._refuse(f"{shown(FILES + b'/' + differs)} in it is not what its newest checkpoint holds.")


def _object(member: Member, reader: ArchiveReader) -> JsonObject:
    if member.kind != archive.FILE or member.size > _MAX_JSON:
        reader.refuse(f"{shown(member.name)} is not a file, or too large.")
    try:
        value = json.loads(member.read(member.size))
    except (ValueError, RecursionError):
        reader.refuse(f"{shown(member.name)} is not valid JSON.")
    if not isinstance(value, dict):
        reader.refuse(f"{shown(member.name)} is not an object.")
    return value


def _pieces(member: Member) -> Iterator[bytes]:
    while member.left:
        yield member.read(_PIECE)


def _digest(member: Member) -> str:
    chunks: list[tuple[int, bytes]] = []
    while member.left:
        data = member.read(CHUNK)
        chunks.append((len(data), oid_of(data)))
    if not chunks:
        return oid_of(b"").hex()
    return (chunks[0][1] if member.size <= CHUNK else sha256(encode_pieces(chunks))).hex()
