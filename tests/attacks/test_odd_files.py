"""Files in a project that are made to hang, to deceive or to fill the disk.

One at a time: FIFOs and devices in `snapshot/scan/test_scan.py`, sparse files and odd names in
`fidelity/test_fidelity.py`, hostile text in records in `cli/test_bad_input.py`, in transcripts in
`browser/test_hostile.py`. Hard links: `snapshot/apply/test_apply.py` and below.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rewind.controller import Controller
from rewind_cli import Result, Rewind

NASTY = [b"new\nline", b"tab\there", b"\x1b]0;owned\x07", b"\x1b[2J\x1b[31mred", b"bell\x07", b"\x9b31m",
         b"back\x08space", b"carriage\rreturn", "\u202egnp.exe".encode(), b"\xff\xfe", b"-rf", b"a\x7fdel",
         "\u2028line".encode()]


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> Rewind:
    """Two checkpoints and a tree that differs from both, with nothing but nasty names in it."""
    top = tmp_path_factory.mktemp("nasty")
    (top / "project").mkdir()
    (top / "home").mkdir()
    rewind = Rewind(top / "project", top / "home")
    root = os.fsencode(rewind.project)
    for name in NASTY:
        os.mkdir(os.path.join(root, name + b".d"))
        for path in (name, os.path.join(name + b".d", name)):
            with open(os.path.join(root, path), "wb") as file:
                file.write(b"first\n\x1b[31mcontent\x07\n")
        os.symlink(name, os.path.join(root, name + b".l"))
    with open(os.path.join(root, b".gitignore"), "wb") as file:
        file.write(b"*.ignored\n")
    rewind.init()
    for name in NASTY:
        with open(os.path.join(root, name), "ab") as file:
            file.write(b"second \x1b[0m\n")
    rewind.ok("save", "a \x1b]0;title\x07 and a \nnew line")
    for name in NASTY:
        os.unlink(os.path.join(root, name + b".d", name))
        with open(os.path.join(root, name + b".new"), "wb") as file:
            file.write(b"third\n")
        with open(os.path.join(root, name + b".ignored"), "wb") as file:
            file.write(bytes(2 << 20))
    return rewind


COMMANDS = [["list"], ["list", "--all"], ["show", "last"], ["show", "last", "--files"], ["diff", "last"],
            ["diff", "prev", "last"], ["diff", "--stat", "last"], ["status"], ["status", "--unprotected"],
            ["restore", "last", "--dry-run"], ["restore", "prev", "--dry-run"], ["validate", "--deep"],
            ["log", "bell\x07"], ["undo", "--dry-run"], ["save", "--dry-run"], ["gc", "--dry-run"],
            ["restore", "last", "--", "no-such-\x1b[31m"], ["show", "\x1b[31mnothing"],
            ["diff", "last", "--", "\x1b[2J"],
            ["cat", "last", "\x1b[31m"], ["log", "\x1b[31m"], ["export", "last", "/nowhere/\x1b[31m"],
            ["import", "/nowhere/\x1b[31m"], ["no-\x1b[31m-command"], ["config", "--set", "\x1b[31m=1"],
            ["-C", "/nowhere/\x1b[31m", "list"], ["sessions", "show", "\x1b[31m"],
            ["forks", "show", "\x1b[31m"], ["grep", "\x1b[31m"], ["back", "--session", "\x1b[31m"]]


@pytest.mark.parametrize("args", COMMANDS, ids=lambda args: ascii(" ".join(args)))
def test_no_command_lets_a_name_steer_the_terminal(nasty: Rewind, args: list[str]) -> None:
    check_clean(nasty.run(*args), args)


def test_restoring_such_names_says_nothing_raw_either(nasty: Rewind) -> None:
    for args in (["restore", "prev"], ["undo-restore"], ["redo"], ["undo-restore"]):
        check_clean(nasty.run(*args), args)


def check_clean(result: Result, args: list[str]) -> None:
    for text in (result.out, result.err):
        steering = [c for c in text if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0
                    or c in "\u202e\u2028" or 0xDC80 <= ord(c) <= 0xDCFF]
        if args[0] == "diff" and "--stat" not in args:
            steering = [c for c in steering if c not in "\x1b\x07"]  # a patch holds the files' own bytes
        assert not steering, (args, steering, text)


def test_nothing_waits_for_a_fifo_a_device_or_a_socket(rewind: Rewind) -> None:
    os.mkfifo(rewind.project / "fifo")
    os.mkfifo(rewind.project / ".gitignore")
    (rewind.project / "sub").mkdir()
    os.mkfifo(rewind.project / "sub/.rewindignore")
    os.mkfifo(rewind.project / "notes.db-wal")
    (rewind.project / "notes.db").write_text("a database\n")
    server = socket.socket(socket.AF_UNIX)
    with server:
        here = os.open(".", os.O_RDONLY)
        os.chdir(rewind.project)  # the name of a socket must be short
        server.bind("socket")
        os.fchdir(here)
        os.close(here)
        try:
            os.mknod(rewind.project / "zero", 0o666 | 0o020000, os.makedev(1, 5))
        except PermissionError:
            pass
        for args in (["init"], ["save"], ["status", "--unprotected"], ["diff", "last"], ["restore", "last"],
                     ["validate", "--deep", "--repair", "--yes"],
                     ["export", "last", str(rewind.home / "out.tar.gz")]):
            result = rewind.run(*args, timeout=90)
            assert result.code == 0, (args, result)
        assert {p.name for p in rewind.project.iterdir()} >= {"fifo", ".gitignore", "socket"}


@pytest.mark.slow
def test_fifos_in_the_state_and_in_the_home_hold_nobody_up(rewind: Rewind) -> None:
    rewind.init()
    for path in (rewind.state / "session.json", rewind.state / "pins.json", rewind.state / "branches.json",
                 rewind.state / "damage.json", rewind.state / "operations.jsonl",
                 rewind.state / "checkpoints" / rewind.names()[0] / "metadata.json",
                 rewind.home / ".rewind" / "config.json"):
        saved = path.read_bytes() if path.exists() else None
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        for args in (["list"], ["save"], ["validate", "--deep"], ["restore", "last"]):
            rewind.run(*args, timeout=90)
        path.unlink()
        if saved is not None:
            path.write_bytes(saved)
    rewind.ok("save")


def test_a_restore_does_not_write_through_a_hard_link(rewind: Rewind, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (rewind.project / "a").write_text("checkpointed\n")
    rewind.init()
    outside.write_text("somebody else's\n")
    outside.chmod(0o640)
    (rewind.project / "a").unlink()
    os.link(outside, rewind.project / "a")
    (rewind.project / "a").chmod(0o600)
    rewind.ok("restore", "last")
    assert (rewind.project / "a").read_text() == "checkpointed\n"
    assert outside.read_text() == "somebody else's\n" and outside.stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_written_all_the_time_is_captured_as_one_of_its_states(rewind: Rewind) -> None:
    """Each state is one letter throughout, of a length that goes with it: a torn copy would mix two."""
    path = rewind.project / "log"
    path.write_bytes(b"a" * 30_000)
    rewind.init()
    code = ("import os, sys\n"
            "n = 0\n"
            "while True:\n"
            "    n = (n + 1) % 26\n"
            "    with open(sys.argv[1] + '.tmp', 'wb') as f: f.write(bytes([97 + n]) * (30000 + n))\n"
            "    os.replace(sys.argv[1] + '.tmp', sys.argv[1])\n")
    writer = subprocess.Popen([sys.executable, "-I", "-c", code, str(path)])
    controller = Controller(str(rewind.project), home=str(rewind.home / ".rewind"))
    try:
        seen = set()
        for _ in range(15):
            name = controller.save().record.name
            with controller.source(controller.find(name)) as source:
                entry = source.tree(source.record.tree).entries.get(b"log")
                assert entry is not None and entry.kind == b"f"
                data = source.blobs.get(entry.ref)
                assert data == data[:1] * len(data) and len(data) in (30_000, 30_000 + data[0] - 97)
                seen.add(data[:1])
        assert len(seen) > 1, "it never changed"
    finally:
        writer.kill()
        writer.wait()
        controller.close()


def test_a_huge_sparse_file_takes_neither_space_nor_time(rewind: Rewind) -> None:
    with open(rewind.project / "sparse", "wb") as file:
        file.truncate(1 << 42)
    with open(rewind.project / "ninety", "wb") as file:
        file.truncate(90 << 20)
    rewind.init()
    used = sum(p.stat().st_size for p in rewind.state.rglob("*") if p.is_file())
    assert used < 16 << 20  # with what packing in the background writes for a moment
    assert [u["path"] for u in rewind.json("status", "--unprotected")["unprotected"]] == ["sparse"]


@pytest.mark.slow
def test_a_file_that_shrinks_and_grows_while_it_is_read_stops_nobody(rewind: Rewind) -> None:
    path = rewind.project / "moving"
    path.write_bytes(bytes(6 << 20))
    rewind.init()
    stop = threading.Event()

    def move() -> None:
        size = 0
        while not stop.is_set():
            size = (size + 1_234_567) % (9 << 20)
            os.truncate(path, size)

    thread = threading.Thread(target=move)
    thread.start()
    try:
        for _ in range(5):
            assert rewind.run("save", timeout=60).code == 0
    finally:
        stop.set()
        thread.join()
    assert rewind.json("validate", "--deep")["ok"] is True
