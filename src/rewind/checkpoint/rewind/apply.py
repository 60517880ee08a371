"""`apply(Request) -> Outcome`: backup, log, files, conversation, log. The next command notices a crash at any
point, and every operation can be undone."""

from __future__ import annotations

import os

from rewind.checkpoint.operation_log import operations as ops
from rewind.checkpoint.operation_log.lineage import here
from rewind.checkpoint.project.locked import locked
from rewind.checkpoint.rewind.effects import outside
from rewind.checkpoint.rewind.files.file_plan import RestorePlan
from rewind.checkpoint.rewind.files.left_alone import names_to_note
from rewind.checkpoint.rewind.files.plan_code import differing_paths
from rewind.checkpoint.rewind.files.stage import StagedRestore, stage_restore
from rewind.checkpoint.rewind.operation_words import finish_command
from rewind.checkpoint.rewind.outcome import Outcome
from rewind.checkpoint.rewind.plan import digest as digest_of
from rewind.checkpoint.rewind.resolve import resolve
from rewind.checkpoint.rewind.undo_and_redo import redo_target, refuse_unsaved
from rewind.checkpoint.save.create import write_record
from rewind.errors import (
    BackupFailed,
    ChangedSincePlan,
    ChatNotRestored,
    RewindError,
    RewindInterrupted,
    TurnRunning,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rewind.checkpoint.operation_log.line import Effect, WhereCut
    from rewind.checkpoint.operation_log.operations import Operation
    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Outside, Record, Trigger
    from rewind.checkpoint.rewind.conversation.carry_out import Conversation
    from rewind.checkpoint.rewind.destination import Destination
    from rewind.checkpoint.rewind.plan import Plan
    from rewind.checkpoint.rewind.target import Request
    from rewind.snapshot.scan.build import Progress

    Expected = Callable[[RestorePlan | None], None]

_PROMPT = 200  # characters of a prompt that the log keeps
_MOST_REMAINING = 1000


def apply(state: State, request: Request, *, shown: Plan | None = None, digest: str = "",
          force: bool = False, progress: Progress | None = None) -> Outcome:
    """Carry out a request. `shown` is the plan that the person has seen, or `digest` its digest: if the plan
    would be different now, it is refused unless `force`."""
    refuse_while_running(state, force or not request.wants_code)  # a fork alone disturbs nobody
    with locked(state, request.target.command), resolve(state, request) as found:
        _refuse_unfinished(state, found)
        act = _ApplyOperation(state, found, force, progress)
        act.check()
        expected = None if force else lambda code: _refuse_changed_plan(found, shown, digest, code)
        return act.restore_code(expected) if found.code else act.restore_conversation_alone(expected)


def refuse_while_running(state: State, force: bool) -> None:
    """Refuse to replace files while an agent's turn is running, unless the person insists."""
    if force or not os.path.exists(state.project.own("session.json")):
        return
    from rewind.checkpoint.conversations.recorded_sessions import running_turns

    for profile in running_turns(state).values():
        raise TurnRunning(agent=profile.title)


def _refuse_unfinished(state: State, found: Destination) -> None:
    """Refuse to count prompts in a conversation that an interrupted operation may have cut already."""
    half_done = state.operations().interrupted()
    if (half_done and found.resumes is None and found.command == ops.BACK
            and half_done.begun.get("conversation")):
        raise RewindInterrupted(finish=finish_command(half_done))


def _refuse_changed_plan(found: Destination, shown: Plan | None, digest: str,
                         code: RestorePlan | None) -> None:
    """If a person has seen a plan, compare it once with what would be done now."""
    wanted = shown.digest if shown else digest
    if not wanted or wanted == digest_of(found, code):
        return
    moved = differing_paths(shown.code, code) if shown and shown.code and code else []
    raise ChangedSincePlan(paths=", ".join(os.fsdecode(path) for path in moved[:5])
                           or "the conversation, or files that the plan is about")


class _ApplyOperation:
    """One operation, from the first check to the last line of the log. The caller holds the lock."""

    def __init__(self, state: State, found: Destination, force: bool, progress: Progress | None) -> None:
        self.state = state
        self.found = found
        self.force = force
        self.progress = progress
        self.operations = state.operations()
        self.current = here(state)
        self.here = self.current.name if self.current else ""
        self.outcome = Outcome(found)
        self.conversation: Conversation | None = None
        if found.conversation or found.effects:
            from rewind.checkpoint.rewind.conversation.carry_out import Conversation

            self.conversation = Conversation(state, found, force)

    @property
    def effects(self) -> list[Effect]:
        return self.conversation.effects if self.conversation else []

    def check(self) -> None:
        """Refuse before anything is touched."""
        if self.conversation:
            self.conversation.check()
        if self.found.start_anew and self.found.command == ops.BACK:
            self.outcome.notes.append(f"{self.found.start_anew.message} {self.found.start_anew.hint}")

    # the conversation alone

    def restore_conversation_alone(self, expected: Expected | None) -> Outcome:
        if expected:
            expected(None)
        if not self.effects and not self.found.undoes and not self.found.redoes:
            return self.outcome
        op = self._begin(self.here, [])
        try:
            if self.conversation:
                self.conversation.run(self.outcome)
        except (RewindError, OSError):
            self._end(op, ops.PARTIAL)
            raise
        self._end(op, ops.DONE)
        return self.outcome

    # code, and the conversation with it

    def restore_code(self, expected: Expected | None) -> Outcome:
        wanted = self.found.code
        assert wanted is not None
        with wanted.open(self.state) as source:
            staged = stage_restore(self.state, source, wanted, force=self.force, expected=expected,
                                   progress=self.progress)
            try:
                return self._run_staged(staged)
            finally:
                staged.close()

    def _run_staged(self, staged: StagedRestore) -> Outcome:
        outcome, plan = self.outcome, staged.plan
        outcome.code = plan
        outcome.remaining = [(k.path, k.reason) for k in plan.conflicts]
        if self._has_nothing_to_do(plan) or self._is_refused(staged):
            # The conversation of an adopted fork comes even if the fork changed no files.
            return outcome if plan.conflicts or not self.effects else self.restore_conversation_alone(None)
        if not self.force:
            refuse_unsaved(self.state, self.found, plan, staged.draft.snapshot)
        before = self._ensure_backup(staged)
        assert self.found.code is not None
        self.found.code.create_checkpoint(self.state, staged.draft, plan, before)
        op = self._begin(before, names_to_note(self.state, staged.source, plan))
        assert self.found.record is not None
        outcome.remaining = staged.run(self.state, self.found.record)
        outcome.kept_copy = staged.kept_copy
        outcome.for_agent = self.found.code.for_agent(plan)
        outcome.notes += plan.notes
        try:
            if self.conversation:
                self.conversation.run(self.outcome)
        except (RewindError, OSError) as error:
            self._end(op, ops.PARTIAL)
            raise ChatNotRestored(reason=getattr(error, "strerror", None) or error)
        self._end(op, ops.PARTIAL if outcome.failed else ops.DONE)
        return outcome

    def _has_nothing_to_do(self, plan: RestorePlan) -> bool:
        """Whether there is nothing to do at all: even `here` would stay the same."""
        found = self.found
        return not (plan.changes or self.effects or found.resumes or found.undoes or found.redoes) and (
            self._partial or self.here == found.checkpoint)

    def _is_refused(self, staged: StagedRestore) -> bool:
        """A merge is done completely or not at all: not with conflicts, and not if it changes nothing."""
        plan, wanted = staged.plan, self.found.code
        if not wanted or not wanted.merges or (plan.changes and not plan.conflicts):
            return False
        plan.changes.clear()
        staged.applier.clean_up()
        return True

    @property
    def _partial(self) -> bool:
        return bool(self.found.code and self.found.code.paths)

    def _ensure_backup(self, staged: StagedRestore) -> str:
        """The checkpoint with the code as it is now: the one that the project stands on, or a backup. When an
        interrupted operation is finished, undoing it leads to the state before it first began."""
        kept = outside.store_current_content(self.state, self.effects, bool(self.found.resumes))
        same = self.current and self.current.tree == staged.draft.snapshot.root
        if kept or (staged.plan.changes and not same):
            self.outcome.backup = self._write_backup(staged, kept)
        if self.found.resumes:
            return self.found.resumes.here_before
        return self.outcome.backup.name if self.outcome.backup else self.here

    def _write_backup(self, staged: StagedRestore, kept: Outside) -> Record:
        from rewind.checkpoint.conversations.which_session import capture_current

        name = self.found.checkpoint
        try:
            captured, _ = capture_current(self.state)
            about = self.found.about
            doing = f"{self.found.command}ing {about}" if about else f"going back to {name}"
            trigger: Trigger = {"event": self.found.command}
            if not about:
                trigger["checkpoint"] = name
            return write_record(self.state, staged.draft, "backup", f"Before {doing}", trigger, captured,
                                kept)
        except OSError as error:
            raise BackupFailed(reason=error.strerror or str(error))

    # the log

    def _begin(self, before: str, left_alone: list[str]) -> Operation:
        found = self.found
        prompt = found.prompts[0].text if found.prompts else ""
        return self.operations.begin(
            found.command, what=found.request.what, request=found.request.key(), before=before,
            checkpoint=found.checkpoint,
            paths=ops.names_of(found.code.paths) if found.code and found.code.paths else None,
            effects=self.effects, undoes=[op.id for op in found.undoes] or None,
            redoes=found.redoes.id if found.redoes else None,
            resumes=found.resumes.id if found.resumes else None, leftAlone=left_alone or None,
            about=found.about or None,
            conversation=self._cut(), session=found.conversation.session_id if found.conversation else None,
            turn=found.turn, prompt=" ".join(prompt.split())[:_PROMPT] or None,
            sequence=self.state.timeline.last_sequence())

    def _cut(self) -> WhereCut | None:
        cut = self.conversation.cut() if self.conversation else None
        return cut or (self.found.resumes.begun.get("conversation") if self.found.resumes else None)

    def _end(self, op: Operation, result: str) -> None:
        outcome = self.outcome
        self.operations.end(
            op, result=result, here=self.here if self._partial else self.found.checkpoint or self.here,
            sequence=self.state.timeline.last_sequence(), written=len(outcome.plan.written),
            deleted=len(outcome.plan.deleted), kept=len(outcome.plan.kept),
            effects=self.conversation.to_log(result == ops.DONE) if self.conversation else [],
            remaining=ops.names_of(path for path, _ in outcome.remaining[:_MOST_REMAINING]) or None)
        outcome.operation = op.id
        outcome.can_redo = redo_target(self.state, self.operations) is not None
