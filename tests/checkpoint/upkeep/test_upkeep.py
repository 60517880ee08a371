"""Packing and collecting beside others: who waits comes first, and what is made meanwhile is kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

from rewind.checkpoint.project.locked import locked
from rewind.checkpoint.upkeep import collection, pieces
from rewind.checkpoint.upkeep.pieces import Pace, is_being_packed, pack
from rewind.controller import Controller
from rewind.errors import Locked
from rewind.lock import Lock, WaitingLine, is_wanted
from rewind.store import bundles
from rewind.store.packing import next_loose, replace_loose
from rewind_cli import tree_state

pytestmark = pytest.mark.slow


@pytest.fixture
def controller(project: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Controller]:
    """A project of which nobody takes care in the background."""
    monkeypatch.setattr("rewind.checkpoint.save.save._later", lambda state, chore: None)
    (project / "keep.txt").write_text("the same all the time\n")
    controller, _ = Controller.init(str(project))
    yield controller
    controller.close()


def lock_of(controller: Controller) -> str:
    return controller.project.path("lock")


def make_bulk(project: Path, mark: bytes = b"all") -> None:
    for number in range(12):
        (project / f"bulk{number}").write_bytes(b"%d %s work and no play\n" % (number, mark) * 40_000)


def each_time(monkeypatch: pytest.MonkeyPatch, module: Any, do: Callable[[], None]) -> list[int]:
    """What others do whenever upkeep lets them."""
    calls: list[int] = []

    def others(state: Any, wait: float) -> None:
        calls.append(1)
        do()

    monkeypatch.setattr(module, "wait_for_others", others)
    return calls


def another(controller: Controller) -> Controller:
    """Another process's view of the same project."""
    return Controller(controller.project.root, home=controller.project.home)


def loose(controller: Controller) -> int:
    rows = controller.state.objects.rows()
    return sum(packed[:1] == b"\x02" for _, packed in rows)


# packing

def test_compressing_takes_no_lock(controller: Controller, project: Path,
                                   monkeypatch: pytest.MonkeyPatch) -> None:
    make_bulk(project)
    controller.save("much")
    right, held = bundles.pack, []

    def compress(*args: Any, **more: Any) -> bytes:
        held.append(is_wanted(lock_of(controller)))
        return right(*args, **more)

    monkeypatch.setattr(bundles, "pack", compress)
    pack(controller.state, 0)
    assert len(held) >= 12 and not any(held) and not loose(controller)


def test_a_save_gets_in_between_any_two_pieces_of_packing(controller: Controller, project: Path,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    make_bulk(project)
    controller.save("much")
    other = another(controller)
    names: list[str] = []

    def save() -> None:
        (project / "x").write_text(str(len(names)))
        names.append(other.save(kind="auto", wait=0).record.name)

    calls = each_time(monkeypatch, pieces, save)
    pack(controller.state, 0)
    other.close()
    assert len(calls) > 2 and len(set(names)) == len(calls)
    assert not loose(controller) and controller.validate(deep=True) == []


def test_packing_does_not_begin_a_piece_while_somebody_waits(controller: Controller, project: Path) -> None:
    make_bulk(project)
    controller.save("much")
    line = WaitingLine(lock_of(controller))
    line.join()
    before = loose(controller)
    with pytest.raises(Locked):
        pack(controller.state, 0)
    assert loose(controller) == before == 12
    line.leave()
    pack(controller.state, 0)
    assert loose(controller) == 0


def test_one_process_packs_at_a_time(controller: Controller, project: Path) -> None:
    make_bulk(project)
    controller.save("much")
    with Lock(controller.project.path(pieces.PACK_LOCK), "gc", 0):
        assert is_being_packed(controller.state)
        pack(controller.state, 0)
        assert loose(controller) == 12
    assert not is_being_packed(controller.state)


def test_what_is_stored_in_a_hurry_while_packing_goes_on_is_packed_as_well(
        controller: Controller, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_bulk(project)
    controller.save("much")
    other = another(controller)

    def save_much() -> None:
        if (project / "done").exists():
            return
        (project / "done").touch()
        make_bulk(project, b"more")
        other.save("more", wait=0)

    each_time(monkeypatch, pieces, save_much)
    pack(controller.state, 0)
    other.close()
    assert (project / "done").exists() and loose(controller) == 0
    assert not controller.state.objects.has_loose()


def test_an_object_that_was_collected_while_it_was_compressed_does_not_come_back(
        controller: Controller, project: Path) -> None:
    make_bulk(project)
    controller.save("much")
    store = controller.state.objects
    found = next_loose(store, 1 << 30)
    assert found
    gone = found.made.rows[0][1]
    store.delete([gone])
    replace_loose(store, found)
    assert not store.has(gone) and all(store.has(oid) for _, oid, _ in found.made.rows[1:])


def test_the_wal_is_as_it_was_when_packing_is_done(controller: Controller, project: Path) -> None:
    make_bulk(project)
    controller.save("much")
    pack(controller.state, 0)
    store = controller.state.objects
    assert store.pragma("synchronous") == 2 and store.folds
    assert os.path.getsize(store.path + "-wal") == 0


@pytest.mark.parametrize(("times", "then"), [(3.0, 8), (0.75, 16), (0.1, 32)])
def test_a_piece_that_took_too_long_is_followed_by_a_smaller_one(times: float, then: int) -> None:
    """In so many times what a piece aims at."""
    pace = Pace(4, 16, 64)
    pace.note(times * pieces._HOLD)
    assert pace.size == then
    for _ in range(10):
        pace.note(times * pieces._HOLD)
    assert pace.size in (4, 16, 64)


# collecting

@pytest.fixture
def old(controller: Controller, project: Path) -> bytes:
    """Content that only checkpoints hold which a collection is about to delete."""
    content = os.urandom(30_000)
    (project / "sub").mkdir()
    (project / "sub" / "old").write_bytes(content)
    controller.save("old", kind="auto")
    for number in range(40):
        (project / "sub" / "old").write_bytes(b"%d" % number)
        controller.save(kind="auto")
    return content


def test_looking_at_what_is_needed_takes_no_lock(controller: Controller, old: bytes,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    right, held = collection.mark, []

    def mark(*args: Any) -> Any:
        held.append(is_wanted(lock_of(controller)))
        return right(*args)

    monkeypatch.setattr(collection, "mark", mark)
    controller.gc(3)
    assert held == [False]


def test_a_save_in_the_middle_of_a_collection_keeps_what_it_found_in_the_store(
        controller: Controller, project: Path, old: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes back to what was just about to be deleted, and its content is there still: not stored anew."""
    other = another(controller)
    saved: list[str] = []

    def save() -> None:
        (project / "sub" / "old").write_bytes(old)
        saved.append(other.save(kind="auto", wait=0).record.name)

    # A piece that is over at once: something is deleted, then others come, then the rest.
    monkeypatch.setattr(collection, "_AT_ONCE", 1)
    monkeypatch.setattr(collection.Piece, "is_over", lambda piece: True)
    each_time(monkeypatch, collection, save)
    controller.gc(3)
    other.close()
    expected = tree_state(project)
    assert len(saved) > 3 and controller.validate(deep=True) == []
    (project / "sub" / "old").unlink()
    controller.restore(saved[-1])
    assert tree_state(project) == expected


def test_a_checkpoint_that_a_restore_needs_meanwhile_is_not_collected(
        controller: Controller, project: Path, old: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    other = another(controller)
    target = controller.list_checkpoints()[30].name
    planned = [record.name for record in controller.plan_gc(3)]
    assert target in planned

    def restore() -> None:
        if not other.operations():
            other.restore(target)

    each_time(monkeypatch, collection, restore)
    deleted = controller.gc(3).deleted
    other.close()
    assert target not in deleted and set(deleted) < set(planned)
    assert controller.validate(deep=True) == []
    assert target in {record.name for record in controller.list_checkpoints(backups=True)}


def test_a_conversation_that_is_saved_in_the_middle_of_a_collection_is_whole(
        controller: Controller, old: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest link that is remembered may be about to go: nothing is appended to that one."""
    with locked(controller.state, "test"):
        link = controller.state.objects.put(b"a link that no record names")
        controller.state.objects.commit()
        controller.state.derived.write([("INSERT INTO facts VALUES(?, ?)", [("chat gone", link)])])
    controller.gc(3)
    assert controller.state.derived.query("SELECT value FROM facts WHERE key='chat gone'") == []


def test_two_collections_do_not_run_at_once(controller: Controller, old: bytes) -> None:
    before = len(controller.list_checkpoints())
    with Lock(controller.project.path(collection.GC_LOCK), "gc", 0), pytest.raises(Locked):
        controller.gc(3, wait=0)
    assert len(controller.list_checkpoints()) == before


def test_a_collection_lets_somebody_who_waits_go_first(controller: Controller, old: bytes) -> None:
    line = WaitingLine(lock_of(controller))
    line.join()
    before = len(controller.list_checkpoints())
    with pytest.raises(Locked):
        controller.gc(3, wait=0)
    line.leave()
    assert len(controller.list_checkpoints()) == before
    assert len(controller.gc(3, wait=0).deleted) == before - 3
