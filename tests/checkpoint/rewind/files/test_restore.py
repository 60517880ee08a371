"""Accidents that a review found in the way back, each kept from coming again."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rewind.checkpoint.rewind.target import AtCheckpoint
from rewind.controller import Controller
from rewind.errors import PathNotFound
from rewind.snapshot.scan.scan import scan
from rewind_cli import Rewind, interrupt, tree_state

pytestmark = pytest.mark.slow

SOURCE = str(Path(__file__).resolve().parents[4] / "src")


def settle() -> None:
    """Let the files grow older than the window in which they would be read again anyway."""
    time.sleep(2.2)


def test_a_worktree_survives_an_ignored_directory_that_outgrows_the_limit(rewind: Rewind) -> None:
    """The folder's own listing is unchanged then, and the cache knows no verdicts on its files."""
    top = rewind.project
    (top / ".git").write_text("gitdir: /elsewhere\n")
    (top / ".gitignore").write_text("build/\n*.big\n")
    (top / "app.big").write_bytes(b"x" * (2 << 20))
    (top / "build").mkdir()
    (top / "build/a").write_text("a")
    os.mkfifo(top / "pipe")
    settle()
    rewind.init()
    rewind.save("small")
    for number in range(520):
        (top / "build" / str(number)).touch()
    rewind.save("large")
    reasons = {item["path"]: item["reason"] for item in
               rewind.json("status", "--unprotected")["unprotected"]}
    assert reasons == {"app.big": "ignored-large", "build": "ignored-large", "pipe": "special"}
    rewind.ok("restore", "prev")
    assert rewind.json("validate", "--deep")["ok"] is True


def test_restoring_a_path_that_came_later_removes_it_and_ends_well(rewind: Rewind) -> None:
    (rewind.project / "a").write_text("a")
    rewind.init()
    (rewind.project / "new").write_text("n")
    rewind.ok("restore", "last", "--", "new")
    assert not (rewind.project / "new").exists()
    assert "interrupted" not in rewind.ok("status").out
    rewind.ok("undo-restore")
    assert (rewind.project / "new").read_text() == "n"


def test_a_step_can_be_taken_back_although_its_path_is_gone(rewind: Rewind) -> None:
    (rewind.project / "old").write_text("old")
    rewind.init()
    (rewind.project / "old").unlink()
    rewind.ok("restore", "last", "--", "old")
    (rewind.project / "old").unlink()
    rewind.ok("undo-restore")
    assert not (rewind.project / "old").exists()


def test_a_nested_projects_checkpoints_are_not_the_outer_ones_business(rewind: Rewind) -> None:
    inner = Rewind(rewind.project / "pkg", rewind.home)
    inner.project.mkdir()
    (inner.project / "f").write_text("1")
    rewind.init()
    inner.init()
    rewind.save("both are there")
    for text in "234":
        (inner.project / "f").write_text(text)
        inner.save(text)
    rewind.ok("restore", "last")
    assert (inner.project / "f").read_text() == "1"
    assert inner.json("validate", "--deep")["ok"] is True
    inner.ok("restore", "last")
    assert (inner.project / "f").read_text() == "4"


def test_a_users_file_that_looks_like_our_temporary_ones_is_theirs(rewind: Rewind) -> None:
    mine = rewind.project / ".rewind-tmp-notes"
    mine.write_text("precious")
    (rewind.project / "a").write_text("1")
    rewind.init()
    mine.write_text("more precious")
    (rewind.project / "a").write_text("2")
    rewind.ok("restore", "last", "--", "a")
    assert mine.read_text() == "more precious"
    rewind.ok("restore", "last")
    assert mine.read_text() == "precious"


def test_a_leftover_of_a_killed_restore_is_swept_by_the_next_checkpoint(rewind: Rewind) -> None:
    rewind.init()
    leftover = rewind.project / (".rewind-tmp-" + "0123456789abcdef")
    leftover.write_text("half a file")
    rewind.save()
    assert not leftover.exists()


def test_one_damaged_checkpoint_does_not_stand_in_the_way_of_a_sound_one(rewind: Rewind) -> None:
    (rewind.project / "a").write_text("1")
    rewind.init()
    rewind.ok("config", "--set", "storage.format=archive")
    (rewind.project / "a").write_text("2")
    broken = rewind.save()
    (rewind.state / "checkpoints" / broken / "snapshot.tar.gz").unlink()
    rewind.ok("restore", "1")
    assert (rewind.project / "a").read_text() == "1"
    rewind.fails(20, "restore", broken)


def test_a_project_with_an_unreadable_tree_can_still_be_saved(rewind: Rewind) -> None:
    import sqlite3

    (rewind.project / "d").mkdir()
    (rewind.project / "d/a").write_text("1")
    settle()
    rewind.init()
    rewind.save()
    tree = rewind.json("show", "last")["code"]["tree"]
    db = sqlite3.connect(rewind.state / "objects.db")
    db.execute("UPDATE objects SET data=? WHERE id=?", (b"\x00garbage", bytes.fromhex(tree)))
    db.commit()
    db.close()
    (rewind.project / "d/a").write_text("2")
    name = rewind.save("after the damage")
    before = tree_state(rewind.project)
    (rewind.project / "d/a").unlink()
    rewind.ok("restore", name)
    assert tree_state(rewind.project) == before


def test_rewinds_own_home_is_no_project(rewind: Rewind, home: Path) -> None:
    (home / ".rewind").mkdir()
    inside = Rewind(home / ".rewind", home)
    inside.fails(2, "init")


def test_naming_a_database_names_its_journals(rewind: Rewind) -> None:
    import sqlite3

    path = rewind.project / "app.db"
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, x TEXT)")
    db.execute("CREATE INDEX i ON t (x)")
    db.execute("INSERT INTO t (x) VALUES ('first')")
    db.commit()
    db.close()
    rewind.init()
    db = sqlite3.connect(path)
    db.executemany("INSERT INTO t (x) VALUES (?)", [(str(n),) for n in range(3000)])
    db.commit()
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.execute("UPDATE t SET x = x || '!'")
    db.commit()
    files = {name: (rewind.project / name).read_bytes() for name in ("app.db", "app.db-wal")}
    db.close()
    for name, data in files.items():  # as a killed program would have left them
        (rewind.project / name).write_bytes(data)
    rewind.ok("restore", "last", "--", "app.db")
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert db.execute("SELECT x FROM t").fetchall() == [("first",)]
    db.close()
    rewind.ok("undo-restore")
    for name, data in files.items():
        assert (rewind.project / name).read_bytes() == data


def test_naming_a_path_below_what_was_a_file_leaves_its_neighbours_alone(rewind: Rewind) -> None:
    place = rewind.project / "d"
    place.write_text("a file")
    rewind.init()
    place.unlink()
    place.mkdir()
    (place / "x").write_text("1")
    (place / "y").write_text("2")
    rewind.save("now a directory")
    rewind.ok("restore", "1", "--", "d/x")
    assert sorted(os.listdir(place)) == ["y"]
    rewind.ok("undo-restore")
    assert sorted(os.listdir(place)) == ["x", "y"]
    rewind.ok("restore", "1")
    assert place.read_text() == "a file"
    assert rewind.run("restore", "2", "--", "d/x").code == 3  # the file d would have to go
    assert place.read_text() == "a file"


def test_a_refused_restore_lets_go_of_the_store(rewind: Rewind) -> None:
    import pytest

    from rewind import Controller
    from rewind.controller import AtCheckpoint
    from rewind.errors import ChangedSincePlan

    file = rewind.project / "a"
    file.write_text("1")
    rewind.init()
    file.write_text("2")
    controller = Controller(str(rewind.project))
    plan = controller.plan(AtCheckpoint("last"))
    file.write_text("3")
    with pytest.raises(ChangedSincePlan):
        controller.apply(plan)
    assert file.read_text() == "3"
    rewind.save("another process writes at once")
    controller.apply(controller.plan(AtCheckpoint("1")))  # which sees that checkpoint, too
    assert file.read_text() == "1"
    controller.close()


def test_redo_goes_on_when_the_tree_is_there_already(rewind: Rewind) -> None:
    file = rewind.project / "a"
    for text in ("one", "two", "three"):
        file.write_text(text)
        rewind.init() if text == "one" else rewind.save(text)
    rewind.ok("undo")
    rewind.ok("undo")
    assert file.read_text() == "one"
    file.write_text("two")
    rewind.ok("redo")
    rewind.ok("redo")
    assert file.read_text() == "three"


def test_a_missing_tree_is_not_handed_on_to_the_next_checkpoint(rewind: Rewind) -> None:
    import sqlite3

    from rewind import Controller
    from rewind.snapshot.trees.listing import entry_at

    (rewind.project / "d/e").mkdir(parents=True)
    (rewind.project / "d/e/a").write_text("1")
    (rewind.project / "d/b").write_text("1")
    settle()
    rewind.init()
    rewind.save()
    controller = Controller(str(rewind.project))
    record = controller.find("last")
    with controller.source(record) as source:
        entry = entry_at(source.tree, record.tree, b"d/e")
    controller.close()
    assert entry
    db = sqlite3.connect(rewind.state / "objects.db")
    db.execute("DELETE FROM objects WHERE id=?", (entry.ref,))
    db.commit()
    db.close()
    (rewind.project / "d/b").write_text("2")
    name = rewind.save()
    problems = rewind.run("validate", "--deep", "--json").data["problems"]
    assert not [p for p in problems if name in p]


def test_what_comes_to_lie_beside_our_state_is_captured(rewind: Rewind) -> None:
    (rewind.project / "a").write_text("1")
    settle()
    rewind.init()
    rewind.save()
    notes = rewind.project / ".agent/notes"
    notes.write_text("mine")
    rewind.save("with notes")
    notes.unlink()
    rewind.ok("restore", "last")
    assert notes.read_text() == "mine"


def test_a_file_deleted_from_an_ignored_directory_that_is_large_now_comes_back(rewind: Rewind) -> None:
    build = rewind.project / "build"
    (build / "sub").mkdir(parents=True)
    (rewind.project / ".gitignore").write_text("build/\n")
    for name in ("a", "b", "sub/c"):
        (build / name).write_text(name)
    rewind.init()
    (build / "a").unlink()
    (build / "sub/c").unlink()
    (build / "sub").rmdir()
    (build / "b").write_text("other")
    for number in range(520):
        (build / str(number)).touch()
    rewind.ok("restore", "last")
    assert [(build / name).read_text() for name in ("a", "b", "sub/c")] == ["a", "b", "sub/c"]
    assert (build / "519").exists()


def test_redo_of_a_partial_step_is_partial(rewind: Rewind) -> None:
    one, two = rewind.project / "one", rewind.project / "two"
    one.write_text("1")
    two.write_text("1")
    rewind.init()
    one.write_text("2")
    rewind.ok("restore", "last", "--", "one")
    rewind.ok("undo-restore")
    assert one.read_text() == "2"
    two.write_text("work")
    rewind.ok("redo")
    assert (one.read_text(), two.read_text()) == ("1", "work")


def test_a_forced_restore_still_backs_up_what_it_overwrites(rewind: Rewind) -> None:
    """Somebody writes between the capture and the first change: the capture is made again."""
    from rewind import Controller
    from rewind.checkpoint.rewind.files import stage

    file = rewind.project / "a"
    file.write_text("1")
    rewind.init()
    file.write_text("2")
    controller = Controller(str(rewind.project))
    prepare, calls = stage._prepare, []

    def prepare_then_somebody_writes(*args: object) -> object:
        result = prepare(*args)  # type: ignore[arg-type]
        calls.append(1)
        if len(calls) == 1:
            file.write_text("unsaved work")
        return result

    stage._prepare = prepare_then_somebody_writes  # type: ignore[assignment]
    try:
        controller.restore("last", force=True)
    finally:
        stage._prepare = prepare
    assert (len(calls), file.read_text()) == (2, "1")
    controller.undo_restore()
    assert file.read_text() == "unsaved work"
    controller.close()


def test_another_restore_after_an_interrupted_one_keeps_both_ways_back(rewind: Rewind) -> None:
    file = rewind.project / "a"
    for text in ("one", "two", "three"):
        file.write_text(text)
        rewind.init() if text == "one" else rewind.save(text)
    file.write_text("work")
    rewind.ok("restore", "2")
    interrupt(rewind.state)
    file.write_text("more work")
    rewind.ok("restore", "1")
    assert file.read_text() == "one"
    rewind.ok("undo-restore")
    assert file.read_text() == "more work"
    rewind.ok("undo-restore")
    assert file.read_text() == "work"


def test_a_restore_looks_at_the_project_once(project: Path, home: Path,
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    """One look is the plan's and the backup's, also for the page, which has shown a plan before."""
    looks: list[bytes] = []

    def counted(root: bytes, *args: Any, **more: Any) -> Any:
        looks.append(root)
        return scan(root, *args, **more)

    monkeypatch.setattr("rewind.checkpoint.save.capture.scan", counted)
    monkeypatch.setattr("rewind.snapshot.scan.scan.scan", counted)
    (project / "a").write_text("one")
    controller, saved = Controller.init(str(project))
    with closing(controller):
        (project / "a").write_text("two")
        looks.clear()
        plan = controller.plan(AtCheckpoint(saved.record.name), "code")
        assert len(looks) == 1
        controller.go(AtCheckpoint(saved.record.name), "code", digest=plan.digest)
        assert len(looks) == 2 and (project / "a").read_text() == "one"


def test_code_without_a_conversation_comes_back_without_loading_what_reads_them(rewind: Rewind) -> None:
    (rewind.project / "a").write_text("one")
    rewind.init()
    (rewind.project / "a").write_text("two")
    run = "import sys; from rewind.controller import AtCheckpoint, Controller\n" \
          "controller = Controller(sys.argv[1]); controller.go(AtCheckpoint('last')); controller.close()\n" \
          "print(sorted({'shutil', 're', 'rewind.transcript.write.fork'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c",
                           f"import sys; sys.path.insert(0, {SOURCE!r})\n{run}", str(rewind.project)],
                          env=rewind.env, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n" and (rewind.project / "a").read_text() == "one"


def test_a_restore_leaves_a_long_log_to_the_next_save(rewind: Rewind) -> None:
    (rewind.project / "a").write_text("a")
    rewind.init()
    log = rewind.state / "objects.db-wal"
    (rewind.project / "a").write_bytes(os.urandom(3 << 19))
    rewind.ok("restore", "last")
    assert log.stat().st_size > 1 << 20
    (rewind.project / "a").write_text("b")
    rewind.ok("save")
    assert log.stat().st_size < 1 << 20
    rewind.ok("undo-restore", "--force")
    assert rewind.json("validate", "--deep")["ok"] is True


def test_a_refused_restore_of_an_archive_leaves_no_temporary_store(rewind: Rewind) -> None:
    (rewind.project / "a").write_text("a")
    rewind.init()
    rewind.ok("config", "--set", "storage.format=archive")
    rewind.save("one")
    controller = Controller(str(rewind.project), home=rewind.env["REWIND_HOME"])
    with pytest.raises(PathNotFound):
        controller.go(AtCheckpoint("last", [b"nosuch"]), "code")
    assert not [name for name in os.listdir(controller.project.state) if name.startswith("temporary-")]
    controller.close()
