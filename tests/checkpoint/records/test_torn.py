"""A busy database in checkpoints: whole, or said to be torn, with the way to a whole copy."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cli import conftest as in_process
from cli.conftest import InProcess
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.records.torn import names_to_record, newest_whole, torn_paths
from rewind.controller import Controller
from rewind.snapshot.scan import sqlite_copy
from rewind_cli import Rewind

pytestmark = pytest.mark.slow


def record(sequence: int, *torn: str, **code: Any) -> Record:
    return Record({"name": f"n{sequence}", "sequence": sequence,
                   "code": {"torn": list(torn), **code} if torn else dict(code)})


def test_the_nearest_whole_copy_is_the_newest_before_it_else_the_first_after_it() -> None:
    records = [record(1), record(2), record(3, "a.db"), record(4, "a.db"), record(5), record(6)]

    def nearest(of: Record, *holders: int) -> Any:
        found = newest_whole(records, of, b"a.db", lambda one, path: one.sequence in holders)
        return found and found.sequence

    assert nearest(records[3], 1, 2, 5, 6) == 2
    assert nearest(records[3], 5, 6) == 5
    assert nearest(records[3], 3) is None and nearest(records[3]) is None


def test_a_record_that_names_no_paths_names_none() -> None:
    assert torn_paths(record(1)) == []
    assert torn_paths(Record({"code": {"torn": "a.db"}})) == []
    assert torn_paths(Record({"code": {"torn": ["a.db", 5, None]}})) == [b"a.db"]


def test_a_record_has_room_for_some_of_them() -> None:
    assert names_to_record([b"b\xff", b"a"]) == ["a", "b\udcff"]
    assert len(names_to_record([b"%d" % n for n in range(1000)])) == 100


# what is said

cli = in_process.cli  # the fixture


@pytest.fixture
def controller(project: Path, home: Path) -> Iterator[Controller]:
    (project / "data").mkdir()
    write(project, 1)
    controller, _ = Controller.init(str(project))
    yield controller
    controller.close()


def write(project: Path, value: int) -> None:
    with closing(sqlite3.connect(project / "data" / "app.db")) as db:
        db.execute("CREATE TABLE IF NOT EXISTS t (v)")
        db.execute("INSERT INTO t VALUES (?)", (value,))
        db.commit()
    os.utime(project / "data" / "app.db", (time.time() + 3600,) * 2)  # a moment ago, however slow the test is


def tear(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if it were written all the time."""
    monkeypatch.setattr(sqlite_copy, "fits", lambda *looks: False)
    monkeypatch.setattr(sqlite_copy, "_TRIES", 1)


def test_a_torn_copy_is_recorded_and_a_restore_names_the_whole_one(
        controller: Controller, project: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = controller.save("whole").record
    with monkeypatch.context() as patch:
        tear(patch)
        write(project, 2)
        torn = controller.save("torn").record
    assert torn_paths(whole) == [] and torn_paths(torn) == [b"data/app.db"]
    rewind = Rewind(project, home)
    assert rewind.json("status")["torn"] == [{"path": "data/app.db"}]
    assert "torn         data/app.db" in rewind.ok("status").out
    assert "data/app.db" in rewind.ok("show", torn.name).out
    write(project, 3)
    (note,) = rewind.plan(torn.name)["notes"]
    assert note.endswith(f"rewind restore {whole.name} -- data/app.db") and torn.name in note
    assert note in rewind.ok("restore", torn.name, "--dry-run").out
    assert rewind.plan(whole.name)["notes"] == []
    done = rewind.json("restore", torn.name)
    assert done["notes"] == [note]
    rewind.ok("restore", whole.name, "--", "data/app.db")
    with closing(sqlite3.connect(project / "data" / "app.db")) as db:
        assert db.execute("SELECT v FROM t").fetchall() == [(1,)]


def test_a_save_says_that_a_copy_is_torn(cli: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    (cli.project / "data").mkdir()
    write(cli.project, 1)
    cli.init()
    tear(monkeypatch)
    write(cli.project, 2)
    said = cli.ok("save", "busy")
    assert said.out.startswith("Saved ") and said.err.rstrip().endswith("idle: data/app.db")


def test_what_was_torn_is_read_again_and_is_whole_then(controller: Controller, project: Path,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        tear(patch)
        write(project, 2)
        os.utime(project / "data" / "app.db", (1_000_000_000,) * 2)
        write(project, 3)
        assert torn_paths(controller.save().record)
    os.utime(project / "data" / "app.db", (1_000_000_000,) * 2)
    assert not torn_paths(controller.save().record)


# at full speed

BUSY = """
import os, random, sqlite3, sys
path, mode, stop = sys.argv[1:]
db = sqlite3.connect(path, timeout=0, isolation_level=None)
db.execute("PRAGMA synchronous=OFF")
chance, done = random.Random(1), 0
while not os.path.exists(stop):
    db.execute("BEGIN")
    for _ in range(chance.randint(1, 20)):
        a, b, k = chance.randrange(300), chance.randrange(300), chance.randint(1, 5)
        db.execute("UPDATE a SET v = v - ?, pad = ? WHERE id = ?", (k, "y" * chance.randint(1, 200), a))
        db.execute("UPDATE a SET v = v + ? WHERE id = ?", (k, b))
    db.execute("COMMIT")
    done += 1
    if done == 1:
        print("at it", flush=True)
print(done, flush=True)
"""


@pytest.mark.parametrize("mode", ["wal", "delete", "truncate", "persist"])
def test_checkpoints_of_a_database_at_full_speed_are_whole_and_its_writer_never_waits(
        rewind: Rewind, tmp_path: Path, mode: str) -> None:
    path, stop = rewind.project / "bank.db", tmp_path / "stop"
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA journal_mode={mode}")
        db.execute("CREATE TABLE a (id INTEGER PRIMARY KEY, v INTEGER, pad TEXT)")
        db.executemany("INSERT INTO a VALUES (?, 100, ?)", [(n, "x" * 200) for n in range(300)])
        db.execute("CREATE INDEX i ON a (v)")
        db.commit()
    writer = subprocess.Popen([sys.executable, "-c", BUSY, str(path), mode, str(stop)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert writer.stdout and writer.stdout.readline() == "at it\n"
        rewind.init()
        for number in range(4):
            rewind.save(str(number))
    finally:
        stop.touch()
    out, err = writer.communicate(timeout=60)
    assert writer.returncode == 0 and int(out) > 0, err  # a refused statement ends it with an error
    for name in rewind.names():
        if rewind.json("show", name)["code"].get("torn"):
            continue  # it says so
        target = tmp_path / name
        rewind.ok("restore", name, "--to", str(target))
        with closing(sqlite3.connect(target / "bank.db")) as db:
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert db.execute("SELECT sum(v), count(*) FROM a").fetchone() == (30_000, 300)
