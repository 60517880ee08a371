"""Is everything there that the records promise? What is not is named, with the checkpoints it hurts."""

from __future__ import annotations

import os

from rewind.checkpoint.chat_links import body_of, header_of, links_of, snapshot_of
from rewind.checkpoint.source import Source
from rewind.config.load import check_settings
from rewind.errors import RewindError
from rewind.snapshot.tree import CHUNKED, DIR, FILE, MAX_DEPTH, decode_pieces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.record import Record
    from rewind.checkpoint.state import State
    from rewind.snapshot.scan import Progress


def validate(state: State, *, deep: bool, progress: Progress | None = None) -> list[str]:
    """The problems found, each a sentence; an empty list when all is well."""
    problems = check_settings(state.project.home, state.project.state)
    problems += _check_profiles(state) + _check_history(state)
    records = state.timeline.all()
    problems += [f"{error.message}. It cannot be restored; the others can."
                 for error in state.timeline.damaged.values()]
    try:
        if deep:
            problems += state.objects.check()
        return problems + _check_records(state, records, deep, progress)
    except RewindError as error:
        return [*problems, error.message]


def _check_profiles(state: State) -> list[str]:
    from rewind.agents.registry import profiles

    try:
        profiles(state.project.home)
    except RewindError as error:
        return [f"{error.message}. Until it is mended, conversations are left out of checkpoints."]
    return []


def _check_history(state: State) -> list[str]:
    try:
        entry = state.history().interrupted()
    except RewindError as error:
        return [f"{error.message}. {error.hint}"]
    if entry:
        return [f"A restore of {entry['checkpoint']} was interrupted. `rewind undo-restore` takes it"
                f" back, `rewind restore {entry['checkpoint']}` finishes it."]
    return []


def _check_records(state: State, records: list[Record], deep: bool,
                   progress: Progress | None) -> list[str]:
    problems = []
    shared = _Checker(deep)  # most checkpoints share most objects: each is looked at once
    chats = _ChatChecker(state, deep)
    for number, record in enumerate(records):
        checker = shared if record.format == "objects" else _Checker(deep)
        try:
            with Source(state, record) as source:
                source.rules()
                broken = checker.tree(source, record.tree)
        except RewindError as error:
            broken = [(b"", error.message)]
        problems += [f"{record.name}: {_shown(path)} cannot be restored ({why})" for path, why in broken]
        why = chats.problem(record) if record.data.get("hasTranscript") else ""
        problems += [f"{record.name}: its conversation cannot be restored ({why})"] if why else []
        if progress:
            progress("Checking checkpoints", number + 1, len(records))
    return problems


class _Checker:
    """What is wrong below each tree, remembered by its id."""

    def __init__(self, deep: bool) -> None:
        self.deep = deep  # read and hash everything, not only ask whether it is there
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
            return [(b"", "directories are nested deeper than any project's")]
        broken = []
        try:
            entries = source.tree(oid).entries
        except RewindError as error:
            return [(b"", error.message)]
        for name, entry in entries.items():
            if entry.kind == DIR:
                broken += [(name + b"/" + path if path else name, why)
                           for path, why in self.tree(source, entry.ref, depth + 1)]
            elif entry.kind in (FILE, CHUNKED):
                problem = self._file(source, entry.kind, entry.ref)
                if problem:
                    broken.append((name, problem))
        return broken

    def _file(self, source: Source, kind: bytes, oid: bytes) -> str:
        if kind == FILE:
            return self._blob(source, oid)
        try:
            pieces = decode_pieces(source.blobs.get(oid))
        except RewindError as error:
            return error.message
        return next(filter(None, (self._blob(source, piece) for _, piece in pieces)), "")

    def _blob(self, source: Source, oid: bytes) -> str:
        if oid not in self._blobs:
            try:
                if self.deep or not source.blobs.has(oid):
                    source.blobs.get(oid)
                self._blobs[oid] = ""
            except RewindError as error:
                self._blobs[oid] = error.message
        return self._blobs[oid]


class _ChatChecker:
    """What is wrong with each link of the conversations, remembered by its id."""

    def __init__(self, state: State, deep: bool) -> None:
        self.state = state
        self.deep = deep
        self._links: dict[bytes, str] = {}

    def problem(self, record: Record) -> str:
        """What keeps this conversation from being restored, or nothing."""
        try:
            if (snapshot_of(record) or {}).get("file"):
                return self._archived(record)
            header, body = header_of(record), body_of(record)
            if header is None or body is None:
                return "its record does not say where it is"
            return self._object(header) or self._chain(body)
        except RewindError as error:
            return error.message

    def _archived(self, record: Record) -> str:
        from rewind.checkpoint.conversation import write_out

        with open(os.devnull, "wb") as nowhere:
            write_out(self.state, record, nowhere.fileno())
        return ""

    def _chain(self, body: bytes) -> str:
        fresh = []
        problem = ""
        for link in links_of(self.state.objects, body):
            if link.oid in self._links:
                problem = self._links[link.oid]
                break
            fresh.append(link)
        for link in reversed(fresh):  # a link is as good as what comes before it
            problem = problem or next(filter(None, map(self._object, link.pieces)), "")
            self._links[link.oid] = problem
        return problem

    def _object(self, oid: bytes) -> str:
        try:
            if self.deep or not self.state.objects.has(oid):
                self.state.objects.get(oid)
        except RewindError as error:
            return error.message
        return ""


def _shown(path: bytes) -> str:
    return path.decode("utf-8", "replace") or "the whole tree"
