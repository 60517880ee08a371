"""Processes: telling them apart, what they keep open, and starting one that nobody waits for."""

from __future__ import annotations

import os
import sys

_MOST_DESCRIPTORS = 4096  # where the open ones cannot be listed


def open_missing_streams() -> None:
    """If a standard stream was closed when we were started, the next file that is opened would get its
    number, and text for a person or an agent would be written into that file."""
    while True:
        fd = os.open(os.devnull, os.O_RDWR)
        if fd > 2:
            os.close(fd)
            return
        os.set_inheritable(fd, True)


def process_start(pid: int) -> str | None:
    """A token that differs for another process with the same pid; None if no such process is alive."""
    try:
        fields = _status_of(pid)
        return None if fields[0] in (b"Z", b"X") else fields[19].decode()
    except FileNotFoundError:
        if os.path.exists("/proc/self/stat"):
            return None
    except OSError:
        return None
    return _process_start_by_ps(pid)


def is_zombie(pid: int) -> bool:
    """Whether this process has ended but was not waited for. In a container whose first process does not wait
    for others, it stays in the list of processes."""
    try:
        return _status_of(pid)[0] == b"Z"
    except OSError:
        return False


def _status_of(pid: int) -> list[bytes]:
    """The kernel's status fields after the name, which may contain anything."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()


def _process_start_by_ps(pid: int) -> str | None:
    import subprocess

    done = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, check=False)
    return done.stdout.decode("ascii", "replace").strip() or None


def boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def close_all_but(*kept: int) -> None:
    """Close what this process inherited or opened, except for the standard streams and these."""
    try:
        found = [int(name) for name in os.listdir("/dev/fd")]
    except OSError:
        found = list(range(_MOST_DESCRIPTORS))
    for fd in found:
        if fd > 2 and fd not in kept:
            try:
                os.close(fd)
            except OSError:
                pass  # the descriptor that the list was read from


def detach(*kept: int) -> None:
    """Leave everything of the process that started us: get a session and a working directory of our own, and
    keep no descriptor but these. Whoever reads a pipe to its end waits for every process that has it open."""
    os.setsid()
    drop_streams()
    close_all_but(*kept)
    os.chdir("/")


def leave_session() -> None:
    """Leave the process group that we were started in, so that killing the group does not kill us."""
    try:
        os.setsid()
    except OSError:
        pass  # this process leads a group of its own already


def drop_streams(*more: int) -> None:
    """Redirect the standard streams, and these descriptors, to /dev/null."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2, *more):
        os.dup2(null, fd)
    os.close(null)


def spawn_detached(arguments: list[str]) -> None:
    """Start this interpreter with `arguments`, detached from this process. Paths in them must be absolute."""
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        return
    try:
        detach()
        if os.fork():
            os._exit(0)
        os.execv(sys.executable, [sys.executable, *arguments])
    finally:
        os._exit(1)
