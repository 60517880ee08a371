"""Undo, redo and undo-restore as moves between states; what is on disk is all that counts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Optional

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewind.checkpoint.history import KEPT_STEPS, History
from rewind.errors import FormatTooNew, StoreDamaged


class Walk:
    """Moves as `checkpoint.restore` makes them, each by a process of its own."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.backups = 0

    @property
    def now(self) -> History:
        return History(self.path)

    def backup(self) -> str:
        self.backups += 1
        return f"backup-{self.backups}"

    def step(self, action: str, checkpoint: str, position: Optional[int], *, partial: bool = False,
             finish: bool = True) -> str:
        backup = self.backup()
        history = self.now
        entry = history.begin(action, checkpoint, backup, ["path"] if partial else None)
        if finish:
            history.finish(entry, position, partial=partial)
        return backup

    def redo(self) -> str:
        target = self.now.redo[-1]
        return self.step("redo", target["checkpoint"], target["position"])

    def undo_restore(self, *, changes: bool = True, finish: bool = True) -> Optional[str]:
        history = self.now
        entry = history.entries[-1]
        backup = self.backup() if changes else None
        if changes:
            history.begin_undo_restore(entry)
        if finish:
            history.finish_undo_restore(entry, backup)
        return backup

    def redo_names(self) -> list[str]:
        return [r["checkpoint"] for r in self.now.redo]


@pytest.fixture
def walk(tmp_path: Path) -> Walk:
    return Walk(tmp_path / "restore-history.json")


def test_without_a_file_we_are_at_the_top(walk: Walk) -> None:
    assert (walk.now.position, walk.now.entries, walk.now.redo) == (None, [], [])
    assert walk.now.interrupted() is None and not os.path.exists(walk.path)


def test_each_undo_can_be_redone_in_reverse_order(walk: Walk) -> None:
    first = walk.step("undo", "c2", 2)
    second = walk.step("undo", "c1", 1)
    assert walk.now.position == 1 and walk.redo_names() == [first, second]
    walk.redo()
    assert walk.now.position == 2 and walk.redo_names() == [first]
    walk.redo()
    assert walk.now.position is None and walk.redo_names() == []


def test_undo_after_redo_can_be_redone_again(walk: Walk) -> None:
    walk.step("undo", "c2", 2)
    walk.redo()
    again = walk.step("undo", "c2", 2)
    assert walk.now.position == 2 and walk.redo_names() == [again]


def test_undo_restore_takes_the_step_back_and_redo_leads_to_what_it_had_made(walk: Walk) -> None:
    backup = walk.step("restore", "c1", 1)
    left = walk.undo_restore()
    assert walk.now.position is None and walk.now.entries == []
    assert walk.now.redo == [{"checkpoint": left, "position": 1, "paths": None, "from": backup}]


def test_undo_restore_of_a_redo_makes_it_possible_again(walk: Walk) -> None:
    backup = walk.step("undo", "c2", 2)
    walk.redo()
    walk.undo_restore(changes=False)
    assert walk.now.position == 2 and walk.redo_names() == [backup]


def test_undo_restore_goes_back_step_by_step(walk: Walk) -> None:
    walk.step("restore", "c3", 3)
    walk.step("restore", "c1", 1)
    walk.undo_restore()
    assert walk.now.position == 3
    walk.undo_restore()
    assert walk.now.position is None and walk.now.entries == []


def test_a_restore_of_some_paths_does_not_move_us(walk: Walk) -> None:
    backup = walk.step("restore", "c1", 1, partial=True)
    assert walk.now.position is None and walk.redo_names() == [backup]
    assert walk.now.entries[-1]["paths"] == ["path"]


def test_a_restore_without_a_backup_cannot_be_redone(walk: Walk) -> None:
    history = walk.now
    history.finish(history.begin("restore", "c1", None, None), 1, partial=False)
    assert walk.now.position == 1 and walk.now.redo == []


def test_new_work_ends_the_way_forward(walk: Walk) -> None:
    walk.step("undo", "c2", 2)
    walk.now.note_new_tree()
    assert walk.now.position is None and walk.now.redo == [] and len(walk.now.entries) == 1


def test_new_work_at_the_top_writes_nothing(walk: Walk) -> None:
    walk.now.note_new_tree()
    assert not os.path.exists(walk.path)


# killed half way

def test_a_killed_step_is_seen_afterwards(walk: Walk) -> None:
    walk.step("restore", "c1", 1, finish=False)
    interrupted = walk.now.interrupted()
    assert interrupted and interrupted["checkpoint"] == "c1"


def test_a_step_killed_once_and_repeated_leads_back_to_the_first_backup(walk: Walk) -> None:
    first = walk.step("restore", "c1", 1, finish=False)
    walk.step("restore", "c1", 1)
    assert walk.now.entries[-1]["backup_checkpoint"] == first and walk.redo_names() == [first]


def test_a_step_killed_twice_and_repeated_leads_back_to_the_first_backup(walk: Walk) -> None:
    first = walk.step("restore", "c1", 1, finish=False)
    walk.step("restore", "c1", 1, finish=False)
    walk.step("restore", "c1", 1)
    (entry,) = walk.now.entries
    assert entry["backup_checkpoint"] == first and "resumes" not in entry
    assert walk.now.interrupted() is None and walk.now.position == 1


def test_the_backups_of_killed_steps_are_in_use(walk: Walk) -> None:
    first = walk.step("restore", "c1", 1, finish=False)
    walk.step("restore", "c2", 2, finish=False)
    third = walk.step("restore", "c3", 3, finish=False)
    assert {first, third} <= walk.now.backups_in_use()


def test_a_killed_undo_restore_is_seen_and_can_be_repeated(walk: Walk) -> None:
    walk.step("restore", "c1", 1)
    walk.undo_restore(finish=False)
    assert walk.now.interrupted()
    walk.undo_restore()
    assert walk.now.interrupted() is None and walk.now.entries == [] and walk.now.position is None


def test_taking_back_a_half_done_step_leaves_nothing_to_redo(walk: Walk) -> None:
    walk.step("restore", "c1", 1, finish=False)
    walk.undo_restore()
    assert walk.now.redo == [] and walk.now.entries == [] and walk.now.position is None


# any sequence

@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["undo", "redo", "undo-restore", "work", "part"]), max_size=12))
def test_any_sequence_of_moves_keeps_its_way_back(tmp_path_factory: pytest.TempPathFactory,
                                                  moves: list[str]) -> None:
    walk = Walk(tmp_path_factory.mktemp("history") / "restore-history.json")
    before: list[Optional[int]] = []  # the position before each step that can be taken back
    sequence = 100
    for move in moves:
        position = walk.now.position
        if move == "undo":
            sequence -= 1
            before.append(position)
            backup = walk.step("undo", f"c{sequence}", sequence)
            assert walk.now.position == sequence and walk.redo_names()[-1] == backup
        elif move == "part":
            before.append(position)
            walk.step("restore", "c1", 1, partial=True)
            assert walk.now.position == position
        elif move == "redo" and walk.now.redo:
            target, rest = walk.now.redo[-1], walk.redo_names()[:-1]
            before.append(position)
            walk.redo()
            assert walk.now.position == target["position"] and walk.redo_names() == rest
        elif move == "undo-restore" and walk.now.entries:
            walk.undo_restore()
            assert walk.now.position == before.pop()
        elif move == "work":
            walk.now.note_new_tree()
            assert walk.now.position is None and walk.now.redo == []
        assert len(walk.now.entries) == len(before) and not walk.now.interrupted()
        needed = {e["backup_checkpoint"] for e in walk.now.entries} | set(walk.redo_names())
        assert needed <= walk.now.backups_in_use()


def test_only_the_last_steps_hold_on_to_their_backups_and_to_where_they_led(walk: Walk) -> None:
    backups = [walk.step("restore", f"c{n}", n) for n in range(KEPT_STEPS + 5)]
    led_to = {f"c{n}" for n in range(5, KEPT_STEPS + 5)}
    assert walk.now.backups_in_use() == set(backups[-KEPT_STEPS:]) | led_to


def test_the_file_does_not_grow_without_end(walk: Walk) -> None:
    history = walk.now
    for number in range(250):
        history.finish(history.begin("restore", f"c{number}", f"b{number}", None), number, partial=False)
    assert len(walk.now.entries) == 200 and len(walk.now.redo) == 200
    assert walk.now.entries[-1]["checkpoint"] == "c249"


# a file that is not as we left it

@pytest.mark.parametrize("content", [
    "", "{", "[]", "null", '{"position": 1}', '{"format": "1"}', '{"format": 1, "position": "x"}',
    '{"format": 1, "entries": {}}', '{"format": 1, "entries": [1]}', '{"format": 1, "redo": [{}]}',
    '{"format": 1, "redo": [{"checkpoint": 5}]}', "[" * 100_000])
def test_a_damaged_file_is_named_and_not_overwritten(walk: Walk, content: str) -> None:
    Path(walk.path).write_text(content)
    with pytest.raises(StoreDamaged, match=r"restore-history\.json"):
        History(walk.path)
    assert Path(walk.path).read_text() == content


def test_a_newer_format_is_refused(walk: Walk) -> None:
    Path(walk.path).write_text('{"format": 2}')
    with pytest.raises(FormatTooNew):
        History(walk.path)


def test_fields_of_a_later_version_are_kept(walk: Walk) -> None:
    data: dict[str, Any] = {"format": 1, "position": 3, "entries": [], "redo": [], "more": {"x": 1}}
    Path(walk.path).write_text(json.dumps(data))
    walk.now.note_new_tree()
    assert json.loads(Path(walk.path).read_text())["more"] == {"x": 1}
