"""Carries out the code's part of a plan: capture, plan, stage, and then write."""

from __future__ import annotations

from rewind.checkpoint.project.locked import release_store_lock
from rewind.checkpoint.records.source import KeptPath, Source
from rewind.checkpoint.rewind.files.code_to_restore import CodeToRestore, incomplete_error
from rewind.checkpoint.rewind.files.file_plan import NOT_EMPTY, RestorePlan
from rewind.checkpoint.rewind.files.kept_copies import StoreEverything, keep_copies, kept_note
from rewind.checkpoint.rewind.files.plan_code import PATIENCE, planned
from rewind.checkpoint.save.capture import Draft, capture
from rewind.errors import BackupFailed, ChangedSincePlan, StoreDamaged
from rewind.snapshot.apply.applier import Applier
from rewind.snapshot.rules.rules import Rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Record
    from rewind.snapshot.scan.build import Progress, Snapshot

NOT_AS_IT_WAS = "not-as-it-was"


class StagedRestore:
    """A restore that is captured, planned and staged, so that it only has to be carried out."""

    def __init__(self, source: Source, draft: Draft, plan: RestorePlan, applier: Applier) -> None:
        self.source = source
        self.draft = draft
        self.plan = plan
        self.applier = applier
        self.kept_copy: Record | None = None  # what was written to files while they were replaced

    def run(self, state: State, record: Record) -> list[tuple[bytes, str]]:
        """Make the changes and check that each of these paths is now as the checkpoint has it. Returns those
        that are not, with the reason. All other paths were right when they were captured, a moment ago. What
        another program wrote to files while they were replaced is kept as a checkpoint of its own."""
        changes = self.plan.changes
        state.objects.commit()
        with release_store_lock(state):
            applied = self.applier.run(changes)
        if applied.replaced:
            self.kept_copy = keep_copies(state, applied.replaced, record)
            self.plan.notes.append(kept_note(self.kept_copy, sorted(applied.replaced)))
        remaining = [(k.path, k.reason) for k in self.plan.conflicts] + applied.failed
        self.plan.kept += [KeptPath(path, NOT_EMPTY) for path in applied.not_empty]
        explained = {path for path, _ in remaining} | {k.path for k in self.plan.kept}
        with release_store_lock(state):
            others = self.applier.find_mismatches(changes)
        undone = {path for path, _ in applied.failed}.union(applied.not_empty)
        self.plan.changes = [change for change in changes if change.path not in undone]
        return remaining + sorted((path, NOT_AS_IT_WAS) for path in others if path not in explained)

    def close(self) -> None:
        self.draft.close()


def stage_restore(state: State, source: Source, wanted: CodeToRestore, *, force: bool,
                  expected: Callable[[RestorePlan], None] | None, progress: Progress | None) -> StagedRestore:
    """`expected` refuses a plan that differs from the one that was shown. `force` accepts that files changed
    since then, but nothing is overwritten that is in no backup: if a file changes after the capture, the
    capture is made again."""
    try:
        if wanted.record.code.get("lost") and not wanted.skip_missing:
            raise StoreDamaged(what=f"{wanted.record.name} is not whole")
        return _capture_and_stage(state, source, wanted, force, expected, progress)
    except StoreDamaged as error:
        raise incomplete_error(state, wanted.record) or error


def _capture_and_stage(state: State, source: Source, wanted: CodeToRestore, force: bool,
                       expected: Callable[[RestorePlan], None] | None,
                       progress: Progress | None) -> StagedRestore:
    state.objects.defer_fold()
    state.scanned.defer_fold()
    for attempt in range(PATIENCE):
        draft, plan = _prepare(state, source, wanted, progress)
        applier = Applier(state.root, source.blobs, state.staging, state.lock_now_ns or 0, progress,
                          StoreEverything(state.objects))
        try:
            if expected:
                expected(plan)
            applier.prepare(plan.changes)
            return StagedRestore(source, draft, plan, applier)
        except ChangedSincePlan as error:
            draft.close()
            if force and attempt == PATIENCE - 1:
                error.hint = "They keep changing: stop what writes to them, and try again."
            if not force or attempt == PATIENCE - 1:
                raise
        except BaseException:
            draft.close()
            raise
    raise AssertionError("unreachable")


def _prepare(state: State, source: Source, wanted: CodeToRestore,
             progress: Progress | None) -> tuple[Draft, RestorePlan]:
    """The plan and the backup use the same capture, so nothing can change between them."""
    drafts: list[Draft] = []

    def scan_with(rules: Rules) -> Snapshot:
        for old in drafts:
            old.close()
        try:
            drafts[:] = [capture(state, rules, progress)]
        except OSError as error:
            raise BackupFailed(reason=error.strerror or str(error))
        return drafts[0].snapshot

    try:
        # The plan has already reported open files. Here only changes that leave no trace matter.
        plan, _ = planned(state, wanted, source, scan_with, only_mapped=True)
    except BaseException:
        for draft in drafts:
            draft.close()
        raise
    return drafts[0], plan
