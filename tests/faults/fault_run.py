"""Runs one scenario: makes and freezes its world, counts its points, and tries one fault after the other."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple, Optional

from fault_check import check_in_child, load_library, what_is_wanted
from fault_points import SHORT, Point, inject, is_change, points_of, steady_paths, trace
from fault_scenarios import Scenario
from fault_world import World

SURVIVED, LOST, MISSED = "survived", "lost", "missed"


class Tried(NamedTuple):
    point: Point
    outcome: str  # one of the three above; missed if the call did not happen this time
    why: str = ""


class Stage:
    """It must be closed, because its world may be in memory."""

    def __init__(self, scenario: Scenario, top: Path, program: Path, library: Optional[Path] = None) -> None:
        load_library()
        self.scenario = scenario
        self.library = library
        self.world = World(top, program)
        self.log = top.with_name(top.name + ".strace")
        self.world.make(protected=scenario.protected)
        scenario.setup(self.world)
        self.world.freeze()
        self.points = self._count()

    def _count(self) -> list[Point]:
        """Find the calls and the result of the command in a run without faults. Two runs are made: in the
        first, Python may compile the program, with calls that later runs do not make. Both together show
        which files have the same name each time."""
        world = self.world
        self.command, self.stdin = self.scenario.command(world), self.scenario.stdin(world)
        first = self.log.with_suffix(".first")
        for log in (first, self.log):
            world.thaw()
            done = trace(self.command, world.env, world.project, log, self.stdin)
            assert done.code == 0, done
        self.wanted = what_is_wanted(world, world.facts)
        steady = steady_paths([first, self.log], world.top)
        first.unlink()
        points = points_of(self.log, world.top, self.scenario.thin, steady)
        return [p for p in points if p.fault != SHORT or self.library]

    def attempt(self, point: Point, number: int = 0, *, thorough: bool = False) -> Tried:
        world = self.world
        world.thaw()
        run = inject(point, self.command, world.env, world.project, self.log, self.stdin, self.library)
        world.wait_for_others()
        if not run.hit or not is_change(run.hit, world.top):
            return Tried(point, MISSED)
        why = check_in_child(world, self.scenario, self.wanted, run, point.fault, way=number,
                             thorough=thorough)
        return Tried(point, LOST if why else SURVIVED, f"{why} | {run.hit}" if why else "")

    def close(self) -> None:
        self.world.remove()
        if self.log.exists():
            os.unlink(self.log)
