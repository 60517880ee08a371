"""The database that may be thrown away: no state of it is ever an error."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from rewind.store.derived import DerivedDb

pytestmark = pytest.mark.slow

ADD = "INSERT OR REPLACE INTO facts VALUES(?, ?)"


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "scan-cache.db")


def note(path: str, owner: str = "me", value: int = 1) -> None:
    with closing(DerivedDb(path, owner)) as db:
        db.write([(ADD, [("key", value)])])


def fact(path: str, owner: str = "me") -> list[tuple[int]]:
    with closing(DerivedDb(path, owner)) as db:
        return db.query("SELECT value FROM facts WHERE key='key'")


def test_what_is_written_is_there_next_time(path: str) -> None:
    note(path)
    assert fact(path) == [(1,)]
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_facts_about_another_store_are_forgotten(path: str) -> None:
    note(path)
    assert fact(path, "somebody else") == []
    assert fact(path, "me") == []


@pytest.mark.parametrize("content", [b"", b"x", b"garbage" * 999, b"SQLite format 3\0" + b"\xff" * 9000])
def test_a_file_that_is_no_database_is_replaced(path: str, content: bytes) -> None:
    Path(path).write_bytes(content)
    assert fact(path) == []
    note(path)
    assert fact(path) == [(1,)]


def test_a_database_cut_short_anywhere_is_replaced_or_read(path: str) -> None:
    note(path)
    whole = Path(path).read_bytes()
    for size in range(0, len(whole), 1500):
        for suffix in ("-wal", "-shm"):
            Path(path + suffix).unlink(missing_ok=True)
        Path(path).write_bytes(whole[:size])
        assert fact(path) in ([], [(1,)])
        note(path, value=2)
        assert fact(path) in ([(2,)], [])


def test_another_version_starts_over(path: str) -> None:
    note(path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version=99")
    assert fact(path) == []


def test_all_of_a_write_happens_or_nothing(path: str) -> None:
    with closing(DerivedDb(path, "me")) as db:
        db.write([(ADD, [("key", 1)]), ("INSERT INTO nowhere VALUES(?)", [(1,)])])
        assert db.query("SELECT value FROM facts WHERE key='key'") == []
        db.write([(ADD, [("key", 2)])])
        assert db.query("SELECT value FROM facts WHERE key='key'") == [(2,)]


def test_a_list_reads_the_index_and_not_the_records(path: str) -> None:
    with closing(DerivedDb(path, "me")) as db:
        plan = db.query("EXPLAIN QUERY PLAN SELECT name, stamp, brief FROM records")
    assert "COVERING INDEX listed" in str(plan)


def test_a_question_that_cannot_be_answered_has_no_rows(path: str) -> None:
    with closing(DerivedDb(path, "me")) as db:
        assert db.query("SELECT x FROM nowhere") == []


def test_where_nothing_can_be_written_it_goes_on_without_a_memory(tmp_path: Path) -> None:
    path = str(tmp_path / "missing/scan-cache.db")
    with closing(DerivedDb(path, "me")) as db:
        db.write([(ADD, [("key", 1)])])
        assert db.query("SELECT value FROM facts WHERE key='key'") == [(1,)]
    assert not os.path.exists(path)


def test_a_directory_in_its_place_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "scan-cache.db").mkdir()
    note(str(tmp_path / "scan-cache.db"))


def test_on_a_shared_disk_there_is_no_write_ahead_log(path: str) -> None:
    with closing(DerivedDb(path, "me", shared_disk=True)) as db:
        db.write([(ADD, [("key", 1)])])
        assert not os.path.exists(path + "-wal")


def test_a_writer_elsewhere_does_not_stop_a_reader(path: str) -> None:
    note(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE facts SET value=2 WHERE key='key'")
        assert fact(path) == [(1,)]
        other.execute("COMMIT")
    assert fact(path) == [(2,)]
