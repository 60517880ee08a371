"""One flipped bit, a cut, a swap or a deletion anywhere in a small store: it is found or harmless, nothing
with another copy is lost, and every checkpoint that is not named comes back bit for bit.

A sample runs by default, a larger one with `REWIND_DAMAGE_ROUNDS=N` (and another one with `REWIND_SEED`).
`REWIND_EVERY_BYTE=1` takes one bit of every byte of every file, and other damage at every 64th.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Optional

import pytest

from chat_scene import Scene
from cli.conftest import InProcess, cli  # noqa: F401
from rewind.checkpoint.conversations.stored import write_out
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.records.source import Source
from rewind.controller import Controller
from rewind.errors import RewindError
from rewind.snapshot.trees.content import whole
from rewind.snapshot.trees.listing import every_path
from rewind.snapshot.trees.tree import DIR, UNCOVERED

pytestmark = pytest.mark.slow

EVERY_BYTE = bool(os.environ.get("REWIND_EVERY_BYTE"))
ROUNDS = int(os.environ.get("REWIND_DAMAGE_ROUNDS", "26"))  # in a sample
# Nothing depends on what is in them: they are made anew, or are only about the moment.
DERIVED = ("scan-cache.db", "lock", "rewind.log", "session.json", "hook-state.json")
# A person's decision is needed to use a store again that does not say who made it.
TRUST = "store.json"

Content = dict[str, Any]


@pytest.fixture
def small(cli: InProcess, monkeypatch: pytest.MonkeyPatch) -> Iterator[Small]:  # noqa: F811
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    monkeypatch.setattr("rewind.checkpoint.save.save._later", lambda state, chore: None)
    yield Small(cli)


class Small:
    """A store with some of everything in it, and what each of its checkpoints holds."""

    def __init__(self, rewind: InProcess) -> None:
        self.rewind = rewind
        (rewind.project / "src").mkdir()
        (rewind.project / "src/app.py").write_text("".join(f"line {n}\n" for n in range(400)))
        (rewind.project / "empty").mkdir()
        (rewind.project / "link").symlink_to("src/app.py")
        (rewind.project / "noise").write_bytes(random.Random(1).getrandbits(8 * 4200).to_bytes(4200, "big"))
        talk = Scene(rewind)
        talk.do("first", a="one\n")
        talk.save("Stop")
        talk.do("second", a="two\n", b="new\n")
        talk.save("Stop")
        talk.write(b="unsaved\n")
        rewind.ok("restore", "prev")
        rewind.ok("config", "--set", "storage.format=archive")
        talk.do("third", a="three\n")
        talk.save("Stop")
        rewind.ok("config", "--set", "storage.format=objects")
        talk.do("fourth", c="four\n")
        held = sqlite3.connect(rewind.state / "objects.db")
        held.execute("SELECT count(*) FROM objects").fetchall()
        talk.save("Stop")  # its objects are in the WAL, for somebody still reads
        self.good = rewind.project.parent / "good"
        left_out = shutil.ignore_patterns("*-shm", "lock", "scan-cache*")
        shutil.copytree(rewind.state, self.good, ignore=left_out)
        held.close()
        assert (self.good / "objects.db-wal").stat().st_size
        self.put_back()
        self.content = {record.name: self.read(record) for record in self.records()}
        assert len(self.content) == 6 and None not in self.content.values()
        self.newest = max(self.content)

    def put_back(self) -> None:
        shutil.rmtree(self.rewind.state)
        shutil.copytree(self.good, self.rewind.state)
        self.records()  # which fills the index: it knows the files by their inodes

    def controller(self) -> Controller:
        return Controller(str(self.rewind.project), forgiving=True)

    def records(self) -> list[Record]:
        controller = self.controller()
        try:
            return controller.list_checkpoints(backups=True)
        finally:
            controller.close()

    def read(self, record: Record) -> Optional[Content]:
        """Everything a checkpoint holds, as a restore would have it; None when it cannot be had."""
        controller = self.controller()
        state = controller.state
        try:
            found: Content = {}
            with Source(state, record) as source:
                for path, entry in every_path(record.tree, source.tree):
                    held = entry.kind not in (DIR, UNCOVERED)
                    found[os.fsdecode(path)] = (entry.kind, entry.mode,
                                                whole(entry, source.blobs) if held else b"")
            if record.data.get("hasTranscript"):
                found["\0chat"] = self._chat(state, record)
            return found
        except RewindError:
            return None
        finally:
            controller.close()

    def _chat(self, state: Any, record: Record) -> bytes:
        path = self.rewind.project.parent / "chat"
        with open(path, "wb") as file:
            write_out(state, record, file.fileno())
        return path.read_bytes()

    def files(self) -> list[str]:
        found = sorted(str(p.relative_to(self.good)) for p in self.good.rglob("*") if p.is_file())
        return [file for file in found if (self.good / file).stat().st_size]

    # one round

    def check(self, file: str, what: str, at: int) -> None:
        """Damage one file, look, repair, and compare everything."""
        self.put_back()
        if file in DERIVED:
            self.goes_on()  # so that it knows the project
        damage(self.rewind.state / file, what, at)
        told = self.look()
        if told is None:
            assert os.path.basename(file) in (TRUST, "objects.db"), "only these make a store unusable"
            return
        if not told and self.whole(file):
            return  # it did no harm
        assert told or os.path.basename(file) in DERIVED, "the damage hurts, and nobody says so"
        self.repaired()

    def look(self) -> Optional[list[str]]:
        try:
            controller = self.controller()
        except RewindError:
            return None
        try:
            return controller.validate(deep=True)
        finally:
            controller.close()

    def whole(self, file: str) -> bool:
        read = {record.name: self.read(record) for record in self.records()}
        return all(read.get(name) == content for name, content in self.content.items())

    def repaired(self) -> None:
        controller = self.controller()
        try:
            done = controller.repair()
        finally:
            controller.close()
        found = {record.name: self.read(record) for record in self.records()}
        for name, content in self.content.items():
            if name in done.lost or (name not in found and any(name in t for t, _ in done.rescued)):
                continue  # said to be incomplete, or its record was put aside, and that was said
            assert found.get(name) == content, f"{name} is not what it was, and nobody says so"
        lost = done.lost.get(self.newest)
        assert lost is None, (lost.paths, lost.conversation)
        self.goes_on()

    def goes_on(self) -> None:
        controller = self.controller()
        try:
            name = controller.save("after the repair").record.name
            record = controller.find(name)
        finally:
            controller.close()
        assert self.read(record) is not None


def damage(path: Path, what: str, at: int) -> None:
    data = bytearray(path.read_bytes())
    at %= len(data)
    info = path.stat()
    if what == "delete":
        path.unlink()
        return
    if what == "flip":
        data[at] ^= 1 << at % 8
    elif what == "cut":
        del data[at:]
    elif what == "zeros":
        data[at:at + 512] = bytes(len(data[at:at + 512]))
    else:  # two blocks have changed places
        other = (at + len(data) // 2) % len(data)
        a, b = bytes(data[at:at + 64]), bytes(data[other:other + 64])
        data[at:at + len(b)], data[other:other + len(a)] = b, a
    path.write_bytes(bytes(data))
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))  # rot leaves no trace in the times


def points(small: Small) -> Iterator[tuple[str, str, int]]:
    sizes = {file: (small.good / file).stat().st_size for file in small.files()}
    sizes["scan-cache.db"] = 64 << 10
    chance = random.Random(os.environ.get("REWIND_SEED", "7"))
    if EVERY_BYTE:
        for file, size in sizes.items():
            yield from ((file, "flip", at) for at in range(size))
            yield from ((file, what, at) for what in ("cut", "zeros", "swap") for at in range(0, size, 64))
            yield file, "delete", 0
        return
    names = list(sizes)
    for number in range(ROUNDS * 3 // 5):
        file = names[number % len(names)] if number % 2 else "objects.db"
        yield file, "flip", chance.randrange(sizes[file])
    for number in range(ROUNDS - ROUNDS * 3 // 5):
        file = names[number % len(names)]
        yield file, chance.choice(["cut", "zeros", "swap", "delete"]), chance.randrange(sizes[file])


def test_damage_is_found_or_harmless_and_costs_only_what_has_no_other_copy(small: Small) -> None:
    for file, what, at in points(small):
        try:
            small.check(file, what, at)
        except Exception as error:
            raise AssertionError(f"{what} of {file} at {at}: {type(error).__name__}: {error}") from error


def test_a_store_without_its_database_keeps_what_the_project_and_its_archives_hold(small: Small) -> None:
    (small.rewind.state / "objects.db").unlink()
    (small.rewind.state / "objects.db-wal").unlink(missing_ok=True)
    small.repaired()


def test_a_database_that_is_cut_in_half_keeps_what_is_in_the_other_half(small: Small) -> None:
    path = small.rewind.state / "objects.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    path.write_bytes(path.read_bytes()[:path.stat().st_size // 2])
    small.repaired()
