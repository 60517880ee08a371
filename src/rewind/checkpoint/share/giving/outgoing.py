"""What leaves this machine: checkpoints and conversations, without secrets and ignored files.

`share` writes it into a file, `push` into a git repository. It names no directory of this machine, except
where the conversation mentions one; the project's own directory is replaced there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, TypedDict

from rewind.checkpoint.operation_log.lineage import Lineage
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import FORMAT, Record, session_of
from rewind.checkpoint.records.source import Source
from rewind.checkpoint.share.entries import SharedEntry
from rewind.checkpoint.share.giving.conversations import OutConversation
from rewind.checkpoint.share.giving.left_out import LeftOut, Policy, SecretFinder, SharedTree
from rewind.checkpoint.share.giving.mask import masker_for
from rewind.checkpoint.share.path_names import case_clashes
from rewind.fast.sha256 import sha256
from rewind.snapshot.rules.rules import Rules
from rewind.snapshot.trees.content import pieces_of
from rewind.snapshot.trees.tree import DIR, UNCOVERED, TreeEntry, check_depth

if TYPE_CHECKING:
    from rewind.checkpoint.records.record import Trigger

_TRIGGER = ("event", "tool", "promptId", "toolUseId", "late")  # the fields of a trigger that need no mask
_LONGEST = 200
LANE_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.@+ ")
LONGEST_LANE = 100


def checkpoint_id(store_id: str, record: Record) -> str:
    """An id that is the same on every machine, so that nobody takes a checkpoint twice."""
    shared = record.data.get("shared")
    known = shared.get("id") if isinstance(shared, dict) else None
    return known if isinstance(known, str) else sha256(f"{store_id}\0{record.name}".encode()).hex()[:32]


class Meta(TypedDict):
    """The description of a checkpoint that goes to another machine or comes from one, without its files."""

    id: str
    parent: str | None
    lane: str
    name: str
    createdAt: str
    kind: str
    description: str
    trigger: Trigger
    session: str | None
    lines: int | None  # of the conversation at that moment


class OutCheckpoint:
    """One checkpoint. `parent` is the nearest one before it that is shared as well, or None."""

    def __init__(self, outgoing: Outgoing, record: Record, parent: OutCheckpoint | None,
                 lines: int | None) -> None:
        self.record = record
        self.parent = parent
        self.id = checkpoint_id(outgoing.store_id, record)
        self.lines = lines  # of the conversation at that moment
        self._outgoing = outgoing

    @property
    def meta(self) -> Meta:
        """Its description without the files: JSON, and the same each time."""
        record, masked = self.record, self._outgoing.masked
        kept: Any = {key: value for key in _TRIGGER if (value := record.trigger.get(key))}
        trigger: Trigger = kept
        prompt = record.trigger.get("promptText")
        if isinstance(prompt, str) and prompt:
            trigger["promptText"] = masked(_whole_words(prompt))[:_LONGEST]
        session = session_of(record)
        return {"id": self.id, "parent": self.parent.id if self.parent else None, "lane": _lane(record.place),
                "name": record.name, "createdAt": record.created_at, "kind": record.kind,
                "description": masked(record.description), "trigger": trigger,
                "session": session if isinstance(session, str) else None, "lines": self.lines}

    def changed_since(self, parent: OutCheckpoint | None) -> Iterator[SharedEntry]:
        """What differs from another checkpoint; without one, everything. A directory comes before what it
        holds. The fewer differences there are, the less is read."""
        return self._outgoing.changes(parent.record if parent else None, self.record)

    def content(self, entry: TreeEntry) -> Iterator[bytes]:
        """A file of this checkpoint in pieces of at most 4 MB, as long as `Outgoing` is open."""
        return pieces_of(entry, self._outgoing.tree_of(self.record).blobs)


def _lane(place: str) -> str:
    """A name that every receiver accepts. A git work tree may be called anything."""
    return "".join(c if c in LANE_LETTERS else "-" for c in place)[:LONGEST_LANE] or "-"


def _whole_words(beginning: str) -> str:
    """Without the last word if the text was cut, because half a secret would not be recognised."""
    return beginning if len(beginning) < _LONGEST else beginning.rpartition(" ")[0]


class Outgoing:
    """`with Outgoing(state, records, policy) as out:`; `records` are in the order in which they were made."""

    def __init__(self, state: State, records: list[Record], policy: Policy,
                 conversations: list[OutConversation]) -> None:
        self.store_id: str = state.store_info["id"]
        self.policy = policy
        self.conversations = conversations
        self.records = records
        self._left_out: dict[bytes, LeftOut] = {}  # by path, as far as trees were walked
        self._state = state
        self._secrets = SecretFinder()
        self._line: Lineage | None = None
        self._sources: dict[str, Source] = {}
        self._trees: dict[str, SharedTree] = {}
        self._rules: dict[bytes, Rules] = {}  # of the last checkpoint

    def __enter__(self) -> Outgoing:
        return self

    def __exit__(self, *error: object) -> None:
        for name in list(self._sources):
            self._close(name)
        for conversation in self.conversations:
            conversation.close()

    @property
    def left_out(self) -> list[LeftOut]:
        """By path, of the trees that were walked."""
        return [self._left_out[path] for path in sorted(self._left_out)]

    def masked(self, text: str) -> str:
        return masker_for(self._state.project, self.policy.with_secrets).text(text)

    def checkpoints(self, wanted: Collection[str] | None = None) -> list[OutCheckpoint]:
        """Oldest first, so a parent comes before its children. `wanted` limits them to these names."""
        by_name = {record.name: record for record in self.records}
        made: dict[str, OutCheckpoint] = {}
        for record in sorted(self.records, key=lambda r: r.sequence):
            if wanted is None or record.name in wanted:
                above = self._above(record, by_name)
                parent = made.get(above.name) or OutCheckpoint(self, above, None, None) if above else None
                made[record.name] = OutCheckpoint(self, record, parent, self._lines(record))
        return list(made.values())

    def _above(self, record: Record, by_name: dict[str, Record]) -> Record | None:
        """The nearest ancestor that is shared as well."""
        if record.version >= FORMAT and not record.imported and record.parent in by_name:
            return by_name[record.parent]  # nearly always, and the lineage of all records takes time
        if self._line is None:
            from rewind.checkpoint.operation_log.lineage import lineage

            self._line = lineage(self._state)
        return next((by_name[r.name] for r in self._line.line(record.name)
                     if r.name in by_name and r.name != record.name), None)

    def _lines(self, record: Record) -> int | None:
        found = next((c for c in self.conversations if c.session == session_of(record)), None)
        return found.lines_at(record) if found else None

    # trees

    def changes(self, old: Record | None, new: Record) -> Iterator[SharedEntry]:
        before, after = self.tree_of(old) if old else None, self.tree_of(new)
        yield from self._changes(before, before.root if before else None, after, after.root, b"")
        # The trees of earlier records are not needed any more, and unpacked archives take space on disk.
        for name in list(self._sources):
            if name != new.name and name != (old.name if old else ""):
                self._close(name)

    def tree_of(self, record: Record) -> SharedTree:
        if record.name not in self._trees:
            source = self._sources[record.name] = Source(self._state, record).__enter__()
            if record.rules not in self._rules:  # nearly all checkpoints have the same
                self._rules = {record.rules: source.rules()}
            other = next(iter(self._trees.values()), None)
            self._trees[record.name] = SharedTree(record.tree, source.tree, source.blobs,
                                                  self._rules[record.rules], self.policy, self._secrets,
                                                  like=other)
        return self._trees[record.name]

    def _close(self, name: str) -> None:
        self._sources.pop(name).__exit__(None, None, None)
        del self._trees[name]

    def _changes(self, before: SharedTree | None, old: bytes | None, after: SharedTree, new: bytes,
                 folder: bytes) -> Iterator[SharedEntry]:
        check_depth(folder)
        unchanged = _unchanged(before, old, after, new, folder)
        was = before.listing(folder, old, unchanged) if before and old else None
        now = after.listing(folder, new, unchanged)
        if not folder and now.partial and not (was and was.partial == now.partial):
            yield SharedEntry(b"", TreeEntry(DIR, 0o755, 0, new), now.partial)
        names = sorted({*(was.entries if was else ()), *now.entries})
        for name in names:
            path = folder + b"/" + name if folder else name
            a, b = was.entries.get(name) if was else None, now.entries.get(name)
            if b is None or b.kind != DIR:
                if a != b:
                    self._note(after, folder, name, path, b)
                    yield SharedEntry(path, b)
                continue
            yield from self._below(before, a if a and a.kind == DIR else None, after, b, path)

    def _below(self, before: SharedTree | None, a: TreeEntry | None, after: SharedTree, b: TreeEntry,
               path: bytes) -> Iterator[SharedEntry]:
        same = before is not None and a is not None and a.ref == b.ref and before.env(path) == after.env(path)
        partial = after.raw(b.ref).partial
        if a is None or a.mode != b.mode or (not same and before and before.raw(a.ref).partial != partial):
            yield SharedEntry(path, b, partial)
        if not same:
            yield from self._changes(before if a else None, a.ref if a else None, after, b.ref, path)

    def _note(self, after: SharedTree, folder: bytes, name: bytes, path: bytes,
              entry: TreeEntry | None) -> None:
        """Remember what is left out, for the person who shares."""
        if entry is None or entry.kind != UNCOVERED or path in self._left_out:
            return
        raw = after.raw_entry(folder, name)
        if raw and raw.kind != UNCOVERED:
            self._left_out[path] = LeftOut(path, entry.ref, after.why(folder, name, raw)[1])


def _unchanged(before: SharedTree | None, old: bytes | None, after: SharedTree, new: bytes,
               folder: bytes) -> frozenset[bytes]:
    """The names in a directory about which nothing can have changed: entries and rules are the same, so they
    need not be judged again. Where names clash, one decides about another, so all of them are judged."""
    if before is None or old is None or before.env(folder) != after.env(folder):
        return frozenset()
    was, now = before.raw(old).entries, after.raw(new).entries
    if case_clashes(was) or case_clashes(now):
        return frozenset()
    return frozenset(name for name, entry in now.items() if was.get(name) == entry)
