"""Files that another program has open for writing are found, and a restore says so."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rewind.checkpoint.rewind.files.open_files import OpenFile, open_files, plan_notes
from rewind_cli import Rewind

linux = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="only Linux tells what is open")

HOLDER = """
import mmap, sys
how, path = sys.argv[1:]
file = open(path, "rb" if how == "read" else "r+b")
if how == "mapped":
    memory = mmap.mmap(file.fileno(), 0)
    file.close()
print("ready", flush=True)
for line in sys.stdin:
    memory[:4] = line.strip().encode()
    print("written", flush=True)
"""


class Holder:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.said()

    def said(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline()

    def write(self, text: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        assert self.said() == "written\n"


@contextmanager
def holding(path: Path, how: str) -> Iterator[Holder]:
    with subprocess.Popen([sys.executable, "-c", HOLDER, how, str(path)], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Holder(process)
        assert process.stdin
        process.stdin.close()


@linux
@pytest.mark.parametrize("how, found", [("read", []), ("written", [False]), ("mapped", [True])])
def test_what_is_open_for_writing_is_found(project: Path, how: str, found: list[bool]) -> None:
    (project / "f.bin").write_bytes(b"0" * 8192)
    with holding(project / "f.bin", how) as holder:
        hits = open_files(os.fsencode(os.path.realpath(project)))
        assert [hit.mapped for hit in hits] == found
        assert all(str(holder.process.pid) in hit.process and hit.path == b"f.bin" for hit in hits)
        mapped = open_files(os.fsencode(os.path.realpath(project)), only_mapped=True)
        assert len(mapped) == found.count(True)
        assert open_files(os.fsencode(os.path.realpath(project)) + b"-not") == []
    assert open_files(os.fsencode(os.path.realpath(project))) == []


def test_where_the_system_does_not_tell_nothing_is_found(tmp_path: Path) -> None:
    assert open_files(b"/", os.fsencode(tmp_path / "nothing")) == []
    (tmp_path / "1").mkdir()
    assert open_files(b"/", os.fsencode(tmp_path)) == []


def test_a_plan_names_some_of_them() -> None:
    notes = plan_notes([OpenFile(b"f%d" % n, "python3 (process 12)", False) for n in range(8)])
    assert len(notes) == 6 and notes[0].startswith("f0 ") and notes[0].endswith("python3 (process 12)")
    assert notes[5].startswith("3 more files")


@linux
def test_a_plan_says_who_has_a_file_open(rewind: Rewind) -> None:
    path = rewind.project / "f.bin"
    path.write_bytes(b"0" * 8192)
    rewind.init()
    path.write_bytes(b"1" * 8192)
    with holding(path, "written") as holder:
        (note,) = rewind.plan("last")["notes"]
        assert note.startswith("f.bin is open for writing")
        assert note.endswith(f"(process {holder.process.pid})")
    assert rewind.plan("last")["notes"] == []


@linux
def test_what_is_written_by_way_of_memory_is_in_the_backup(rewind: Rewind) -> None:
    """Such a write leaves the times of the file as they are: a scan that goes by them does not see it."""
    path = rewind.project / "f.bin"
    path.write_bytes(b"0" * 8192)
    rewind.init()
    with holding(path, "mapped") as holder:
        holder.write("AAAA")
        os.utime(path, (1_000_000_000,) * 2)  # not of this moment
        rewind.ok("save")
        before = os.stat(path)
        holder.write("CCCC")
        after = os.stat(path)
        unseen = (before.st_mtime_ns, before.st_ctime_ns) == (after.st_mtime_ns, after.st_ctime_ns)
        rewind.ok("restore", "prev")
        assert path.read_bytes() == b"0" * 8192
        rewind.ok("undo-restore", "--force")
        assert path.read_bytes()[:4] == b"CCCC", unseen
