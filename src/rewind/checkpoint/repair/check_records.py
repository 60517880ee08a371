"""Checks that the store holds everything that the records name: what each checkpoint lacks, which objects are
damaged."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from rewind.checkpoint.conversations.links import body_of, header_of, links_of, snapshot_of
from rewind.checkpoint.conversations.stored import write_out
from rewind.checkpoint.project.damage import MissingContent
from rewind.checkpoint.records.outside import kept_outside
from rewind.checkpoint.records.source import Source
from rewind.errors import CheckpointNotFound, RewindError
from rewind.snapshot.trees.tree import CHUNKED, DIR, FILE, MAX_DEPTH, decode_pieces
from rewind.store.blobs import Unreadable, unpack

if TYPE_CHECKING:
    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Record
    from rewind.snapshot.scan.build import Progress
    from rewind.store.blobs import Blobs
    from rewind.store.objects import ObjectStore

# What a damaged object is for. This says where another copy of it may be.
TREE, PIECES, CONTENT, RULES, HEADER, LINK, PIECE, GARBAGE = (
    "directory", "list of pieces", "content", "rules", "first line", "link", "piece", "unused")


CONFIGURATION, INTERRUPTED, MONITOR = "configuration", "interrupted", "monitor"  # what a problem is about
STORE, CHECKPOINT = "store", "checkpoint"


class Problem(NamedTuple):
    """One thing that `validate` found: a sentence for people, and a kind for programs."""

    kind: str
    text: str
    checkpoint: str = ""  # the one that is affected

    @property
    def is_damage(self) -> bool:
        """Whether something that was stored is missing or changed."""
        return self.kind in (STORE, CHECKPOINT)


@dataclass
class Examined:
    """What is wrong: as problems, by checkpoint, and by object."""

    problems: list[Problem] = field(default_factory=list)
    affected: dict[str, MissingContent] = field(default_factory=dict)
    bad: dict[bytes, str] = field(default_factory=dict)  # object -> what it is
    unusable: str = ""  # why the object store cannot be read at all

    def add_checkpoint(self, name: str, files: list[tuple[bytes, str]], conversation: str,
                       lost: object) -> None:
        """`lost` is how many files were lost without a name when an archive was repaired."""
        known = lost if isinstance(lost, int) else 0
        if known:
            self._add(name, f"{known:,} of its files were lost when its archive was damaged")
        for path, why in files:
            self._add(name, f"{_shown(path)} cannot be restored ({why})")
        if conversation:
            self._add(name, f"its conversation cannot be restored ({conversation})")
        if files or conversation or known:
            self.affected[name] = MissingContent(len(files) + known, [path for path, _ in files],
                                                 conversation)

    def _add(self, name: str, text: str) -> None:
        self.problems.append(Problem(CHECKPOINT, f"{name}: {text}", name))


def examine_records(state: State, records: Iterable[Record], found: Examined, blobs: Blobs, *, deep: bool,
                    progress: Progress | None = None, rotten: dict[bytes, str] | None = None) -> None:
    """`rotten` are the damaged objects, if all objects have been read already."""
    careful = False
    if deep and rotten is None:
        rotten, careful = _read_all(state.objects, progress)
    shared = _Checker(blobs, found.bad, rotten or {}, careful)  # most checkpoints share most objects
    records = list(records)
    for number, record in enumerate(records):
        files = _check_code(state, record, shared) + shared.outside(record)
        conversation = _check_conversation(state, record, shared) if record.data.get("hasTranscript") else ""
        if state.files.is_reserved(record.name):  # another process has not collected it since it was listed
            found.add_checkpoint(record.name, files, conversation, record.code.get("lost"))
        if progress:
            progress("Checking checkpoints", number + 1, len(records))
    for oid in rotten or {}:
        if oid not in found.bad:
            found.bad[oid] = GARBAGE
            text = f"object {oid.hex()} is damaged, but no checkpoint needs it"
            found.problems.append(Problem(STORE, text))


def missing_in(state: State, name: str) -> MissingContent | None:
    """What a checkpoint lacks now. Does not read all of its content."""
    found = Examined()
    try:
        examine_records(state, [state.files.read(name)], found, state.objects, deep=False)
    except CheckpointNotFound:
        return None  # collected since
    except RewindError as error:
        return MissingContent(1, [b""], error.message)
    return found.affected.get(name)


def _read_all(store: ObjectStore, progress: Progress | None) -> tuple[dict[bytes, str], bool]:
    """Why each damaged object is damaged, and whether some rows could not be reached."""
    rotten: dict[bytes, str] = {}
    try:
        for oid, _, why in rotten_rows(store, progress):
            rotten[oid if isinstance(oid, bytes) else b""] = why
    except RewindError:
        return rotten, True  # a broken page: the objects behind it may still be found by their ids
    return rotten, False


def rotten_rows(store: ObjectStore,
                progress: Progress | None = None) -> Iterator[tuple[bytes, bytes, str]]:
    """Reads the whole store once, front to back: id, packed content and reason of all that is damaged. In a
    damaged row, id and content need not be bytes."""
    total = store.count()
    for number, (oid, packed) in enumerate(store.rows(), 1):
        try:
            unpack(oid, packed)
        except (Unreadable, TypeError) as error:
            yield oid, packed, f"it is damaged: {error}"
        if progress:
            progress("Reading the store", number, total)


def _check_code(state: State, record: Record, shared: _Checker) -> list[tuple[bytes, str]]:
    try:
        with Source(state, record, shared.blobs) as source:
            checker = shared if record.format == "objects" else _Checker(source.blobs, {}, {}, False)
            try:
                source.rules()
            except RewindError:
                checker.bad[record.rules] = RULES
                raise
            return checker.tree(source, record.tree)
    except RewindError as error:
        return [(b"", error.message)]


class _Checker:
    """What is wrong below each tree, cached by its id."""

    def __init__(self, blobs: Blobs, bad: dict[bytes, str], rotten: dict[bytes, str], careful: bool) -> None:
        self.blobs = blobs
        self.bad = bad
        self.rotten = rotten
        self.careful = careful  # read and hash everything instead of only asking whether it exists
        self._trees: dict[bytes, list[tuple[bytes, str]]] = {}
        self._blobs: dict[bytes, str] = {}

    def tree(self, source: Source, oid: bytes, depth: int = 0) -> list[tuple[bytes, str]]:
        """(path, problem) for everything below this tree that cannot be restored."""
        known = self._trees.get(oid)
        if known is None:
            known = self._trees[oid] = self._check_tree(source, oid, depth)
        return known

    def _check_tree(self, source: Source, oid: bytes, depth: int) -> list[tuple[bytes, str]]:
        if depth > MAX_DEPTH:
            return [(b"", "its directories are nested too deeply")]
        broken = []
        try:
            entries = source.tree(oid).entries
        except RewindError as error:
            self.bad[oid] = TREE
            return [(b"", error.message)]
        for name, entry in entries.items():
            if entry.kind == DIR:
                broken += [(name + b"/" + path if path else name, why)
                           for path, why in self.tree(source, entry.ref, depth + 1)]
            elif entry.kind in (FILE, CHUNKED):
                problem = self._file(entry.kind, entry.ref)
                if problem:
                    broken.append((name, problem))
        return broken

    def outside(self, record: Record) -> list[tuple[bytes, str]]:
        """The same for files outside the project."""
        if not record.data.get("outside"):
            return []
        checked = [(one.path, self._file(one.entry.kind, one.entry.ref))
                   for one in kept_outside(record) if one.entry]
        return [(path, problem) for path, problem in checked if problem]

    def _file(self, kind: bytes, oid: bytes) -> str:
        if kind == FILE:
            return self.blob(oid, CONTENT)
        try:
            pieces = decode_pieces(self.blobs.get(oid))
        except RewindError as error:
            self.bad[oid] = PIECES
            return error.message
        problems = [self.blob(piece, CONTENT) for _, piece in pieces]  # all of them, so that each is repaired
        return next(filter(None, problems), "")

    def blob(self, oid: bytes, what: str) -> str:
        if oid not in self._blobs:
            problem = ""
            if oid in self.rotten:
                problem = f"object {oid.hex()} is unreadable: {self.rotten[oid]}"
            else:
                try:
                    if self.careful or not self.blobs.has(oid):
                        self.blobs.get(oid)
                except RewindError as error:
                    problem = error.message
            if problem:
                self.bad[oid] = what
            self._blobs[oid] = problem
        return self._blobs[oid]


def _check_conversation(state: State, record: Record, checker: _Checker) -> str:
    """Why a conversation cannot be restored; empty if it can."""
    try:
        if (snapshot_of(record) or {}).get("file"):
            read_conversation(state, record)
            return ""
        header, body = header_of(record), body_of(record)
        if header is None or body is None:
            return "its record does not say where it is"
        problems = [checker.blob(header, HEADER), *_check_chain(body, checker)]
        return next(filter(None, problems), "")
    except RewindError as error:
        return error.message


def read_conversation(state: State, record: Record) -> None:
    """Read it to its end. Raises RewindError if it is damaged."""
    with open(os.devnull, "wb") as nowhere:
        write_out(state, record, nowhere.fileno())


def _check_chain(body: bytes, checker: _Checker) -> list[str]:
    problems = []
    at = body
    try:
        for link in links_of(checker.blobs, body):
            problems += [checker.blob(piece, PIECE) for piece in link.pieces]
            at = link.parent or b""
    except RewindError as error:
        checker.bad[at] = LINK
        problems.append(error.message)
    return problems


def _shown(path: bytes) -> str:
    return path.decode("utf-8", "replace") or "the whole tree"
