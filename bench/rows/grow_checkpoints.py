"""Ten times as many checkpoints: list them, make one more, restore one."""

from __future__ import annotations

from bench import many
from bench.measure import Action
from bench.ours import Rewind
from bench.rows.growth import curves
from bench.rows.row import Finding, Row, Unfaithful
from bench.workplace import Workplace

COMMANDS = {
    "list": "`rewind list`",
    "save": "`rewind save`, 1 file edited",
    "restore": "`rewind restore` of 1 edited file",
}


def _checkpoints(place: Workplace) -> list[Finding]:
    projects = {count: _project(place, count) for count in place.options.grow.checkpoints}
    names = {count: rewind.save_named() for count, rewind in projects.items()}
    edits = 0

    def edit() -> None:
        nonlocal edits
        edits += 1
        for rewind in projects.values():
            (rewind.project / many.WORKED_ON).write_text(f"measured {edits}\n" * (edits % 7 + 1))

    at = {count: {"list": _listing(rewind), "save": rewind.save, "restore": _restoring(rewind, names[count])}
          for count, rewind in projects.items()}
    return list(curves("checkpoints", COMMANDS, at, place.options.rounds, before=edit))


def _listing(rewind: Rewind) -> Action:
    return lambda: rewind.run("list")


def _restoring(rewind: Rewind, name: str) -> Action:
    return lambda: rewind.restore(name)


def _project(place: Workplace, count: int) -> Rewind:
    rewind = place.small_project(f"checkpoints-{count}")
    many.make(rewind, place.options.python, "checkpoints", count - 1)
    if rewind.count() < count:
        raise Unfaithful(f"list shows {rewind.count()} of {count} checkpoints")
    return rewind


ROWS = [Row("growth-checkpoints", "list, save and restore among ten times as many checkpoints", None,
            _checkpoints, "growth")]
