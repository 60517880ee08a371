"""`rewind undo`, `rewind redo` and `rewind undo-restore`."""

from __future__ import annotations

import os
import signal

import pytest

from checkpoint.rewind.killed import killed_after, killed_in
from rewind.checkpoint.operation_log.operations import Operations
from rewind.cli.main import main
from rewind_cli import Rewind, tree_state


def readme(rewind: Rewind) -> str:
    return (rewind.project / "README.md").read_text()


def test_undo_goes_back_step_by_step_and_redo_forward_again(two: Rewind) -> None:
    (two.project / "README.md").write_text("# three\n")
    assert f"Went back to {two.names()[0]}" in two.ok("undo").out and readme(two) == "# two\n"
    two.ok("undo")
    assert readme(two) == "# one\n"
    two.fails(12, "undo")
    two.ok("redo")
    assert readme(two) == "# two\n"
    two.ok("redo")
    assert readme(two) == "# three\n"
    two.fails(12, "redo")


def test_undo_restore_takes_back_the_last_restore(two: Rewind) -> None:
    before = tree_state(two.project)
    two.ok("restore", "prev")
    two.ok("undo-restore")
    assert tree_state(two.project) == before
    two.fails(12, "undo-restore")


def test_a_restored_file_that_is_gone_again_does_not_stand_in_the_way_of_undo_restore(two: Rewind) -> None:
    (two.project / "new.txt").unlink()
    two.ok("restore", "last", "--", "new.txt")
    (two.project / "new.txt").unlink()
    before = tree_state(two.project)
    two.ok("undo-restore")
    assert tree_state(two.project) == before
    two.fails(12, "undo-restore")


@pytest.mark.parametrize("command", ["undo", "redo", "undo-restore"])
def test_a_dry_run_shows_the_plan_and_touches_nothing(two: Rewind, command: str) -> None:
    two.ok("undo")
    if command == "undo":
        (two.project / "README.md").write_text("# changed\n")
        two.ok("save")
    before = tree_state(two.project)
    answer = two.json(command, "--dry-run")
    assert answer["dryRun"] is True
    assert "README.md" in [item["path"] for item in answer["written"]]
    assert "README.md" in two.ok(command, "--dry-run").out
    assert tree_state(two.project) == before


def test_undo_does_not_lead_to_an_imported_checkpoint(two: Rewind) -> None:
    """It was never a state of this project."""
    file = str(two.project.parent / "one.tar.gz")
    two.ok("export", "prev", file)
    (two.project / "README.md").write_text("# three\n")
    two.ok("save")
    two.ok("import", file)
    two.ok("undo")
    assert readme(two) == "# two\n"


def test_a_plan_says_newer_only_of_what_no_checkpoint_holds(two: Rewind) -> None:
    """After a step back the newest checkpoint is another state than the one that the project stands on."""
    two.ok("undo")
    assert "checkpoint)" not in two.ok("undo-restore", "--dry-run").out
    assert two.json("undo-restore", "--dry-run")["changedSince"] == []
    (two.project / "README.md").write_text("# by hand\n")
    (two.project / "fresh.txt").write_text("fresh\n")
    said = two.ok("restore", "last", "--dry-run").out
    assert "~ README.md  (changed since the last checkpoint)" in said
    assert "- fresh.txt  (made since the last checkpoint)" in said and "+ new.txt\n" in said


def test_after_a_step_back_nothing_has_changed_since_where_it_led(two: Rewind) -> None:
    two.ok("undo")
    assert two.ok("save", "--dry-run").out == f"Nothing changed since {two.names()[1]}\n"
    assert "nothing since" in two.ok("status").out


def test_plan_and_outcome_name_what_is_undone(two: Rewind) -> None:
    """A restore that was killed before it was in the log has changed nothing: the one before it is undone."""
    first, second = reversed(two.names())
    two.ok("restore", first)
    (two.project / "README.md").write_text("# edited\n")

    def killed() -> int:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Operations, "begin", lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
            return main(["restore", second, "--force"])

    before = tree_state(two.project)
    assert killed_in(10 ** 9, killed, two.project)
    assert tree_state(two.project) == before and len(two.json("ops")["operations"]) == 1
    assert f"Would undo: restored {first}" in two.ok("undo-restore", "--dry-run").out
    assert f"Would undo: restored {first}" in two.json("undo-restore", "--dry-run")["notes"]
    assert f"Undid: restored {first}\n" in two.ok("undo-restore").err
    assert f"Would redo: restored {first}" in two.ok("redo", "--dry-run").out
    two.ok("redo")
    assert readme(two) == "# edited\n"
    assert f"Undid: restored {first}" in two.json("undo-restore")["notes"]
    two.ok("undo")
    assert f"Would reverse: stepped back to {first}" in two.ok("redo", "--dry-run").out


@pytest.mark.slow
def test_redo_does_not_take_for_an_edit_what_an_interrupted_step_has_done(rewind: Rewind) -> None:
    """Wherever it was killed: a new directory, for one, gets its mode at the very end."""
    (rewind.project / "a").write_text("1")
    rewind.init()
    first = rewind.names()[0]
    (rewind.project / "a").write_text("2")
    (rewind.project / "new").mkdir()
    (rewind.project / "new/b").write_text("b")
    (rewind.project / "new").chmod(0o755)
    rewind.ok("save")
    kills, modes = 0, set()
    while True:
        rewind.ok("restore", first, "--force")
        if not killed_after(kills, ["undo-restore"], rewind.project):
            break
        if (rewind.project / "new").exists():
            modes.add((rewind.project / "new").stat().st_mode & 0o777)
        assert rewind.run("redo").code in (0, 12), f"killed after {kills} calls"
        kills += 1
    assert 0o700 in modes
