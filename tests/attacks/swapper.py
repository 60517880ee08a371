"""A process that swaps a directory for a link to somewhere else, and back, as fast as it can.

Run as a program: `swapper.py DIRECTORY TARGET`. It ends when its standard input does.
"""

from __future__ import annotations

import ctypes
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_EXCHANGE = 2  # renameat2(2): two names change places in one step
_AT_FDCWD = -100


def swap(path: str, target: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    link = path + ".rewind-attack"  # in the same directory, for the exchange
    os.symlink(target, link)
    names = (os.fsencode(path), os.fsencode(link))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    rounds = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        for _ in range(50):
            libc.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _EXCHANGE)
            rounds += 1
    if os.path.islink(path):
        libc.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _EXCHANGE)
    if os.path.islink(link):
        os.unlink(link)


def can_swap() -> bool:
    return sys.platform == "linux" and hasattr(ctypes.CDLL(None), "renameat2")


@contextmanager
def swapping(path: Path, target: Path) -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-I", __file__, str(path), str(target)],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == b"ready\n"
        yield
    finally:
        if process.stdin:
            process.stdin.close()
        process.wait(90)
        if process.stdout:
            process.stdout.close()


if __name__ == "__main__":
    swap(sys.argv[1], sys.argv[2])
