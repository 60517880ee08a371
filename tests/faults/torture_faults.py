"""The part `faults` of `scripts/torture`: every file-changing system call of every command fails in each
possible way, or is the last one before a kill."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Any, Optional

from fault_points import KILL, SHORT, SQLITES_CALLS, has_strace, short_write_library
from fault_run import LOST, MISSED, SURVIVED, Stage
from fault_scenarios import SCENARIOS, Scenario
from fault_world import quick_place

from rewind_cli import CHECKOUT

_THOROUGH = 8  # after one of this number of points, every checkpoint is restored
_SLICE = 45.0  # seconds for one command before it is the next one's turn


class Results:
    """One line of JSON for each point that was tried. The lines are kept while the program is the same."""

    def __init__(self, path: Path, program: str, resume: bool) -> None:
        self.path = path
        self.done: dict[str, dict[str, str]] = {}  # command -> point -> outcome
        self.sizes: dict[str, int] = {}
        self.lost: list[dict[str, Any]] = []
        lines = path.read_text().splitlines() if resume and path.exists() else []
        if not lines or json.loads(lines[0]).get("program") != program:
            if lines:
                print("The program is another one than in the last run, so that is begun anew.")
            lines = [json.dumps({"program": program})]
            path.write_text(lines[0] + "\n")
        for line in lines[1:]:
            self._take(json.loads(line))

    def reread(self) -> None:
        self.done, self.sizes, self.lost = {}, {}, []
        for line in self.path.read_text().splitlines()[1:]:
            self._take(json.loads(line))

    def _take(self, line: dict[str, Any]) -> None:
        command = line["command"]
        if "points" in line:
            self.sizes[command] = max(line["points"], self.sizes.get(command, 0))
            return
        self.done.setdefault(command, {})[line["point"]] = line["outcome"]
        if line["outcome"] == LOST:
            self.lost.append(line)

    def add(self, **line: Any) -> None:
        """Append a line. Several processes do this, but a short line is written at once."""
        self._take(line)
        with open(self.path, "a") as file:
            file.write(json.dumps(line) + "\n")


def run(options: argparse.Namespace) -> tuple[list[str], bool]:
    chosen = [s for s in SCENARIOS if not options.only or s.name in options.only]
    if options.list:
        return [s.name for s in SCENARIOS], True
    if not has_strace():
        return ["SKIPPED: there is no strace here, or nothing may be traced."], False
    # Test a copy, because the checkout may be edited meanwhile.
    program = _copy_program(options.state)
    results = Results(options.state / "faults.jsonl", _digest(program), options.resume)
    with quick_place(options.state) as place:
        library = short_write_library(place)
        if not library:
            print("SKIPPED: no C compiler here, so there are no short writes.")
        ended_well = _in_parallel(options, chosen, results, place, program, library)
    results.reread()
    for line in results.lost:
        print(f"LOST: {line['command']}: {line['point']}: {line['why']}")
    return _table(chosen, results), ended_well and not results.lost


def _copy_program(state: Path) -> Path:
    target = (state / "program").resolve()
    shutil.rmtree(target, ignore_errors=True)
    for folder in ("src", "bin"):
        shutil.copytree(CHECKOUT / folder, target / folder, ignore=shutil.ignore_patterns("__pycache__"))
    import compileall
    import sys

    compileall.compile_dir(target / "src", quiet=2)
    sys.path.insert(0, str(target / "src"))
    return target / "bin" / "rewind"


def _digest(program: Path) -> str:
    found = hashlib.sha256()
    for path in sorted((program.parent.parent / "src").rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def _in_parallel(options: argparse.Namespace, chosen: list[Scenario], results: Results, place: Path,
                 program: Path, library: Optional[Path]) -> bool:
    """Each process has its own commands, and gives each of them a slice of time in each round."""
    children = []
    for number in range(max(1, options.jobs)):
        pid = os.fork()
        if not pid:
            code = 1
            try:
                mine = chosen[number::max(1, options.jobs)]
                _work(options, mine, results, place / str(number), program, library)
                code = 0
            except BaseException:
                import traceback

                traceback.print_exc()
            finally:
                os._exit(code)
        children.append(pid)
    statuses = [os.waitpid(pid, 0)[1] for pid in children]
    return not any(statuses)


def _work(options: argparse.Namespace, chosen: list[Scenario], results: Results, place: Path, program: Path,
          library: Optional[Path]) -> None:
    place.mkdir()
    left = list(chosen)
    while left and time.monotonic() < options.until:
        for number, scenario in enumerate(list(left)):
            now = time.monotonic()
            if now >= options.until:
                break
            share = (options.until - now) / max(1, len(left) - number)
            if not _some_of(options, scenario, results, place, program, library, min(_SLICE, share)):
                left.remove(scenario)


def _some_of(options: argparse.Namespace, scenario: Scenario, results: Results, place: Path, program: Path,
             library: Optional[Path], seconds: float) -> bool:
    """Try points of one command for some time. False if there are no more."""
    until = time.monotonic() + seconds
    stage = Stage(scenario, place / "w", program, library)
    try:
        results.add(command=scenario.name, points=len(stage.points))
        points = list(stage.points)
        random.Random(f"{options.seed} {scenario.name}").shuffle(points)
        done = results.done.get(scenario.name, {})
        # Rewind's own calls first. There are more of SQLite's, but others also test those.
        points = sorted((p for p in points if str(p) not in done), key=lambda p: p.call in SQLITES_CALLS)
        for point in points:
            if time.monotonic() > until:
                return True
            number = len(results.done.get(scenario.name, {}))
            tried = stage.attempt(point, number, thorough=number % _THOROUGH == 0)
            results.add(command=scenario.name, point=str(point), outcome=tried.outcome, why=tried.why[:2000])
            if tried.outcome == LOST:
                print(f"LOST: {scenario.name}: {point}: {tried.why[:600]}", flush=True)
        return False
    finally:
        stage.close()
        tally = Counter(results.done.get(scenario.name, {}).values())
        print(f"{scenario.name}: {sum(tally.values())} of {len(stage.points)} points tried,"
              f" {tally[SURVIVED]} survived, {tally[LOST]} lost", flush=True)


# the table

def _table(chosen: list[Scenario], results: Results) -> list[str]:
    lines = ["| command | fault points | tried | killed | failed | short writes | survived | lost |",
             "|---|--:|--:|--:|--:|--:|--:|--:|"]
    total: Counter[str] = Counter()
    for scenario in chosen:
        row = _row(results, scenario.name)
        total.update(row)
        lines.append(_line(f"`{scenario.name}`", row))
    summary = f"{total['tried']:,} of {total['points']:,} points were tried, {total[LOST]:,} were lost."
    return [*lines, _line("**all**", total), "", summary]


def _row(results: Results, command: str) -> Counter[str]:
    """Points that were missed do not count as tried. A resumed run may know more points than one of its
    parts."""
    known = results.done.get(command, {})
    done = {point: outcome for point, outcome in known.items() if outcome != MISSED}
    row = Counter(done.values())
    row["points"] = max(results.sizes.get(command, 0), len(known))
    row["tried"] = len(done)
    row["killed"] = sum(point.endswith(KILL) for point in done)
    row["short"] = sum(point.endswith(SHORT) for point in done)
    row["failed"] = row["tried"] - row["killed"] - row["short"]
    return row


def _line(name: str, row: Counter[str]) -> str:
    keys = ("points", "tried", "killed", "failed", "short", SURVIVED, LOST)
    cells = [row[key] for key in keys]
    return f"| {name} | " + " | ".join(f"{cell:,}" for cell in cells) + " |"
