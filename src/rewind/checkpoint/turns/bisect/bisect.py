"""`rewind bisect`: finds the turn that broke a command, by binary search on the line of checkpoints."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Union

from rewind.checkpoint.changes.authors import Author, Authors
from rewind.checkpoint.changes.turn_changes import Unpacked, changes_between
from rewind.checkpoint.operation_log.lineage import Lineage, here, lineage
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.select.selectors import select
from rewind.checkpoint.select.spans import spans
from rewind.checkpoint.turns.bisect.in_place import InPlace
from rewind.checkpoint.turns.bisect.log import BisectLog
from rewind.checkpoint.turns.bisect.scratch import Scratch, to_link
from rewind.checkpoint.turns.bisect.search import BAD, GOOD, SKIP, Found, find_first_bad
from rewind.errors import BisectStopped, NothingToBisect, NotOnLine, TurnWithoutCheckpoint

if TYPE_CHECKING:
    from rewind.checkpoint.changes.turn_changes import Changes

# (the checkpoint that is tried, the run's number, how many runs are left at most)
Progress = Callable[[Record, int, int], None]
Place = Union[Scratch, InPlace]

_TURN = re.compile(r"(?P<turn>(?:[^:]+:)?(?:t|turn:)[0-9]+)(?P<after>\+?)")
_SKIPPED = 125
_NOT_RUN = (126, 127)


class Bisected:
    """`bad` is the first checkpoint at which the command fails, `good` the last one before it."""

    def __init__(self, state: State, states: list[Record], found: Found, runs: int, parents: Lineage) -> None:
        assert found.bad is not None and found.good is not None
        self.bad, self.good = states[found.bad], states[found.good]
        self.skipped = [states[n] for n in found.skipped]
        self.runs = runs
        self.author: Author = Authors(state, parents).author_of(self.bad)
        with Unpacked(state) as unpacked:
            self.changes: Changes | None = changes_between(state, self.good, self.bad, unpacked)

    @property
    def span(self) -> str:
        """The range between the two, as a person types it."""
        return f"{self.good.name}..{self.bad.name}"


class Bisect:
    """`good` and `bad` are selectors as typed. `known` are results of an earlier run; with an empty `command`
    only these are used."""

    def __init__(self, state: State, command: Sequence[str], *, good: str | None = None,
                 bad: str | None = None, known: dict[str, str] | None = None, below: str = "",
                 quiet: bool = False, progress: Progress | None = None) -> None:
        """`below` is the directory in the project where the command runs. `quiet` hides its output."""
        self._state = state
        self._command = list(command)
        self._known = known or {}
        self._below = below
        self._quiet = quiet
        self._progress = progress
        self._log = BisectLog(state)
        self._parents = lineage(state)
        self.runs = 0
        self.states, self._good = self._range(good, bad)
        self._bad_is_known = bad is not None

    def _range(self, good: str | None, bad: str | None) -> tuple[list[Record], int | None]:
        """The checkpoints to try, oldest first, and the index of one that is good. Of several in a row with
        the same code, only the first is tried."""
        newest = state_named(self._state, bad) if bad else here(self._state)
        if newest is None:
            raise NothingToBisect(reason="there is no checkpoint yet")
        line = list(self._parents.line(newest.name))[::-1]
        if good:
            oldest = state_named(self._state, good)
            names = [record.name for record in line]
            if oldest.name not in names:
                raise NotOnLine(name=oldest.name, other=newest.name)
            line = line[names.index(oldest.name):]
        states = [r for at, r in enumerate(line) if at == 0 or r.tree != line[at - 1].tree]
        if len(states) < 2:
            raise NothingToBisect(reason="there are not two checkpoints with different code")
        return states, 0 if good else None

    def run(self, *, in_place: bool = False, force: bool = False) -> Bisected:
        if not self._command:
            return self._search(None)
        self._log.start(self._command)
        place: Place = (InPlace(self._state, force) if in_place
                        else Scratch(self._state, to_link(self._state)))
        with place as entered:
            return self._search(entered)

    def _search(self, place: Place | None) -> Bisected:
        states = self.states
        found = find_first_bad(len(states), self._good, self._bad_is_known,
                               lambda at, left: self._attempt(states[at], left, place))
        if found.bad is None:
            raise NothingToBisect(reason=f"the command does not fail at {states[-1].name}",
                                  hint="If it fails now, save first: rewind save")
        if found.good is None:
            raise NothingToBisect(reason=f"the command fails as early as {states[found.bad].name}",
                                  hint="Name a checkpoint where it works: --good CHECKPOINT")
        return Bisected(self._state, states, found, self.runs, self._parents)

    def _attempt(self, record: Record, left: int, place: Place | None) -> str:
        verdict = self._known.get(record.name)
        if verdict is None:
            if place is None:
                raise NothingToBisect(reason=f"the log has no result for {record.name}",
                                      hint="To try what is missing, give the command: -- CMD")
            self.runs += 1
            if self._progress:
                self._progress(record, self.runs, left)
            verdict = self._try(record, os.path.join(place.make(record), self._below).rstrip("/"))
        if self._command:
            self._log.add(verdict, record.name, record.description)
        return verdict

    def _try(self, record: Record, folder: str) -> str:
        code = run_command(self._command, folder, self._quiet) if os.path.isdir(folder) else _SKIPPED
        if code == 0:
            return GOOD
        if code == _SKIPPED:
            return SKIP
        if code in _NOT_RUN or not 0 < code < 128:
            raise BisectStopped(code=code, checkpoint=record.name, command=self._command[0])
        return BAD


def state_named(state: State, text: str) -> Record:
    """A checkpoint; `t4` is the code before turn 4, `t4+` the code after it."""
    match = _TURN.fullmatch(text)
    if not match:
        return select(state, text)
    span = spans(state, [match["turn"]])[0]
    found = span.after if match["after"] else span.before
    if found is None:
        raise TurnWithoutCheckpoint(turn=span.turn, session=span.session)
    return found


def run_command(command: Sequence[str], folder: str, quiet: bool) -> int:
    """Its exit code as in a shell. Its output goes to stderr, because stdout is for our result."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("REWIND_")}
    try:
        child = subprocess.Popen(list(command), cwd=folder, env={**env, "PWD": folder},
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL if quiet else 2,
                                 stderr=subprocess.DEVNULL if quiet else None)
    except FileNotFoundError:
        return 127
    except OSError:
        return 126
    try:
        code = child.wait()
    except BaseException:
        child.terminate()
        child.wait()
        raise
    return code if code >= 0 else 128 - code
