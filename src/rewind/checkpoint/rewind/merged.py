"""Taking back what a turn did, or bringing it over: the code of now, with one more change merged into it.

The result is the tree of a checkpoint that is made when it is applied, so that everything else (the plan, the
backup, the log, undo, an interruption) is as for going to any checkpoint.
"""

from __future__ import annotations

from contextlib import ExitStack

from rewind.checkpoint.create import new_record, write_archive
from rewind.checkpoint.plan import Kept, RestorePlan
from rewind.checkpoint.record import Record
from rewind.checkpoint.rewind import operations as ops
from rewind.checkpoint.rewind.code import Wanted
from rewind.checkpoint.source import Source
from rewind.checkpoint.turns.spans import spans as spans_named
from rewind.errors import ChangedSincePlan, PathNotChanged, StoreDamaged, TurnWithoutCheckpoint
from rewind.snapshot.change import Paths
from rewind.snapshot.content import whole
from rewind.snapshot.git_head import git_head
from rewind.snapshot.gitfiles import work_tree_top
from rewind.snapshot.live import read_live
from rewind.snapshot.three_way import MOST_BYTES, Clash, Side, TreeMerge
from rewind.snapshot.tree import CHUNKED, DIR, FILE, FILES, Tree, decode_pieces
from rewind.store.blobs import oid_of
from rewind.words import explain, plural, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from rewind.checkpoint.rewind.code import Ready
    from rewind.checkpoint.rewind.target import Merge
    from rewind.checkpoint.state import State
    from rewind.checkpoint.turns.spans import Span
    from rewind.snapshot.build import Snapshot
    from rewind.snapshot.rules import Rules
    from rewind.snapshot.tree import Entry
    from rewind.store.blobs import Blobs
    from rewind.store.objects import ObjectStore

RESULT = "result"  # what it is called before it is a checkpoint
_NOW = "now"
_NO_ID = "0" * 64
_NAMED = 5  # files that a sentence names


class InConflict(Kept):
    """A path that both sides changed."""

    __slots__ = ("lines",)

    def __init__(self, clash: Clash) -> None:
        super().__init__(clash.path, clash.reason, conflict=True)
        self.lines = clash.lines

    def remark(self) -> str:
        where = ", ".join(_lines(first, count) for first, count in self.lines)
        return f"conflict: {explain(self.reason)}" + (f", {where}" if where else "")


def _lines(first: int, count: int) -> str:
    if not count:
        return f"before line {first}"
    return f"line {first}" if count == 1 else f"lines {first}-{first + count - 1}"


class MergeWanted(Wanted):
    """The code of now with some spans taken back, or brought over. `record` becomes a checkpoint in `settle`;
    until then it has a tree only, and that once there was a look at the project."""

    merges = True

    def __init__(self, state: State, target: Merge) -> None:
        super().__init__(Record({"name": RESULT, "sequence": 0, "kind": "auto", "trigger": {},
                                 "code": {"format": "objects", "tree": _NO_ID, "rules": _NO_ID}}))
        self.command = target.command
        self.spans = _spans(state, target)
        self.how = target.how
        self.only = target.paths
        self.source: MergedSource | None = None

    def open(self, state: State) -> Source:
        self.source = MergedSource(state, self)
        return self.source

    def settle(self, state: State, ready: Ready, before: str) -> None:
        """Make it a checkpoint. The log names it next; until its operation has ended it is not `here`."""
        assert self.source is not None
        store = ready.draft.archive or state.objects
        added = store.added
        _copy(self.source, self.record.tree, store)
        store.commit()  # content first, then the record that points at it
        code = {**ready.draft.code, "tree": self.record.code["tree"], "newBytes": store.added - added}
        record = new_record(state, "auto", self.title(), code, {
            "trigger": {"event": self.command, "turns": [span.label for span in self.spans]},
            "parent": before, "git": git_head(work_tree_top(state.root))})
        if ready.draft.archive is not None:
            write_archive(state, record, self.source.tree, ready.draft.archive)
        state.files.write(record)
        state.timeline.add(record)
        self.record.data = record.data

    # words

    def what(self) -> str:
        """'turn 2, "Add a cache"' or 'turns 2 and 4'."""
        if len(self.spans) == 1:
            span = self.spans[0]
            return f"{span.label}, {quoted(span.prompt)}" if span.prompt else span.label
        turns = sorted(span.turn for span in self.spans if span.turn)
        if len(turns) < len(self.spans):
            return ", ".join(span.label for span in self.spans)
        return f"turns {', '.join(map(str, turns[:-1]))} and {turns[-1]}"

    def title(self) -> str:
        return f"{'Reverted' if self.command == ops.REVERT else 'Applied'} {self.what()}"

    def notes(self) -> list[str]:
        return [f"The checkpoint before {span.label} is not exact, so edits from just before it may count as"
                f" its work: {span.before.name}" for span in self.spans if not span.exact]

    def for_agent(self, plan: RestorePlan) -> str:
        """A note to paste into the conversation, which does not know of it."""
        paths = [path.decode("utf-8", "backslashreplace")
                 for path in dict.fromkeys([*plan.written, *plan.deleted])]
        if not paths or not any(span.session for span in self.spans):
            return ""
        names = ", ".join(paths[:_NAMED])
        names += f" and {plural(len(paths) - _NAMED, 'more file')}" if len(paths) > _NAMED else ""
        if self.command == ops.REVERT:
            return (f"I reverted your change to {names} ({self.what()}). Later changes are still there."
                    " Read these files again before you edit them, and do not redo that change.")
        return (f"I brought a change to {names} over from elsewhere ({self.what()})."
                " Read these files again before you edit them.")


def _spans(state: State, target: Merge) -> list[Span]:
    """In the order in which they are merged: taking back begins with the newest."""
    if target.command == ops.REVERT:
        return spans_named(state, target.turns, target.session)[::-1]
    if target.session and not target.turns:
        from rewind.checkpoint.turns.fork_span import fork_span

        return [fork_span(state, target.session)]
    found = spans_named(state, target.turns, target.session)
    for span in found:
        if span.after is None:
            raise TurnWithoutCheckpoint(turn=span.turn, session=span.session)
    return found


class MergedSource(Source):
    """Reads like a checkpoint: trees and blobs of the project as it was at the last look, of the spans, and
    what merging them made."""

    def __init__(self, state: State, wanted: MergeWanted) -> None:
        super().__init__(state, wanted.record)
        self.state = state
        self.wanted = wanted
        self.made: dict[bytes, bytes] = {}
        self.snapshot: Snapshot | None = None
        self.clashes: list[Clash] = []
        self.settled: list[Clash] = []
        self.unknown: dict[bytes, str] = {}
        self.removed: set[bytes] = set()
        self._stack = ExitStack()
        self._sources: dict[str, Source] = {}
        self.blobs: Blobs = self

    def __enter__(self) -> MergedSource:
        try:
            for span in self.wanted.spans:
                for record in filter(None, (span.before, span.after)):
                    if record.name not in self._sources:
                        self._sources[record.name] = self._stack.enter_context(Source(self.state, record))
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._stack.close()

    # what a source gives

    def get(self, oid: bytes) -> bytes:
        if oid in self.made:
            return self.made[oid]
        return self._store_of(oid).get(oid)

    def has(self, oid: bytes) -> bool:
        return oid in self.made or self._store_of(oid).has(oid)

    def _store_of(self, oid: bytes) -> Blobs:
        stores = [source.blobs for source in self._sources.values() if source.blobs is not self.state.objects]
        return next((store for store in stores if store.has(oid)), self.state.objects)

    def tree(self, oid: bytes) -> Tree:
        if oid in self.made:
            return Tree.decode(self.made[oid])
        for source in self._sources.values():
            if source.blobs is not self.state.objects and source.blobs.has(oid):
                return source.tree(oid)
        return self.snapshot.tree(oid) if self.snapshot else super().tree(oid)

    def rules(self) -> Rules:
        return self.state.rules()

    def meet(self, snapshot: Snapshot, looked_for: frozenset[bytes]) -> None:
        """Merge into the project as it is in this look."""
        self.snapshot = snapshot
        self.made, self.clashes, self.settled, self.unknown = {}, [], [], {}
        paths, touched = Paths(self.wanted.only), set()
        root = snapshot.root
        for span in self.wanted.spans:
            work = self._merge(span, root, paths, looked_for)
            root = work.root()
            self.clashes += work.clashes
            self.settled += work.settled
            self.unknown.update(work.unknown)
            touched.update(work.touched)
        self.record.code["tree"] = root.hex()
        self.removed = touched
        for path in paths.paths or ():
            if not any(Paths([path]).covers(one) for one in (*touched, *self.unknown)):
                raise PathNotChanged(path=path.decode("utf-8", "surrogateescape"), what=self.wanted.what())

    def _merge(self, span: Span, root: bytes, paths: Paths, looked_for: frozenset[bytes]) -> TreeMerge:
        ours = Side(root, self.tree, self._read_ours)
        before = self._side(span.before)
        after = self._side(span.after) if span.after else ours
        revert = self.wanted.command == ops.REVERT
        base, theirs = (after, before) if revert else (before, after)
        label = f"{'before' if revert else 'after'} {span.label}" + (
            f": {quoted(span.prompt)}" if span.prompt else "")
        return TreeMerge(base, ours, theirs, self._put, how=self.wanted.how, our_label=_NOW,
                         their_label=label, paths=paths, looked_for=looked_for,
                         frozen=frozenset(clash.path for clash in self.clashes))

    def _side(self, record: Record) -> Side:
        source = self._sources[record.name]

        def read(path: bytes, entry: Entry) -> bytes | None:
            return whole(entry, source.blobs) if entry.size <= MOST_BYTES else None

        return Side(record.tree, source.tree, read)

    def _put(self, data: bytes) -> bytes:
        oid = oid_of(data)
        self.made[oid] = data
        return oid

    def _read_ours(self, path: bytes, entry: Entry) -> bytes | None:
        """What was merged a moment ago, else the file itself if it is still what the look has seen."""
        if entry.size > MOST_BYTES:
            return None
        if self._has_all(entry):
            return whole(entry, self)
        data = read_live(self.state.root, path, MOST_BYTES + 1)
        if data is None or len(data) != entry.size or (entry.kind == FILE and oid_of(data) != entry.ref):
            raise ChangedSincePlan(paths=path.decode("utf-8", "surrogateescape"))
        return data

    def _has_all(self, entry: Entry) -> bool:
        if not self.has(entry.ref):
            return False
        return entry.kind != CHUNKED or all(self.has(oid) for _, oid in decode_pieces(self.get(entry.ref)))

    def removes(self, path: bytes) -> bool:
        """Whether it is the merge that takes a path away, so that it goes although it is ignored."""
        return path in self.removed

    def settled_conflicts(self) -> list[Kept]:
        return [InConflict(clash) for clash in self.settled]

    def kept(self) -> list[Kept]:
        return [*(InConflict(clash) for clash in self.clashes),
                *(Kept(path, reason) for path, reason in sorted(self.unknown.items()))]


def _copy(source: MergedSource, root: bytes, store: ObjectStore) -> None:
    """Put into the store what it lacks of a tree."""
    folders = [root]
    while folders:
        oid = folders.pop()
        if store.has(oid):
            continue  # with all that it names
        tree = source.tree(oid)
        for entry in tree.entries.values():
            if entry.kind == DIR:
                folders.append(entry.ref)
            elif entry.kind in FILES and not store.has(entry.ref):
                _copy_file(source, entry, store)
        if store.put(tree.encode()) != oid:
            raise StoreDamaged(what="a directory listing is not what it was")


def _copy_file(source: MergedSource, entry: Entry, store: ObjectStore) -> None:
    content = source.get(entry.ref)
    for _, oid in decode_pieces(content) if entry.kind == CHUNKED else ():
        if not store.has(oid):
            store.put(source.get(oid))
    store.put(content)
