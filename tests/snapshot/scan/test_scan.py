"""The scan: what changed is noticed however it was done, and what did not change is not read."""

from __future__ import annotations

import fcntl
import gc
import marshal
import os
import select
import shutil
import stat
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable, Optional

import pytest

from rewind.errors import StoreDamaged
from rewind.snapshot.rules.rules import Rules
from rewind.snapshot.scan import build, walk
from rewind.snapshot.scan import scan as scanning
from rewind.snapshot.scan.build import Snapshot
from rewind.snapshot.scan.cache import ScanCache
from rewind.snapshot.scan.moment import Moment
from rewind.snapshot.scan.read import read_file
from rewind.snapshot.scan.scan import scan
from rewind.snapshot.trees.content import whole
from rewind.snapshot.trees.listing import every_path
from rewind.snapshot.trees.tree import DIR, FILE, LINK, UNCOVERED, TreeEntry
from rewind.store.blobs import is_loose
from rewind.store.derived import DerivedDb
from rewind.store.objects import ObjectStore

# A real `rewind` has one thread; a test runner may have more.
pytestmark = [pytest.mark.slow,
              pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")]
BUILTIN = b"node_modules/\n"


class Scanner:
    """A project, a store and a cache; every scan is kept, as a save does."""

    def __init__(self, root: Path, state: Path) -> None:
        self.root = root
        self.state = state
        self.rules = Rules(builtin=BUILTIN)
        self.store = ObjectStore(str(state / "objects.db"), create=True)
        self.derived = DerivedDb(str(state / "scan-cache.db"), "owner")
        self.reads: list[bytes] = []

    def __call__(self, *, processes: int = 1, keep: bool = True) -> Snapshot:
        self.reads.clear()
        snapshot = scan(os.fsencode(self.root), self.rules, ScanCache(self.derived), self.store,
                        keep=keep, processes=processes)
        if keep:
            self.store.commit()
            snapshot.remember(ScanCache(self.derived))
        return snapshot

    def use(self, **rules: Any) -> None:
        self.rules = Rules(builtin=BUILTIN, **rules)

    def entries(self, **how: Any) -> dict[bytes, TreeEntry]:
        snapshot = self(**how)
        return dict(every_path(snapshot.root, snapshot.tree))

    def contents(self) -> dict[bytes, bytes]:
        return {path: whole(entry, self.store) for path, entry in self.entries().items()
                if entry.kind == FILE}

    def fresh_root(self) -> bytes:
        """The tree id that a scan without any memory finds."""
        return scan(os.fsencode(self.root), self.rules, ScanCache(None), None, keep=False,
                    processes=1).root

    def close(self) -> None:
        self.store.close()
        self.derived.close()


def in_folder(name: bytes, dir_fd: Optional[int]) -> bytes:
    """The path of a name in an open directory."""
    if dir_fd is None:
        return name
    if os.path.isdir("/proc/self/fd"):
        folder = os.readlink(b"/proc/self/fd/%d" % dir_fd)
    else:
        import fcntl

        folder = fcntl.fcntl(dir_fd, 50, bytes(1024)).rstrip(b"\0")  # F_GETPATH of macOS
    return os.path.join(folder, name)


@pytest.fixture
def look(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scanner]:
    (tmp_path / "state").mkdir()
    scanner = Scanner(project, tmp_path / "state")
    read = read_file

    def counted(path: bytes, sink: Any, seen: Any, dir_fd: Optional[int], *more: Any) -> Any:
        scanner.reads.append(in_folder(path, dir_fd)[len(os.path.realpath(os.fsencode(project))) + 1:])
        return read(path, sink, seen, dir_fd, *more)

    monkeypatch.setattr(build, "read_file", counted)
    yield scanner
    scanner.close()
    with warnings.catch_warnings():  # a refused cache must not trouble whatever test comes next
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def settled(look: Scanner, monkeypatch: pytest.MonkeyPatch) -> Scanner:
    """As if every file had been written long ago; only its `ctime` cannot be set back."""
    monkeypatch.setattr(scanning, "RACY_NS", -10**15)
    return look


def fill(root: Path) -> None:
    (root / "src/deep").mkdir(parents=True)
    (root / "src/app.py").write_text("print(1)\n")
    (root / "src/deep/lib.py").write_text("x = 1\n")
    (root / "README").write_text("read me\n")
    (root / "empty").mkdir()
    (root / "link").symlink_to("README")


def reasons(entries: dict[bytes, TreeEntry]) -> dict[bytes, bytes]:
    return {path: e.ref for path, e in entries.items() if e.kind == UNCOVERED}


# what is read

def test_an_unchanged_tree_is_not_read_again(settled: Scanner) -> None:
    fill(settled.root)
    first = settled()
    assert sorted(settled.reads) == [b"README", b"src/app.py", b"src/deep/lib.py"]
    again = settled()
    assert settled.reads == [] and again.root == first.root
    assert (again.files, again.bytes) == (first.files, first.bytes) == (4, 9 + 6 + 8 + 6)


def test_only_the_changed_file_is_read(settled: Scanner) -> None:
    fill(settled.root)
    first = settled()
    (settled.root / "src/app.py").write_text("print(2)\n")
    assert settled().root == settled.fresh_root() != first.root
    settled()
    (settled.root / "src/new.py").write_text("")
    settled()
    assert settled.reads == [b"src/new.py"]


def test_a_look_without_keeping_stores_nothing(settled: Scanner) -> None:
    fill(settled.root)
    seen = settled(keep=False)
    assert settled.store.ids() == []
    assert settled().root == seen.root


def test_a_file_written_a_moment_ago_is_read_again_although_nothing_seems_changed(look: Scanner) -> None:
    (look.root / "file").write_text("aaaa")
    look()
    look()
    assert look.reads == [b"file"]


def test_an_edit_of_equal_size_with_the_old_time_within_the_same_instant_is_noticed(look: Scanner) -> None:
    path = look.root / "file"
    path.write_text("aaaa")
    info = path.stat()
    look()
    with open(path, "r+") as file:
        file.write("bbbb")
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert look.contents() == {b"file": b"bbbb"}


def test_an_edit_whose_time_was_put_back_is_noticed_by_its_ctime(settled: Scanner) -> None:
    path = settled.root / "file"
    path.write_text("aaaa")
    info = path.stat()
    settled()
    while path.stat().st_ctime_ns == info.st_ctime_ns:  # the kernel's clock ticks in milliseconds
        with open(path, "r+") as file:
            file.write("bbbb")
        os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert path.stat().st_mtime_ns == info.st_mtime_ns
    assert settled.contents() == {b"file": b"bbbb"}


def test_a_file_renamed_over_another_is_noticed(settled: Scanner) -> None:
    a, b = settled.root / "a", settled.root / "b"
    a.write_text("aaaa")
    b.write_text("bbbb")
    os.utime(a, (1, 1))
    os.utime(b, (1, 1))
    settled()
    os.rename(b, a)
    assert settled.contents() == {b"a": b"bbbb"}


def test_two_files_that_change_places_are_noticed(settled: Scanner) -> None:
    for name in "ab":
        (settled.root / name).write_text(name * 4)
        os.utime(settled.root / name, (1, 1))
    settled()
    os.rename(settled.root / "a", settled.root / "c")
    os.rename(settled.root / "b", settled.root / "a")
    os.rename(settled.root / "c", settled.root / "b")
    assert settled.contents() == {b"a": b"bbbb", b"b": b"aaaa"}


def test_a_change_of_mode_alone_is_noticed(settled: Scanner) -> None:
    fill(settled.root)
    settled()
    (settled.root / "README").chmod(0o751)
    (settled.root / "empty").chmod(0o700)
    entries = settled.entries()
    assert entries[b"README"].mode == 0o751 and entries[b"empty"].mode == 0o700
    assert settled().root == settled.fresh_root()


@pytest.mark.parametrize("kinds", [("file", "dir"), ("dir", "file"), ("file", "link"), ("link", "dir"),
                                   ("dir", "link"), ("link", "file"), ("file", "fifo"), ("fifo", "file")],
                         ids="-to-".join)
def test_a_path_that_becomes_something_else_is_noticed(settled: Scanner, kinds: tuple[str, str]) -> None:
    path = settled.root / "it"
    make: dict[str, Callable[[], object]] = {
        "file": lambda: path.write_text("x"), "link": lambda: path.symlink_to("x"),
        "dir": lambda: os.makedirs(path / "in"), "fifo": lambda: os.mkfifo(path)}
    expected = {"file": FILE, "link": LINK, "dir": DIR, "fifo": UNCOVERED}
    for kind in kinds:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif os.path.lexists(path):
            path.unlink()
        make[kind]()
        assert settled.entries()[b"it"].kind == expected[kind]
    assert settled().root == settled.fresh_root()


def test_a_deleted_directory_that_comes_back_is_seen_as_it_is_now(settled: Scanner) -> None:
    fill(settled.root)
    settled()
    shutil.rmtree(settled.root / "src")
    assert b"src" not in settled.entries()
    (settled.root / "src/deep").mkdir(parents=True)
    (settled.root / "src/deep/lib.py").write_text("x = 2\n")
    assert settled.contents()[b"src/deep/lib.py"] == b"x = 2\n"
    assert settled().root == settled.fresh_root()


# rules

def test_a_changed_ignore_file_judges_everything_below_again(settled: Scanner) -> None:
    settled.use(policy="none")
    (settled.root / "sub/deep").mkdir(parents=True)
    for name in ("a.log", "sub/b.log", "sub/deep/c.log", "sub/deep/c.txt"):
        (settled.root / name).write_text(name)
    assert reasons(settled.entries()) == {}
    (settled.root / ".gitignore").write_text("*.log\n")
    logs = (b"a.log", b"sub/b.log", b"sub/deep/c.log")
    assert reasons(settled.entries()) == dict.fromkeys(logs, b"ignored")
    (settled.root / "sub/.gitignore").write_text("!c.log\n")
    assert reasons(settled.entries()) == dict.fromkeys((b"a.log", b"sub/b.log"), b"ignored")
    (settled.root / "sub/.gitignore").unlink()
    (settled.root / ".gitignore").write_text("a.log\n")
    assert reasons(settled.entries()) == {b"a.log": b"ignored"}
    assert settled().root == settled.fresh_root()


def test_other_settings_judge_everything_again(settled: Scanner) -> None:
    (settled.root / ".gitignore").write_text("*.log\n")
    (settled.root / "a.log").write_text("x" * 2000)
    (settled.root / "big").write_text("x" * 5000)
    assert reasons(settled.entries()) == {}
    settled.use(file_bytes=1999)
    assert reasons(settled.entries()) == {b"a.log": b"ignored-large"}
    settled.use(file_bytes=1999, policy="all")
    assert reasons(settled.entries()) == {}
    settled.use(max_bytes=4999)
    assert reasons(settled.entries()) == {b"big": b"too-large"}
    assert settled().root == settled.fresh_root()


def test_a_pin_is_captured_inside_a_directory_that_never_is(settled: Scanner) -> None:
    where = settled.root / "node_modules/pkg/lib"
    where.mkdir(parents=True)
    (where / "keep.js").write_text("mine")
    (where / "other.js").write_text("theirs")
    assert reasons(settled.entries()) == {b"node_modules": b"skip-list"}
    settled.use(pins=[b"node_modules/pkg/lib/keep.js"])
    snapshot = settled()
    entries = dict(every_path(snapshot.root, snapshot.tree))
    assert set(entries) == {b"node_modules", b"node_modules/pkg", b"node_modules/pkg/lib",
                            b"node_modules/pkg/lib/keep.js"}
    assert snapshot.tree(entries[b"node_modules/pkg/lib"].ref).partial == b"pins-only"
    (where / "keep.js").write_text("mine too")
    assert settled.contents()[b"node_modules/pkg/lib/keep.js"] == b"mine too"
    settled.use()
    assert reasons(settled.entries()) == {b"node_modules": b"skip-list"}


def test_a_small_ignored_directory_is_captured_until_it_crosses_the_limit(settled: Scanner) -> None:
    settled.use(dir_files=4, dir_bytes=1000)
    (settled.root / ".gitignore").write_text("build/\n")
    deep = settled.root / "build/deep"
    deep.mkdir(parents=True)
    for number in range(4):
        (deep / str(number)).write_text("x")
    assert b"build/deep/3" in settled.entries()
    (deep / "one more").write_text("x")
    assert reasons(settled.entries()) == {b"build": b"ignored-large"}
    (deep / "one more").unlink()
    assert b"build/deep/3" in settled.entries()
    (deep / "3").write_text("x" * 1000)
    assert reasons(settled.entries()) == {b"build": b"ignored-large"}
    settled.use(dir_files=4, dir_bytes=1000, pins=[b"build/deep/2"])
    assert set(settled.entries()) == {b".gitignore", b"build", b"build/deep", b"build/deep/2"}
    assert settled().root == settled.fresh_root()


def test_a_nested_repository_is_captured_with_its_own_rules_and_without_its_git(settled: Scanner) -> None:
    settled.use(policy="none")
    (settled.root / ".gitignore").write_text("*.log\n")
    exclude = settled.root / "nested/.git/info/exclude"
    exclude.parent.mkdir(parents=True)
    (settled.root / "nested/.git/HEAD").write_text("ref: refs/heads/main\n")
    for name in ("nested/a.log", "nested/b.tmp", "outside.log"):
        (settled.root / name).write_text(name)
    assert reasons(settled.entries()) == {b"outside.log": b"ignored"}
    exclude.write_text("*.tmp\n")
    entries = settled.entries()
    assert reasons(entries) == {b"outside.log": b"ignored", b"nested/b.tmp": b"ignored"}
    assert not [path for path in entries if b".git" in path.split(b"/")]
    shutil.rmtree(settled.root / "nested/.git")
    assert reasons(settled.entries()) == {b"outside.log": b"ignored", b"nested/a.log": b"ignored"}


def test_excludes_of_a_submodule_that_change_are_noticed_although_they_lie_elsewhere(
        settled: Scanner, tmp_path: Path) -> None:
    settled.use(policy="none")
    exclude = tmp_path / "modules/sub/info/exclude"
    exclude.parent.mkdir(parents=True)
    (tmp_path / "modules/sub/HEAD").write_text("ref: refs/heads/main\n")
    (settled.root / "sub/deep").mkdir(parents=True)
    (settled.root / "sub/.git").write_text(f"gitdir: {tmp_path}/modules/sub\n")
    (settled.root / "sub/deep/b.tmp").write_text("x")
    for text, expected in (("", {}), ("*.tmp\n", {b"sub/deep/b.tmp": b"ignored"}), ("", {})):
        exclude.write_text(text)
        assert reasons(settled.entries()) == expected
        root = settled().root
        assert settled.reads == []  # what did not change is not looked into again
        assert root == settled.fresh_root()


def test_a_new_rewindignore_within_an_ignored_directory_is_obeyed_at_once(settled: Scanner) -> None:
    (settled.root / ".gitignore").write_text("build/\n")
    (settled.root / "build/a/secret").mkdir(parents=True)
    (settled.root / "build/a/secret/key").write_text("x")
    (settled.root / "build/a/b").mkdir()
    assert b"build/a/secret/key" in settled.entries()
    (settled.root / "build/a/.rewindignore").write_text("secret/\n")
    assert reasons(settled.entries()) == {b"build/a/secret": b"skip-list"}
    assert settled().root == settled.fresh_root()
    (settled.root / "build/a/.rewindignore").unlink()
    assert b"build/a/secret/key" in settled.entries()


def test_symbolic_links_are_never_followed(settled: Scanner, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/file").write_text("secret")
    (settled.root / "sub").mkdir()
    targets = {"up": "..", "self": "self", "sub/loop": "../sub", "out": str(tmp_path / "secret"),
               "broken": "nowhere"}
    for name, target in targets.items():
        (settled.root / name).symlink_to(target)
    entries = settled.entries()
    assert {p: e.ref for p, e in entries.items() if e.kind == LINK} == {
        os.fsencode(name): os.fsencode(target) for name, target in targets.items()}
    assert len(entries) == 6
    (settled.root / "broken").unlink()
    (settled.root / "broken").symlink_to("nowhile")
    assert settled.entries()[b"broken"].ref == b"nowhile"


@pytest.mark.parametrize("sizes, rules, expected", [
    ((100, 100), {}, {}),
    ((600, 600), {"file_bytes": 1000}, b"ignored-large"),
    ((600, 300), {"file_bytes": 1000}, {}),
    ((100, 100), {"policy": "none"}, b"ignored"),
    ((100, 5000), {"max_bytes": 4000}, b"too-large"),
])
def test_a_database_and_its_journal_share_one_fate(
        settled: Scanner, sizes: tuple[int, int], rules: dict[str, Any], expected: Any) -> None:
    (settled.root / ".gitignore").write_text("app.db\n")  # the journal's name is not ignored
    settled.use(**rules)
    (settled.root / "app.db").write_bytes(b"x" * sizes[0])
    (settled.root / "app.db-wal").write_bytes(b"\x37\x7f\x06\x82".ljust(sizes[1], b"x"))
    found = reasons(settled.entries())
    assert found == (expected and dict.fromkeys((b"app.db", b"app.db-wal"), expected))


@pytest.mark.parametrize("head", [b"x", b"\0"], ids=["text", "zeroes"])
def test_a_large_file_that_only_has_the_name_of_a_journal_does_not_weigh_on_its_neighbour(
        settled: Scanner, head: bytes) -> None:
    settled.use(max_bytes=4000)
    (settled.root / "report").write_bytes(b"important\n")
    (settled.root / "report-journal").write_bytes(head * 5000)
    assert reasons(settled.entries()) == {b"report-journal": b"too-large"}
    (settled.root / "report").write_bytes(b"SQLite format 3\0")
    with_zeroes = {b"report": b"too-large"} if head == b"\0" else {}
    assert reasons(settled.entries()) == {b"report-journal": b"too-large", **with_zeroes}


def test_a_log_with_the_name_of_a_journal_that_outgrows_the_limit_does_not_take_its_neighbour_along(
        settled: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    from rewind.snapshot.scan import read as reading

    settled.use(max_bytes=1000)
    for name in ("report", "report-journal"):
        (settled.root / name).write_bytes(b"x" * 900)
    real = reading._read_upto

    def growing(fd: int, size: int) -> bytes:
        if b"y" not in os.pread(fd, 2000, 0) and os.fstat(fd).st_ino == log.stat().st_ino:
            with open(log, "ab") as file:
                file.write(b"y" * 200)
        return real(fd, size)

    log = settled.root / "report-journal"
    monkeypatch.setattr(reading, "_read_upto", growing)
    assert reasons(settled.entries()) == {b"report-journal": b"too-large"}


def test_an_ignored_journal_is_captured_with_its_database(settled: Scanner) -> None:
    settled.use(policy="none")
    (settled.root / ".gitignore").write_text("*-wal\n*-shm\n")
    for name in ("app.db", "app.db-wal", "app.db-shm", "lonely-wal"):
        (settled.root / name).write_bytes(b"x")
    assert reasons(settled.entries()) == {b"lonely-wal": b"ignored"}


# a tree that does not hold still

def before_reading(monkeypatch: pytest.MonkeyPatch, name: bytes, action: Callable[[bytes], object]) -> None:
    """Do something to a file once, after it was listed and before it is read."""
    read: Callable[..., Any] = vars(build)["read_file"]
    waiting = [True]

    def meddled(path: bytes, sink: Any, seen: Any, dir_fd: Optional[int], *more: Any) -> Any:
        if os.path.basename(path) == name and waiting:
            waiting.pop()
            action(in_folder(path, dir_fd))
        return read(path, sink, seen, dir_fd, *more)

    monkeypatch.setattr(build, "read_file", meddled)


def test_a_file_that_vanishes_during_the_scan_is_simply_not_there(
        settled: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(settled.root)
    before_reading(monkeypatch, b"app.py", os.unlink)
    assert b"src/app.py" not in settled.entries()
    assert settled().root == settled.fresh_root()


def test_a_file_that_changes_before_it_is_read_is_captured_as_it_is_then(
        settled: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(settled.root)
    before_reading(monkeypatch, b"app.py", lambda path: Path(os.fsdecode(path)).write_text("other\n"))
    assert settled.contents()[b"src/app.py"] == b"other\n"
    assert settled().root == settled.fresh_root()


def test_a_file_that_becomes_a_fifo_is_not_waited_for_and_marked_as_not_captured(
        settled: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(settled.root)

    def replace(path: bytes) -> None:
        os.unlink(path)
        os.mkfifo(path)

    before_reading(monkeypatch, b"app.py", replace)
    assert reasons(settled.entries()) == {b"src/app.py": b"unreadable"}
    os.unlink(settled.root / "src/app.py")
    (settled.root / "src/app.py").write_text("back\n")
    assert settled.contents()[b"src/app.py"] == b"back\n"


def test_a_file_that_keeps_growing_does_not_hold_up_the_scan(
        settled: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    from rewind.snapshot.scan import read as reading

    path = settled.root / "log"
    path.write_text("line\n")
    once = reading._read_once

    def growing(*args: Any) -> Any:
        found = once(*args)
        with open(path, "a") as file:
            file.write("line\n")
        return found

    with monkeypatch.context() as patch:
        patch.setattr(reading, "_read_once", growing)
        assert settled.entries()[b"log"].kind == FILE
    assert settled.contents()[b"log"] == path.read_bytes()


def test_a_file_that_outgrows_the_limit_while_it_is_read_is_left_out(
        settled: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing is read that was appended while it was read: that may have no end."""
    from rewind.snapshot.scan import read as reading

    settled.use(max_bytes=1000)
    for name, head in (("log", b""), ("app.db", b"SQLite format 3\0"), ("app.db-wal", b"\x37\x7f\x06\x82")):
        (settled.root / name).write_bytes(head.ljust(900, b"x"))
    real, seen = reading._read_upto, []

    def growing(fd: int, size: int) -> bytes:
        data = real(fd, size)
        name = os.path.basename(os.readlink(f"/proc/self/fd/{fd}"))
        if name != "app.db":
            with open(settled.root / name, "ab") as file:
                file.write(b"y" * 60)
        seen.append(len(data))
        return data

    with monkeypatch.context() as patch:
        patch.setattr(reading, "_read_upto", growing)
        assert reasons(settled.entries()) == dict.fromkeys((b"log", b"app.db", b"app.db-wal"), b"too-large")
    assert max(seen) <= 1000
    (settled.root / "log").write_bytes(b"short")
    assert settled.contents()[b"log"] == b"short"


def test_an_unreadable_file_is_marked_and_captured_once_it_can_be_read(
        settled: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(settled.root)
    real = os.open

    def refuse(path: Any, *args: Any, **more: Any) -> int:
        if isinstance(path, bytes) and path.endswith(b"app.py"):
            raise PermissionError(13, "Permission denied")
        return real(path, *args, **more)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        assert reasons(settled.entries()) == {b"src/app.py": b"unreadable"}
    assert reasons(settled.entries()) == {}
    assert settled().root == settled.fresh_root()


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("vanishes", [True, False])
def test_a_directory_that_cannot_be_listed_does_not_cost_the_others(
        settled: Scanner, monkeypatch: pytest.MonkeyPatch, vanishes: bool, processes: int) -> None:
    make_many(settled.root)
    settled()
    real = walk.list_rows

    def troubled(prefix: bytes, nested: bool) -> Any:
        here = prefix or os.getcwdb() + b"/"
        if here.endswith(b"/d7/"):
            if not vanishes:
                raise PermissionError(13, "Permission denied")
            shutil.rmtree(here, ignore_errors=True)
            raise FileNotFoundError(2, "No such file or directory")
        return real(prefix, nested)

    with monkeypatch.context() as patch:
        patch.setattr(walk, "list_rows", troubled)
        entries = settled.entries(processes=processes)
    assert reasons(entries) == ({} if vanishes else {b"d7": b"unreadable"})
    assert b"d8/inner/file" in entries and b"d7/inner/file" not in entries
    assert settled(processes=processes).root == settled.fresh_root()
    assert (b"d7/inner/file" in settled.entries()) is not vanishes


def test_a_directory_that_made_way_for_a_link_is_not_looked_into_and_what_failed_below_it_is_no_matter(
        settled: Scanner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fill(settled.root)
    settled()
    new, outside = settled.root / "new", tmp_path / "outside"
    (new / "closed").mkdir(parents=True)
    (new / "file").write_text("inside\n")
    outside.mkdir()
    (outside / "file").write_text("outside\n")
    real = walk.list_rows

    def swapped(prefix: bytes, nested: bool) -> Any:
        here = prefix or os.getcwdb() + b"/"
        if here.endswith(b"/new/closed/"):
            new.rename(tmp_path / "elsewhere")
            new.symlink_to(outside)
            raise PermissionError(13, "Permission denied")
        return real(prefix, nested)

    with monkeypatch.context() as patch:
        patch.setattr(walk, "list_rows", swapped)
        entries = settled.entries()
    assert reasons(entries) == {b"new": b"unreadable"}
    assert not [path for path in entries if path.startswith(b"new/")]
    assert settled.entries()[b"new"].kind == LINK


# several processes, and a memory that fails

def make_many(root: Path) -> None:
    for number in range(40):
        (root / f"d{number}/inner").mkdir(parents=True)
        (root / f"d{number}/inner/file").write_text(f"{number}\n")
    (root / ".gitignore").write_text("d1/\nd2/inner/\n")
    (root / "d3/.gitignore").write_text("file\n")


def totals(snapshot: Snapshot) -> tuple[object, ...]:
    return snapshot.root, snapshot.files, snapshot.bytes, snapshot.uncovered


@pytest.mark.parametrize("keep", [True, False])
def test_a_change_deep_down_is_counted_in_every_directory_above_it(settled: Scanner, keep: bool) -> None:
    deep = settled.root / "a" / "b" / "c"
    for folder in (deep, deep / "d", settled.root / "a" / "beside"):
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("one", "two"):
            (folder / name).write_text(name)
    settled()

    def again() -> None:
        made = settled(keep=keep)
        assert totals(made) == totals(scan(os.fsencode(settled.root), settled.rules, ScanCache(None), None,
                                           keep=False, processes=1))
        assert len(list(every_path(made.root, made.tree))) > 6

    (deep / "d" / "one").write_text("longer than before")
    (deep / "three").write_text("3")
    again()
    os.mkfifo(deep / "d" / "pipe")
    (deep / "two").unlink()
    again()
    shutil.rmtree(deep / "d")
    (deep.parent / "new" / "below").mkdir(parents=True)
    (deep.parent / "new" / "below" / "file").write_text("new")
    again()


def test_a_directory_below_that_the_cache_has_lost_is_found_all_the_same(settled: Scanner) -> None:
    deep = settled.root / "a" / "b" / "c"
    deep.mkdir(parents=True)
    (deep / "file").write_text("one")
    settled()
    settled.derived.write([("DELETE FROM dirs WHERE path=?", [(b"a/b/c",)])])
    (deep / "file").write_text("two")
    assert settled().root == settled.fresh_root()


def test_a_tree_that_is_known_to_be_damaged_is_stored_anew_when_something_beside_it_changes(
        settled: Scanner) -> None:
    for name in ("whole", "damaged"):
        (settled.root / "above" / name).mkdir(parents=True)
        (settled.root / "above" / name / "file").write_text(name)
    found = settled.entries()
    bad = found[b"above/damaged"].ref
    settled.store.lost = {bad}
    (settled.root / "above" / "whole" / "file").write_text("changed")
    settled()
    assert settled.store.healed == {bad}


def test_with_hardly_anything_held_in_memory_the_same_tree_is_found(
        settled: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    make_many(settled.root)
    monkeypatch.setattr(build, "_AT_ONCE", 3)
    monkeypatch.setattr(build, "_MOST_HELD", 4)
    assert settled().root == settled.fresh_root()
    (settled.root / "d5/inner/file").write_text("changed\n")
    (settled.root / ".gitignore").write_text("d2/\n")  # looks at everything again
    entries = settled.entries()
    found = settled()
    assert settled.reads == [] and entries[b"d5/inner/file"].size == len("changed\n")
    assert found.root == settled.fresh_root()
    assert len([entry for entry in entries.values() if entry.kind == FILE]) == 40 + len([".gitignore"] * 2)


# somebody waits until everything has been read

class Waiter:
    """What had been read when it was told that nothing more will be."""

    def __init__(self, look: Scanner) -> None:
        self.look = look
        self.told: list[list[bytes]] = []
        self.do: Callable[[], object] = lambda: None

    def scan(self, moment: Optional[Moment] = None, cache: Optional[ScanCache] = None) -> Snapshot:
        self.look.reads.clear()
        self.told.clear()
        snapshot = scan(os.fsencode(self.look.root), self.look.rules, cache or ScanCache(self.look.derived),
                        self.look.store, keep=True, processes=1, moment=moment, all_read=self._all_read)
        self.look.store.commit()
        snapshot.remember(ScanCache(self.look.derived))
        return snapshot

    def _all_read(self) -> None:
        self.told.append(list(self.look.reads))
        self.do()


@pytest.mark.parametrize("at_once", [1, 256])
@pytest.mark.parametrize("bulk", [0, 8 << 20])
def test_who_waits_is_told_once_when_all_is_read_and_before_it_is_stored(
        settled: Scanner, monkeypatch: pytest.MonkeyPatch, at_once: int, bulk: int) -> None:
    monkeypatch.setattr(build, "_AT_ONCE", at_once)
    monkeypatch.setattr(build, "_BULK_BYTES", bulk)
    fill(settled.root)
    (settled.root / "copy").write_text("read me\n")
    (settled.root / "long").write_text("compress me " * 100)
    waiter = Waiter(settled)
    waiter.do = lambda: [path.write_text("later\n") for path in settled.root.rglob("*.py")]
    found = waiter.scan()
    assert waiter.told == [settled.reads] and len(settled.reads) == 5
    entries = dict(every_path(found.root, found.tree))
    assert whole(entries[b"src/app.py"], settled.store) == b"print(1)\n"
    assert whole(entries[b"src/deep/lib.py"], settled.store) == b"x = 1\n"
    assert is_loose(settled.store.packed(entries[b"long"].ref)) is not bool(bulk)
    waiter.do = lambda: None
    found = waiter.scan()
    assert sorted(settled.reads) == [b"src/app.py", b"src/deep/lib.py"] and waiter.told == [settled.reads]
    assert found.root == settled.fresh_root()
    assert waiter.scan().root == found.root and waiter.told == [[]]


def test_what_a_later_scan_has_seen_is_still_late_for_a_moment_before_it(settled: Scanner) -> None:
    fill(settled.root)
    seen = settled()
    moment = Moment(-1)  # over for a second when those files were written
    moment.begin(time.time_ns())
    found = Waiter(settled).scan(moment)
    late = reasons(dict(every_path(found.root, found.tree)))
    assert found.root != seen.root and b"changed" in late.values()


@pytest.mark.parametrize("ask", [ScanCache.load, ScanCache.database])
def test_a_cache_that_has_seen_more_than_the_store_holds_is_forgotten(settled: Scanner, ask: Any) -> None:
    fill(settled.root)
    settled()
    cache = ScanCache(settled.derived)
    ask(cache, settled.store.top())
    assert cache.files()
    ask(cache, 0)  # the objects of another store, or of an earlier copy of this one
    assert not cache.files()


def test_what_is_read_again_after_somebody_was_told_is_late(settled: Scanner,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    fill(settled.root)
    settled()
    right = build.SnapshotBuilder._store_trees

    def damaged(self: Any) -> None:
        monkeypatch.setattr(build.SnapshotBuilder, "_store_trees", right)
        raise StoreDamaged(what="a tree")

    monkeypatch.setattr(build.SnapshotBuilder, "_store_trees", damaged)
    waiter = Waiter(settled)
    waiter.do = lambda: (settled.root / "README").write_text("the agent is at work\n")
    moment = Moment(60)
    found = waiter.scan(moment)
    assert len(waiter.told) == 1 and found.is_late and moment.is_over()
    assert reasons(dict(every_path(found.root, found.tree))) == {b"README": b"changed"}


@pytest.mark.parametrize("processes", [2, 3])
def test_several_processes_find_what_one_finds(settled: Scanner, processes: int) -> None:
    make_many(settled.root)
    assert settled(processes=processes).root == settled.fresh_root()
    (settled.root / "d9/inner/file").write_text("changed\n")
    (settled.root / "d11/new").write_text("new\n")
    assert settled(processes=processes).root == settled.fresh_root()
    again = settled(processes=processes)
    assert settled.reads == [] and again.root == settled.fresh_root()


def test_a_walker_that_is_killed_does_not_change_the_result(
        settled: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    make_many(settled.root)

    def die(self: walk.Walker, *args: object) -> None:
        os._exit(9)

    monkeypatch.setattr(walk.Walker, "_child", die)
    assert settled(processes=2).root == settled.fresh_root()
    (settled.root / "d9/inner/file").write_text("changed\n")
    assert settled(processes=2).root == settled.fresh_root()


_KILLED_WHILE_ITS_CHILD_WALKS = """
import fcntl, os, sys, time
from rewind.snapshot.scan import walk
from rewind.snapshot.scan.cache import KnownDirs
from rewind.snapshot.rules.rules import Rules

lock = open(sys.argv[2], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
parent, drain = os.getpid(), walk.Walker._drain

def parents_sleep(self, *args):
    if os.getpid() == parent:
        print("forked", flush=True)
        time.sleep(60)
    drain(self, *args)

walk.Walker._drain = parents_sleep
walk.Walker(os.fsencode(sys.argv[1]), Rules(builtin=b""), KnownDirs(None)).run(2)
"""


def test_when_a_process_is_killed_its_lock_goes_although_its_child_has_more_to_say(
        project: Path, tmp_path: Path) -> None:
    for folder in range(60):  # an answer of more than a pipe holds
        (project / f"d{folder}").mkdir()
        for number in range(60):
            (project / f"d{folder}/{number:060}").write_text("x")
    lock = tmp_path / "lock"
    env = {"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]}
    with subprocess.Popen([sys.executable, "-c", _KILLED_WHILE_ITS_CHILD_WALKS, str(project), str(lock)],
                          env=env, stdout=subprocess.PIPE) as killed:
        assert killed.stdout and killed.stdout.readline() == b"forked\n"
        killed.kill()
        killed.wait()
        assert select.select([killed.stdout], [], [], 60)[0], "its child goes on for ever"
        assert killed.stdout.read() == b""
    with open(lock) as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_walker_that_dies_half_way_through_its_answer_does_not_change_the_result(
        settled: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    make_many(settled.root)

    def stammer(self: walk.Walker, take: int, into: int, tasks: list[Any]) -> None:
        self._drain(take, tasks)
        os.write(into, b"ok" + marshal.dumps((1, 2, 3))[:-3])
        os._exit(9)

    monkeypatch.setattr(walk.Walker, "_child", stammer)
    assert settled(processes=2).root == settled.fresh_root()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("damage", ["deleted", "garbage", "cut", "other-owner"])
def test_without_a_usable_cache_the_same_tree_is_found(settled: Scanner, damage: str) -> None:
    fill(settled.root)
    first = settled()
    settled.derived.close()
    path = settled.state / "scan-cache.db"
    if damage == "deleted":
        path.unlink()
    elif damage == "garbage":
        path.write_bytes(os.urandom(20_000))
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:5000])
    settled.derived = DerivedDb(str(path), "somebody else" if damage == "other-owner" else "owner")
    assert settled().root == first.root
    assert len(settled.reads) == 3
    assert settled().root == first.root and settled.reads == []


def test_a_cache_that_knows_another_store_is_not_believed(settled: Scanner) -> None:
    fill(settled.root)
    first = settled()
    settled.store.close()
    settled.store = ObjectStore(str(settled.state / "other.db"), create=True)
    assert settled().root == first.root
    assert settled.contents()[b"src/deep/lib.py"] == b"x = 1\n"
    assert settled.store.has(first.root)


# odd names and places

def test_any_name_is_captured_and_temporary_names_of_ours_are_not(settled: Scanner) -> None:
    root = os.fsencode(settled.root)
    for name in (b"\xff\xfe", b"new\nline", b" ", b"-", "ü".encode(), b"a\\b", b"x" * 255):
        Path(os.fsdecode(root + b"/" + name)).write_bytes(name)
    (settled.root / ".rewind-tmp-0123456789abcdef").write_text("left by a killed restore")
    snapshot = settled()
    assert {p: whole(e, settled.store) for p, e in every_path(snapshot.root, snapshot.tree)} == {
        name: name for name in (b"\xff\xfe", b"new\nline", b" ", b"-", "ü".encode(), b"a\\b", b"x" * 255)}
    assert snapshot.temps == [b".rewind-tmp-0123456789abcdef"]


def test_special_files_are_marked_and_never_opened(settled: Scanner) -> None:
    os.mkfifo(settled.root / "fifo")
    if os.geteuid() == 0:
        os.mknod(settled.root / "device", stat.S_IFCHR | 0o600, os.makedev(1, 3))
    assert set(reasons(settled.entries()).values()) == {b"special"}
    assert settled.reads == []


def test_hidden_state_is_not_seen_but_what_lies_beside_it_is(settled: Scanner) -> None:
    (settled.root / ".agent/rewind").mkdir(parents=True)
    (settled.root / ".agent/rewind/objects.db").write_text("ours")
    settled.use(hidden=[b".agent/rewind"])
    assert set(settled.entries()) == {b".agent"}
    (settled.root / ".agent/notes").write_text("theirs")
    assert set(settled.entries()) == {b".agent", b".agent/notes"}


def test_directories_deeper_than_makes_sense_are_marked(settled: Scanner) -> None:
    here = os.getcwd()
    try:
        os.chdir(settled.root)
        for _ in range(405):
            os.mkdir("d")
            os.chdir("d")
    finally:
        os.chdir(here)
    assert list(reasons(settled.entries()).values()) == [b"too-deep"]
    assert settled().root == settled.fresh_root()
