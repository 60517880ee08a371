"""Small objects that are packed together: each comes back whole, and none goes with another."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewind.errors import FormatTooNew, StoreDamaged
from rewind.store import bundles, objects
from rewind.store.blobs import is_bundled, loose, oid_of, pack, raw
from rewind.store.bundles import BYTES, MOST, BundleBuilder, Member, content_of, member
from rewind.store.objects import ObjectStore
from rewind.store.packing import find_sparse_bundles, next_singles, replace_singles, unbundle
from rewind.store.salvage import salvage
from store_upkeep import pack_loose, shrink_file

SOURCE = str(Path(__file__).resolve().parents[2] / "src")


def texts(count: int, seed: int = 1) -> list[bytes]:
    chance = random.Random(seed)
    words = [b"%x" % chance.getrandbits(40) for _ in range(300)]
    return [b" ".join(chance.choices(words, k=chance.randrange(20, 900))) for _ in range(count)]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "objects.db")


@pytest.fixture
def store(path: str) -> Iterator[ObjectStore]:
    store = ObjectStore(path, create=True)
    store.put(b"the first one")
    store.commit()
    store.make_durable(lambda: False)
    yield store
    store.close()


def put_in_a_hurry(store: ObjectStore, contents: list[bytes]) -> None:
    store.begin_bulk()
    for data in contents:
        store.put_packed(oid_of(data), pack(data, store.in_bulk))
    store.end_bulk()
    store.commit()


def pack_all(store: ObjectStore) -> None:
    while pack_loose(store):
        pass


def read(path: str, query: str) -> list[tuple[bytes, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchall()


def tamper(path: str, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(statement, values)


def bundled(path: str) -> list[bytes]:
    return [oid for oid, row in read(path, "SELECT id, data FROM objects") if is_bundled(row)]


# packing and reading

def test_small_objects_are_packed_together_and_come_back(store: ObjectStore, path: str) -> None:
    contents = texts(200)
    put_in_a_hurry(store, contents)
    pack_all(store)
    assert len(bundled(path)) == 200 and 1 < len(read(path, "SELECT id FROM bundles")) < 30
    shuffled = random.Random(3).sample(contents, len(contents))
    assert [store.get(oid_of(data)) for data in shuffled] == shuffled
    assert dict(store.get_many(map(oid_of, contents))) == {oid_of(data): data for data in contents}


def test_together_they_take_less_room_than_each_for_itself(store: ObjectStore) -> None:
    contents = texts(200)
    put_in_a_hurry(store, contents)
    pack_all(store)
    sizes = store.sizes()
    alone = sum(len(pack(data, level=6)) for data in contents)
    assert sum(sizes[oid_of(data)] for data in contents) < alone * 0.8
    assert all(sizes[oid_of(data)] > 41 for data in contents)


def test_trees_and_large_objects_stay_by_themselves(store: ObjectStore, path: str) -> None:
    tree, large, small = b"tree1 \n" + b"entry " * 1000, b"large " * MOST, texts(10)
    put_in_a_hurry(store, [tree, large, *small])
    pack_all(store)
    assert set(bundled(path)) == {oid_of(data) for data in small}
    assert store.get(oid_of(tree)) == tree and store.get(oid_of(large)) == large


def test_one_object_alone_needs_no_bundle(store: ObjectStore, path: str) -> None:
    put_in_a_hurry(store, [b"lonely " * 100])
    pack_all(store)
    assert not bundled(path) and read(path, "PRAGMA user_version") == [(1,)]


def test_what_does_not_shrink_is_bundled_all_the_same(store: ObjectStore, path: str) -> None:
    contents = [os.urandom(3000) for _ in range(30)]
    put_in_a_hurry(store, contents)
    pack_all(store)
    assert len(bundled(path)) == 30
    assert [store.get(oid_of(data)) for data in contents] == contents


def test_few_bundles_are_kept_unpacked_and_each_is_read_at_most_twice(
        store: ObjectStore, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    contents = texts(400)
    put_in_a_hurry(store, contents)
    pack_all(store)
    right, calls = bundles.content_of, []

    def counted(packed: object, upto: int = 0) -> bytes | None:
        calls.append(upto)
        return right(packed, upto)

    monkeypatch.setattr(bundles, "content_of", counted)
    for data in contents:
        assert store.get(oid_of(data)) == data
    number = len(read(path, "SELECT id FROM bundles"))
    assert number > bundles._KEPT and len(calls) <= 2 * number
    assert store._bundles and len(store._bundles._cached) == bundles._KEPT


@given(st.lists(st.binary(min_size=1, max_size=3000), max_size=40, unique=True))
def test_whatever_is_gathered_can_be_found(contents: list[bytes]) -> None:
    made = BundleBuilder()
    for n, data in enumerate(contents):
        made.add(n, oid_of(data), data)
    made.close()
    held = dict(made.bundles)
    assert sorted(n for n, _, _ in made.rows) == list(range(len(contents)))
    for n, oid, row in made.rows:
        found = member(row)
        packed = found.packed(content_of(held[found.bundle]) or b"") if found else row
        assert oid == oid_of(contents[n])
        if found:
            assert packed == raw(contents[n])
        assert not found or found.size <= MOST


@pytest.mark.parametrize("row", [b"", b"\x03", b"\x03" + bytes(39), b"\x03" + bytes(41), b"\x00" + bytes(40),
                                 "text", 7, None])
def test_a_row_that_makes_no_sense_is_no_member(row: object) -> None:
    assert member(row) is None


def test_a_member_is_written_as_it_is_read() -> None:
    found = member(Member(b"b" * 32, 5, 70_000).row())
    assert found and (found.bundle, found.start, found.size, found.end) == (b"b" * 32, 5, 70_000, 70_005)


def pack_singles(store: ObjectStore) -> None:
    found = next_singles(store, 0, 1 << 20)
    while found:
        replace_singles(store, found)
        found = next_singles(store, found.upto, 1 << 20)


def versions(count: int) -> list[bytes]:
    lines = [b"%x is a line of it" % random.Random(n).getrandbits(60) for n in range(200)]
    return [b"\n".join([*lines[:n], b"changed", *lines[n:]]) for n in range(count)]


def test_versions_of_a_file_that_were_saved_one_by_one_shrink_to_what_differs(
        store: ObjectStore, path: str) -> None:
    contents = versions(100)
    for data in contents:
        store.put(data)
        store.put(b"tree1 " + data[:900])
        store.commit()
    before = store.sizes()
    pack_singles(store)
    after = store.sizes()
    assert len(bundled(path)) > 80
    assert sum(after[oid_of(data)] for data in contents) < sum(before[oid_of(data)] for data in contents) / 5
    assert [store.get(oid_of(data)) for data in contents] == contents
    assert next_singles(store, 0, 1 << 20) is None, "nothing is packed twice"


def test_what_does_not_fill_a_bundle_waits_for_more(store: ObjectStore, path: str) -> None:
    contents = versions(5)
    for data in contents:
        store.put(data)
    store.commit()
    pack_singles(store)
    assert bundled(path) == [] and read(path, "PRAGMA user_version") == [(1,)]


def test_a_damaged_object_is_not_put_into_a_bundle(store: ObjectStore, path: str) -> None:
    contents = versions(100)
    for data in contents:
        store.put(data)
    store.commit()
    tamper(path, "UPDATE objects SET data=x'01'||zeroblob(80) WHERE id=?", oid_of(contents[5]))
    pack_singles(store)
    assert oid_of(contents[5]) not in bundled(path) and len(bundled(path)) > 80
    assert [store.get(oid_of(data)) for data in contents[6:]] == contents[6:]


def test_an_object_that_was_collected_while_it_was_bundled_does_not_come_back(store: ObjectStore) -> None:
    contents = versions(100)
    for data in contents:
        store.put(data)
    store.commit()
    found = next_singles(store, 0, 1 << 20)
    assert found
    store.delete([oid_of(contents[2])])
    replace_singles(store, found)
    assert not store.has(oid_of(contents[2])) and store.get(oid_of(contents[3])) == contents[3]


# formats

def test_an_older_program_refuses_a_store_with_bundles(store: ObjectStore, path: str,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    put_in_a_hurry(store, texts(50))
    ObjectStore(path).close()
    assert read(path, "PRAGMA user_version") == [(1,)]
    pack_all(store)
    monkeypatch.setattr(objects, "FORMAT", 1)
    with pytest.raises(FormatTooNew):
        ObjectStore(path)


def test_who_had_the_store_open_before_the_first_bundle_reads_on(store: ObjectStore, path: str) -> None:
    contents = texts(50)
    put_in_a_hurry(store, contents)
    reader = ObjectStore(path)
    assert reader.get(oid_of(contents[0])) == contents[0]
    pack_all(store)
    assert [reader.get(oid_of(data)) for data in contents] == contents
    reader.close()


# collecting

def test_a_bundle_that_nobody_needs_goes(store: ObjectStore, path: str) -> None:
    contents = texts(60)
    put_in_a_hurry(store, contents)
    pack_all(store)
    store.delete(map(oid_of, contents))
    take_apart(store)
    assert read(path, "SELECT id FROM bundles") == [] and not store.has_loose()


def test_what_is_left_of_thin_bundles_is_packed_anew(store: ObjectStore, path: str) -> None:
    contents = texts(300)
    put_in_a_hurry(store, contents)
    pack_all(store)
    before = {bundle for (bundle,) in read(path, "SELECT id FROM bundles")}
    kept = contents[::8]
    store.delete(oid_of(data) for data in contents if data not in kept)
    take_apart(store)
    assert [store.get(oid_of(data)) for data in kept] == kept
    pack_all(store)
    after = {bundle for (bundle,) in read(path, "SELECT id FROM bundles")}
    assert len(after) < len(before) / 3 and not after & before
    assert [store.get(oid_of(data)) for data in kept] == kept and not store.has_loose()


def test_a_bundle_that_is_needed_for_the_most_part_stays(store: ObjectStore, path: str) -> None:
    contents = texts(300)
    put_in_a_hurry(store, contents)
    pack_all(store)
    before = read(path, "SELECT id FROM bundles")
    store.delete(oid_of(data) for data in contents[::8])
    take_apart(store)
    assert read(path, "SELECT id FROM bundles") == before


def test_a_damaged_bundle_is_not_taken_apart(store: ObjectStore, path: str) -> None:
    contents = texts(300)
    put_in_a_hurry(store, contents)
    pack_all(store)
    tamper(path, "UPDATE bundles SET data=x'01ff'")
    before = read(path, "SELECT id FROM bundles")
    store.delete(oid_of(data) for data in contents if data not in contents[::8])
    take_apart(store)
    assert read(path, "SELECT id FROM bundles") == before


def test_a_reader_finds_an_object_whose_bundle_is_taken_apart_at_that_moment(
        store: ObjectStore, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    contents = texts(300)
    put_in_a_hurry(store, contents)
    pack_all(store)
    kept = contents[::8]
    store.delete(oid_of(data) for data in contents if data not in kept)
    reader = ObjectStore(path)
    right = reader._row

    def row(oid: bytes) -> object:
        found = right(oid)
        take_apart(store)  # between the row and its bundle
        return found

    monkeypatch.setattr(reader, "_row", row)
    assert reader.get(oid_of(kept[3])) == kept[3]
    reader.close()


def take_apart(store: ObjectStore) -> None:
    for bundle, left in find_sparse_bundles(store):
        unbundle(store, bundle, left)


# damage

def test_a_missing_bundle_is_damage_of_its_members_only(store: ObjectStore, path: str) -> None:
    contents = texts(60)
    put_in_a_hurry(store, contents)
    pack_all(store)
    other = store.put(b"another " * 100)
    store.commit()
    tamper(path, "DELETE FROM bundles")
    with pytest.raises(StoreDamaged, match="its bundle is missing or damaged"):
        store.get(oid_of(contents[0]))
    assert store.get(other) == b"another " * 100
    assert {oid for oid, packed in store.rows() if is_bundled(packed)} == set(map(oid_of, contents))


def test_a_wrong_bit_costs_what_it_touches_and_never_hands_out_wrong_content(
        store: ObjectStore, path: str) -> None:
    contents = texts(60)
    put_in_a_hurry(store, contents)
    pack_all(store)
    store.close()
    whole = 0
    for number, (bundle, packed) in enumerate(read(path, "SELECT id, data FROM bundles")):
        bad = bytearray(packed)
        bad[len(bad) * (number % 3 + 1) // 4] ^= 4
        tamper(path, "UPDATE bundles SET data=? WHERE id=?", bytes(bad), bundle)
    again = ObjectStore(path)
    for data in contents:
        try:
            assert again.get(oid_of(data)) == data
            whole += 1
        except StoreDamaged:
            pass
    again.close()
    assert len(contents) / 4 < whole < len(contents)


def test_the_same_bundle_made_again_takes_the_place_of_a_damaged_one(store: ObjectStore, path: str) -> None:
    contents = texts(60)
    put_in_a_hurry(store, contents)
    pack_all(store)
    tamper(path, "UPDATE bundles SET data=x'01ff'")
    store.lost = set(map(oid_of, contents))  # found out, and stored anew
    put_in_a_hurry(store, contents)
    pack_all(store)
    again = ObjectStore(path)
    assert [again.get(oid_of(data)) for data in contents] == contents
    again.close()


def test_members_are_salvaged_out_of_a_database_that_sqlite_cannot_read(
        store: ObjectStore, path: str, tmp_path: Path) -> None:
    contents = texts(120)
    put_in_a_hurry(store, contents)
    pack_all(store)
    shrink_file(store)
    store.close()
    with open(path, "r+b") as file:
        file.write(b"no database" * 30)
    saved = salvage(path, str(tmp_path / "new.db"))
    assert [saved.get(oid_of(data)) for data in contents] == contents
    assert set(saved.ids()) == {oid_of(b"the first one"), *map(oid_of, contents)}
    saved.close()


def test_what_waits_to_be_packed_still_does_so_when_it_was_salvaged(
        store: ObjectStore, path: str, tmp_path: Path) -> None:
    data = b"in a hurry " * 100
    store.put_packed(oid_of(data), loose(data))
    store.commit()
    saved = salvage(path, str(tmp_path / "new.db"))
    assert saved.get(oid_of(data)) == data and saved.has_loose()
    saved.close()


# killed

_PACK = """
import sys
sys.path.insert(0, sys.argv[1])
from rewind.store.objects import ObjectStore
from rewind.store.packing import next_loose, replace_loose, find_sparse_bundles, unbundle
store = ObjectStore(sys.argv[2])
right, left = store.run, [int(sys.argv[3])]
def run(statement, values=()):
    left[0] -= 1
    if not left[0]:
        print("now", flush=True)
        sys.stdin.read()
    return right(statement, values)
store.run = run
while True:
    found = next_loose(store, 1 << 17)
    if found is None:
        break
    replace_loose(store, found)
for bundle, members in find_sparse_bundles(store):
    unbundle(store, bundle, members)
"""


@pytest.mark.parametrize("statement", [5, 60, 90, 130, 170, 260, 330, 345])
def test_killed_at_any_statement_nothing_is_lost(store: ObjectStore, path: str, statement: int) -> None:
    contents = texts(100)
    put_in_a_hurry(store, contents)
    packer = subprocess.Popen([sys.executable, "-I", "-c", _PACK, SOURCE, path, str(statement)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert packer.stdout and packer.stdin
    assert packer.stdout.readline() == b"now\n"
    assert [store.get(oid_of(data)) for data in contents] == contents, "read while it is packed"
    packer.send_signal(signal.SIGKILL)
    packer.wait()
    packer.stdin.close()
    packer.stdout.close()
    again = ObjectStore(path)
    assert again.check() == [] and [again.get(oid_of(data)) for data in contents] == contents
    pack_all(again)
    assert [again.get(oid_of(data)) for data in contents] == contents and not again.has_loose()
    assert len(bundled(path)) == 100
    again.close()


def test_a_bundle_is_no_larger_than_a_reader_accepts() -> None:
    assert BYTES + MOST < bundles._LIMIT
