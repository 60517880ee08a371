"""A command that is killed on its way: nothing of it is cleaned up."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any, Callable

from rewind.cli.main import main

COUNTED = ("rename", "replace", "unlink", "rmdir", "mkdir", "link", "write", "fsync")


def killed_after(calls: int, args: list[str], cwd: Path) -> bool:
    """Run a command in a child that kills itself before its next change to the disk, when so many were made.
    False: it had ended by then."""
    return killed_in(calls, lambda: main(args), cwd)


def killed_in(calls: int, act: Callable[[], int], cwd: Path,
              counted_calls: tuple[str, ...] = COUNTED) -> bool:
    """The same for a function that gives an exit code."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        code = 70
        try:
            os.chdir(cwd)
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, 1)
            os.dup2(null, 2)
            left = [calls]

            def counted(real: Callable[..., Any]) -> Callable[..., Any]:
                def call(*a: Any, **more: Any) -> Any:
                    left[0] -= 1
                    if left[0] < 0:
                        os.kill(os.getpid(), signal.SIGKILL)
                    return real(*a, **more)
                return call

            for name in counted_calls:
                setattr(os, name, counted(getattr(os, name)))
            code = act()
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return True
    assert os.WEXITSTATUS(status) == 0, status
    return False
