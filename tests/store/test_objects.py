"""The object store: what is put comes back whole or not at all."""

from __future__ import annotations

import _thread
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from rewind.errors import FormatTooNew, RewindError, StoreDamaged
from rewind.store import blobs
from rewind.store.blobs import oid_of, pack
from rewind.store.objects import WAL_BYTES, ObjectStore, remove_database
from rewind.store.space import begin_upkeep, write_back
from store_upkeep import pack_loose, shrink_file

pytestmark = pytest.mark.slow

SOURCE = str(Path(__file__).resolve().parents[2] / "src")


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "objects.db")


@pytest.fixture
def store(path: str) -> Iterator[ObjectStore]:
    store = ObjectStore(path, create=True)
    yield store
    store.close()


def tamper(path: str, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(statement, values)


@pytest.mark.parametrize("data", [b"", b"x", b"a" * 100_000, bytes(range(256)) * 400, b"\0\1\2"],
                         ids=["empty", "one", "repetitive", "all-bytes", "control"])
def test_what_is_put_comes_back(store: ObjectStore, data: bytes) -> None:
    oid = store.put(data)
    assert store.has(oid) and store.get(oid) == data and oid == oid_of(data)
    store.commit()
    assert store.get(oid) == data


def test_the_same_content_is_stored_once(store: ObjectStore) -> None:
    assert store.put(b"x" * 1000) == store.put(b"x" * 1000)
    store.put_packed(oid_of(b"x" * 1000), pack(b"x" * 1000))
    store.commit()
    assert len(store.ids()) == 1 and store.top() == 1


def test_the_database_is_private(store: ObjectStore, path: str) -> None:
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_nothing_is_there_for_others_before_the_commit(store: ObjectStore, path: str) -> None:
    store.commit()
    store.make_durable(lambda: False)
    oid = store.put(b"content")
    reader = ObjectStore(path)
    try:
        assert not reader.has(oid)
        store.commit()
        assert reader.get(oid) == b"content"
    finally:
        reader.close()


def test_readers_work_while_a_writer_is_at_it(store: ObjectStore, path: str) -> None:
    old = store.put(b"old")
    store.commit()
    store.make_durable(lambda: False)
    store.put(b"new" * 1000)
    reader = ObjectStore(path)
    try:
        assert reader.get(old) == b"old"
    finally:
        reader.close()


def test_on_a_shared_disk_there_is_no_write_ahead_log(store: ObjectStore, path: str) -> None:
    store.put(b"content")
    store.commit()
    store.make_durable(lambda: True)
    assert not os.path.exists(path + "-wal")


def test_a_rollback_forgets_what_was_put(store: ObjectStore) -> None:
    kept = store.put(b"kept")
    store.commit()
    gone = store.put(b"gone")
    store.rollback()
    assert store.has(kept) and not store.has(gone)


def test_a_missing_object_is_damage_and_named(store: ObjectStore) -> None:
    with pytest.raises(StoreDamaged, match=oid_of(b"x").hex()):
        store.get(oid_of(b"x"))


@pytest.mark.parametrize("packed", [
    b"\x00other content", b"\x02other content", b"\x01" + zlib.compress(b"other content"), b"\x01garbage",
    b"\x01" + zlib.compress(b"content" * 100)[:-3], b"\x07content", b"", "text", 5])
def test_changed_content_is_never_handed_out(store: ObjectStore, path: str, packed: object) -> None:
    oid = store.put(b"content" * 100)
    other = store.put(b"whole")
    store.commit()
    tamper(path, "UPDATE objects SET data=? WHERE id=?", packed, oid)
    with pytest.raises(StoreDamaged, match=oid.hex()):
        store.get(oid)
    assert store.get(other) == b"whole"


def test_an_object_that_unpacks_to_far_too_much_is_refused(
        store: ObjectStore, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blobs, "_MOST_UNPACKED", 10_000)
    oid = store.put(bytes(1_000_000))
    with pytest.raises(StoreDamaged, match="more than an object may hold"):
        store.get(oid)


def test_a_missing_store_is_not_made_in_passing(path: str) -> None:
    with pytest.raises(StoreDamaged, match="missing"):
        ObjectStore(path)
    assert not os.path.exists(path)


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("content", [b"garbage" * 1000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_database_is_damage(path: str, content: bytes, create: bool) -> None:
    Path(path).write_bytes(content)
    with pytest.raises(RewindError):
        ObjectStore(path, create=create)
    assert Path(path).read_bytes() == content


def test_the_database_of_another_program_is_not_touched(path: str) -> None:
    tamper(path, "CREATE TABLE theirs (x)")
    tamper(path, "PRAGMA application_id=77")
    before = Path(path).read_bytes()
    for create in (False, True):
        with pytest.raises(StoreDamaged, match="not a store of Rewind"):
            ObjectStore(path, create=create)
    assert Path(path).read_bytes() == before


def test_a_newer_format_is_refused(store: ObjectStore, path: str) -> None:
    store.close()
    tamper(path, "PRAGMA user_version=3")
    with pytest.raises(FormatTooNew):
        ObjectStore(path)


def test_a_store_that_is_there_already_is_opened_as_it_is(store: ObjectStore, path: str) -> None:
    oid = store.put(b"content")
    store.commit()
    store.close()
    again = ObjectStore(path, create=True)
    try:
        assert again.get(oid) == b"content"
    finally:
        again.close()


def test_a_killed_writer_leaves_what_was_committed_and_a_sound_file(store: ObjectStore, path: str) -> None:
    oid = store.put(b"committed")
    store.commit()
    store.make_durable(lambda: False)
    store.close()
    code = f"""
import sys; sys.path.insert(0, {SOURCE!r})
from rewind.store.objects import ObjectStore
store = ObjectStore(sys.argv[1])
for n in range(2000): store.put(b"%d " % n * 200)
print("ready", flush=True)
sys.stdin.read()
"""
    writer = subprocess.Popen([sys.executable, "-I", "-S", "-c", code, path], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    assert writer.stdin and writer.stdout and writer.stdout.readline()
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    writer.stdin.close()
    writer.stdout.close()
    again = ObjectStore(path)
    try:
        assert again.ids() == [oid] and again.is_sound() and again.check() == []
        assert again.get(again.put(b"next")) == b"next"
        again.commit()
    finally:
        again.close()


def test_deleted_objects_give_their_space_back(store: ObjectStore) -> None:
    store.make_durable(lambda: False)
    kept = store.put(b"kept")
    gone = [store.put(os.urandom(50_000)) for _ in range(40)]
    store.commit()
    shrink_file(store)
    before = store.size_on_disk()
    store.delete(gone)
    shrink_file(store)
    assert store.size_on_disk() < before - 1_900_000
    assert store.ids() == [kept] and store.get(kept) == b"kept"


def test_the_highest_deleted_name_is_remembered(store: ObjectStore) -> None:
    assert store.last_deleted() == ""
    store.note_deleted("20260102_000000_001")
    store.note_deleted("20260101_000000_001")
    store.note_deleted("")
    assert store.last_deleted() == "20260102_000000_001"


def test_objects_stored_in_a_hurry_can_be_read_at_once_and_are_packed_later(store: ObjectStore) -> None:
    before = store.put(b"before " * 1000)
    store.commit()
    store.begin_bulk()
    contents = [b"%d " % n * 1000 for n in range(200)]
    for data in contents:
        store.put_packed(oid_of(data), pack(data, store.in_bulk))
    store.end_bulk()
    store.commit()
    assert store.has_loose()
    assert [store.get(oid_of(data)) for data in contents] == contents
    large = sum(store.sizes().values())
    while pack_loose(store):
        pass
    assert not store.has_loose() and sum(store.sizes().values()) < large / 10
    assert [store.get(oid_of(data)) for data in contents] == contents
    assert store.get(before) == b"before " * 1000


def test_damage_is_not_packed_away(store: ObjectStore, path: str) -> None:
    store.begin_bulk()
    oid = oid_of(b"content" * 100)
    store.put_packed(oid, pack(b"content" * 100, True))
    store.end_bulk()
    store.commit()
    tamper(path, "UPDATE objects SET data=? WHERE id=?", b"\x02" + b"CONTENT" * 100, oid)
    with pytest.raises(StoreDamaged, match=oid.hex()):
        pack_loose(store)
    store.rollback()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT substr(data, 1, 1) FROM objects").fetchall() == [(b"\x02",)]


def test_a_damaged_page_is_found_by_the_check(store: ObjectStore, path: str) -> None:
    for _ in range(200):
        store.put(os.urandom(2000))
    store.commit()
    store.close()
    with open(path, "r+b") as file:
        file.seek(8 * 4096)
        file.write(os.urandom(40 * 4096))
    again = ObjectStore(path)
    try:
        assert again.check() and all(path in problem for problem in again.check())
    finally:
        again.close()


def test_removing_a_database_removes_what_lies_beside_it(store: ObjectStore, path: str) -> None:
    store.close()
    for suffix in ("-wal", "-shm", "-journal"):
        Path(path + suffix).write_bytes(b"")
    remove_database(path)
    assert os.listdir(os.path.dirname(path)) == []
    remove_database(path)


# while others may write

def test_what_is_put_without_the_lock_waits_in_memory_and_can_be_read(tmp_path: Path) -> None:
    store, other = two_connections(tmp_path)
    store.begin_unlocked(nullcontext)
    oid = store.put(b"new")
    assert store.has(oid) and store.find_existing([oid]) == {oid} and store.get(oid) == b"new"
    assert list(store.get_many([oid])) == [(oid, b"new")]
    assert not store.is_writing and not other.has(oid)
    other.put(b"by another writer")
    other.commit()
    store.end_unlocked()
    store.commit()
    assert other.get(oid) == b"new"
    store.close()
    other.close()


def test_what_was_found_without_the_lock_is_asked_for_again(tmp_path: Path) -> None:
    store, other = two_connections(tmp_path)
    oid = other.put(b"in no checkpoint")
    other.commit()
    store.begin_unlocked(nullcontext)
    assert store.put(b"in no checkpoint") == oid
    store.end_unlocked()
    assert store.has_all_relied_on()
    other.delete([oid])
    assert not store.has_all_relied_on()
    store.close()
    other.close()


def test_a_bulk_that_waited_is_marked_for_packing_when_its_rows_come(tmp_path: Path) -> None:
    """Whoever packs meanwhile must not take the mark away before there is anything to pack."""
    store, other = two_connections(tmp_path)
    store.begin_unlocked(nullcontext)
    store.begin_bulk()
    data = b"compressible " * 5000
    store.put_packed(oid_of(data), pack(data, True))
    store.end_bulk()
    assert not other.has_loose()
    store.end_unlocked()
    store.commit()
    assert other.has_loose()
    while pack_loose(other):
        pass
    assert other.sizes()[oid_of(data)] < len(data) // 10 and not other.has_loose()
    store.close()
    other.close()


def two_connections(tmp_path: Path) -> tuple[ObjectStore, ObjectStore]:
    path = str(tmp_path / "objects.db")
    first = ObjectStore(path, create=True)
    first.put(b"something")
    first.commit()
    first.make_durable(lambda: False)
    return first, ObjectStore(path)


def test_a_log_that_was_long_for_once_is_emptied_by_whoever_writes_next(path: str) -> None:
    upkeep = ObjectStore(path, create=True)
    upkeep.make_durable(lambda: False)
    begin_upkeep(upkeep)
    for number in range(40):
        upkeep.put(os.urandom(50_000) + bytes([number]))
        upkeep.commit()
    assert os.path.getsize(path + "-wal") > WAL_BYTES
    write_back(upkeep)
    other = ObjectStore(path)
    other.put(b"one")
    other.commit()
    assert os.path.getsize(path + "-wal") == 0
    other.close()
    upkeep.close()


COMMIT_AND_GO = """
import os, sys
from rewind.store.objects import ObjectStore
store = ObjectStore(sys.argv[1])
store.put(os.urandom(int(sys.argv[2])))
store.commit()
os._exit(0)
"""


def test_the_log_does_not_grow_from_process_to_process(path: str) -> None:
    """Each of them commits once and does not close the database, as a hook does."""
    first = ObjectStore(path, create=True)
    first.make_durable(lambda: False)
    first.close()
    sizes = []
    for _ in range(9):
        subprocess.run([sys.executable, "-c", COMMIT_AND_GO, path, "400000"], check=True,
                       env={**os.environ, "PYTHONPATH": SOURCE})
        sizes.append(os.path.getsize(path + "-wal"))
    assert sizes.count(0) == 3 and max(sizes) <= WAL_BYTES
    last = ObjectStore(path)
    assert last.count() == 9 and last.is_sound()
    last.close()


def test_a_command_leaves_a_long_log_to_the_next_one_but_not_without_end(path: str) -> None:
    store = ObjectStore(path, create=True)
    store.make_durable(lambda: False)
    store.defer_fold()
    sizes = []
    for _ in range(6):
        store.put(os.urandom(WAL_BYTES))
        store.commit()
        sizes.append(os.path.getsize(path + "-wal"))
    assert max(sizes) > 2 * WAL_BYTES and 0 in sizes and store.is_sound()
    store.close()


def test_a_reader_does_not_hold_up_who_empties_the_log(path: str) -> None:
    store = ObjectStore(path, create=True)
    store.make_durable(lambda: False)
    store.put(b"before")
    store.commit()
    reader = sqlite3.connect(path)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM objects").fetchone() == (1,)
    store.put(os.urandom(2 << 20))
    store.commit()
    assert os.path.getsize(path + "-wal") > WAL_BYTES
    reader.close()
    store.put(b"after")
    store.commit()
    assert os.path.getsize(path + "-wal") == 0 and store.count() == 3
    store.close()


def test_the_log_is_written_back_after_so_many_bytes_from_the_first_commit_on(path: str) -> None:
    reader = ObjectStore(path, create=True)
    reader.make_durable(lambda: False)
    longest = 0
    for number in range(60):  # as if each were a hook of its own
        store = ObjectStore(path)
        store.put(os.urandom(45_000) + bytes([number]))
        store.commit()
        longest = max(longest, os.path.getsize(path + "-wal"))
        store.close()
    assert longest < 2 * WAL_BYTES
    reader.close()


# a second thread writes what comes in bulk

def put_in_bulk(store: ObjectStore, contents: list[bytes]) -> None:
    for data in contents:
        store.put_packed(oid_of(data), pack(data, store.in_bulk))


def test_what_comes_in_bulk_is_there_at_the_end_in_the_order_in_which_it_came(store: ObjectStore) -> None:
    contents = [b"%d " % number * 2000 for number in range(3000)]
    store.begin_bulk()
    put_in_bulk(store, contents)
    store.end_bulk()
    store.commit()
    assert [oid for oid, _ in store.rows()] == [oid_of(data) for data in contents]
    assert all(store.get(oid_of(data)) == data for data in contents[::100])


def test_a_question_in_the_middle_of_a_bulk_sees_what_was_put_before(store: ObjectStore) -> None:
    store.put(b"so that it is not filled from nothing")
    store.begin_bulk()
    put_in_bulk(store, [b"%d" % number for number in range(200)])
    assert store.has(oid_of(b"7")) and store.count() == 201 and not store.has(oid_of(b"200"))
    store.end_bulk()


def test_what_goes_wrong_in_the_other_thread_is_raised_and_nothing_is_kept(store: ObjectStore) -> None:
    store.commit()
    store.begin_bulk()
    store.run("CREATE TRIGGER full BEFORE INSERT ON objects WHEN NEW.n > 100 OR length(NEW.data) > 20000"
              " BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
    put_in_bulk(store, [b"%d" % number for number in range(200)])
    with pytest.raises(RewindError, match="the disk is full"):
        put_in_bulk(store, [b"x" * 30_000] * 2)
        store.end_bulk()
    store.rollback()
    assert store.count() == 0
    store.put(b"afterwards")
    store.commit()
    assert store.count() == 1


def test_a_bulk_that_is_given_up_ends_its_thread(store: ObjectStore) -> None:
    before = _thread._count()
    store.begin_bulk()
    put_in_bulk(store, [b"%d" % number for number in range(200)])
    store.rollback()
    for _ in range(500):
        if _thread._count() == before:
            break
        time.sleep(0.01)
    assert _thread._count() == before and store.count() == 0


def test_a_process_that_is_killed_in_the_middle_of_a_bulk_leaves_whole_batches(path: str) -> None:
    script = """
import os, sys
from rewind.store.objects import ObjectStore
from rewind.store.blobs import oid_of, pack
store = ObjectStore(sys.argv[1], create=True)
store.begin_bulk()
for number in range(20000):
    data = b"%d " % number * 1000
    store.put_packed(oid_of(data), pack(data, True))
    if number == 15000:
        os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", script, path], env={**os.environ, "PYTHONPATH": SOURCE})
    assert done.returncode == -signal.SIGKILL
    left = ObjectStore(path)
    assert left.is_sound() and 4000 < left.count() < 15000 and left.has_loose()
    assert len(left.get(left.ids()[-1])) > 0
    left.close()
