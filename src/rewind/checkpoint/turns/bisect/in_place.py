"""Tries checkpoints in the project itself, for a command that works nowhere else. The current state is saved
first and restored at the end. Each step is in the log before it is made: if the process is killed, undoing
the interrupted operation restores the state before the first step."""

from __future__ import annotations

import signal
import threading
from typing import Any

from rewind.checkpoint.operation_log import operations as ops
from rewind.checkpoint.operation_log.lineage import here
from rewind.checkpoint.operation_log.operations import Operation
from rewind.checkpoint.project.locked import locked, release_store_lock
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.rewind.apply import refuse_while_running
from rewind.checkpoint.rewind.files.code_to_restore import CodeToRestore
from rewind.checkpoint.rewind.files.left_alone import names_to_note
from rewind.checkpoint.rewind.files.stage import StagedRestore, stage_restore
from rewind.checkpoint.rewind.operation_words import finish_command
from rewind.checkpoint.save.create import write_record
from rewind.errors import NothingToBisect, RewindInterrupted


class InPlace:
    """`with InPlace(state) as steps:`, then `steps.make(record)`. The lock of the place is held throughout,
    so that no hook takes a step for somebody's work. The lock of the store is held only during a step."""

    def __init__(self, state: State, force: bool = False) -> None:
        self._state = state
        self._force = force
        self._before: Record | None = None
        self._at: Record | None = None
        self._op: Operation | None = None
        self._released: Any = None  # while the command runs
        self.remaining: list[tuple[bytes, str]] = []  # what could not be restored at the end

    def __enter__(self) -> InPlace:
        refuse_while_running(self._state, self._force)
        self._lock: Any = locked(self._state, ops.BISECT)
        self._lock.__enter__()
        try:
            half_done = self._state.operations().interrupted()
            if half_done:
                raise RewindInterrupted(finish=finish_command(half_done))
            current = here(self._state)
            if current is None:
                raise NothingToBisect(reason="there is no checkpoint yet")
            self._current = current
        except BaseException:
            self._lock.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *error: Any) -> None:
        try:
            if self._op and self._before:
                with _CtrlCIgnored():
                    self._step(self._before)
                    self._end()
        finally:
            self._lock.__exit__(None, None, None)

    def make(self, record: Record) -> str:
        self._step(record)
        self._released = release_store_lock(self._state)
        self._released.__enter__()
        return self._state.project.root

    def _take_store_lock_again(self) -> None:
        released, self._released = self._released, None
        if released:
            released.__exit__(None, None, None)

    def _step(self, record: Record) -> None:
        """Like every restore: capture, plan, stage, then one change after another."""
        self._take_store_lock_again()
        wanted = CodeToRestore(record, leaving=self._at)
        with wanted.open(self._state) as source:
            staged = stage_restore(self._state, source, wanted, force=True, expected=None, progress=None)
            try:
                self._save(staged)
                self._begin(record, names_to_note(self._state, source, staged.plan))
                self.remaining = staged.run(self._state, record)
            finally:
                staged.close()
        self._at = record
        self._state.objects.rollback()  # the command may take long, and no transaction may stay open

    def _save(self, staged: StagedRestore) -> None:
        """Save the current state before the first step, and later what the command or somebody changed."""
        expected = self._at or self._current
        if staged.draft.snapshot.root != expected.tree:
            text = "Before bisect" if self._at is None else f"Left by bisect at {self._at.name}"
            backup = write_record(self._state, staged.draft, "backup", text,
                                  {"event": ops.BISECT, "checkpoint": expected.name})
            self._before = self._before or backup
        self._before = self._before or self._current

    def _begin(self, record: Record, left_alone: list[str]) -> None:
        assert self._before is not None
        step = {"checkpoint": record.name, "leftAlone": left_alone or None,
                "sequence": self._state.timeline.last_sequence()}
        if self._op is None:
            self._operations = self._state.operations()
            self._op = self._operations.begin(ops.BISECT, what="code", request=[ops.BISECT],
                                              before=self._before.name, **step)
        else:
            self._operations.step(self._op, **step)

    def _end(self) -> None:
        assert self._op is not None
        self._operations.end(self._op, result=ops.PARTIAL if self.remaining else ops.DONE,
                             here=self._current.name, sequence=self._state.timeline.last_sequence())


class _CtrlCIgnored:
    """A second Ctrl-C must not interrupt the restore at the end."""

    def __enter__(self) -> None:
        self._main = threading.current_thread() is threading.main_thread()
        if self._main:
            self._old = signal.signal(signal.SIGINT, signal.SIG_IGN)

    def __exit__(self, *error: object) -> None:
        if self._main:
            signal.signal(signal.SIGINT, self._old)
