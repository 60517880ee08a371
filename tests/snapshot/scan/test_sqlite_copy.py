"""Databases that somebody writes to while they are copied: whole or known to be torn, and nobody notices."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Callable

import pytest

from rewind.snapshot.scan import sqlite_copy
from rewind.snapshot.scan.sqlite_copy import Copied, Look, copy_database, fits

MODES = ["delete", "truncate", "persist", "wal"]
ROWS = 200

# A process that does what it is told, line by line. It has no busy timeout.
WRITER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
for line in sys.stdin:
    try:
        found = db.execute(line).fetchall()
        print("ok", found and found[0][0], flush=True)
    except sqlite3.Error as error:
        print("error", error, flush=True)
"""

# The sum of v is always the same, in every state that was committed.
MOVE = ("UPDATE a SET v = v + CASE id WHEN {} THEN -1 ELSE 1 END, pad = hex(randomblob(90))"
        " WHERE id IN ({}, {})")


class Database:
    def __init__(self, folder: Path, mode: str) -> None:
        self.folder = folder
        self.mode = mode
        self.path = folder / "app.db"
        self.moves = 0
        self.process = subprocess.Popen([sys.executable, "-c", WRITER, str(self.path)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.do(f"PRAGMA journal_mode={mode}")
        self.do("PRAGMA synchronous=OFF")
        self.do("CREATE TABLE a (id INTEGER PRIMARY KEY, v INTEGER, pad TEXT)")
        self.do("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)"
                " INSERT INTO a SELECT i, 100, hex(zeroblob(90)) FROM n")
        self.do("CREATE INDEX i ON a (v)")

    def do(self, sql: str) -> str:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(sql + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split(None, 1)
        assert answer[0] == "ok", (sql, answer)
        return answer[1].strip()

    def move(self) -> None:
        self.moves += 1
        a, b = self.moves % ROWS + 1, (self.moves * 7 + 3) % ROWS + 1
        self.do(MOVE.format(a, a, b if b != a else a % ROWS + 1))

    def copy(self) -> Copied:
        fd = os.open(self.folder, os.O_RDONLY)
        try:
            return copy_database(b"app.db", fd, None, time.time_ns)
        finally:
            os.close(fd)

    def close(self) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def database(project: Path, request: pytest.FixtureRequest) -> Iterator[Database]:
    database = Database(project, request.param)
    yield database
    database.close()


def each(*modes: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("database", modes, indirect=True)


def written_out(copied: Copied, folder: Path) -> Path:
    folder.mkdir()
    for name, file in copied.files.items():
        (folder / os.fsdecode(name)).write_bytes(b"".join(file.pieces()))
    copied.close()
    return folder / "app.db"


def is_whole(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as db:
        try:
            return (db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
                    and db.execute("SELECT sum(v), count(*) FROM a").fetchone() == (100 * ROWS, ROWS))
        except sqlite3.DatabaseError:
            return False


def meddle(monkeypatch: pytest.MonkeyPatch, deed: Callable[[int], Any]) -> list[int]:
    """Something happens after the database was copied and before its journals are. It is given the number of
    the try."""
    tries: list[int] = []
    real = sqlite_copy._add

    def add(files: Any, name: bytes, *more: Any) -> None:
        if name.endswith(b"-journal"):
            tries.append(len(tries) + 1)
            deed(len(tries))
        real(files, name, *more)

    monkeypatch.setattr(sqlite_copy, "_add", add)
    return tries


# the decision

def look(counter: int = 1, *, journal: bytes = b"", wal: bytes = b"", mtime: int = 5, inode: int = 7,
         quiet: bool = False, writing: bool = False, mode: int = 1) -> Look:
    header = bytearray(100)
    header[18:20] = bytes((mode, mode))
    header[24:28] = counter.to_bytes(4, "big")
    return Look(bytes(header), (4096, mtime, mtime, inode, 0o100644), quiet, journal, wal, writing)


@pytest.mark.parametrize("before, after, copied, whole", [
    (look(), look(), (b"", b""), True),
    (look(), look(2), (b"", b""), False),  # a commit
    (look(), look(mtime=6), (b"", b""), False),  # somebody wrote, and was not SQLite
    (look(), look(inode=8), (b"", b""), False),  # another file by that name
    (look(), look(mode=2), (b"", b""), False),
    (look(writing=True), look(), (b"", b""), False),  # without a journal: MEMORY, OFF
    (look(), look(writing=True), (b"", b""), False),
    (look(writing=True, quiet=True), look(writing=True), (b"", b""), True),  # locked for good, and idle
    (look(writing=True, quiet=True), look(writing=True, mtime=6), (b"", b""), False),
    (look(), look(journal=b"1"), (b"1", b""), True),  # it has just begun, and the journal was copied last
    (look(), look(2, journal=b"1"), (b"1", b""), False),  # another one was committed before
    (look(journal=b"1"), look(2, mtime=6, journal=b"1"), (b"1", b""), True),  # all the time the same one
    (look(journal=b"1"), look(journal=b"2"), (b"2", b""), False),
    (look(journal=b"1"), look(2), (b"", b""), False),
    (look(journal=b"1"), look(2), (b"1", b""), False),
    (look(journal=b"1", quiet=True), look(journal=b"1"), (b"1", b""), True),  # left by a process that died
    (look(wal=b"1", mode=2), look(wal=b"1", mode=2, mtime=6), (b"", b"1"), True),
    (look(wal=b"1", mode=2), look(wal=b"2", mode=2), (b"", b"2"), False),  # it began anew
    (look(wal=b"1", mode=2), look(wal=b"2", mode=2), (b"", b"1"), False),
    (look(wal=b"1", mode=2), look(mode=2), (b"", b""), False),  # the last one has closed it
    (look(mode=2), look(wal=b"1", mode=2), (b"", b"1"), False),
    (look(wal=b"1", mode=2), look(wal=b"1", mode=2, journal=b"1"), (b"1", b"1"), False),
])
def test_a_copy_is_whole_only_if_no_transaction_ended_while_it_was_made(
        before: Look, after: Look, copied: tuple[bytes, bytes], whole: bool) -> None:
    assert fits(before, after, *copied) is whole


# real databases

@each(*MODES)
def test_an_idle_database_is_copied_at_once(database: Database, tmp_path: Path,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    tries = meddle(monkeypatch, lambda number: None)
    copied = database.copy()
    assert not copied.torn and tries == [1]
    assert is_whole(written_out(copied, tmp_path / "copy"))


@each(*MODES)
def test_a_commit_while_it_is_copied_does_not_tear_it(database: Database, tmp_path: Path,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    tries = meddle(monkeypatch, lambda number: number < 3 and database.move())
    copied = database.copy()
    assert not copied.torn and len(tries) == (1 if database.mode == "wal" else 3)
    assert is_whole(written_out(copied, tmp_path / "copy"))


@each("delete", "truncate", "persist")
def test_what_is_committed_faster_than_it_is_copied_is_known_to_be_torn(
        database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = meddle(monkeypatch, lambda number: database.move())
    copied = database.copy()
    copied.close()
    assert copied.torn and len(tries) > 3


@each("wal")
def test_a_wal_that_begins_anew_all_the_time_is_held_and_no_writer_notices(
        database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    emptied = []

    def begin_anew(number: int) -> None:
        database.move()
        emptied.append(database.do("PRAGMA wal_checkpoint(PASSIVE)"))
        database.move()  # overwrites the WAL from its beginning, if nobody reads it

    database.move()
    tries = meddle(monkeypatch, begin_anew)
    monkeypatch.setattr(sqlite_copy, "_LONGEST_HOLD", 60.0)  # the machine may be slow
    copied = database.copy()
    assert not copied.torn and len(tries) == 4 and set(emptied) == {"0"}
    assert is_whole(written_out(copied, tmp_path / "copy"))
    database.move()


@each("delete", "truncate", "persist")
def test_a_transaction_that_is_under_way_is_rolled_back_in_the_copy(database: Database, tmp_path: Path,
                                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    database.do("PRAGMA cache_size=2")  # so that it writes into the database long before it commits
    database.do("BEGIN")
    meddle(monkeypatch, lambda number: database.do("UPDATE a SET v = v + 1, pad = hex(randomblob(90))"))
    copied = database.copy()
    assert not copied.torn and sorted(copied.files) == [b"app.db", b"app.db-journal"]
    path = written_out(copied, tmp_path / "copy")
    assert path.read_bytes()[:16] == b"SQLite format 3\0" and is_whole(path)
    database.do("COMMIT")


@each("memory")
def test_a_transaction_without_a_journal_is_known_to_tear_it(database: Database) -> None:
    database.do("PRAGMA cache_size=2")
    database.do("BEGIN")
    database.do("UPDATE a SET v = v + 1, pad = hex(randomblob(90))")
    os.utime(database.path, (time.time() + 3600,) * 2)  # written a moment ago
    copied = database.copy()
    copied.close()
    assert copied.torn
    database.do("ROLLBACK")
    copied = database.copy()
    copied.close()
    assert not copied.torn


@each("delete")
def test_a_transaction_in_several_databases_is_not_taken_with_the_journal_of_one(
        database: Database, tmp_path: Path) -> None:
    """Whether that one counts is told by a file with an absolute path, which a copy does not have."""
    database.do("BEGIN")
    database.move()
    journal = database.folder / "app.db-journal"
    magic = bytes.fromhex("d9d505f920a163d7")
    assert journal.read_bytes()[:8] == magic
    with open(journal, "ab") as file:
        file.write(magic)
    copied = database.copy()
    copied.close()
    assert copied.torn


@each(*MODES)
def test_copying_takes_no_lock_that_a_writer_could_meet(database: Database,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    """Every statement of a transaction, and its end, in the middle of a copy: `do` fails if it is refused."""
    steps = ["BEGIN IMMEDIATE", "UPDATE a SET v = v", "COMMIT",
             "BEGIN EXCLUSIVE", "UPDATE a SET v = v", "COMMIT", "VACUUM", "REINDEX"]

    def step(number: int) -> None:
        if steps:
            database.do(steps.pop(0))

    meddle(monkeypatch, step)
    while steps:
        database.copy().close()


@each(*MODES)
def test_a_database_that_is_spooled_to_a_file_is_the_same(database: Database, tmp_path: Path,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_copy, "_IN_MEMORY", 100)
    monkeypatch.setattr(sqlite_copy, "CHUNK", 1000)
    database.move()
    copied = database.copy()
    assert not any(file._pieces for file in copied.files.values()), "it is held in memory"
    assert not copied.torn and is_whole(written_out(copied, tmp_path / "copy"))


@each("delete")
def test_a_database_over_the_limit_is_too_large(database: Database) -> None:
    fd = os.open(database.folder, os.O_RDONLY)
    try:
        with pytest.raises(sqlite_copy.TooLarge):
            copy_database(b"app.db", fd, 5000, time.time_ns)
        with pytest.raises(FileNotFoundError):
            copy_database(b"nothing.db", fd, None, time.time_ns)
    finally:
        os.close(fd)
