"""A command that goes back opens a transcript once for each thing it does with it, and its own files once."""

from __future__ import annotations

import errno
import os
from collections import Counter
from contextlib import closing
from typing import Any

import pytest

from chat_scene import Turns
from cli.conftest import InProcess
from rewind import jsonfile


class Opened:
    """How often this process opened a file for reading."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: Counter[str] = Counter()
        opens = os.open

        def counting(path: Any, flags: int, *more: Any, **options: Any) -> int:
            if isinstance(path, (str, bytes)) and flags & os.O_ACCMODE == os.O_RDONLY:
                self.names[os.path.basename(os.fsdecode(path))] += 1
            return opens(path, flags, *more, **options)

        monkeypatch.setattr(os, "open", counting)


@pytest.fixture
def turns(cli: InProcess) -> Turns:
    scene = Turns(cli)
    for number in range(1, 5):
        scene.turn(f"task {number}", work=f"{number}")
    return scene


def transcripts(turns: Turns, monkeypatch: pytest.MonkeyPatch, *command: str) -> int:
    with monkeypatch.context() as patch:
        opened = Opened(patch)
        turns.cli.ok(*command)
    return opened.names[turns.path.name]


def test_a_plan_asks_whose_a_transcript_is_and_where_to_cut_it(
        turns: Turns, monkeypatch: pytest.MonkeyPatch) -> None:
    assert transcripts(turns, monkeypatch, "back", "3", "--both", "--dry-run") == 2


def test_back_forks_the_transcript_and_counts_its_turns_besides(
        turns: Turns, monkeypatch: pytest.MonkeyPatch) -> None:
    assert transcripts(turns, monkeypatch, "back", "1", "--both") == 4


def test_back_looks_once_at_a_session_that_has_too_few_prompts(
        turns: Turns, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        opened = Opened(patch)
        assert turns.cli.run("back", "9", "--both").code != 0
    assert opened.names[turns.path.name] <= 3  # the error is found out again, to be told


def test_restore_finds_the_cut_counts_the_turns_and_forks(
        turns: Turns, monkeypatch: pytest.MonkeyPatch) -> None:
    name = turns.records()[2].name
    assert transcripts(turns, monkeypatch, "restore", name) == 3


def test_unsaved_work_adds_the_capture_of_the_conversation(
        turns: Turns, monkeypatch: pytest.MonkeyPatch) -> None:
    name = turns.records()[2].name
    turns.write(work="by hand")
    assert transcripts(turns, monkeypatch, "restore", name) == 5


@pytest.mark.parametrize("command", [("back", "1", "--both"), ("undo-restore",), ("redo",)])
def test_the_log_of_operations_is_read_once(command: tuple[str, ...], turns: Turns,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    turns.cli.ok("back", "1", "--both")
    if command == ("redo",):
        turns.cli.ok("undo-restore")
    with monkeypatch.context() as patch:
        opened = Opened(patch)
        turns.cli.ok(*command)
    assert opened.names["operations.jsonl"] == 1


def test_small_files_are_read_once(turns: Turns, monkeypatch: pytest.MonkeyPatch) -> None:
    turns.cli.ok("back", "1", "--both")  # from here on there are known forks
    turns.write(work="by hand")
    with monkeypatch.context() as patch:
        opened = Opened(patch)
        turns.cli.ok("restore", "last~2", "--code-only")
    small = ("session.json", "branches.json", "store.json", "rewind-store", "metadata.json")
    assert {name: opened.names[name] for name in small} == {**dict.fromkeys(small, 1), "metadata.json": 2}


def test_a_fork_is_read_again_only_after_it_is_noted(turns: Turns, monkeypatch: pytest.MonkeyPatch) -> None:
    turns.cli.ok("back", "1", "--both")
    with monkeypatch.context() as patch:
        opened = Opened(patch)
        turns.cli.ok("back", "1", "--both")
    assert opened.names["branches.json"] == 2


def test_what_another_process_notes_about_forks_is_seen(turns: Turns) -> None:
    turns.cli.ok("back", "1", "--both")
    with closing(turns.controller()) as controller:
        before = controller.state.forks()
        assert controller.state.forks() is before
        fork = before.all[0]["sessionId"]
        turns.cli.ok("forks", "rename", fork, "another try")
        assert controller.state.forks().all[0]["name"] == "another try"
        assert before.all[0]["name"] is None


def test_a_change_that_could_not_be_written_is_forgotten(turns: Turns,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    turns.cli.ok("back", "1", "--both")
    with closing(turns.controller()) as controller:
        forks = controller.state.forks()
        with monkeypatch.context() as patch:
            patch.setattr(jsonfile, "write", full)
            with pytest.raises(OSError):
                forks.change(forks.all[0]["sessionId"], {"name": "another try"})
        assert controller.state.forks().all[0]["name"] is None


def test_what_another_process_writes_to_the_log_is_seen(turns: Turns) -> None:
    turns.cli.ok("back", "1", "--both")
    with closing(turns.controller()) as controller:
        assert len(controller.operations()) == 1
        assert controller.state.operations() is controller.state.operations()
        turns.cli.ok("undo-restore")
        assert [op.command for op in controller.operations()] == ["back", "undo-restore"]


def test_what_this_process_writes_to_the_log_need_not_be_read(turns: Turns) -> None:
    with closing(turns.controller()) as controller:
        log = controller.state.operations()
        op = log.begin("restore", before="", paths=["a"])
        log.end(op, here="x", effects=())
        assert log.is_current()
        assert log.last == op.ended
        again = type(log)(log.path, log.place)
        assert [one.begun for one in again.all] == [one.begun for one in log.all]
        assert [one.ended for one in again.all] == [one.ended for one in log.all]
