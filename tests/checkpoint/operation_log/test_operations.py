"""The operation log on its own: what its lines mean, and what a torn or damaged one costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rewind.checkpoint.operation_log.operations import (
    DONE,
    MAX_BYTES,
    PARTIAL,
    Operation,
    Operations,
    last_line,
)
from rewind.checkpoint.rewind.operation_words import describe, finish_command, interrupted_text
from rewind.checkpoint.rewind.target import AtCheckpoint, BeforePrompts, Request
from rewind.errors import FormatTooNew, OperationNotFound, StoreDamaged


class Log:
    """Written by one process after the other."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def now(self) -> Operations:
        return Operations(str(self.path), "main")

    def step(self, command: str, checkpoint: str, before: str, *, end: bool = True, result: str = DONE,
             **more: Any) -> str:
        log = self.now
        op = log.begin(command, checkpoint=checkpoint, before=before, sequence=1, **more)
        if end:
            log.end(op, result=result, here=checkpoint, sequence=1)
        return op.id

    def undo_restore(self, *ids: str, **more: Any) -> str:
        return self.step("undo-restore", "b", "a", undoes=list(ids), **more)

    def redo(self, id: str, **more: Any) -> str:
        return self.step("redo", "b", "a", redoes=id, **more)

    def to_undo(self) -> list[str]:
        return [op.id for op in self.now.to_undo()]

    def to_redo(self) -> str:
        op = self.now.to_redo()
        return op.id if op else ""


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "operations.jsonl")


def test_without_a_file_there_is_nothing_to_undo_or_redo(log: Log) -> None:
    assert log.to_undo() == [] and log.to_redo() == "" and log.now.interrupted() is None
    assert not log.path.exists() and last_line(str(log.path)) is None


def test_undo_restore_goes_on_backwards_and_redo_forwards(log: Log) -> None:
    first, second = log.step("restore", "c1", "c3"), log.step("restore", "c2", "c1")
    one = log.undo_restore(second)
    assert log.to_undo() == [first] and log.to_redo() == one
    other = log.undo_restore(first)
    assert log.to_undo() == [] and log.to_redo() == other
    log.redo(other)
    assert log.to_undo() == [first] and log.to_redo() == one
    log.redo(one)
    assert log.to_undo() == [second, first] and log.to_redo() == ""


def test_each_undo_can_be_redone_in_reverse_order(log: Log) -> None:
    first, second = log.step("undo", "c2", "c3"), log.step("undo", "c1", "c2")
    assert log.to_redo() == second
    log.redo(second)
    assert log.to_redo() == first and log.to_undo() == [first], "an undo that was redone is undone"


def test_an_undo_that_was_undone_is_redone_by_way_of_that(log: Log) -> None:
    undo = log.step("undo", "c1", "c2")
    back = log.undo_restore(undo)
    assert log.to_redo() == back
    log.redo(back)
    assert log.to_redo() == undo
    log.redo(undo)
    assert log.to_redo() == "" and log.to_undo() == []


def test_a_new_step_ends_redo_and_an_undo_does_not(log: Log) -> None:
    first = log.step("undo", "c1", "c2")
    second = log.step("undo", "c0", "c1")
    assert log.to_redo() == second
    log.step("restore", "c9", "c0")
    assert log.to_redo() == "" and first


def test_what_failed_in_part_is_a_step_but_taking_it_back_in_part_is_not_done(log: Log) -> None:
    step = log.step("restore", "c1", "c2", result=PARTIAL)
    assert log.to_undo() == [step]
    log.undo_restore(step, result=PARTIAL)
    assert log.to_undo() == [step]


def test_a_killed_step_is_interrupted_until_it_is_finished_or_undone(log: Log) -> None:
    step = log.step("restore", "c1", "c2", end=False)
    found = log.now.interrupted()
    assert found and found.id == step and log.to_undo()[0] == step
    again = log.step("restore", "c1", "c2", resumes=step)
    assert log.now.interrupted() is None and log.to_undo() == [again]


def test_undoing_a_killed_step_leaves_nothing_to_redo(log: Log) -> None:
    log.undo_restore(log.step("restore", "c1", "c2", end=False))
    assert log.to_redo() == "" and log.to_undo() == [] and log.now.interrupted() is None


def test_a_killed_step_after_which_something_else_was_done_is_a_step_of_its_own(log: Log) -> None:
    first = log.step("restore", "c1", "c2", end=False)
    second = log.step("restore", "c3", "c1")
    assert log.now.interrupted() is None and log.to_undo() == [second, first]


def test_an_operation_is_found_by_the_beginning_of_its_id(log: Log) -> None:
    step = log.step("restore", "c1", "c2")
    assert log.now.find(step[:5]).id == step
    for text in ("", step[0], "nothing"):
        with pytest.raises(OperationNotFound):
            log.now.find(text)


# the file

def test_a_line_that_was_being_written_says_nothing_and_spoils_nothing(log: Log) -> None:
    step = log.step("restore", "c1", "c2")
    with open(log.path, "ab") as file:
        file.write(b'{"format": 1, "op": "12345678", "event": "beg')
    assert log.to_undo() == [step]
    line = last_line(str(log.path))
    assert line and line["event"] == "end"
    other = log.step("restore", "c3", "c1")
    assert log.to_undo() == [other, step] and log.path.read_bytes().count(b"\n") == 5


@pytest.mark.parametrize("line", [b"no JSON", b"[]", b"null", b"5", b'{"format": 1}'])
def test_any_other_line_that_is_none_of_ours_is_damage(log: Log, line: bytes) -> None:
    log.step("restore", "c1", "c2")
    before = log.path.read_bytes() + line + b"\n"
    log.path.write_bytes(before)
    with pytest.raises(StoreDamaged):
        log.step("restore", "c2", "c1")
    assert log.path.read_bytes() == before


def test_a_log_of_the_future_is_refused(log: Log) -> None:
    log.path.write_text('{"format": 2, "op": "12345678", "event": "begin"}\n')
    with pytest.raises(FormatTooNew):
        assert log.now


def test_the_last_line_is_found_however_long_it_is(log: Log) -> None:
    names = [f"{'n' * 200}/{number}" for number in range(2000)]
    log.step("restore", "c1", "c2", leftAlone=names, end=False)
    line = last_line(str(log.path))
    assert line and line["leftAlone"] == names and log.path.stat().st_size < MAX_BYTES


def test_a_collection_leaves_the_newest_operations(log: Log) -> None:
    log.step("restore", "c1", "c")
    now = log.now
    now.all = [numbered(now.all[0], number) for number in range(1010)]
    now.forget_oldest()
    assert [op.id for op in log.now.all] == [f"{number:08x}" for number in range(10, 1010)]
    assert log.to_undo()[0] == f"{1009:08x}"


def numbered(op: Operation, number: int) -> Operation:
    assert op.ended
    id = {"op": f"{number:08x}"}
    other = Operation({**op.begun, **id})
    other.ended = {**op.ended, **id}
    return other


def test_names_that_are_not_text_come_back_as_they_were(log: Log) -> None:
    log.step("restore", "c1", "c2", leftAlone=[b"\xff\xfe".decode("utf-8", "surrogateescape")])
    assert log.now.all[0].left_alone == [b"\xff\xfe"]


# words

def begun(command: str, **more: Any) -> Operation:
    return Operation({"op": "12345678", "event": "begin", "at": "", "place": "main", "command": command,
                      **more})


@pytest.mark.parametrize("op, text", [
    (begun("restore", checkpoint="c1"), "restored c1"),
    (begun("restore", checkpoint="c1", paths=["a", "b"]), "restored 2 paths from c1"),
    (begun("back", checkpoint="c1", prompt="Please\nclean up"), 'went back to before "Please clean up"'),
    (begun("back", prompt="x"), 'went back to before "x" (conversation only)'),
    (begun("undo", checkpoint="c1"), "stepped back to c1")])
def test_an_operation_is_told_in_words(op: Operation, text: str) -> None:
    assert describe(op) == text


@pytest.mark.parametrize("request_, command", [
    (Request(BeforePrompts(2), "conversation"), "rewind back 2"),
    (Request(BeforePrompts(1, "abc"), "conversation", in_place=True),
     "rewind back 1 --session abc --in-place"),
    (Request(AtCheckpoint("c1"), "conversation"), "rewind restore c1 --context-only")])
def test_the_command_that_finishes_it_is_named(request_: Request, command: str) -> None:
    asked = json.loads(json.dumps(request_.key()))
    assert asked == request_.key(), "as the log gives it back"
    op = begun(request_.target.command, request=asked)
    assert finish_command(op) == command and f"To finish it: {command}" in interrupted_text(op)
