"""The life of a process: which one it is, what it keeps open, and starting one that nobody waits for."""

from __future__ import annotations

import os
import sys

_MOST_DESCRIPTORS = 4096  # where the open ones cannot be listed


def open_missing_streams() -> None:
    """Where a standard stream was closed by whoever started us, the next file that is opened would get its
    number, and what is meant for a person or an agent would be written into it."""
    while True:
        fd = os.open(os.devnull, os.O_RDWR)
        if fd > 2:
            os.close(fd)
            return
        os.set_inheritable(fd, True)


def process_start(pid: int) -> str | None:
    """A token that tells this life of a pid from the next one; None when no such process lives."""
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
    """Whether this process has ended, and its end was never asked for: in a container whose first process is
    not made for that, it stays in the list of processes."""
    try:
        return _status_of(pid)[0] == b"Z"
    except OSError:
        return False


def _status_of(pid: int) -> list[bytes]:
    """What the kernel says of it, behind its name, which may hold anything."""
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
                pass  # the one by which the list was read


def detach(*kept: int) -> None:
    """Nothing of whoever started us: a session and a working directory of its own, and no descriptor but
    these. Who reads a pipe until its end waits for everybody who has it open, whatever its number."""
    os.setsid()
    drop_streams()
    close_all_but(*kept)
    os.chdir("/")


def leave_session() -> None:
    """Whoever kills the group that we were started in does not mean us any more."""
    try:
        os.setsid()
    except OSError:
        pass  # the first of its group, so nobody else's


def drop_streams(*more: int) -> None:
    """The standard streams lead nowhere from here on, nor do these."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2, *more):
        os.dup2(null, fd)
    os.close(null)


def spawn_detached(arguments: list[str]) -> None:
    """Start this interpreter on `arguments`, tied to nothing of ours. Names in them must be full paths."""
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
