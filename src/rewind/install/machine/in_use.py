"""Whether a process runs from a library: a hook, a chore in the background, or a server that was started
before an upgrade and still loads modules."""

from __future__ import annotations

import os


def is_in_use(library: str) -> bool:
    """By the command lines of the processes; False if they cannot be seen."""
    wanted = os.fsencode(library) + b"/"
    return any(wanted in command for command in _commands())


def _commands() -> list[bytes]:
    try:
        pids = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return _commands_by_ps()
    return [_command(pid) for pid in pids if int(pid) != os.getpid()]


def _command(pid: str) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""  # it has ended, or belongs to another user


def _commands_by_ps() -> list[bytes]:
    import subprocess

    try:
        done = subprocess.run(["ps", "-axo", "pid=,command="], capture_output=True, check=False)
    except OSError:
        return []
    own = str(os.getpid()).encode()
    return [line for line in done.stdout.splitlines() if line.split()[:1] != [own]]
