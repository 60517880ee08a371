"""A capture that takes longer than somebody waits: what changed after that is not passed off as captured."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewind.snapshot.rules.rules import Rules
from rewind.snapshot.scan import build
from rewind.snapshot.scan.cache import ScanCache
from rewind.snapshot.scan.moment import Moment
from rewind.snapshot.scan.scan import scan
from rewind.snapshot.trees.listing import every_path
from rewind.snapshot.trees.tree import FILE, LINK, UNCOVERED, TreeEntry
from rewind.store.derived import DerivedDb
from rewind.store.objects import ObjectStore

ROW = (5, 100, 100, 7, 0o100644)


class Ended(Moment):
    """A moment that ends when the walk is done, however fast the machine is."""

    def __init__(self) -> None:
        super().__init__(3600)
        self.over = False

    def is_over(self) -> bool:
        return self.over


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ObjectStore]:
    store = ObjectStore(str(tmp_path / "objects.db"), create=True)
    yield store
    store.close()


def capture(project: Path, store: ObjectStore, moment: Moment | None,
            cache: ScanCache | None = None) -> dict[bytes, TreeEntry]:
    cache = cache or ScanCache(None)
    snapshot = scan(os.fsencode(project), Rules(builtin=b""), cache, store, keep=True, processes=1,
                    moment=moment)
    store.commit()
    snapshot.remember(cache)
    return dict(every_path(snapshot.root, snapshot.tree))


def then(monkeypatch: pytest.MonkeyPatch, moment: Ended, change: Any) -> None:
    """After the walk the moment is over, and somebody goes on working."""
    right = build.SnapshotBuilder.build

    def late(builder: Any) -> Any:
        moment.over = True
        change()
        return right(builder)

    monkeypatch.setattr(build.SnapshotBuilder, "build", late)


def test_what_changed_after_the_look_is_uncovered_and_the_rest_is_captured(
        project: Path, store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("same", "edited", "gone", "grown"):
        (project / name).write_text(name)
    (project / "link").symlink_to("same")
    (project / "turned").symlink_to("same")

    def work() -> None:
        (project / "edited").write_text("EDITED")
        (project / "gone").unlink()
        (project / "grown").write_text("grown and grown")
        (project / "turned").unlink()
        (project / "turned").symlink_to("edited")
        (project / "new").write_text("was not there")

    moment = Ended()
    then(monkeypatch, moment, work)
    found = capture(project, store, moment)
    uncovered = {path for path, entry in found.items() if entry.kind == UNCOVERED}
    assert uncovered == {b"edited", b"gone", b"grown", b"turned"}
    assert all(found[path].ref == build.CHANGED for path in uncovered)
    assert found[b"same"].kind == FILE and found[b"link"].kind == LINK and b"new" not in found


def test_what_changes_while_somebody_still_waits_is_captured_as_it_is_then(
        project: Path, store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "edited").write_text("edited")
    right = build.SnapshotBuilder.build

    def work(builder: Any) -> Any:
        (project / "edited").write_text("EDITED")
        return right(builder)

    monkeypatch.setattr(build.SnapshotBuilder, "build", work)
    found = capture(project, store, Ended())
    assert found[b"edited"].kind == FILE and store.get(found[b"edited"].ref) == b"EDITED"


def test_a_database_and_its_journal_are_uncovered_together(
        project: Path, store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "db").write_bytes(b"SQLite format 3\0" + b"x" * 100)
    (project / "db-wal").write_bytes(b"\x37\x7f\x06\x82" + b"y" * 100)
    moment = Ended()
    then(monkeypatch, moment, lambda: (project / "db-wal").write_bytes(b"\x37\x7f\x06\x82" + b"z" * 200))
    found = capture(project, store, moment)
    assert {found[b"db"].ref, found[b"db-wal"].ref} == {build.CHANGED}


def test_nothing_has_changed_before_the_moment_is_over() -> None:
    assert not Moment(3600).has_changed(ROW, ())


@pytest.mark.parametrize(("found", "changed"), [(ROW, False), ((), True), ((6, *ROW[1:]), True)])
def test_afterwards_only_what_is_as_it_was_listed_has_not(found: tuple[int, ...], changed: bool) -> None:
    assert Moment(-1).has_changed(ROW, found) is changed


def test_what_was_listed_after_the_moment_has_changed_since_if_its_ctime_says_so() -> None:
    moment = Moment(-1)
    moment.begin(5_000_000_000)  # over for a second, at 5 s of the file system's clock
    before, after = (5, 1, 3_000_000_000, 7, 0), (5, 1, 4_500_000_000, 7, 0)
    assert not moment.has_changed(before, before) and moment.has_changed(after, after)


def test_a_moment_that_ends_early_ends_early_by_the_other_clock_as_well() -> None:
    moment = Moment(3600)
    moment.begin(5_000_000_000)
    listed = (5, 1, 5_500_000_000, 7, 0)
    assert not moment.has_changed(listed, listed)
    moment.end_at(moment.until - 3601)  # a second before 5 s of the file system's clock
    assert moment.has_changed(listed, listed)


# a look that begins when the moment is over

class Past(Moment):
    """A moment that ended when the file system's clock said so."""

    def __init__(self, until_ns: int) -> None:
        super().__init__(-1)
        self._end = until_ns

    def begin(self, now_ns: int) -> None:
        self._ahead_ns = self._end - int(self.until * 1e9)


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[ScanCache]:
    db = DerivedDb(str(tmp_path / "scan-cache.db"), "owner")
    yield ScanCache(db)
    db.close()


def make_old(path: Path) -> int:
    """The time of the last change to a file or directory that is there, and a tick of the clock later."""
    time.sleep(0.05)
    return path.stat().st_ctime_ns


def test_what_another_look_has_seen_since_is_uncovered_all_the_same(
        project: Path, store: ObjectStore, cache: ScanCache) -> None:
    """The cache knows it by then, so nothing about it looks changed."""
    (project / "d").mkdir()
    (project / "d" / "same").write_text("same")
    (project / "d" / "edited").write_text("edited")
    moment = Past(make_old(project / "d" / "edited"))
    (project / "d" / "edited").write_text("EDITED")
    capture(project, store, None, cache)
    capture(project, store, None, cache)
    found = capture(project, store, moment, cache)
    assert found[b"d/edited"].ref == build.CHANGED and found[b"d/same"].kind == FILE
    again = capture(project, store, None, cache)
    assert store.get(again[b"d/edited"].ref) == b"EDITED"


def test_what_the_last_look_saw_and_is_gone_since_may_have_been_there(
        project: Path, store: ObjectStore, cache: ScanCache) -> None:
    for name in ("early", "d", "e"):
        (project / name).mkdir()
        (project / name / "file").write_text(name)
        (project / name / "other").write_text(name)
    capture(project, store, None, cache)
    (project / "early" / "other").unlink()
    moment = Past(make_old(project / "early"))
    (project / "d" / "other").unlink()
    shutil.rmtree(project / "e")
    found = capture(project, store, moment, cache)
    assert {path for path, entry in found.items() if entry.kind == UNCOVERED} == {b"d/other", b"e"}
    assert found[b"d/file"].kind == FILE and b"early/other" not in found
    again = capture(project, store, None, cache)
    assert b"d/other" not in again and b"e" not in again


def test_a_journal_that_changed_takes_its_database_along(
        project: Path, store: ObjectStore, cache: ScanCache) -> None:
    (project / "db").write_bytes(b"SQLite format 3\0" + b"x" * 100)
    (project / "db-wal").write_bytes(b"\x37\x7f\x06\x82" + b"y" * 100)
    capture(project, store, None, cache)
    moment = Past(make_old(project / "db-wal"))
    (project / "db-wal").write_bytes(b"\x37\x7f\x06\x82" + b"z" * 200)
    found = capture(project, store, moment, cache)
    assert {found[b"db"].ref, found[b"db-wal"].ref} == {build.CHANGED}
