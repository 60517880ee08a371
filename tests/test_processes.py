"""The life of a process, and processes that nobody waits for."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from first_word import PRELUDE, dead_pid, until
from rewind.processes import process_start


def test_a_process_has_one_token_for_all_its_life() -> None:
    assert process_start(os.getpid()) == process_start(os.getpid()) is not None


def test_a_process_that_is_gone_has_no_token() -> None:
    assert process_start(dead_pid()) is None


def test_a_process_that_nobody_has_reaped_counts_as_gone() -> None:
    process = subprocess.Popen(["true"])
    try:
        assert until(lambda: process_start(process.pid) is None)
    finally:
        process.wait()


def test_a_name_with_spaces_and_brackets_does_not_confuse_the_token(tmp_path: Path) -> None:
    program = tmp_path / "a) Z (b"
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([str(program), "30"])
    try:
        token = process_start(process.pid)
        assert token and token.isdigit()
    finally:
        process.kill()
        process.wait()


def test_a_detached_process_is_tied_to_nothing_of_ours(tmp_path: Path) -> None:
    told = tmp_path / "told"
    code = (f"import os, sys; text = ' '.join(map(str, [os.getpid(), os.getppid(), os.getsid(0),"
            f" *(os.readlink('/proc/self/fd/%d' % n) for n in (0, 1, 2))]));"
            f" open({str(told)!r} + '.new', 'w').write(text);"
            f" os.rename({str(told)!r} + '.new', {str(told)!r})")
    if not os.path.exists("/proc/self/fd"):
        pytest.skip("no /proc here")
    starter = PRELUDE + "processes.spawn_detached(['-I', '-S', '-c', sys.argv[1]]); print(os.getpid())"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", starter, code], check=True,
                          capture_output=True, text=True, timeout=60)
    assert until(told.exists), "the detached process never ran"
    pid, parent, session, *streams = told.read_text().split(" ")
    assert parent != done.stdout.strip() and session not in (pid, str(os.getsid(0)))
    assert streams == ["/dev/null"] * 3


def test_starting_a_detached_process_does_not_wait_for_it_and_leaves_no_child(tmp_path: Path) -> None:
    code = PRELUDE + """
processes.spawn_detached(["-c", "import os, time; open(%r, 'w').write(str(os.getpid())); time.sleep(300)"
                      % sys.argv[1]])
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("no child")
"""
    told = tmp_path / "told"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, str(told)], timeout=90,
                          capture_output=True, text=True, check=True)
    assert done.stdout == "no child\n"
    assert until(lambda: told.exists() and told.read_text())
    os.kill(int(told.read_text()), signal.SIGKILL)


_DETACH = PRELUDE + """
processes.spawn_detached(["-I", "-S", "-c", sys.argv[1], sys.argv[2]])
print("gone", flush=True)
"""
_DETACHED = """
import os, sys, time
with open(sys.argv[1] + ".new", "w") as file:
    file.write(f"{os.getpid()} {os.getsid(0)} {os.getcwd()}")
os.rename(sys.argv[1] + ".new", sys.argv[1])
while os.path.exists(sys.argv[1]):
    time.sleep(0.02)
"""


def test_nobody_who_reads_a_pipe_to_its_end_waits_for_a_detached_process(tmp_path: Path) -> None:
    """The shim's third descriptor is the client's standard error: any number must be closed."""
    told = tmp_path / "told"
    out, into = os.pipe()
    third = fcntl.fcntl(into, fcntl.F_DUPFD, 20)
    try:
        process = subprocess.Popen([sys.executable, "-I", "-S", "-c", _DETACH, _DETACHED, str(told)],
                                   stdout=into, stderr=into, pass_fds=[third], cwd=tmp_path)
        os.close(into)
        os.close(third)
        assert until(told.exists), "it was not started"
        pid, session, folder = told.read_text().split(" ", 2)
        assert process.wait(90) == 0
        said = b""
        while True:  # without an end, if the detached process had it open
            os.set_blocking(out, False)
            try:
                part = os.read(out, 100)
            except BlockingIOError:
                pytest.fail("the detached process has the pipe of its starter open")
            if not part:
                break
            said += part
        assert said == b"gone\n" and process_start(int(pid)), "it had ended by itself"
        assert int(session) not in (os.getsid(0), process.pid) and folder == "/"
    finally:
        os.close(out)
        told.unlink(missing_ok=True)
