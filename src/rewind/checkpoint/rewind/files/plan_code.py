"""The code's part of a plan: scans the project and says what would be written, deleted and kept."""

from __future__ import annotations

import os

from rewind.checkpoint.operation_log.lineage import here
from rewind.checkpoint.records import torn
from rewind.checkpoint.records.source import KeptPath, Source
from rewind.checkpoint.rewind.files import git_since, open_files
from rewind.checkpoint.rewind.files.code_to_restore import CodeToRestore
from rewind.checkpoint.rewind.files.file_plan import MAX_CHANGES, RestorePlan, RestorePlanner
from rewind.checkpoint.rewind.files.left_alone import LeftAlone
from rewind.checkpoint.rewind.files.missing import leave_out_missing
from rewind.errors import PathNotFound, StoreDamaged
from rewind.snapshot.rules.rules import Rules, RuleTree
from rewind.snapshot.scan.sqlite_files import is_journal_at
from rewind.snapshot.scan.walk import nested_exclude, read_ignore_file
from rewind.snapshot.trees.change import Paths, differences
from rewind.snapshot.trees.listing import entry_at, every_path
from rewind.snapshot.trees.tree import DIR, UNCOVERED, TreeEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Record
    from rewind.checkpoint.rewind.files.open_files import OpenFile
    from rewind.snapshot.scan.build import Snapshot
    from rewind.snapshot.trees.change import Change, Trees

    ScanWith = Callable[[Rules], Snapshot]  # a scan of the project under these rules

PATIENCE = 3  # scans for paths that are not captured yet, before they are left alone


def plan_code(state: State, wanted: CodeToRestore) -> tuple[RestorePlan, Snapshot]:
    """The plan and the scan that it was made from. Nothing is stored and nothing is locked."""
    with wanted.open(state) as source:
        return planned(state, wanted, source)


def planned(state: State, wanted: CodeToRestore, source: Source, scan_with: ScanWith | None = None, *,
            only_mapped: bool = False) -> tuple[RestorePlan, Snapshot]:
    """The same with the checkpoint open. `scan_with` may capture the project instead of only reading it.
    `only_mapped` ignores files that other processes have open without mapping them into memory."""
    plan, snapshot = scan_and_plan(state, source, state.rules(), scan_with or state.look, wanted.paths,
                                   open_files.open_files(state.root, only_mapped=only_mapped))
    _check_named(source, snapshot, wanted)
    plan.foreign = _foreign(state, plan, snapshot)
    plan.notes += torn.restore_notes(state, source.record, plan.changes)
    plan.notes += git_since.plan_notes(state, source.record, plan)
    return plan, snapshot


def first_that_differs(state: State, records: Iterable[Record], current: str) -> Record | None:
    """The first of these checkpoints that differs from the project, found with one scan. Conflicts alone are
    no reason to restore the checkpoint that the project stands on (`current`) again."""
    rules = state.rules()
    snapshot = state.look(rules)
    for record in records:
        if record.tree == snapshot.root:
            continue
        with Source(state, record) as source:
            plan, _ = scan_and_plan(state, source, rules,
                                    lambda wanted: snapshot if wanted is rules else state.look(wanted), None)
            if plan.changes or (plan.conflicts and record.name != current):
                return record
    return None


def unsaved(state: State, plan: RestorePlan, snapshot: Snapshot, since: Record | None) -> list[Change]:
    """Changes since a checkpoint that the plan would replace."""
    if not plan.changes or since is None or since.tree == snapshot.root:
        return []
    with Source(state, since) as source:
        edits, _ = scan_and_plan(state, source, state.rules(), lambda rules: snapshot, None)
    replaced = {change.path for change in plan.changes}
    return [change for change in edits.changes if change.path in replaced]


def scan_and_plan(state: State, source: Source, rules: Rules, scan_with: ScanWith, paths: list[bytes] | None,
                  in_use: list[OpenFile] | None = None) -> tuple[RestorePlan, Snapshot]:
    """Scan and plan until every path that the plan changes is captured, whatever the rules say. `in_use` was
    found before, because between the scan and the restore there must be no time for other programs."""
    record = source.record
    then_rules = _rules_then(source, rules)
    for _ in range(PATIENCE):
        snapshot = scan_with(rules)
        source.merge_into(snapshot, rules.forced)
        wanted = _with_journals(state, source, snapshot, Paths(paths))
        planner = RestorePlanner(
            record.name, _trees(source, snapshot), snapshot.tree, _skipped(state, source, then_rules, rules),
            wanted, hidden=rules.hidden - rules.places, most=_most_changes(record, snapshot),
            looked_for=rules.forced, brought=lambda path: _brought(source.leaving, path),
            is_journal=lambda path: is_journal_at(os.path.join(state.root, path)), places=rules.places)
        plan = planner.plan_from(record.tree, snapshot.root)
        held = open_files.replaced_by(plan, in_use or [])
        # A mapped file may look unchanged since the last scan, so it is read in any case.
        mapped = {one.path for one in held if one.mapped} - rules.forced
        if not plan.unknown and not mapped:
            break
        rules = rules.with_forced({*plan.unknown, *mapped})
    plan.notes += open_files.plan_notes(held)
    plan.kept += [*(KeptPath(path, "not-captured", conflict=True) for path in plan.unknown), *source.kept()]
    plan.settled = source.settled_conflicts()
    plan.leave_out({kept.path for kept in source.kept() if kept.conflict})
    if any(change.action == "rmdir" for change in plan.changes):
        from rewind.checkpoint.rewind.files.to_delete import keep_non_empty_directories

        keep_non_empty_directories(state.root, plan)
    if source.skip_missing:
        leave_out_missing(source, plan)
    return plan, snapshot


def _with_journals(state: State, source: Source, snapshot: Snapshot, named: Paths) -> Paths:
    if named.paths is None:
        return named
    from rewind.checkpoint.rewind.files.journals import with_journals

    return Paths(with_journals(named.paths, state.root, source, snapshot))


def _trees(source: Source, snapshot: Snapshot) -> Trees:
    """The trees of the checkpoint. The snapshot has already read most of them."""
    return snapshot.tree if snapshot.reads_from(source.blobs) and not source.skip_missing else source.tree


def _rules_then(source: Source, now: Rules) -> Rules:
    try:
        return source.rules()
    except StoreDamaged:
        if not source.skip_missing:
            raise
        return now


def _most_changes(record: Record, snapshot: Snapshot) -> int:
    """Every file of both sides, with room for directories. Without a limit, twenty forged objects could stand
    for 10 ** 20 files."""
    claimed = record.code.get("fileCount")
    files = claimed if isinstance(claimed, int) and claimed > 0 else 0
    return min(MAX_CHANGES, 4 * (files + snapshot.files) + 100_000)


def _skipped(state: State, source: Source, then: Rules,
             now: Rules) -> Callable[[bytes, TreeEntry, bytes], bool]:
    """Returns the function that says whether a path that came later is left alone."""
    def nested(folder: bytes) -> bytes | None:
        return nested_exclude(state.root, folder)

    def read_then(folder: bytes, name: bytes) -> bytes:
        entry = entry_at(source.tree, source.record.tree, folder + b"/" + name if folder else name)
        try:
            return source.blobs.get(entry.ref) if entry and entry.kind == b"f" else b""
        except StoreDamaged:
            if not source.skip_missing:
                raise
            return b""

    def read_now(folder: bytes, name: bytes) -> bytes:
        return read_ignore_file(state.root, folder, name)

    trees = (RuleTree(then, read_then, nested), RuleTree(now, read_now, nested))
    left_alone = LeftAlone(state, state.operations().mine())

    def skipped(path: bytes, present: TreeEntry, ruled_as: bytes) -> bool:
        if source.removes(path):
            return False
        if source.leaving:
            # When an operation is undone, what it had brought is deleted, ignored or not.
            brought = _entry_or_none(source.leaving, path)
            if brought and (brought == present or brought.kind == present.kind == DIR):
                return False
        return left_alone.covers(path) or any(
            tree.ignores_path(ruled_as, present.kind == DIR) for tree in trees)

    return skipped


def _brought(leaving: Source | None, path: bytes) -> Iterator[bytes]:
    """What the undone operation had brought to a path and below it. These paths are captured even if the
    current rules ignore them; otherwise they could not be deleted again."""
    entry = _entry_or_none(leaving, path) if leaving else None
    if leaving is None or entry is None or entry.kind == UNCOVERED:
        return
    yield path
    for name, below in every_path(entry.ref, leaving.tree) if entry.kind == DIR else ():
        if below.kind != UNCOVERED:
            yield path + b"/" + name


def _entry_or_none(source: Source, path: bytes) -> TreeEntry | None:
    try:
        return entry_at(source.tree, source.record.tree, path)
    except StoreDamaged:
        return None


def _check_named(source: Source, snapshot: Snapshot, wanted: CodeToRestore) -> None:
    """Refuse a path that neither the checkpoint nor the project has: it is probably misspelled."""
    for path in Paths(wanted.paths).paths or () if wanted.named else ():
        if (entry_at(source.tree, source.record.tree, path) is None
                and entry_at(snapshot.tree, snapshot.root, path) is None):
            raise PathNotFound(checkpoint=source.record.name, path=os.fsdecode(path))


def _foreign(state: State, plan: RestorePlan, snapshot: Snapshot) -> list[bytes]:
    """Paths of the plan that changed since the checkpoint that the project stands on. Only the backup will
    have them."""
    current = here(state)
    if not plan.changes or current is None or state.timeline.has_tree(snapshot.root):
        return []
    try:
        return sorted(_changed_since(state, current, plan, snapshot))
    except StoreDamaged:
        return []  # only a remark: a damaged checkpoint must not prevent restoring an intact one


def _changed_since(state: State, record: Record, plan: RestorePlan, snapshot: Snapshot) -> set[bytes]:
    with Source(state, record) as source:
        changed = {path for path, _, _ in differences(
            record.tree, _trees(source, snapshot), snapshot.root, snapshot.tree, Paths())}
    return changed & {change.path for change in plan.changes}


def differing_paths(shown: RestorePlan, plan: RestorePlan) -> list[bytes]:
    """The paths in which two plans differ."""
    before = {(c.action, c.path): c for c in shown.changes}
    after = {(c.action, c.path): c for c in plan.changes}
    return sorted({key[1] for key in {*before, *after} if before.get(key) != after.get(key)})
