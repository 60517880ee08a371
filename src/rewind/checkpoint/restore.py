"""Going back: plan, backup, apply, compare. A crash at any point is seen by the next command."""

from __future__ import annotations

import os

from rewind.checkpoint import open_files, torn
from rewind.checkpoint.create import capture, write_record
from rewind.checkpoint.damage import Lacks
from rewind.checkpoint.history import way_back
from rewind.checkpoint.kept_copies import keep_copies, kept_note
from rewind.checkpoint.missing import leave_out_missing
from rewind.checkpoint.plan import (
    IGNORED_NEWCOMER,
    MAX_CHANGES,
    NOT_EMPTY,
    Kept,
    RestorePlan,
    plan_restore,
)
from rewind.checkpoint.source import Source
from rewind.checkpoint.standing import standing_on
from rewind.errors import (
    PARTIAL,
    BackupFailed,
    ChangedSincePlan,
    CheckpointIncomplete,
    CheckpointNotFound,
    NoRestoreToUndo,
    PathNotFound,
    RewindError,
    StoreDamaged,
)
from rewind.snapshot.apply import Applier
from rewind.snapshot.change import Paths, differences
from rewind.snapshot.listing import entry_at, every_path
from rewind.snapshot.rules import RuleTree
from rewind.snapshot.scan import scan
from rewind.snapshot.sqlite_files import is_journal_at
from rewind.snapshot.tree import DIR, UNCOVERED, Entry
from rewind.snapshot.walk import nested_exclude, read_ignore_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, TypeVar

    T = TypeVar("T")

    # Does the conversation's part, and is given a way to note in the history what it does.
    ChatStep = Callable[[Callable[[dict[str, Any]], None]], None]
    # Takes the conversation's part of a step back; returns what would lead forward again.
    TakeBack = Callable[[dict[str, Any], Callable[[], None]], "dict[str, Any] | None"]

    from rewind.checkpoint.chat import Done
    from rewind.checkpoint.create import Draft
    from rewind.checkpoint.open_files import OpenFile
    from rewind.checkpoint.record import Record
    from rewind.checkpoint.state import State
    from rewind.snapshot.build import Progress, Snapshot
    from rewind.snapshot.change import Trees
    from rewind.snapshot.rules import Rules

NOT_AS_IT_WAS = "it is not as the checkpoint has it"
_MOST_KEPT = 256 << 10  # bytes of paths that a step notes to have kept
_PATIENCE = 3  # rounds of "this is not captured yet" before it is left alone


class ChatNotRestored(RewindError):
    """The code is back, but not the conversation: {reason}"""

    exit_code = PARTIAL
    hint = "`rewind undo-restore` takes the code back again; mend what the message names to have both."


class Restored:
    """What a restore did. `remaining` is what still differs from the checkpoint, with the reason."""

    def __init__(self, record: Record | None, plan: RestorePlan) -> None:
        self.record = record
        self.plan = plan
        self.backup: Record | None = None
        self.kept_copy: Record | None = None  # of what was written to files while they were replaced
        self.chat: Done | None = None
        self.notes: list[str] = list(plan.notes)
        self.lacks_chat = False  # it was wanted, and could not be had
        self.can_redo = False  # a step was taken back, and `redo` takes it again
        self.remaining: list[tuple[bytes, str]] = []

    @property
    def complete(self) -> bool:
        return not self.remaining and not self.lacks_chat

    @property
    def failed(self) -> bool:
        """Something could not be done that the plan had: to be mended, and the same command repeated."""
        return len(self.remaining) > len(self.plan.conflicts)


def plan_only(state: State, record: Record, paths: list[bytes] | None,
              leaving: Record | None = None) -> RestorePlan:
    """The plan, with nothing stored and nothing locked."""
    def look(rules: Rules) -> Snapshot:
        return scan(state.root, rules, state.cache, state.objects, keep=False)

    def plan_it(source: Source, look_back: Source | None) -> RestorePlan:
        plan, snapshot = _plan(state, source, state.rules(), look, paths, look_back,
                               open_files.open_files(state.root))
        _check_named(source, snapshot, Paths(paths))
        plan.foreign = _foreign(state, plan, snapshot)
        plan.notes += torn.plan_notes(state, record, plan)
        return plan

    return _with_sources(state, record, leaving, plan_it)


def _with_sources(state: State, record: Record, leaving: Record | None,
                  act: Callable[[Source, Source | None], T]) -> T:
    with Source(state, record) as source:
        if leaving is None:
            return act(source, None)
        with Source(state, leaving) as look_back:
            return act(source, look_back)


def first_that_differs(state: State, records: list[Record], arrived_at: int | None) -> Record | None:
    """The first of these checkpoints that going back to would change anything; one look for all. At the one
    that we stand on, what could not be restored is no reason to try it again."""
    rules = state.rules()
    snapshot = scan(state.root, rules, state.cache, state.objects, keep=False)

    def look(wanted: Rules) -> Snapshot:
        if wanted is rules:
            return snapshot
        return scan(state.root, wanted, state.cache, state.objects, keep=False)

    for record in records:
        if record.tree == snapshot.root:
            continue
        with Source(state, record) as source:
            plan, _ = _plan(state, source, rules, look, None)
            if plan.changes or (plan.conflicts and record.sequence != arrived_at):
                return record
    return None


def restore(state: State, record: Record, *, action: str = "restore",
            paths: list[bytes] | None = None, expected: RestorePlan | None = None,
            force: bool = False, skip_backup: bool = False, leaving: Record | None = None,
            progress: Progress | None = None, position: int | None = None,
            chat: ChatStep | None = None, wanted: dict[str, Any] | None = None,
            skip_missing: bool = False) -> Restored:
    """Bring the tree (or the given paths) back to the checkpoint. The caller holds the lock.

    `leaving` is the checkpoint that the last step had restored, when this one takes it back; `chat` does
    the conversation's part once the code is in place, and tells the history what it does; `wanted` says
    what that is, for whoever must finish it.
    """
    def go(source: Source, look_back: Source | None) -> Restored:
        source.skip_missing = skip_missing
        try:
            if record.code.get("lost") and not skip_missing:
                raise StoreDamaged(what=f"{record.name} is not whole")
            ready = _get_ready(state, source, paths, progress, look_back, force,
                               None if force else expected)
        except StoreDamaged as error:
            raise incomplete(state, record) or error
        try:
            return _apply(state, source, ready, action=action, paths=paths,
                          skip_backup=skip_backup, position=position, chat=chat, wanted=wanted)
        finally:
            ready.draft.close()

    return _with_sources(state, record, leaving, go)


def incomplete(state: State, record: Record) -> CheckpointIncomplete | None:
    """What to say when a checkpoint cannot be restored because it is known to lack something."""
    lacks = state.damage().checkpoints.get(record.name)
    lost = record.code.get("lost")
    if not lacks and isinstance(lost, int):
        lacks = Lacks(lost, [])
    return CheckpointIncomplete(checkpoint=record.name, lacks=lacks.text) if lacks else None


class _Ready:
    """Captured, planned and staged: from here on it is one step after the other."""

    def __init__(self, draft: Draft, plan: RestorePlan, applier: Applier) -> None:
        self.draft = draft
        self.plan = plan
        self.applier = applier


def _get_ready(state: State, source: Source, paths: list[bytes] | None, progress: Progress | None,
               leaving: Source | None, force: bool, expected: RestorePlan | None = None) -> _Ready:
    """`force` accepts that files changed since the plan was shown, never that what is overwritten is
    in no backup: when something moves after the capture, the capture is made again."""
    for attempt in range(_PATIENCE):
        draft, plan = _prepare(state, source, paths, progress, leaving)
        applier = Applier(state.root, source.blobs, state.staging, state.lock_now_ns or 0, progress,
                          state.objects)
        try:
            if expected is not None:
                _refuse_if_changed(expected, plan)
            applier.prepare(plan.changes)
            return _Ready(draft, plan, applier)
        except ChangedSincePlan as error:
            draft.close()
            if force and attempt == _PATIENCE - 1:
                error.hint = "They keep changing: stop what writes to them, and try again."
            if not force or attempt == _PATIENCE - 1:
                raise
        except BaseException:
            draft.close()
            raise
    raise AssertionError("unreachable")


def _prepare(state: State, source: Source, paths: list[bytes] | None, progress: Progress | None,
             leaving: Source | None) -> tuple[Draft, RestorePlan]:
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

    # Who has files open was said in the plan. Here it matters what may have changed without a trace.
    plan, snapshot = _plan(state, source, state.rules(), look, paths, leaving,
                           open_files.open_files(state.root, only_mapped=True))
    plan.foreign = _foreign(state, plan, snapshot)
    plan.notes += torn.plan_notes(state, source.record, plan)
    if leaving is None:
        _check_named(source, snapshot, Paths(paths))
    return drafts[0], plan


def _plan(state: State, source: Source, rules: Rules, look: Callable[[Rules], Snapshot],
          paths: list[bytes] | None, leaving: Source | None = None,
          in_use: list[OpenFile] | None = None) -> tuple[RestorePlan, Snapshot]:
    """Look and plan until every path that the plan touches is captured, whatever the rules say. `in_use` was
    found before: between the look and what is done about it there must be no time for others."""
    record = source.record
    then_rules = _rules_then(source, rules)
    for _ in range(_PATIENCE):
        snapshot = look(rules)
        wanted = _with_journals(state, source, snapshot, Paths(paths))
        plan = plan_restore(record.name, record.tree, _trees(source, snapshot), snapshot.root, snapshot.tree,
                            _skipped(state, source, then_rules, rules, leaving), wanted,
                            rules.hidden, _most_changes(record, snapshot), rules.forced,
                            lambda path: _brought(leaving, path),
                            lambda path: is_journal_at(os.path.join(state.root, path)))
        held = open_files.replaced_by(plan, in_use or [])
        # What is written by way of memory may look as it did at the last scan: it is read all the same.
        mapped = {one.path for one in held if one.mapped} - rules.forced
        if not plan.unknown and not mapped:
            break
        rules = rules.forcing({*plan.unknown, *mapped})
    plan.notes += open_files.plan_notes(held)
    plan.kept += [Kept(path, "not-captured", conflict=True) for path in plan.unknown]
    if any(change.action == "rmdir" for change in plan.changes):
        from rewind.checkpoint.emptied import spare_what_is_not_empty

        spare_what_is_not_empty(state.root, plan)
    if source.skip_missing:
        leave_out_missing(source, plan)
    return plan, snapshot


def _with_journals(state: State, source: Source, snapshot: Snapshot, named: Paths) -> Paths:
    if named.paths is None:
        return named
    from rewind.checkpoint.journals import with_journals

    return Paths(with_journals(named.paths, state.root, source, snapshot))


def _trees(source: Source, snapshot: Snapshot) -> Trees:
    """The checkpoint's trees, most of which were read already for the snapshot."""
    return snapshot.tree if snapshot.reads_from(source.blobs) and not source.skip_missing else source.tree


def _rules_then(source: Source, now: Rules) -> Rules:
    try:
        return source.rules()
    except StoreDamaged:
        if not source.skip_missing:
            raise
        return now


def _most_changes(record: Record, snapshot: Snapshot) -> int:
    """Every file of both sides, and room for directories: twenty forged objects can name 10 ** 20."""
    claimed = record.code.get("fileCount")
    files = claimed if isinstance(claimed, int) and claimed > 0 else 0
    return min(MAX_CHANGES, 4 * (files + snapshot.files) + 100_000)


def _skipped(state: State, source: Source, then: Rules, now: Rules,
             leaving: Source | None) -> Callable[[bytes, Entry, bytes], bool]:
    """Whether the rules of then or of now ignore a path that came later."""
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
    kept = state.history().kept_where_we_stand()

    def skipped(path: bytes, present: Entry, ruled_as: bytes) -> bool:
        if leaving:
            # Taking a step back: what that step itself had brought goes again, ignored or not.
            brought = _entry_or_none(leaving, path)
            if brought and (brought == present or brought.kind == present.kind == DIR):
                return False
        return path in kept or any(tree.skips(ruled_as, present.kind == DIR) for tree in trees)

    return skipped


def _brought(leaving: Source | None, path: bytes) -> Iterator[bytes]:
    """What the step that is taken back had at a path and below it: looked at although the rules of today
    would not, or it could not be taken away again."""
    entry = _entry_or_none(leaving, path) if leaving else None
    if leaving is None or entry is None or entry.kind == UNCOVERED:
        return
    yield path
    for name, below in every_path(entry.ref, leaving.tree) if entry.kind == DIR else ():
        if below.kind != UNCOVERED:
            yield path + b"/" + name


def _entry_or_none(source: Source, path: bytes) -> Entry | None:
    try:
        return entry_at(source.tree, source.record.tree, path)
    except StoreDamaged:
        return None


def _check_named(source: Source, snapshot: Snapshot, wanted: Paths) -> None:
    """A path that neither the checkpoint nor the project knows is a typing error."""
    for path in wanted.paths or ():
        if (entry_at(source.tree, source.record.tree, path) is None
                and entry_at(snapshot.tree, snapshot.root, path) is None):
            raise PathNotFound(checkpoint=source.record.name, path=os.fsdecode(path))


def _foreign(state: State, plan: RestorePlan, snapshot: Snapshot) -> list[bytes]:
    """Planned paths that changed since the last checkpoint: work that only the backup will hold."""
    newest = state.timeline.newest()
    try:
        found = _changed_since(state, newest, plan, snapshot) if newest and plan.changes else set()
        # After a step back the newest is another state than the one that we stand on.
        if not found or state.timeline.has_tree(snapshot.root):
            return []
        base = standing_on(state)
        if base and newest and base.tree != newest.tree:
            found &= _changed_since(state, base, plan, snapshot)
        return sorted(found)
    except StoreDamaged:
        return []  # a remark for the person; a damaged checkpoint must not stand in the way of a sound one


def _changed_since(state: State, record: Record, plan: RestorePlan, snapshot: Snapshot) -> set[bytes]:
    with Source(state, record) as source:
        changed = {path for path, _, _ in differences(
            record.tree, _trees(source, snapshot), snapshot.root, snapshot.tree, Paths())}
    return changed & {change.path for change in plan.changes}


def _refuse_if_changed(expected: RestorePlan, plan: RestorePlan) -> None:
    before = {(c.action, c.path): c for c in expected.changes}
    after = {(c.action, c.path): c for c in plan.changes}
    moved = sorted({key[1] for key in {*before, *after} if before.get(key) != after.get(key)})
    if moved:
        raise ChangedSincePlan(paths=", ".join(os.fsdecode(p) for p in moved[:5]))


def _apply(state: State, source: Source, ready: _Ready, *, action: str, paths: list[bytes] | None,
           skip_backup: bool, position: int | None, chat: ChatStep | None,
           wanted: dict[str, Any] | None) -> Restored:
    plan = ready.plan
    result = Restored(source.record, plan)
    result.remaining = [(k.path, k.reason) for k in plan.conflicts]
    history = state.history()
    if not plan.changes and not history.interrupted():
        if chat:
            chat(history.chat_step(action))
        if not paths and not (plan.conflicts and action == "redo"):
            history.note_arrival(action, position, redone=chat is None)
        return result
    if not skip_backup:
        result.backup = _write_backup(state, ready.draft, source.record)
    names = [os.fsdecode(p) for p in paths] if paths else None
    entry = history.begin(action, source.record.name, result.backup.name if result.backup else None, names,
                          wanted)
    _run(state, ready.applier, result)
    entry["kept"] = _noted(k.path for k in plan.kept if k.reason == IGNORED_NEWCOMER)
    try:
        if chat:
            chat(lambda fields: history.note(entry, fields))
    except (RewindError, OSError) as error:
        history.finish(entry, position, partial=bool(paths), failed=True)
        raise ChatNotRestored(reason=getattr(error, "strerror", None) or error)
    history.finish(entry, position, partial=bool(paths), failed=result.failed)
    return result


def _noted(paths: Iterable[bytes]) -> list[str]:
    """As many of them as the history has room for."""
    room, found = _MOST_KEPT, []
    for path in paths:
        room -= len(path)
        if room < 0:
            break
        found.append(os.fsdecode(path))
    return found


def _run(state: State, applier: Applier, result: Restored) -> None:
    """Make the changes, and look whether each of these paths is now as the checkpoint has it: what is not is
    told, never hidden. All others were so when they were captured, a moment ago."""
    changes = result.plan.changes
    applied = applier.run(changes)
    result.remaining += applied.failed
    if applied.replaced and result.record:
        result.kept_copy = keep_copies(state, applied.replaced, result.record)
        result.notes.append(kept_note(result.kept_copy, sorted(applied.replaced)))
    result.plan.kept += [Kept(path, NOT_EMPTY) for path in applied.not_empty]
    explained = {path for path, _ in result.remaining} | {k.path for k in result.plan.kept}
    result.remaining += sorted((path, NOT_AS_IT_WAS) for path in applier.not_as_wanted(changes)
                               if path not in explained)


def _write_backup(state: State, draft: Draft, record: Record) -> Record:
    from rewind.checkpoint.which_session import capture_current

    try:
        chat, _ = capture_current(state)
        return write_record(state, draft, "backup", f"Before going back to {record.name}",
                            {"event": "restore", "checkpoint": record.name}, chat)
    except OSError as error:
        raise BackupFailed(reason=error.strerror or str(error))


def last_backup(state: State) -> tuple[Record, list[bytes] | None]:
    """The backup of the last step, and the paths which that step was limited to."""
    entries = state.history().entries
    name = way_back(entries[-1]) if entries else ""
    if not name:
        raise NoRestoreToUndo()
    try:
        return state.timeline.find(name), paths_of(entries[-1])
    except CheckpointNotFound:
        raise NoRestoreToUndo(hint=f"The backup of the step before, {name}, is no longer there.") from None


def paths_of(step: dict[str, Any]) -> list[bytes] | None:
    """The paths that a step in the history was limited to."""
    return [os.fsencode(p) for p in step["paths"]] if step.get("paths") else None


def last_step(state: State) -> Record | None:
    """The checkpoint that the last step had restored, if it is still there and whole."""
    entries = state.history().entries
    return _whole(state, entries[-1]["checkpoint"]) if entries else None


def left_by(state: State, redo: dict[str, Any]) -> Record | None:
    """The checkpoint that a step forward leads away from: that of the last step back, or the backup by which
    one was taken back."""
    return _whole(state, redo["from"]) if isinstance(redo.get("from"), str) else last_step(state)


def _whole(state: State, name: str) -> Record | None:
    try:
        record = state.timeline.find(name) if name else None
        if record:
            with Source(state, record) as source:
                source.tree(record.tree)
        return record
    except RewindError:
        return None


def undo_restore(state: State, *, force: bool, progress: Progress | None,
                 chat: TakeBack) -> Restored | None:
    """Take back the last step, or finish taking back a half-done one; None when it left the code alone."""
    if not has_code(state):
        history = state.history()
        entry = history.entries[-1]
        history.finish_undo_restore(entry, None, chat(entry, history.save))
        return None
    record, paths = last_backup(state)

    def go(source: Source, look_back: Source | None) -> Restored:
        ready = _get_ready(state, source, paths, progress, look_back, force)
        try:
            return _take_back(state, source, ready, chat)
        finally:
            ready.draft.close()

    return _with_sources(state, record, last_step(state), go)


def has_code(state: State) -> bool:
    """Whether the last step can be taken back by way of a backup of the code, or of the chat alone."""
    entries = state.history().entries
    if not entries or not (way_back(entries[-1]) or entries[-1].get("fork")
                           or entries[-1].get("transcript_backup")):
        raise NoRestoreToUndo()
    return bool(way_back(entries[-1]))


def _take_back(state: State, source: Source, ready: _Ready, chat: TakeBack) -> Restored:
    plan = ready.plan
    history = state.history()
    entry = history.entries[-1]
    result = Restored(source.record, plan)
    result.remaining = [(k.path, k.reason) for k in plan.conflicts]
    if plan.changes:
        result.backup = _write_backup(state, ready.draft, source.record)
        history.begin_undo_restore(entry, result.backup.name)
        _run(state, ready.applier, result)
    try:
        forward = chat(entry, history.save)
    except (RewindError, OSError) as error:
        if not plan.changes:
            raise
        history.keep_for_another_try(entry)
        raise ChatNotRestored(reason=getattr(error, "strerror", None) or error,
                              hint="Mend what the message names, and repeat `rewind undo-restore`.")
    if result.failed:
        history.keep_for_another_try(entry)
        return result
    # Until this line the entry is still there: killed before it, undo-restore starts again.
    history.finish_undo_restore(entry, result.backup.name if result.backup else None, forward)
    return result
