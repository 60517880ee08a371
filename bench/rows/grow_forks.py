"""Ten times as many forks of one session: list them, make one more."""

from __future__ import annotations

import os

from bench import many
from bench.measure import Action
from bench.ours import Rewind
from bench.rows.growth import curves
from bench.rows.row import Finding, Row, Unfaithful
from bench.talk import Talk
from bench.workplace import Workplace

COMMANDS = {
    "forks": "`rewind forks list`",
    "sessions": "`rewind sessions list`",
    "back": "`rewind back 1`",
}
TALK_BYTES = 200_000


def _forks(place: Workplace) -> list[Finding]:
    sides = {count: _side(place, count) for count in place.options.grow.forks}
    known = {count: talk.others() for count, (_, talk) in sides.items()}

    def check(count: int, command: str) -> None:
        if command == "back":
            _remove_new_fork(sides[count][1], known[count])

    at = {count: {"forks": _running(rewind, "forks", "list"),
                  "sessions": _running(rewind, "sessions", "list"), "back": _going_back(rewind, talk)}
          for count, (rewind, talk) in sides.items()}
    return list(curves("forks", COMMANDS, at, place.options.rounds, after=check))


def _side(place: Workplace, count: int) -> tuple[Rewind, Talk]:
    rewind = place.small_project(f"forks-{count}")
    talk = rewind.talk.grow_to(TALK_BYTES)
    many.make(rewind, place.options.python, "forks", count, talk.path)
    if len(talk.others()) != count:
        raise Unfaithful(f"there are {len(talk.others())} of {count} forks")
    rewind.run("sessions", "list")
    return rewind, talk


def _going_back(rewind: Rewind, talk: Talk) -> Action:
    return lambda: rewind.back(talk.path)


def _running(rewind: Rewind, *arguments: str) -> Action:
    return lambda: rewind.run(*arguments)


def _remove_new_fork(talk: Talk, known: set[str]) -> None:
    """The number of forks must stay the same."""
    made = sorted(talk.others() - known)
    if len(made) != 1:
        raise Unfaithful(f"`back` made {len(made)} forks")
    os.unlink(talk.path.parent / made[0])


ROWS = [Row("growth-forks", "forks, sessions and back among ten times as many forks", None, _forks, "growth")]
