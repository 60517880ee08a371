"""The order of checkpoints, their names, and an index that never lies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewind.checkpoint.records.record import MAIN, Record, RecordFiles
from rewind.checkpoint.records.timeline import Timeline
from rewind.checkpoint.select.selectors import select
from rewind.errors import CheckpointAmbiguous, CheckpointNotFound, StoreDamaged, UsageError
from rewind.store.derived import DerivedDb

ID = "ab" * 32


class Place:
    """What `select` needs of a `State`, for the selectors that name a checkpoint directly."""

    place = MAIN

    def __init__(self, folder: Path) -> None:
        self.files = RecordFiles(str(folder / "checkpoints"))
        self.derived = DerivedDb(str(folder / "scan-cache.db"), "owner")
        os.makedirs(self.files.folder)

    def write(self, name: str, sequence: int, kind: str = "manual", description: str = "",
              tree: str = ID) -> Record:
        record = Record({"format": 1, "name": name, "sequence": sequence, "kind": kind,
                         "createdAt": "2026-11-15T10:15:02.000Z", "description": description, "trigger": {},
                         "place": MAIN, "code": {"format": "objects", "tree": tree, "rules": ID}})
        os.makedirs(os.path.dirname(self.files.path(name)), exist_ok=True)
        self.files.write(record)
        return record

    @property
    def timeline(self) -> Timeline:
        return Timeline(self.files, self.derived)

    def find(self, text: str) -> Record:
        return select(self, text)  # type: ignore[arg-type]

    def names(self) -> list[str]:
        return [r.name for r in self.timeline.all()]

    def indexed(self) -> set[str]:
        return {name for (name,) in self.derived.query("SELECT name FROM records")}


A, B, C, D = (f"20261115_10150{n}_001" for n in range(4))


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    place.derived.close()


@pytest.fixture
def four(place: Place) -> Place:
    """A, B, a backup C, and D; the clock went backwards between B and A."""
    place.write(B, 1)
    place.write(A, 2)
    place.write(C, 3, kind="backup")
    place.write(D, 4)
    return place


def test_without_checkpoints_there_is_nothing_to_find(place: Place) -> None:
    assert place.timeline.all() == [] and place.timeline.newest() is None
    for text in ("last", "prev", "1", A, A[:8]):
        with pytest.raises(CheckpointNotFound):
            place.find(text)


def test_the_order_is_that_of_the_sequence_not_of_the_clock(four: Place) -> None:
    assert four.names() == [B, A, C, D]
    assert [r.name for r in four.timeline.shown()] == [D, A, B]


@pytest.mark.parametrize("text, name", [
    ("last", D), ("prev", A), ("4", D), ("2", A), ("1", B), ("0003", C), (A, A), (C, C),
    (A[:-4], A), (C[:15], C)])
def test_a_checkpoint_has_several_names(four: Place, text: str, name: str) -> None:
    assert four.find(text).name == name


@pytest.mark.parametrize("text", ["0", "5", "9999", "20261116", "20261115_101509_001"])
def test_a_name_that_nobody_has_is_not_found(four: Place, text: str) -> None:
    with pytest.raises(CheckpointNotFound):
        four.find(text)


@pytest.mark.parametrize("text", ["20261115", "20261115_1015", "20261"])
def test_the_beginning_of_several_names_is_ambiguous(four: Place, text: str) -> None:
    with pytest.raises(CheckpointAmbiguous, match="4 checkpoints"):
        four.find(text)


def test_an_empty_name_is_a_usage_error(four: Place) -> None:
    with pytest.raises(UsageError):
        four.find("")


# the index

def test_the_index_answers_without_reading_a_record(four: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    four.names()
    monkeypatch.setattr(RecordFiles, "read", lambda self, name: pytest.fail("read"))
    newest, third = four.timeline.newest(), four.timeline.with_sequence(3)
    assert four.names() == [B, A, C, D] and newest and newest.name == D and third and third.name == C
    assert four.timeline.with_sequence(7) is None
    assert four.timeline.has_tree(bytes.fromhex(ID)) and not four.timeline.has_tree(b"?" * 32)


@pytest.mark.parametrize("count", [5, 30])
def test_the_newest_of_a_place_is_found_without_a_look_at_all(place: Place, count: int,
                                                              monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(count):
        place.write(f"20261115_101500_{number + 1:03d}", number + 1)
    place.names()
    monkeypatch.setattr(RecordFiles, "stamps", lambda self: pytest.fail("looked at all of them"))
    newest = place.timeline.newest_here()
    assert newest and newest.sequence == count


def test_a_tree_or_a_number_that_only_a_deleted_or_rewritten_record_had_is_not_found(four: Place) -> None:
    four.write(A, 2, tree="cd" * 32)
    four.names()
    assert four.timeline.has_tree(b"\xcd" * 32)
    four.write(A, 9, tree="ef" * 32)
    assert not four.timeline.has_tree(b"\xcd" * 32) and four.timeline.has_tree(b"\xef" * 32)
    four.files.delete(A)
    assert not four.timeline.has_tree(b"\xef" * 32) and four.timeline.with_sequence(9) is None


def test_an_index_with_rubbish_in_it_is_not_believed(four: Place) -> None:
    four.names()
    four.derived.write([("UPDATE records SET summary=? WHERE sequence>?", [("{rubbish", 2)])])
    newest, last = four.timeline.newest(), four.timeline.with_sequence(4)
    assert newest and last and newest.name == last.name == D


def test_an_added_record_is_in_the_index_at_once(four: Place) -> None:
    timeline = four.timeline
    timeline.all()
    timeline.add(four.write("20261115_101509_001", 5))
    assert timeline.all()[-1].sequence == 5
    assert "20261115_101509_001" in four.indexed()


def test_a_record_that_somebody_else_added_or_deleted_is_noticed(four: Place) -> None:
    four.names()
    four.write("20261115_101509_001", 5)
    newest = four.timeline.newest()
    assert newest and newest.sequence == 5
    four.files.delete(D)
    four.files.delete("20261115_101509_001")
    newest = four.timeline.newest()
    assert newest and newest.name == C
    assert four.names() == [B, A, C] and four.indexed() == {A, B, C}


def test_a_newest_that_came_while_another_went_is_not_overlooked(four: Place) -> None:
    four.names()
    four.files.delete(A)
    four.write("20261115_101509_001", 5)
    newest = four.timeline.newest()
    assert newest and newest.sequence == 5
    assert four.names() == [B, C, D, "20261115_101509_001"]


def test_a_record_that_was_rewritten_is_read_again(four: Place) -> None:
    four.names()
    four.write(A, 2, description="another text")
    assert four.timeline.all()[1].description == "another text"


def test_without_the_index_everything_is_read_again(four: Place, tmp_path: Path) -> None:
    four.names()
    four.derived.close()
    os.unlink(tmp_path / "scan-cache.db")
    four.derived = DerivedDb(str(tmp_path / "scan-cache.db"), "owner")
    assert four.names() == [B, A, C, D] and four.indexed() == {A, B, C, D}


# damage

@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format": 1}', b"\xff", b"[" * 200_000])
def test_a_damaged_record_does_not_hide_the_others(four: Place, content: bytes) -> None:
    four.names()
    Path(four.files.path(A)).write_bytes(content)
    timeline = four.timeline
    assert [r.name for r in timeline.all()] == [B, C, D]
    assert set(timeline.damaged) == {A}
    with pytest.raises(StoreDamaged, match=A):
        four.find(A)
    assert four.find("1").name == B


def test_the_record_of_another_checkpoint_is_damage(four: Place) -> None:
    Path(four.files.path(A)).write_bytes(Path(four.files.path(B)).read_bytes())
    timeline = four.timeline
    assert [r.name for r in timeline.all()] == [B, C, D] and set(timeline.damaged) == {A}


def test_a_directory_without_a_record_is_no_checkpoint(four: Place) -> None:
    os.mkdir(os.path.join(four.files.folder, "20261115_101509_001"))
    os.mkdir(os.path.join(four.files.folder, "something else"))
    Path(four.files.folder, "20261115_101508_001").write_text("a file")
    newest = four.timeline.newest()
    assert four.names() == [B, A, C, D] and newest and newest.name == D


def test_a_linked_record_is_damage(four: Place, tmp_path: Path) -> None:
    path = Path(four.files.path(A))
    os.rename(path, tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    timeline = four.timeline
    try:
        found = [r.name for r in timeline.all()]
    except OSError as error:
        pytest.fail(f"one planted link hides every checkpoint: {error}")
    assert found == [B, C, D]
