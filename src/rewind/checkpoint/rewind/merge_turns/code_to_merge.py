"""Reverting or applying what turns did: the current code with more changes merged into it.

The result is the tree of a checkpoint that is made when the plan is applied. So the plan, the backup, the
log, undo and interruptions are the same as for any checkpoint.
"""

from __future__ import annotations

from rewind.checkpoint.operation_log import operations as ops
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.records.source import Source
from rewind.checkpoint.rewind.files.code_to_restore import CodeToRestore
from rewind.checkpoint.rewind.files.file_plan import RestorePlan
from rewind.checkpoint.rewind.merge_turns.merged_source import MergedSource
from rewind.checkpoint.rewind.merge_turns.merging import Merging
from rewind.checkpoint.rewind.target import Adopted, BroughtBack, Merge
from rewind.checkpoint.save.capture import Draft
from rewind.checkpoint.save.create import new_record, write_archive
from rewind.checkpoint.select.selectors import select
from rewind.checkpoint.select.spans import Span, fork_span
from rewind.checkpoint.select.spans import spans as spans_named
from rewind.errors import StoreDamaged, TurnWithoutCheckpoint
from rewind.snapshot.git.head import git_head
from rewind.snapshot.rules.gitfiles import work_tree_top
from rewind.snapshot.scan.build import Snapshot
from rewind.snapshot.trees.tree import CHUNKED, DIR, FILES, LINK, TreeEntry, decode_pieces
from rewind.store.objects import ObjectStore
from rewind.words import plural, printable

RESULT = "result"  # its name before it is a checkpoint
_NO_ID = "0" * 64
_NAMED = 5  # files that a sentence names


class CodeToMerge(Merging, CodeToRestore):
    """The current code with some spans reverted or applied. `record` becomes a checkpoint in
    `create_checkpoint`. Until then it only has a tree, which is set after each scan of the project."""

    merges = True

    def __init__(self, state: State, target: Merge) -> None:
        CodeToRestore.__init__(self, Record({"name": RESULT, "sequence": 0, "kind": "auto", "trigger": {},
                                 "code": {"format": "objects", "tree": _NO_ID, "rules": _NO_ID}}))
        Merging.__init__(self, target, _spans(state, target))
        self.source: MergedSource | None = None

    def open(self, state: State) -> Source:
        self.source = MergedSource(state, self.record, self)
        return self.source

    def create_checkpoint(self, state: State, draft: Draft, plan: RestorePlan, before: str) -> None:
        """Make it a checkpoint. The log names it next. It is not `here` before the operation has ended."""
        assert self.source is not None
        store = draft.archive or state.objects
        added = store.added
        _copy(self.source, self.record.tree, store)
        store.commit()  # content first, then the record that refers to it
        files, size = _counts(draft.snapshot, plan)
        record = new_record(state, "auto", self.title(), {
            **draft.code, "fileCount": files, "totalSize": size,
            "tree": self.record.code["tree"], "newBytes": store.added - added}, {
            "trigger": {"event": self.command, "turns": [span.label for span in self.spans]},
            "parent": before, "git": git_head(work_tree_top(state.root))})
        if draft.archive is not None:
            write_archive(state, record, self.source.tree, draft.archive)
        state.timeline.write(record)
        self.record.data = record.data

    def for_agent(self, plan: RestorePlan) -> str:
        """A note to paste into the conversation, which does not mention the change."""
        changed = list(dict.fromkeys([*plan.written, *plan.deleted]))
        folders = {change.path for change in plan.changes if change.action in ("mkdir", "rmdir")}
        files = [path for path in changed if path not in folders]
        paths = [path.decode("utf-8", "backslashreplace") for path in files or changed]
        if not paths or not any(span.session for span in self.spans):
            return ""
        names = ", ".join(paths[:_NAMED])
        names += f" and {plural(len(paths) - _NAMED, 'more file')}" if len(paths) > _NAMED else ""
        if self.parts:
            return (f"I took back a part of your change to {names} ({self.turns()})."
                    " Read these files again before you edit them, and do not redo that part.")
        if self.command == ops.REVERT:
            return (f"I reverted your change to {names} ({self.what()}). Later changes are still there."
                    " Read these files again before you edit them, and do not redo that change.")
        return (f"I brought a change to {names} over from elsewhere ({self.what()})."
                " Read these files again before you edit them.")


def _spans(state: State, target: Merge) -> list[Span]:
    """The spans in the order in which they are merged. Reverting begins with the newest."""
    if isinstance(target, BroughtBack):
        return [_difference(state, target)]
    if target.command == ops.REVERT:
        return spans_named(state, target.turns, target.session)[::-1]
    if isinstance(target, Adopted):
        from rewind.checkpoint.rewind.merge_turns.adopt import adopted_span

        return [adopted_span(state, target.name)]
    if target.session and not target.turns:
        return [fork_span(state, target.session)]
    found = spans_named(state, target.turns, target.session)
    for span in found:
        if span.after is None:
            raise TurnWithoutCheckpoint(turn=span.turn, session=span.session)
    return found


def _difference(state: State, target: BroughtBack) -> Span:
    old, new = select(state, target.old), select(state, target.new) if target.new else None
    label = printable(target.label) or (f"{old.name}..{new.name}" if new else f"since {old.name}")
    return Span(old, new, label, session=target.session or "")


def _counts(snapshot: Snapshot, plan: RestorePlan) -> tuple[int, int]:
    """How many files the result has and their total size, from the snapshot and the planned changes."""
    files, size = snapshot.files, snapshot.bytes
    for change in plan.changes:
        if change.action not in ("write", "delete"):
            continue
        for entry, sign in ((change.target, 1), (change.before, -1)):
            if entry and (entry.kind in FILES or entry.kind == LINK):
                files, size = files + sign, size + sign * entry.size
    return files, size


def _copy(source: MergedSource, root: bytes, store: ObjectStore) -> None:
    """Store the objects of a tree that the store does not have."""
    folders = [root]
    while folders:
        oid = folders.pop()
        if store.has(oid):
            continue  # and everything that it refers to
        tree = source.tree(oid)
        for entry in tree.entries.values():
            if entry.kind == DIR:
                folders.append(entry.ref)
            elif entry.kind in FILES and not store.has(entry.ref):
                _copy_file(source, entry, store)
        if store.put(tree.encode()) != oid:
            raise StoreDamaged(what="a directory listing is not what it was")


def _copy_file(source: MergedSource, entry: TreeEntry, store: ObjectStore) -> None:
    content = source.get(entry.ref)
    for _, oid in decode_pieces(content) if entry.kind == CHUNKED else ():
        if not store.has(oid):
            store.put(source.get(oid))
    store.put(content)
