"""Changes made to a real directory, while somebody swaps, edits and mounts things under them."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

import pytest

from rewind.errors import ChangedSincePlan, StoreDamaged
from rewind.snapshot.apply import swap
from rewind.snapshot.apply.applier import Applied, Applier
from rewind.snapshot.apply.replaced import ReplacedFiles, is_open_for_writing
from rewind.snapshot.trees.change import Change
from rewind.snapshot.trees.tree import DIR, FILE, LINK, TreeEntry
from rewind.store.blobs import oid_of, unpack


class Memory:
    def __init__(self) -> None:
        self.blobs: dict[bytes, bytes] = {}

    def add(self, data: bytes) -> bytes:
        self.blobs[oid_of(data)] = data
        return oid_of(data)

    def get(self, oid: bytes) -> bytes:
        if oid not in self.blobs:
            raise StoreDamaged(what=f"object {oid.hex()} is missing")
        return self.blobs[oid]

    def has(self, oid: bytes) -> bool:
        return oid in self.blobs

    in_bulk = False

    def put_packed(self, oid: bytes, packed: bytes) -> None:
        self.blobs[oid] = unpack(oid, packed)


class Bench:
    def __init__(self, root: Path, staging: Path) -> None:
        self.root = root
        self.staging = staging
        self.blobs = Memory()
        self.sink: Optional[Memory] = Memory()

    def file(self, text: str, mode: int = 0o644) -> TreeEntry:
        return TreeEntry(FILE, mode, len(text.encode()), self.blobs.add(text.encode()))

    def applier(self) -> Applier:
        return Applier(os.fsencode(self.root), self.blobs, str(self.staging), time.time_ns(), sink=self.sink)

    def apply(self, *changes: Change) -> Applied:
        applier = self.applier()
        applier.prepare(list(changes))
        done = applier.run(list(changes))
        assert not self.staging.exists()
        assert not [n for _, d, f in os.walk(self.root) for n in (*d, *f) if n.startswith(".rewind-tmp-")]
        told = {path for path, _ in done.failed} | set(done.not_empty)
        assert set(applier.find_mismatches(list(changes))) <= told
        return done


def link(target: str) -> TreeEntry:
    return TreeEntry(LINK, 0, len(target), target.encode())


def folder(mode: int = 0o755) -> TreeEntry:
    return TreeEntry(DIR, mode, 0, b"")


def write(path: str, target: TreeEntry, before: Optional[TreeEntry] = None) -> Change:
    return Change("write", path.encode(), target, before)


@pytest.fixture
def bench(project: Path, tmp_path: Path) -> Bench:
    return Bench(project, tmp_path / "staging")


def mode_of(path: Path) -> int:
    return stat.S_IMODE(os.lstat(path).st_mode)


# the plain cases

def test_every_kind_of_change_is_made(bench: Bench) -> None:
    root = bench.root
    (root / "old").mkdir()
    (root / "old/file").write_text("gone")
    (root / "script").write_text("#!")
    (root / "text").write_text("before")
    done = bench.apply(
        write("text", bench.file("after", 0o640), bench.file("before")),
        write("d/e/new", bench.file("new", 0o600)), write("link", link("text")),
        Change("mkdir", b"d", folder(0o750), None), Change("mkdir", b"d/e", folder(0o555), None),
        Change("chmod", b"script", bench.file("#!", 0o755), bench.file("#!")),
        Change("delete", b"old/file", None, bench.file("gone")), Change("rmdir", b"old", None, folder()))
    assert done.failed == [] and done.not_empty == []
    assert (root / "text").read_text() == "after" and mode_of(root / "text") == 0o640
    assert (root / "d/e/new").read_text() == "new" and mode_of(root / "d/e") == 0o555
    assert mode_of(root / "d") == 0o750 and mode_of(root / "script") == 0o755
    assert os.readlink(root / "link") == "text" and not (root / "old").exists()


@pytest.mark.parametrize("path, meddle", [
    ("text", lambda path: path.write_text("other")),
    ("text", lambda path: path.write_text("afteR")),
    ("text", lambda path: path.chmod(0o600)),
    ("text", lambda path: path.unlink()),
    ("text", lambda path: (path.unlink(), path.symlink_to("elsewhere"))),
    ("link", lambda path: (path.unlink(), path.symlink_to("elsewhere"))),
    ("link", lambda path: (path.unlink(), path.write_text("text"))),
    ("d", lambda path: path.chmod(0o700)),
    ("d", lambda path: (path.rmdir(), path.write_text("a file"))),
    ("script", lambda path: path.chmod(0o644)),
    ("gone", lambda path: path.write_text("here again")),
    ("old", lambda path: path.mkdir()),
], ids=["content", "content of the same size", "mode", "deleted", "a link in its place", "another target",
        "no link any more", "mode of a directory", "no directory any more", "mode only", "not deleted",
        "not removed"])
def test_what_is_changed_while_it_is_applied_is_told(bench: Bench, path: str,
                                                     meddle: Callable[[Path], object]) -> None:
    root = bench.root
    (root / "old").mkdir()
    for name, text in (("gone", "gone"), ("script", "#!"), ("text", "before")):
        (root / name).write_text(text)
    changes = [
        write("text", bench.file("after", 0o640), bench.file("before")), write("link", link("text")),
        Change("mkdir", b"d", folder(0o750), None), Change("delete", b"gone", None, bench.file("gone")),
        Change("chmod", b"script", bench.file("#!", 0o755), bench.file("#!")),
        Change("rmdir", b"old", None, folder())]
    applier = bench.applier()
    applier.prepare(changes)
    assert applier.run(changes).failed == []
    assert applier.find_mismatches(changes) == []
    meddle(root / path)
    assert applier.find_mismatches(changes) == [path.encode()]


def test_a_file_makes_room_for_a_directory_and_the_other_way_round(bench: Bench) -> None:
    (bench.root / "x").write_text("file")
    (bench.root / "y").mkdir()
    (bench.root / "y/in").write_text("inside")
    done = bench.apply(
        Change("delete", b"x", None, bench.file("file"), True),
        Change("mkdir", b"x", folder(), bench.file("file")),
        write("x/in", bench.file("1")), Change("delete", b"y/in", None, bench.file("inside"), True),
        Change("rmdir", b"y", None, folder(), True), write("y", bench.file("2"), folder()))
    assert done.failed == []
    assert (bench.root / "x/in").read_text() == "1" and (bench.root / "y").read_text() == "2"


def test_a_link_is_replaced_and_never_written_through(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    (bench.root / "file").symlink_to(tmp_path / "victim")
    done = bench.apply(write("file", bench.file("new"), link(str(tmp_path / "victim"))))
    assert done.failed == [] and (tmp_path / "victim").read_text() == "precious"
    assert not (bench.root / "file").is_symlink() and (bench.root / "file").read_text() == "new"


def test_a_hard_linked_file_elsewhere_keeps_its_content(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "twin").write_text("before")
    os.link(tmp_path / "twin", bench.root / "file")
    bench.apply(write("file", bench.file("after!"), bench.file("before")))
    assert (tmp_path / "twin").read_text() == "before" and (bench.root / "file").read_text() == "after!"


def test_a_directory_that_is_not_empty_after_all_stays(bench: Bench) -> None:
    (bench.root / "d").mkdir()
    (bench.root / "d/unknown").write_text("just came")
    done = bench.apply(Change("rmdir", b"d", None, folder()))
    assert done.not_empty == [b"d"] and done.failed == [] and (bench.root / "d/unknown").exists()


def test_many_directories_do_not_use_up_the_file_descriptors(bench: Bench) -> None:
    changes = []
    for number in range(150):
        changes += [Change("mkdir", b"d%d" % number, folder(), None), write(f"d{number}/f", bench.file("x"))]
    before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    assert bench.apply(*changes).failed == []
    assert len(list(bench.root.glob("*/f"))) == 150
    if before:
        assert len(os.listdir("/proc/self/fd")) == before


# as planned, or not at all

@pytest.mark.parametrize("planned, found", [
    ("file", "other"), ("file", "longer text"), ("file", None), (None, "came"), ("file", "dir"),
    ("dir", "file"), ("link", "file"), ("file", "link"), ("link", "other-link"), ("file", "fifo")])
def test_a_path_that_is_not_as_planned_stops_everything_before_the_first_write(
        bench: Bench, planned: Optional[str], found: Optional[str]) -> None:
    entries: dict[Optional[str], Optional[TreeEntry]] = {
        None: None, "file": bench.file("1234 "), "dir": folder(), "link": link("one")}
    path = bench.root / "it"
    if found == "dir":
        path.mkdir()
    elif found == "fifo":
        os.mkfifo(path)
    elif found in ("link", "other-link"):
        path.symlink_to("another")
    elif found:
        path.write_text(found)
    (bench.root / "first").write_text("untouched")
    with pytest.raises(ChangedSincePlan, match="it"):
        bench.apply(Change("delete", b"first", None, bench.file("untouched")),
                    write("it", bench.file("new"), entries[planned]))
    assert (bench.root / "first").read_text() == "untouched" and not bench.staging.exists()


def test_an_edit_of_equal_size_a_moment_ago_is_noticed(bench: Bench) -> None:
    (bench.root / "it").write_text("edited")
    with pytest.raises(ChangedSincePlan):
        bench.apply(write("it", bench.file("new"), bench.file("before")))
    assert (bench.root / "it").read_text() == "edited"


def test_a_file_edited_after_the_look_is_left_alone_and_reported(bench: Bench) -> None:
    for name in ("it", "other"):
        (bench.root / name).write_text("before")
    changes = [write(name, bench.file("new"), bench.file("before")) for name in ("it", "other")]
    applier = bench.applier()
    applier.prepare(changes)
    (bench.root / "it").write_text("edited")
    done = applier.run(changes)
    assert [path for path, _ in done.failed] == [b"it"]
    assert (bench.root / "it").read_text() == "edited" and (bench.root / "other").read_text() == "new"


def test_missing_content_is_found_out_before_the_first_write(bench: Bench) -> None:
    (bench.root / "a").write_text("before")
    missing = TreeEntry(FILE, 0o644, 3, b"m" * 32)
    with pytest.raises(StoreDamaged):
        bench.apply(write("a", bench.file("new"), bench.file("before")), write("b", missing))
    assert (bench.root / "a").read_text() == "before" and not (bench.root / "b").exists()
    assert not bench.staging.exists()


# links swapped in

def test_a_directory_that_is_a_link_now_is_refused(bench: Bench, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "victim").write_text("precious")
    (bench.root / "d").symlink_to(outside)
    changes = [write("d/new", bench.file("x")), write("d/victim", bench.file("x"), bench.file("precious")),
               Change("delete", b"d/victim", None, bench.file("precious")),
               Change("chmod", b"d/victim", bench.file("precious", 0o777), bench.file("precious")),
               Change("mkdir", b"d/sub", folder(), None)]
    with pytest.raises(ChangedSincePlan):
        bench.apply(*changes)
    applier = bench.applier()
    applier.prepare([])  # the link came only now, as far as this one knows
    applier._stage([c for c in changes if c.action == "write"])
    done = applier.run(changes)
    assert {path for path, _ in done.failed} == {b"d/new", b"d/victim", b"d/sub"}
    assert os.listdir(outside) == ["victim"] and (outside / "victim").read_text() == "precious"
    assert mode_of(outside / "victim") != 0o777


def test_a_directory_swapped_for_a_link_after_the_look_is_not_followed(
        bench: Bench, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "e").mkdir(parents=True)
    (bench.root / "d/e").mkdir(parents=True)
    changes = [write("d/e/new", bench.file("x"))]
    applier = bench.applier()
    applier.prepare(changes)
    os.rename(bench.root / "d", bench.root / "moved")
    (bench.root / "d").symlink_to(outside)
    applier.run(changes)
    assert os.listdir(outside / "e") == []


# where a rename is impossible

def renames_by(monkeypatch: pytest.MonkeyPatch, rename: Callable[..., None]) -> None:
    """Every rename goes this way: the system has no other, and the file system has no hard links."""
    def no_links(*names: Any, **how: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(swap, "_rename", lambda *names: False)
    monkeypatch.setattr(os, "link", no_links)
    monkeypatch.setattr(os, "rename", rename)


def test_staging_on_another_file_system_is_written_beside_and_renamed(
        bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = os.rename

    def across(source: Any, target: Any, **how: Any) -> None:
        if how.get("src_dir_fd") is None and os.fsencode(source).startswith(os.fsencode(bench.staging)):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        rename(source, target, **how)

    renames_by(monkeypatch, across)
    (bench.root / "file").write_text("before")
    done = bench.apply(write("file", bench.file("after", 0o751), bench.file("before")),
                       write("new", bench.file("new")))
    assert done.failed == [] and (bench.root / "file").read_text() == "after"
    assert mode_of(bench.root / "file") == 0o751 and (bench.root / "new").read_text() == "new"


def test_a_failed_rename_leaves_the_old_file_and_no_temporary_name(
        bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(source: Any, target: Any, **how: Any) -> None:
        raise OSError(errno.EXDEV if how.get("src_dir_fd") is None else errno.EIO, "trouble")

    renames_by(monkeypatch, broken)
    (bench.root / "file").write_text("before")
    done = bench.apply(write("file", bench.file("after!"), bench.file("before")))
    assert [path for path, _ in done.failed] == [b"file"]
    assert (bench.root / "file").read_text() == "before"


def test_a_file_that_is_a_mount_point_is_written_in_place(bench: Bench, tmp_path: Path) -> None:
    source, target = tmp_path / "mounted", bench.root / "file"
    source.write_text("before, and longer")
    target.write_text("")
    mount = ["mount", "--bind", str(source), str(target)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        done = bench.apply(write("file", bench.file("after", 0o640), bench.file("before, and longer")))
        assert done.failed == [] and target.read_text() == "after" == source.read_text()
        assert mode_of(target) == 0o640
    finally:
        subprocess.run(["umount", target], check=True)


def test_a_busy_file_is_written_in_place(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(source: Any, target: Any, **how: Any) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    (bench.root / "file").write_text("before")
    inode = (bench.root / "file").stat().st_ino
    renames_by(monkeypatch, busy)
    assert bench.apply(write("file", bench.file("now"), bench.file("before"))).failed == []
    assert (bench.root / "file").read_text() == "now" and (bench.root / "file").stat().st_ino == inode


def test_a_busy_file_is_written_in_place_with_staging_on_another_file_system(
        bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(source: Any, target: Any, **how: Any) -> None:
        raise OSError(errno.EXDEV if how.get("src_dir_fd") is None else errno.EBUSY, "trouble")

    (bench.root / "file").write_text("before")
    inode = (bench.root / "file").stat().st_ino
    renames_by(monkeypatch, refused)
    assert bench.apply(write("file", bench.file("now"), bench.file("before"))).failed == []
    assert (bench.root / "file").read_text() == "now" and (bench.root / "file").stat().st_ino == inode


# permissions

def test_a_new_directory_is_closed_to_others_until_it_is_filled(
        bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    modes: list[int] = []
    real = Applier._write

    def looked(self: Applier, change: Change) -> None:
        modes.append(mode_of(bench.root / "d"))
        real(self, change)

    monkeypatch.setattr(Applier, "_write", looked)
    done = bench.apply(Change("mkdir", b"d", folder(0o755), None), write("d/secret", bench.file("x", 0o600)))
    assert done.failed == [] and modes == [0o700] and mode_of(bench.root / "d") == 0o755


def test_a_read_only_directory_is_opened_for_a_moment_and_closed_again(
        bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    where = bench.root / "locked"
    where.mkdir()
    (where / "file").write_text("before")
    (where / "gone").write_text("gone")
    where.chmod(0o555)
    refuse_in_read_only_directories(monkeypatch)
    done = bench.apply(write("locked/file", bench.file("after!"), bench.file("before")),
                       Change("delete", b"locked/gone", None, bench.file("gone")))
    assert done.failed == [] and mode_of(where) == 0o555
    assert (where / "file").read_text() == "after!" and os.listdir(where) == ["file"]


def test_a_read_only_directory_that_goes_needs_no_mode_again(
        bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    where = bench.root / "locked"
    where.mkdir()
    (where / "gone").write_text("gone")
    where.chmod(0o555)
    bench.sink = None  # deleted where it is, so that the directory has to be opened
    refuse_in_read_only_directories(monkeypatch)
    done = bench.apply(Change("delete", b"locked/gone", None, bench.file("gone")),
                       Change("rmdir", b"locked", None, folder(0o555)))
    assert done.failed == [] and not where.exists()


def refuse_in_read_only_directories(monkeypatch: pytest.MonkeyPatch) -> None:
    """For root, whom no permission stops: what an ordinary user would meet."""
    rename, unlink = os.rename, os.unlink

    def check(fd: Optional[int]) -> None:
        if fd is not None and not os.fstat(fd).st_mode & 0o200:
            raise PermissionError(errno.EACCES, "Permission denied")

    def checked_rename(source: Any, target: Any, **how: Any) -> None:
        check(how.get("dst_dir_fd"))
        rename(source, target, **how)

    def checked_unlink(path: Any, *, dir_fd: Optional[int] = None) -> None:
        check(dir_fd)
        unlink(path, dir_fd=dir_fd)

    renames_by(monkeypatch, checked_rename)
    monkeypatch.setattr(os, "unlink", checked_unlink)


def test_a_directory_that_may_not_be_listed_has_its_mode_again_after_all(
        bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    where = bench.root / "closed"
    (where / "in").mkdir(parents=True)
    (where / "in" / "file").write_text("before")
    (where / "in").chmod(0o300)
    where.chmod(0o300)
    real = os.open

    def checked(path: Any, flags: int, *more: Any, **how: Any) -> int:
        fd = real(path, flags, *more, **how)
        lists = flags & os.O_DIRECTORY and not flags & getattr(os, "O_PATH", 0)
        if lists and not os.fstat(fd).st_mode & 0o400:
            os.close(fd)
            raise PermissionError(errno.EACCES, "Permission denied")
        return fd

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", checked)
        done = bench.apply(write("closed/in/file", bench.file("after!"), bench.file("before")),
                           write("closed/new", bench.file("new")),
                           Change("mkdir", b"closed/more", folder(0o300), None),
                           write("closed/more/file", bench.file("more")))
    assert done.failed == []
    assert [mode_of(where / name) for name in ("", "in", "more")] == [0o300] * 3
    assert (where / "in/file").read_text() == "after!" and (where / "more/file").read_text() == "more"


def test_a_directory_with_permissions_that_allow_it_is_not_opened_further(
        bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(source: Any, target: Any, **how: Any) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    (bench.root / "file").write_text("before")
    renames_by(monkeypatch, refused)
    mode = mode_of(bench.root)
    done = bench.apply(write("file", bench.file("after!"), bench.file("before")))
    assert [path for path, _ in done.failed] == [b"file"] and mode_of(bench.root) == mode


def test_special_mode_bits_come_back(bench: Bench) -> None:
    done = bench.apply(write("tool", bench.file("#!", 0o4755)), write("secret", bench.file("x", 0)),
                       Change("mkdir", b"shared", folder(0o1777), None))
    assert done.failed == []
    assert [mode_of(bench.root / n) for n in ("tool", "secret", "shared")] == [0o4755, 0, 0o1777]


def test_a_closed_directory_swapped_for_a_link_does_not_hand_its_new_mode_on(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look at its mode and the change of it."""
    from rewind.files import chmod_no_follow

    outside = tmp_path / "outside"
    outside.mkdir()
    outside.chmod(0o500)
    (tmp_path / "closed").symlink_to(outside)
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(OSError):
            chmod_no_follow(b"closed", 0o777, fd)
        assert stat.S_IMODE(outside.stat().st_mode) == 0o500
        (tmp_path / "real").mkdir(mode=0o000)
        chmod_no_follow(b"real", 0o700, fd)
        assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o700
    finally:
        os.close(fd)
        outside.chmod(0o700)


# somebody writes to what is replaced

@pytest.fixture(params=["exchange", "links only", "renames only"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the system can do beside plain renames."""
    if request.param == "exchange" and swap._system_call() is None:
        pytest.skip("two names cannot be exchanged here")
    if request.param != "exchange":
        monkeypatch.setattr(swap, "_rename", lambda *names: False)
    if request.param == "renames only":
        renames_by(monkeypatch, os.rename)
    return str(request.param)


def right_before(monkeypatch: pytest.MonkeyPatch, deed: Callable[[], object]) -> None:
    """After the last look at a file and before its place is taken."""
    real = Applier._matches_plan

    def looked(self: Applier, change: Change) -> bool:
        planned = real(self, change)
        if os.path.exists(self.staging):
            deed()
        return planned

    monkeypatch.setattr(Applier, "_matches_plan", looked)


def kept(bench: Bench, done: Applied) -> dict[bytes, bytes]:
    assert bench.sink
    return {path: bench.sink.get(entry.ref) for path, entry in done.replaced.items()}


@pytest.mark.parametrize("action", ["write", "delete"])
def test_what_is_written_right_before_its_place_is_taken_is_kept(
        bench: Bench, monkeypatch: pytest.MonkeyPatch, system: str, action: str) -> None:
    path = bench.root / "file"
    path.write_text("before")
    path.chmod(0o640)
    right_before(monkeypatch, lambda: path.write_text("mine"))
    change = Change(action, b"file", bench.file("after") if action == "write" else None, bench.file("before"))
    done = bench.apply(change)
    assert kept(bench, done) == {b"file": b"mine"} and done.replaced[b"file"].mode == 0o640
    assert done.failed == [] and (path.read_text() == "after" if action == "write" else not path.exists())


@pytest.mark.parametrize("action", ["write", "delete"])
def test_what_an_editor_renames_into_place_at_the_last_moment_is_kept(
        bench: Bench, monkeypatch: pytest.MonkeyPatch, system: str, action: str) -> None:
    path = bench.root / "file"
    path.write_text("before")

    def rename_over() -> None:
        (bench.root / "file.new").write_text("mine")
        (bench.root / "file.new").rename(path)

    right_before(monkeypatch, rename_over)
    change = Change(action, b"file", bench.file("after") if action == "write" else None, bench.file("before"))
    assert kept(bench, bench.apply(change)) == {b"file": b"mine"}


def test_what_is_written_through_a_descriptor_after_the_place_was_taken_is_kept(
        bench: Bench, monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    path = bench.root / "file"
    path.write_text("before")
    with open(path, "r+") as file:
        real = ReplacedFiles.finish

        def late(self: ReplacedFiles) -> None:
            file.write("late!!")
            file.close()
            real(self)

        monkeypatch.setattr(ReplacedFiles, "finish", late)
        done = bench.apply(write("file", bench.file("after"), bench.file("before")))
    assert kept(bench, done) == {b"file": b"late!!"} and path.read_text() == "after"


def test_no_descriptor_of_a_replaced_file_stays_open(bench: Bench, system: str) -> None:
    (bench.root / "file").write_text("before")
    with open(bench.root / "file", "r+"):
        before = len(os.listdir("/dev/fd"))
        assert bench.apply(write("file", bench.file("after"), bench.file("before"))).failed == []
        assert len(os.listdir("/dev/fd")) == before


def test_what_nobody_wrote_to_is_not_kept_twice(bench: Bench, system: str) -> None:
    (bench.root / "file").write_text("before")
    (bench.root / "gone").write_text("gone")
    (bench.root / "link").symlink_to("there")
    done = bench.apply(write("file", bench.file("after"), bench.file("before")),
                       write("link", bench.file("a file"), link("there")), write("new", bench.file("new")),
                       Change("delete", b"gone", None, bench.file("gone")))
    assert done.replaced == {} and done.failed == []
    assert bench.sink and bench.sink.blobs == {}


def test_a_file_that_somebody_makes_where_there_was_none_is_not_renamed_over(
        bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    real = swap._rename

    def quicker(old: bytes, new: bytes, *more: Any) -> bool:
        (bench.root / "new").write_text("mine")
        return real(old, new, *more)

    monkeypatch.setattr(swap, "_rename", quicker)
    done = bench.apply(write("new", bench.file("ours")))
    assert [path for path, _ in done.failed] == [b"new"] and (bench.root / "new").read_text() == "mine"


def test_a_directory_that_takes_a_files_place_at_the_last_moment_stays(
        bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    if swap._system_call() is None:
        pytest.skip("two names cannot be exchanged here")
    path = bench.root / "file"
    path.write_text("before")

    def become_a_directory() -> None:
        if path.is_file():
            path.unlink()
            path.mkdir()
            (path / "inside").write_text("mine")

    right_before(monkeypatch, become_a_directory)
    for action in ("write", "delete"):
        target = bench.file("after") if action == "write" else None
        done = bench.apply(Change(action, b"file", target, bench.file("before")))
        assert [path for path, _ in done.failed] == [b"file"] and (path / "inside").read_text() == "mine"
        (path / "inside").unlink()
        path.rmdir()
        path.write_text("before")


def test_with_the_state_on_another_disk_it_is_kept_as_well(
        bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    places = [place for place in map(Path, ("/dev/shm", "/tmp", "/var/tmp"))
              if place.is_dir() and place.stat().st_dev != bench.root.stat().st_dev]
    if not places:
        pytest.skip("there is only one disk here")
    bench.staging = places[0] / f"rewind-test-{os.getpid()}-{time.time_ns()}"
    for name in ("file", "gone"):
        (bench.root / name).write_text("before")
    changes = [write("file", bench.file("after"), bench.file("before")),
               Change("delete", b"gone", None, bench.file("before"))]
    applier = bench.applier()
    applier.prepare(changes)
    for name in ("file", "gone"):
        (bench.root / name).write_text("mine")
    monkeypatch.setattr(Applier, "_matches_plan", lambda self, change: True)  # it had been, a moment before
    done = applier.run(changes)
    assert kept(bench, done) == {b"file": b"mine", b"gone": b"mine"} and done.failed == []
    assert (bench.root / "file").read_text() == "after" and os.listdir(bench.root) == ["file"]


def test_a_file_is_told_to_be_open_for_writing_only_without_a_name(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    with open(path, "rb") as reader:
        assert is_open_for_writing(reader.fileno())  # it has a name, so nobody is asked
        with open(path, "r+b"):
            path.unlink()
            assert is_open_for_writing(reader.fileno())
