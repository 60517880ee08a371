"""Chores that a checkpoint starts by the path of this file and nobody waits for: `gc|pack ROOT HOME`."""

from __future__ import annotations

import os
import sys

_PATIENT = 120.0


def do_chore(chore: str, root: str, home: str) -> int:
    os.nice(10)
    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.upkeep.pieces import pack
    from rewind.errors import RewindError
    from rewind.paths import open_project

    try:
        project = open_project(root, home)
        if project is None:
            return 1  # deleted since
        state = State(project)
        if chore == "gc":
            from rewind.checkpoint.upkeep.collection import collect

            collect(state, None, _PATIENT)
        pack(state, _PATIENT)
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
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.path.insert(0, os.path.dirname(package))
    sys.exit(do_chore(*sys.argv[1:4]))
