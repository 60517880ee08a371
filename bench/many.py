"""Makes many checkpoints or forks in one process through the Python API, which is what takes little time.

It is both the module that starts that process and the program that runs in it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.ours import Rewind


def make(rewind: Rewind, what: str, count: int, *more: str) -> None:
    """`what` is "checkpoints", "forks" with the path of a transcript, or "versions" with a directory of them
    and the file that has them."""
    from bench.workplace import say

    say(f"making {count} {what}")
    python, script = rewind.command()[0], rewind.command()[-1]
    source = os.path.join(os.path.dirname(os.path.dirname(script)), "src")
    os.chdir(rewind.project)
    rewind.spawner.run([python, "-I", "-S", os.path.abspath(__file__), source, what, str(count), *more])


def _checkpoints(count: int) -> None:
    """Each one of another content, written over one file, as if an agent worked on it."""
    from rewind import Controller

    project = Controller(".")
    for number in range(count):
        with open("worked-on.txt", "w", encoding="ascii") as file:
            file.write(f"{number}: {'x' * (number % 97)}\n")
        project.save(f"step {number}")
    project.close()


def _forks(count: int, transcript: str) -> None:
    from rewind import Controller

    project = Controller(".")
    for _ in range(count):
        project.rewind_back(1, session=transcript)
    project.close()


def _versions(count: int, folder: str, path: str) -> None:
    from rewind import Controller

    project = Controller(".")
    for name in sorted(os.listdir(folder))[:count]:
        with open(os.path.join(folder, name), "rb") as version, open(path, "wb") as file:
            file.write(version.read())
        project.save(name)
    project.close()


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    _MAKERS = {"checkpoints": _checkpoints, "forks": _forks, "versions": _versions}
    _MAKERS[sys.argv[2]](int(sys.argv[3]), *sys.argv[4:])
