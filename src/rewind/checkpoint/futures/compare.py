"""Several futures side by side: which files each changed and how much, and what a command says in each."""

from __future__ import annotations

import os
import time

from rewind.checkpoint.branches import Branches
from rewind.checkpoint.futures.known import AtPlace, look, point_of
from rewind.checkpoint.rewind.lineage import here
from rewind.checkpoint.save import save
from rewind.checkpoint.turn_changes import changes_between
from rewind.errors import FutureLost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rewind.checkpoint.futures.known import Lane
    from rewind.checkpoint.state import State

_MOST_OUTPUT = 64 << 10


class Ran:
    """What a command did in one of them."""

    def __init__(self, code: int, seconds: float, output: str) -> None:
        self.code = code
        self.seconds = seconds
        self.output = output

    @property
    def last_line(self) -> str:
        lines = [line for line in self.output.splitlines() if line.strip()]
        return lines[-1].strip() if lines else ""


def bring_up_to_date(state: State, lane: Lane, why: str) -> None:
    """What was done there since its last checkpoint becomes one."""
    if not lane.exists:
        raise FutureLost(name=lane.name, what=f"{lane.dir} is gone")
    with AtPlace(state, lane) as there:
        save(there, f"Before `rewind forks {why}`", kind="auto", if_changed=True)


def compared(state: State, chosen: list[Lane]) -> dict[str, list[dict[str, Any] | None]]:
    """Path -> what each of them did to it, None where it did nothing."""
    rows: dict[str, list[dict[str, Any] | None]] = {}
    for at, lane in enumerate(chosen):
        bring_up_to_date(state, lane, "compare")
        look(state, lane)
        for file in _files(state, lane):
            rows.setdefault(str(file["path"]), [None] * len(chosen))[at] = file
    return dict(sorted(rows.items()))


def _files(state: State, lane: Lane) -> list[dict[str, Any]]:
    point = point_of(state, lane)
    with AtPlace(state, lane) as there:
        tip = here(there)
        changes = changes_between(there, point, tip) if point and tip else None
    return list((changes or {}).get("files") or ())


def run_in(state: State, lane: Lane, command: list[str]) -> Ran:
    """With its outcome noted, for `forks list`."""
    import subprocess

    began = time.monotonic()
    try:
        done = subprocess.run(command, cwd=lane.dir, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        code, output = done.returncode, done.stdout[-_MOST_OUTPUT:]
    except OSError as error:
        code, output = 127, os.fsencode(f"{command[0]}: {error.strerror}")
    ran = Ran(code, time.monotonic() - began, output.decode("utf-8", "replace"))
    with state.locked("forks compare"):
        Branches(state).change(lane.session_id, {"lastRun": {
            "command": " ".join(command)[:200], "code": code,
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}})
    return ran
