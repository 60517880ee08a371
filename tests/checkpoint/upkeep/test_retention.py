"""What is kept and what goes: the policy on made-up records, the budget and the packing on real stores."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewind.checkpoint.records.record import Record, RecordFiles
from rewind.checkpoint.upkeep.pieces import Piece
from rewind.checkpoint.upkeep.retention import bounded_share, keep_newest, never_collected, thin, trusted_now
from rewind.config.load import Settings
from rewind.controller import Controller
from rewind_cli import Rewind, tree_state

HOUR, DAY = 3600, 86400
NOW = 1_800_000_000.0  # on the hour, 08:00 UTC
MB = 1 << 20


def record(age: float, *, kind: str = "auto", name: str = "") -> Record:
    at = time.gmtime(NOW - age)
    return Record({"name": name or time.strftime("%Y%m%d_%H%M%S_001", at), "kind": kind,
                   "createdAt": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", at)})


def gone(ages: list[float], kept: set[str] = frozenset()) -> list[float]:  # type: ignore[assignment]
    """The ages of the records that the policy lets go, in the order it names them."""
    records = [record(age) for age in sorted(ages, reverse=True)]
    return [NOW - r.created for r in thin(records, NOW, Settings(), set(kept))]


# the policy

def test_everything_of_the_last_day_stays() -> None:
    assert gone([minute * 60 for minute in range(24 * 60 + 1)]) == []


def test_of_each_hour_of_the_last_week_the_newest_stays() -> None:
    hour = 2 * DAY
    assert sorted(gone([hour - 60, hour - 120, hour - 180])) == [hour - 120, hour - 60]
    assert gone([hour - 180, hour - HOUR - 180, hour + HOUR - 180]) == []


def test_of_each_day_of_the_last_month_the_newest_stays() -> None:
    midnight = 10 * DAY + 8 * HOUR
    assert sorted(gone([midnight - 60, midnight - 5 * HOUR, midnight - 20 * HOUR])) == [
        midnight - 5 * HOUR, midnight - 60]
    assert gone([midnight - HOUR + day * DAY for day in range(10)]) == []


def test_what_is_older_than_a_month_goes() -> None:
    assert gone([29 * DAY, 31 * DAY, 400 * DAY]) == [31 * DAY, 400 * DAY]


def test_what_is_protected_never_goes_whatever_its_age() -> None:
    old = [record(400 * DAY, name="20200101_000000_001"), record(399 * DAY, name="20200102_000000_001")]
    assert [r.name for r in thin(old, NOW, Settings(), {"20200101_000000_001"})] == ["20200102_000000_001"]


def test_a_protected_one_that_is_the_newest_of_its_hour_is_enough_for_that_hour() -> None:
    hour = 2 * DAY
    newest, older = record(hour - 180), record(hour - 60)
    assert thin([older, newest], NOW, Settings(), {newest.name}) == [older]


def test_a_clock_that_was_ahead_costs_no_checkpoint() -> None:
    assert gone([-5 * DAY, -5 * DAY - 1, 0]) == []


# a clock that jumps

WORK = [NOW - 3 * HOUR + minute * 60 for minute in range(180)]  # three hours, a checkpoint every minute


@pytest.mark.parametrize("days", [2, 60, 10_000])
def test_a_clock_that_jumps_ahead_does_not_make_time_pass(days: int) -> None:
    jumped = NOW + days * DAY
    assert trusted_now(WORK, jumped) == WORK[-1]
    assert trusted_now([*WORK, jumped, jumped + 60], jumped + 90) == WORK[-1] + 90


def test_after_a_day_of_use_a_jump_is_believed() -> None:
    later = [NOW + 60 * DAY + hour * HOUR for hour in range(25)]
    assert trusted_now([*WORK, *later[:-1]], later[-2]) == WORK[-1] + 23 * HOUR
    assert trusted_now([*WORK, *later], later[-1] + 60) == later[-1] + 60


def test_a_clock_that_is_put_right_again_is_believed_at_once() -> None:
    assert trusted_now([*WORK, NOW + 60 * DAY], NOW + 60) == NOW + 60
    assert trusted_now([*WORK, NOW + 60 * DAY, NOW + 60], NOW + 90) == NOW + 90


def test_without_a_gap_the_clock_is_believed() -> None:
    assert trusted_now([], NOW) == NOW
    assert trusted_now(WORK, NOW + 20 * HOUR) == NOW + 20 * HOUR
    assert trusted_now([NOW - day * DAY for day in range(90, 0, -1)], NOW) == NOW


@given(st.lists(st.floats(0, 2 * NOW), max_size=30), st.floats(0, 2 * NOW))
def test_time_is_never_counted_later_than_the_clock(made: list[float], clock: float) -> None:
    assert trusted_now(made, clock) <= clock + 1e-3


def test_no_more_than_a_part_is_thinned_at_once_and_the_oldest_first() -> None:
    records = [record(age * DAY, name=str(age)) for age in range(31, 131)]  # newest first
    assert bounded_share(records, 400) == records
    assert [r.name for r in bounded_share(records, 200)] == [str(age) for age in range(81, 131)]
    assert len(bounded_share(records, 10)) == 20
    assert bounded_share([], 10) == []


def test_one_checkpoint_with_a_clock_that_is_ahead_costs_none(
        controller: Controller, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        (project / "a.txt").write_text(str(number))
        controller.save(kind="auto")
    trash = project / ".agent" / "rewind" / "trash"
    trash.mkdir(exist_ok=True)
    (trash / "deleted-fork").write_text("of today")
    before, clock = len(controller.state.timeline.all()), time.time
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: clock() + 60 * DAY)
        (project / "a.txt").write_text("with a wrong clock")
        controller.save(kind="auto")
        assert controller.plan_gc() == []
        controller.gc()
    assert len(controller.state.timeline.all()) == before + 1
    assert (trash / "deleted-fork").exists()


def test_the_newest_the_manual_and_the_needed_ones_are_never_collected() -> None:
    records = [record(400 * DAY - n * DAY, kind="manual" if n == 3 else "auto") for n in range(30)]
    needed = {records[5].name}
    kept = never_collected(records, needed)
    assert kept == {r.name for r in records[-20:]} | {records[3].name} | needed


def test_keeping_n_counts_manual_ones_too_and_never_a_needed_backup() -> None:
    kinds = ["manual", "backup", "auto", "backup", "auto", "auto"]
    records = [record(1000 - n, kind=kind) for n, kind in enumerate(kinds)]
    assert keep_newest(records, 2, {records[3].name}) == records[:3]
    assert keep_newest(records, 0, set()) == records
    assert keep_newest(records, 50, set()) == [records[1], records[3]]


# real stores

@pytest.fixture
def controller(project: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Controller]:
    """A project of which nobody takes care in the background."""
    monkeypatch.setattr("rewind.checkpoint.save.save._later", lambda state, chore: None)
    (project / "keep.txt").write_text("the same all the time\n")
    controller, _ = Controller.init(str(project), mode="project")
    yield controller
    controller.close()


def set_cap(controller: Controller, mb: float) -> None:
    Path(controller.project.path("config.json")).write_text(
        json.dumps({"storage": {"maxSizeMb": mb}}))


def reopened(controller: Controller) -> Controller:
    controller.close()
    return Controller(controller.project.root, home=controller.project.home)


def fill(controller: Controller, number: int, size: int = 30_000) -> list[str]:
    names = []
    for _ in range(number):
        Path(controller.project.root, "noise").write_bytes(os.urandom(size))
        names.append(controller.save(kind="auto").record.name)
    return names


def until(true: Callable[[], object], seconds: float = 30) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_over_the_budget_the_oldest_automatic_ones_go_until_four_fifths_are_left(
        controller: Controller) -> None:
    manual = controller.save("precious", kind="manual").record.name
    names = fill(controller, 45)
    set_cap(controller, 1)
    controller = reopened(controller)
    try:
        before = controller.disk_use()
        assert before > MB
        planned = [r.name for r in controller.plan_gc()]
        collected = controller.gc()
        left = [r.name for r in reversed(controller.list_checkpoints())]
        assert sorted(collected.deleted) == sorted(planned)
        assert manual in left
        autos = [n for n in names if n in left]
        assert autos == names[-len(autos):] and 20 <= len(autos) < 45
        assert 0.5 * MB < controller.disk_use() <= MB
        assert collected.freed >= before - MB
        assert controller.validate(deep=True) == []
    finally:
        controller.close()


def test_under_the_budget_nothing_young_goes(controller: Controller) -> None:
    fill(controller, 25, size=1000)
    assert controller.plan_gc() == []
    assert controller.gc().deleted == []
    assert len(controller.list_checkpoints()) == 26


def test_the_newest_stay_even_when_they_alone_are_over_the_budget(controller: Controller) -> None:
    names = fill(controller, 24, size=80_000)
    set_cap(controller, 1)
    controller = reopened(controller)
    try:
        controller.gc()
        assert [r.name for r in reversed(controller.list_checkpoints())] == names[-20:]
    finally:
        controller.close()


def test_the_space_of_deleted_checkpoints_goes_back_to_the_file_system(controller: Controller) -> None:
    fill(controller, 10, size=200_000)
    store = controller.project.path("objects.db")
    controller.gc(10)
    before = os.path.getsize(store)
    collected = controller.gc(1)
    assert os.path.getsize(store) < before - 9 * 150_000
    assert collected.freed > 9 * 150_000
    with closing(sqlite3.connect(store)) as db:
        assert db.execute("PRAGMA freelist_count").fetchone() == (0,)


def test_a_deleted_name_is_not_given_out_again(controller: Controller) -> None:
    names = fill(controller, 3, size=10)
    controller.gc(1)
    again = fill(controller, 3, size=10)
    assert not set(names) & set(again) and max(names) < min(again)


def test_content_that_a_kept_checkpoint_shares_stays(controller: Controller, project: Path) -> None:
    shared = os.urandom(5 * MB)  # in chunks
    (project / "shared").write_bytes(shared)
    fill(controller, 3)
    expected = tree_state(project)
    controller.gc(1)
    (project / "shared").unlink()
    (project / "noise").unlink()
    controller.restore("last")
    assert tree_state(project) == expected
    assert controller.validate(deep=True) == []


def test_the_backups_of_the_last_restores_survive_a_collection(controller: Controller, project: Path) -> None:
    names = fill(controller, 3)
    (project / "unsaved").write_text("only the backup has this")
    before = tree_state(project)
    controller.restore(names[0])
    controller.gc(1)
    controller.undo_restore()
    assert tree_state(project) == before


def two_lines(controller: Controller, project: Path) -> dict[str, list[str]]:
    """Three checkpoints, then six from the first of them. For each its ancestors, nearest first."""
    old = fill(controller, 3, size=10)
    controller.restore(old[0])
    new = fill(controller, 6, size=10)
    assert controller.lineage().parents[new[0]] == old[0]
    return {name: [r.name for r in controller.lineage().line(name)][1:] for name in (*old, *new)}


def check_parents(controller: Controller, ancestors: dict[str, list[str]]) -> None:
    parents = controller.lineage().parents
    for name, line in ancestors.items():
        if name in parents:
            assert parents[name] == next((one for one in line if one in parents), None), name


def test_the_line_holds_although_others_have_the_lock_between_two_deletions(
        controller: Controller, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ancestors = two_lines(controller, project)
    monkeypatch.setattr(Piece, "is_over", lambda piece: True)
    assert len(controller.gc(1).deleted) >= 5
    check_parents(controller, ancestors)


@pytest.mark.parametrize("deletions", range(5))
def test_the_line_holds_after_a_collection_that_was_killed(
        controller: Controller, project: Path, monkeypatch: pytest.MonkeyPatch, deletions: int) -> None:
    ancestors = two_lines(controller, project)
    delete, left = RecordFiles.delete, [deletions]

    def killed(files: RecordFiles, name: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        delete(files, name)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(RecordFiles, "delete", killed)
        controller.gc(1)
    parents = controller.lineage().parents
    assert all(parents[name] in (*line, None) for name, line in ancestors.items() if name in parents)
    controller.gc(1)
    check_parents(controller, ancestors)


def test_an_unreadable_record_stops_a_collection_before_it_deletes_anything(controller: Controller) -> None:
    from rewind.errors import StoreDamaged

    names = fill(controller, 3)
    path = Path(controller.state.files.path(names[0]))
    path.write_text("{")
    objects = set(controller.state.objects.ids())
    with pytest.raises(StoreDamaged, match=names[0]):
        controller.gc(1)
    assert set(controller.state.objects.ids()) == objects
    assert all(os.path.exists(controller.state.files.path(n)) for n in names)


def test_a_save_over_the_budget_starts_a_collection_that_does_the_job(
        controller: Controller, rewind: Rewind) -> None:
    fill(controller, 45)
    set_cap(controller, 1)
    controller.state.derived.write(
        [("INSERT OR REPLACE INTO facts VALUES('collected', ?)", [(time.time() - HOUR,)])])
    controller.close()
    assert len(rewind.names()) == 46
    rewind.save("one too many")
    assert until(lambda: len(rewind.names()) < 45), "no collection has come"
    store = rewind.state / "objects.db"
    assert until(lambda: store.stat().st_size < MB)
    rewind.ok("validate", "--deep")


# packing

def codecs(store: Path) -> Counter[bytes]:
    with closing(sqlite3.connect(store)) as db:
        return Counter(codec for (codec,) in db.execute("SELECT substr(data, 1, 1) FROM objects"))


def make_bulk(project: Path) -> None:
    for number in range(12):
        (project / f"bulk{number}").write_bytes(b"%d all work and no play\n" % number * 40_000)


def test_a_bulk_capture_is_stored_in_a_hurry_and_packed_later(controller: Controller, project: Path) -> None:
    make_bulk(project)
    controller.save("much")
    store = Path(controller.project.path("objects.db"))
    expected = tree_state(project)
    assert codecs(store)[b"\x02"] == 12 and controller.state.objects.has_loose()
    controller.gc(50)
    assert codecs(store)[b"\x02"] == 0 and codecs(store)[b"\x01"] >= 12
    assert not controller.state.objects.has_loose()
    assert store.stat().st_size < 2 * MB
    for number in range(12):
        (project / f"bulk{number}").unlink()
    controller.restore("last")
    assert tree_state(project) == expected
    assert controller.validate(deep=True) == []


def test_a_small_capture_is_packed_at_once(controller: Controller, project: Path) -> None:
    (project / "small").write_bytes(b"all work and no play\n" * 1000)
    controller.save("little")
    found = codecs(Path(controller.project.path("objects.db")))
    assert found[b"\x02"] == 0 and found[b"\x01"] >= 1
    assert not controller.state.objects.has_loose()


def test_the_first_checkpoint_of_a_large_project_is_packed_in_the_background(rewind: Rewind) -> None:
    make_bulk(rewind.project)
    expected = tree_state(rewind.project)
    rewind.init()
    store = rewind.state / "objects.db"
    assert until(lambda: not codecs(store)[b"\x02"]), "nobody has packed it"
    assert until(lambda: store.stat().st_size < 2 * MB)
    for number in range(12):
        (rewind.project / f"bulk{number}").unlink()
    rewind.ok("restore", "last")
    assert tree_state(rewind.project) == expected
