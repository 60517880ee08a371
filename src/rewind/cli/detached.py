"""Chores that a checkpoint starts and nobody waits for: `detached.py gc|pack ROOT HOME`."""

from __future__ import annotations

import os
import sys

_PATIENT = 120.0


def do_chore(chore: str, root: str, home: str) -> int:
    os.nice(10)
    from rewind.controller import Controller
    from rewind.errors import RewindError

    try:
        controller = Controller(root, home=home)
        if chore == "gc":
            controller.gc(wait=_PATIENT)
        else:
            controller.pack(wait=_PATIENT)
    except (RewindError, OSError) as error:
        _log(chore, root, home, str(error))
        return 1
    return 0


def _log(chore: str, root: str, home: str, text: str) -> None:
    import time

    from rewind.paths import open_project

    project = open_project(root, home)
    if project:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        with open(os.open(project.path("rewind.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
                  "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{stamp} {chore}: {text}\n")


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    sys.exit(do_chore(*sys.argv[1:4]))
