"""Makes many checkpoints, turns or forks quickly, by making all of them in one process.

This file is both the module that starts that process and the program that runs in it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.ours import Rewind

WORKED_ON = "worked-on.txt"


def make(rewind: Rewind, python: str, what: str, count: int, *more: object) -> None:
    """`what` names one of the functions below, and `more` are its arguments after the count."""
    from bench.workplace import say

    say(f"making {count} {what}")
    library = next((rewind.home / ".rewind" / "system").glob("lib-*"))
    os.chdir(rewind.project)
    rewind.spawner.run([python, "-I", "-S", __file__, str(library), what, str(count), *map(str, more)])


def turns(count: int, sessions: str, home: str) -> None:
    """Make `count` checkpoints in several sessions by hooks: a start, then prompts and ends of turns."""
    from bench.talk import Talk
    from rewind.hooks.handle import handle

    def tell(event: str, **more: object) -> None:
        data = {**talk.event(), "prompt_id": f"{talk.session}-{number}", **more}
        handle(event, json.dumps(data).encode(), dict(os.environ))

    share = count // int(sessions)
    for one in range(int(sessions)):
        talk = Talk(Path(home), Path.cwd(), one + 1)
        for number in range(share):
            if number == 0:
                tell("session-start", source="startup")
            elif number % 2:
                tell("user-prompt-submit", prompt=f"Do step {number} of session {one}")
            else:
                talk.add_turn(f"Do step {number - 1} of session {one}", 3)
                _work(f"{one}.{number}\n" * (number + 3))
                tell("stop")
        tell("session-end", reason="exit")


def checkpoints(count: int) -> None:
    """Make checkpoints of one file, with other content each time."""
    from rewind import Controller

    project = Controller(".")
    for number in range(count):
        _work(f"{number}: {'x' * (number % 97)}\n")
        project.save(f"step {number}")
    project.close()


def forks(count: int, transcript: str) -> None:
    from rewind import Controller

    project = Controller(".")
    for _ in range(count):
        project.rewind_back(1, session=transcript)
    project.close()


def versions(count: int, folder: str, path: str) -> None:
    """Make checkpoints of one file, whose versions are the files in `folder`."""
    from rewind import Controller

    project = Controller(".")
    for name in sorted(os.listdir(folder))[:count]:
        with open(os.path.join(folder, name), "rb") as version, open(path, "wb") as file:
            file.write(version.read())
        project.save(name)
    project.close()


def _work(text: str) -> None:
    with open(WORKED_ON, "w", encoding="ascii") as file:
        file.write(text)


if __name__ == "__main__":
    sys.path[:0] = [sys.argv[1], str(Path(__file__).resolve().parent.parent)]
    _MAKERS = {one.__name__: one for one in (turns, checkpoints, forks, versions)}
    _MAKERS[sys.argv[2]](int(sys.argv[3]), *sys.argv[4:])
