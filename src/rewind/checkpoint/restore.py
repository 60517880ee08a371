"""Going back: plan, backup, apply, compare. A crash at any point is seen by the next command."""

from __future__ import annotations

import os

from rewind.checkpoint.create import capture, write_record
from rewind.checkpoint.plan import Kept, RestorePlan, plan_restore
from rewind.checkpoint.source import Source
from rewind.errors import BackupFailed, ChangedSincePlan, NoRestoreToUndo, PathNotFound
from rewind.snapshot.apply import Applier
from rewind.snapshot.change import Paths, differences
from rewind.snapshot.rules import RuleTree
from rewind.snapshot.scan import scan
from rewind.snapshot.tree import DIR, Entry
from rewind.snapshot.walk import nested_exclude, read_ignore_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rewind.checkpoint.create import Draft
    from rewind.checkpoint.record import Record
    from rewind.checkpoint.state import State
    from rewind.snapshot.change import Trees
    from rewind.snapshot.rules import Rules
    from rewind.snapshot.scan import Progress, Snapshot

_PATIENCE = 3  # rounds of "this is not captured yet" before it is left alone


class Restored:
    """What a restore did. `remaining` is what still differs from the checkpoint, with the reason."""

    def __init__(self, record: Record, plan: RestorePlan) -> None:
        self.record = record
        self.plan = plan
        self.backup: Record | None = None
        self.remaining: list[tuple[bytes, str]] = []
        self.swept: list[bytes] = []

    @property
    def complete(self) -> bool:
        return not self.remaining


def plan_only(state: State, record: Record, paths: list[bytes] | None) -> RestorePlan:
    """The plan, with nothing stored and nothing locked."""
    with Source(state, record) as source:
        rules = state.rules()

        def look(rules: Rules) -> Snapshot:
            return scan(state.root, rules, state.cache, state.objects, keep=False)

        plan, snapshot, _ = _plan(state, source, rules, look, paths)
        plan.foreign = _foreign(state, plan, snapshot)
        return plan


def restore(state: State, record: Record, *, action: str = "restore",
            paths: list[bytes] | None = None, expected: RestorePlan | None = None,
            force: bool = False, skip_backup: bool = False,
            progress: Progress | None = None, position: int | None = None) -> Restored:
    """Bring the tree (or the given paths) back to the checkpoint. The caller holds the lock."""
    with Source(state, record) as source:
        draft, plan = _prepare(state, source, paths, progress)
        try:
            if expected is not None and not force:
                _refuse_if_changed(expected, plan)
            return _apply(state, source, draft, plan, action=action, paths=paths, force=force,
                          skip_backup=skip_backup, progress=progress, position=position)
        finally:
            draft.close()


def _prepare(state: State, source: Source, paths: list[bytes] | None,
             progress: Progress | None) -> tuple[Draft, RestorePlan]:
    """One capture serves the plan and the backup, so nothing can change between the two."""
    drafts: list[Draft] = []

    def look(rules: Rules) -> Snapshot:
        for old in drafts:
            old.close()
        try:
            drafts[:] = [capture(state, rules, progress)]
        except OSError as error:
            raise BackupFailed(reason=error.strerror or str(error))
        return drafts[0].snapshot

    plan, snapshot, _ = _plan(state, source, state.rules(), look, paths)
    plan.foreign = _foreign(state, plan, snapshot)
    return drafts[0], plan


def _plan(state: State, source: Source, rules: Rules, look: Callable[[Rules], Snapshot],
          paths: list[bytes] | None) -> tuple[RestorePlan, Snapshot, Rules]:
    """Look and plan until every path that the plan touches is captured, whatever the rules say."""
    wanted = Paths(paths)
    record = source.record
    then_rules = source.rules()
    for _ in range(_PATIENCE):
        snapshot = look(rules)
        plan = plan_restore(record.name, record.tree, source.tree, snapshot.root, snapshot.tree,
                            _skipped(state, source, then_rules, rules), wanted)
        if not plan.unknown:
            break
        rules = rules.forcing(plan.unknown)
    plan.kept += [Kept(path, "not-captured", conflict=True) for path in plan.unknown]
    _check_named(source, snapshot, wanted)
    return plan, snapshot, rules


def _skipped(state: State, source: Source, then: Rules, now: Rules) -> Callable[[bytes, bool], bool]:
    """Whether the rules of then or of now ignore a path."""
    def nested(folder: bytes) -> bytes | None:
        return nested_exclude(state.root, folder)

    def read_then(folder: bytes, name: bytes) -> bytes:
        entry = entry_at(source.tree, source.record.tree, folder + b"/" + name if folder else name)
        return source.blobs.get(entry.ref) if entry and entry.kind == b"f" else b""

    def read_now(folder: bytes, name: bytes) -> bytes:
        return read_ignore_file(state.root, folder, name)

    trees = (RuleTree(then, read_then, nested), RuleTree(now, read_now, nested))
    return lambda path, is_dir: any(tree.skips(path, is_dir) for tree in trees)


def entry_at(trees: Trees, root: bytes, path: bytes) -> Entry | None:
    """The entry at `path` below the tree `root`, or None."""
    *folders, name = path.split(b"/")
    tree = trees(root)
    for folder in folders:
        entry = tree.entries.get(folder)
        if entry is None or entry.kind != DIR:
            return None
        tree = trees(entry.ref)
    return tree.entries.get(name)


def _check_named(source: Source, snapshot: Snapshot, wanted: Paths) -> None:
    """A path that neither the checkpoint nor the project knows is a typing error."""
    for path in wanted.paths or ():
        if (entry_at(source.tree, source.record.tree, path) is None
                and entry_at(snapshot.tree, snapshot.root, path) is None):
            raise PathNotFound(checkpoint=source.record.name, path=os.fsdecode(path))


def _foreign(state: State, plan: RestorePlan, snapshot: Snapshot) -> list[bytes]:
    """Planned paths that changed since the newest checkpoint: work that only the backup will hold."""
    newest = state.timeline.newest()
    if not plan.changes or newest is None:
        return []
    with Source(state, newest) as last:
        changed = {path for path, _, _ in differences(
            last.record.tree, last.tree, snapshot.root, snapshot.tree, Paths())}
    return sorted(c.path for c in plan.changes if c.path in changed)


def _refuse_if_changed(expected: RestorePlan, plan: RestorePlan) -> None:
    before = {(c.action, c.path): c for c in expected.changes}
    after = {(c.action, c.path): c for c in plan.changes}
    moved = sorted({key[1] for key in {*before, *after} if before.get(key) != after.get(key)})
    if moved:
        raise ChangedSincePlan(paths=", ".join(os.fsdecode(p) for p in moved[:5]))


def _apply(state: State, source: Source, draft: Draft, plan: RestorePlan, *, action: str,
           paths: list[bytes] | None, force: bool, skip_backup: bool, progress: Progress | None,
           position: int | None) -> Restored:
    result = Restored(source.record, plan)
    result.remaining = [(k.path, k.reason) for k in plan.conflicts]
    history = state.history()
    if not plan.changes and not history.interrupted():
        state.objects.rollback()
        if not paths and not plan.conflicts:
            history.data["position"] = position
            history.save()
        return result
    applier = Applier(state.root, source.blobs, state.staging, state.lock_now_ns or 0, progress)
    applier.prepare(plan.changes, force=force)
    if not skip_backup:
        result.backup = _write_backup(state, draft, source.record)
    names = [os.fsdecode(p) for p in paths] if paths else None
    entry = history.begin(action, source.record.name, result.backup.name if result.backup else None, names)
    applied = applier.run(plan.changes, force=force)
    result.remaining += applied.failed
    result.swept = _sweep_leftovers(state, draft.snapshot)
    result.remaining += _compare(state, source, paths, {path for path, _ in result.remaining})
    history.finish(entry, position, partial=bool(paths))
    return result


def _write_backup(state: State, draft: Draft, record: Record) -> Record:
    try:
        return write_record(state, draft, "backup", f"Before going back to {record.name}",
                            {"event": "restore", "checkpoint": record.name})
    except OSError as error:
        raise BackupFailed(reason=error.strerror or str(error))


def _sweep_leftovers(state: State, snapshot: Snapshot) -> list[bytes]:
    """Temporary names of an earlier restore that was killed; the lock says that nobody uses them."""
    swept = []
    for path in snapshot.temps:
        try:
            os.unlink(os.path.join(state.root, path))
            swept.append(path)
        except OSError:
            pass  # a directory by that name is not ours
    return swept


def _compare(state: State, source: Source, paths: list[bytes] | None,
             explained: set[bytes]) -> list[tuple[bytes, str]]:
    """Look at the tree once more: what is not as the checkpoint says is told, never hidden."""
    def look(rules: Rules) -> Snapshot:
        return scan(state.root, rules, state.cache, state.objects, keep=False,
                    now_ns=state.lock_now_ns)

    plan, _, _ = _plan(state, source, state.rules(), look, paths)
    return sorted({(c.path, "it is not as the checkpoint has it") for c in plan.changes
                   if c.path not in explained})


def last_backup(state: State) -> tuple[str, list[bytes] | None]:
    """The backup of the last step, and the paths which that step was limited to."""
    entries = state.history().entries
    name = _way_back(entries[-1]) if entries else ""
    if not name:
        raise NoRestoreToUndo()
    paths = entries[-1].get("paths")
    return name, [os.fsencode(p) for p in paths] if paths else None


def undo_restore(state: State, *, force: bool, progress: Progress | None,
                 find: Callable[[str], Record]) -> Restored:
    """Take back the last step, or finish taking back a half-done one."""
    name, paths = last_backup(state)
    with Source(state, find(name)) as source:
        draft, plan = _prepare(state, source, paths, progress)
        try:
            return _take_back(state, source, draft, plan, paths, force, progress)
        finally:
            draft.close()


def _way_back(entry: dict[str, Any]) -> str:
    first = entry.get("resumes") or entry
    return first.get("backup_checkpoint") or ""


def _take_back(state: State, source: Source, draft: Draft, plan: RestorePlan,
               paths: list[bytes] | None, force: bool, progress: Progress | None) -> Restored:
    history = state.history()
    entry = history.entries[-1]
    result = Restored(source.record, plan)
    result.remaining = [(k.path, k.reason) for k in plan.conflicts]
    if plan.changes:
        applier = Applier(state.root, source.blobs, state.staging, state.lock_now_ns or 0, progress)
        applier.prepare(plan.changes, force=force)
        result.backup = _write_backup(state, draft, source.record)
        history.begin_undo_restore(entry)
        applied = applier.run(plan.changes, force=force)
        result.remaining += applied.failed
        _sweep_leftovers(state, draft.snapshot)
        result.remaining += _compare(state, source, paths, {p for p, _ in result.remaining})
    # Until this line the entry is still there: killed before it, undo-restore starts again.
    history.finish_undo_restore(entry, result.backup.name if result.backup else None)
    return result
