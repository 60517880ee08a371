"""Files and hunks of a difference brought back: one operation like every other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from checkpoint.rewind.killed import COUNTED, killed_in
from cli.conftest import InProcess, cli  # noqa: F401
from rewind.controller import BroughtBack, Controller, comparing, hunks
from rewind.errors import HunkChanged, PathNotChanged, RewindError, UsageError
from rewind_cli import differences, tree_state

LINES = "".join(f"line {n}\n" for n in range(1, 41))
CHANGED = LINES.replace("line 5\n", "five\n").replace("line 20\n", "twenty\n").replace("line 35\n", "")


class Changed:
    """Checkpoint `one`, then changes to a.txt, a new b.txt, gone.txt deleted: checkpoint `two`."""

    def __init__(self, cli: InProcess) -> None:  # noqa: F811
        self.cli = cli
        self.project: Path = cli.project
        (self.project / "a.txt").write_text(LINES)
        (self.project / "gone.txt").write_text("gone\n")
        cli.init()
        self.one = cli.save("one")
        (self.project / "a.txt").write_text(CHANGED)
        (self.project / "b.txt").write_text("new\n")
        (self.project / "gone.txt").unlink()
        self.two = cli.save("two")

    def controller(self) -> Controller:
        return Controller(str(self.project))

    def ids(self, new: str | None, path: bytes = b"a.txt") -> list[str]:
        with self.controller().diff(self.one, new, paths=[path]) as found:
            (path, before, after), = found.changes
            one = comparing.compare(path, before, after, found.old.content, found.new.content)
            return [hunk.id for hunk in hunks(one.old_lines, one.new_lines, one.blocks)]

    def read(self, name: str = "a.txt") -> str:
        return (self.project / name).read_text()


@pytest.fixture
def scene(cli: InProcess, monkeypatch: pytest.MonkeyPatch) -> Changed:  # noqa: F811
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    return Changed(cli)


def test_a_hunk_comes_back_and_is_undone_like_everything_else(scene: Changed) -> None:
    was = tree_state(scene.project)
    controller = scene.controller()
    plan = controller.plan(BroughtBack(scene.one, scene.two, {b"a.txt": scene.ids(scene.two)[1:2]}), "code")
    assert plan.code and plan.code.written == [b"a.txt"] and not plan.code.conflicts
    assert not differences(was, tree_state(scene.project))
    outcome = controller.apply(plan)
    assert scene.read() == CHANGED.replace("twenty\n", "line 20\n")
    assert outcome.about == f"1 hunk in a.txt ({scene.one}..{scene.two})"
    assert f"reverted {outcome.about}" in scene.cli.ok("ops").out
    scene.cli.ok("undo-restore")
    assert not differences(was, tree_state(scene.project))
    scene.cli.ok("redo")
    assert scene.read() == CHANGED.replace("twenty\n", "line 20\n")


def test_files_and_hunks_come_back_in_one_go(scene: Changed) -> None:
    was = tree_state(scene.project)
    parts = {b"a.txt": scene.ids(None)[:2], b"gone.txt": [], b"b.txt": []}
    outcome = scene.controller().bring_back(scene.one, None, parts, label='turn 2, "Clean up"')
    assert outcome.about == '2 files and 2 hunks in a.txt (turn 2, "Clean up")'
    assert scene.read() == LINES.replace("line 35\n", "") and scene.read("gone.txt") == "gone\n"
    assert not (scene.project / "b.txt").exists()
    assert len(scene.controller().operations()) == 1
    scene.cli.ok("undo-restore")
    assert not differences(was, tree_state(scene.project))


def test_edits_that_no_checkpoint_has_stay_beside_it(scene: Changed) -> None:
    (scene.project / "a.txt").write_text("mine\n" + CHANGED)
    outcome = scene.controller().bring_back(scene.one, scene.two, {b"a.txt": scene.ids(scene.two)[:1]})
    assert scene.read() == "mine\n" + CHANGED.replace("five\n", "line 5\n") and outcome.backup
    scene.cli.ok("undo-restore")
    assert scene.read() == "mine\n" + CHANGED


def test_where_there_is_a_conflict_nothing_is_written(scene: Changed) -> None:
    (scene.project / "a.txt").write_text(CHANGED.replace("five\n", "5\n"))
    was = tree_state(scene.project)
    parts = {b"a.txt": scene.ids(scene.two)[:1], b"gone.txt": []}
    outcome = scene.controller().bring_back(scene.one, scene.two, parts)
    assert [kept.path for kept in outcome.plan.conflicts] == [b"a.txt"] and not outcome.operation
    assert not differences(was, tree_state(scene.project))
    scene.controller().bring_back(scene.one, scene.two, parts, how="theirs")
    assert scene.read() == CHANGED.replace("five\n", "line 5\n") and scene.read("gone.txt") == "gone\n"


def test_hunks_of_now_that_moved_still_count_and_that_changed_do_not(scene: Changed) -> None:
    ids = scene.ids(None)
    (scene.project / "a.txt").write_text(LINES[:7] + "inserted\n" + CHANGED[7:])
    was = tree_state(scene.project)
    with pytest.raises(HunkChanged):
        scene.controller().bring_back(scene.one, None, {b"a.txt": ids[:1]})
    assert not differences(was, tree_state(scene.project))
    scene.controller().bring_back(scene.one, None, {b"a.txt": ids[1:2]})
    assert scene.read() == LINES[:7] + "inserted\n" + CHANGED[7:].replace("twenty\n", "line 20\n")


def test_a_file_that_changes_after_the_plan_is_not_overwritten(scene: Changed) -> None:
    controller = scene.controller()
    plan = controller.plan(BroughtBack(scene.one, None, {b"a.txt": scene.ids(None)[:1]}), "code")
    (scene.project / "a.txt").write_text(CHANGED + "a moment later\n")
    with pytest.raises(RewindError) as caught:
        controller.apply(plan)
    assert caught.value.exit_code == 13 and scene.read() == CHANGED + "a moment later\n"


def test_bad_input_is_one_sentence_and_changes_nothing(scene: Changed) -> None:
    was = tree_state(scene.project)
    for parts, error in (({}, UsageError), ({b"a.txt": ["nosuch"]}, HunkChanged),
                         ({b"nosuch.txt": []}, PathNotChanged), ({b"nosuch.txt": ["1"]}, PathNotChanged)):
        with pytest.raises(error):
            scene.controller().bring_back(scene.one, scene.two, parts)
    assert not differences(was, tree_state(scene.project)) and not scene.controller().operations()


@pytest.mark.slow
def test_killed_at_any_point_it_is_finished_or_undone(scene: Changed) -> None:
    was, parts = tree_state(scene.project), {b"a.txt": scene.ids(scene.two)[:1], b"gone.txt": []}

    def act() -> int:
        controller = scene.controller()
        try:
            return 0 if controller.bring_back(scene.one, scene.two, parts).operation else 1
        finally:
            controller.close()

    # Not `mkdir`: who is killed leaves a name behind, and within one second the next ones are tried in order.
    begun, counted = 0, tuple(name for name in COUNTED if name != "mkdir")
    for _ in range(2):  # once the content is in the store, it takes fewer calls
        was_killed, calls = True, 0
        while was_killed:
            was_killed, calls = killed_in(calls, act, scene.project, counted), calls + 1
            half_done, steps = scene.controller().interrupted(), scene.controller().operations()
            if half_done is None and (not steps or not steps[-1].can_undo):
                assert not differences(was, tree_state(scene.project))
                continue
            begun += bool(half_done)
            if half_done is None or begun % 2:
                assert half_done is None or act() == 0
                assert scene.read() == CHANGED.replace("five\n", "line 5\n")
                assert scene.read("gone.txt") == "gone\n"
            scene.cli.ok("undo-restore")
            assert not differences(was, tree_state(scene.project))
    assert begun > 1
