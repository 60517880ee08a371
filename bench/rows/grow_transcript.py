"""A transcript ten times as long: take back a prompt, list sessions, save the last turn."""

from __future__ import annotations

import os

from bench.measure import Action
from bench.ours import Rewind
from bench.rows.growth import curves
from bench.rows.row import Finding, Row, Unfaithful
from bench.talk import Talk
from bench.workplace import Workplace

COMMANDS = {
    "sessions": "`rewind sessions list`, not for the first time",
    "save": "`rewind save`, one turn said since",
    "back": "`rewind back 1`, which copies the rest into a fork",
}


def _transcript(place: Workplace) -> list[Finding]:
    sides = {size: _side(place, size) for size in place.options.grow.transcript}

    def add_turn() -> None:
        for _, talk in sides.values():
            talk.add_turn()

    def check(size: int, command: str) -> None:
        if command == "back":
            _remove_fork(sides[size][1])

    at = {size: {"sessions": _listing(rewind), "save": rewind.save, "back": _going_back(rewind, talk)}
          for size, (rewind, talk) in sides.items()}
    # Nothing changes between two listings. The other two commands follow a new turn.
    warm = {"sessions": COMMANDS["sessions"]}
    rest = {name: what for name, what in COMMANDS.items() if name not in warm}
    found = curves("transcript bytes", warm, at, place.options.rounds)
    rounds = max(3, place.options.rounds // 2)
    found += curves("transcript bytes", rest, at, rounds, before=add_turn, after=check)
    for _, talk in sides.values():
        talk.remove()
    return list(found)


def _side(place: Workplace, size: int) -> tuple[Rewind, Talk]:
    rewind = place.small_project(f"transcript-{size}")
    talk = rewind.talk.grow_to(size)
    rewind.save()
    rewind.run("sessions", "list")
    return rewind, talk


def _going_back(rewind: Rewind, talk: Talk) -> Action:
    return lambda: rewind.back(talk.path)


def _listing(rewind: Rewind) -> Action:
    return lambda: rewind.run("sessions", "list")


def _remove_fork(talk: Talk) -> None:
    made = sorted(talk.others())
    if len(made) != 1:
        raise Unfaithful(f"`back` made {len(made)} forks")
    os.unlink(talk.path.parent / made[0])


ROWS = [Row("growth-transcript", "back, sessions and save with a transcript ten times as long", None,
            _transcript, "growth")]
