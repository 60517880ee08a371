"""A capture that takes longer than somebody waits: what changed after that is not passed off as captured."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewind.snapshot import build
from rewind.snapshot.cache import ScanCache
from rewind.snapshot.listing import every_path
from rewind.snapshot.moment import Moment
from rewind.snapshot.rules import Rules
from rewind.snapshot.scan import scan
from rewind.snapshot.tree import FILE, LINK, UNCOVERED, Entry
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


def capture(project: Path, store: ObjectStore, moment: Moment) -> dict[bytes, Entry]:
    snapshot = scan(os.fsencode(project), Rules(builtin=b""), ScanCache(None), store, keep=True, processes=1,
                    moment=moment)
    return dict(every_path(snapshot.root, snapshot.tree))


def then(monkeypatch: pytest.MonkeyPatch, moment: Ended, change: Any) -> None:
    """After the walk the moment is over, and somebody goes on working."""
    right = build.Builder.build

    def late(builder: Any) -> Any:
        moment.over = True
        change()
        return right(builder)

    monkeypatch.setattr(build.Builder, "build", late)


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
    right = build.Builder.build

    def work(builder: Any) -> Any:
        (project / "edited").write_text("EDITED")
        return right(builder)

    monkeypatch.setattr(build.Builder, "build", work)
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
