"""Atomic writes and bounded reads, tried with real processes that die at the wrong time."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
from pathlib import Path

import pytest

from first_word import PRELUDE, python
from rewind import files
from rewind.errors import RewindError
from rewind.files import draft_of, make_durable_dir, read_bounded, sweep_drafts, write_atomic


def test_a_file_is_replaced_as_a_whole_and_private(tmp_path: Path) -> None:
    target = tmp_path / "file"
    write_atomic(str(target), b"one")
    write_atomic(str(target), b"two" * 100_000, sync=False)
    assert target.read_bytes() == b"two" * 100_000
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["file"]


def test_a_reader_sees_the_old_or_the_new_content_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "file"
    write_atomic(str(target), b"0" * 50_000)
    code = PRELUDE + """
print("ready", flush=True)
for n in range(100_000):
    files.write_atomic(sys.argv[1], (b"%d" % (n % 10)) * 50_000, sync=False)
"""
    with python(code, str(target)):
        seen = {target.read_bytes() for _ in range(300)}
    assert all(len(text) == 50_000 and len(set(text)) == 1 for text in seen)


def test_an_error_leaves_the_old_file_and_no_temporary_one(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")

    def full(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            write_atomic(str(target), b"new")
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_name_that_cannot_be_replaced_leaves_no_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(OSError):
        write_atomic(str(tmp_path / "file"), b"new")
    assert os.listdir(tmp_path) == ["file"]


def test_a_planted_link_in_place_of_the_temporary_file_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    os.symlink(victim, tmp_path / f".file.{os.getpid()}.tmp")
    try:
        write_atomic(str(tmp_path / "file"), b"new")
    except OSError:
        pass
    assert victim.read_bytes() == b"precious"


def test_a_link_in_place_of_the_file_itself_is_replaced_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    os.symlink(victim, tmp_path / "file")
    write_atomic(str(tmp_path / "file"), b"new")
    assert victim.read_bytes() == b"precious"
    assert (tmp_path / "file").read_bytes() == b"new" and not (tmp_path / "file").is_symlink()


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: write(fd, bytes(data)[:7]))
        write_atomic(str(tmp_path / "file"), bytes(range(256)))
    assert (tmp_path / "file").read_bytes() == bytes(range(256))


# bounded reads

def test_a_file_up_to_the_limit_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read_bounded(str(tmp_path / "file"), 5) == b"12345"
    (tmp_path / "file").write_bytes(b"")
    assert read_bounded(str(tmp_path / "file"), 0) == b""


def test_a_file_over_the_limit_is_refused_without_reading_it(tmp_path: Path) -> None:
    with open(tmp_path / "file", "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(RewindError, match="at most 5"):
        read_bounded(str(tmp_path / "file"), 5)


def test_a_fifo_is_refused_and_nobody_waits_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(RewindError, match="not a regular file"):
        read_bounded(str(tmp_path / "fifo"), 5)


def test_a_directory_and_a_link_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    os.symlink("file", tmp_path / "link")
    with pytest.raises((RewindError, OSError)):
        read_bounded(str(tmp_path), 5)
    with pytest.raises(OSError):
        read_bounded(str(tmp_path / "link"), 5)


# drafts and directories

def test_drafts_of_killed_processes_are_swept_and_nothing_else(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    kept = (".a.json.1.tmp", f".a.json.{os.getpid()}.tmp", ".a.json.x.tmp", f".b.json.{gone.pid}.tmp",
            ".a.json.tmp", f"a.json.{gone.pid}.tmp", "a.json")
    for name in (*kept, f".a.json.{gone.pid}.tmp"):
        (tmp_path / name).write_text("")
    sweep_drafts(str(tmp_path / "a.json"))
    assert sorted(os.listdir(tmp_path)) == sorted(kept)
    assert draft_of(str(tmp_path / "a.json")) == str(tmp_path / kept[1])
    sweep_drafts(str(tmp_path / "nowhere" / "a.json"))


def test_a_durable_directory_is_synced_into_the_one_above(tmp_path: Path,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(files, "fsync_dir", synced.append)
    make_durable_dir(str(tmp_path / "a" / "b"))
    assert synced == [str(tmp_path), str(tmp_path / "a")]
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700
