"""The command line of `scripts/bench`: options in, report out, everything cleaned up."""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path

from bench import document
from bench.machine import describe
from bench.report import as_text
from bench.result import Line, Result, as_json, load, make_result, merge, save
from bench.rows.registry import ROWS
from bench.rows.row import GROUPS, Row, Skipped, Unfaithful
from bench.spawn import CommandFailed
from bench.workplace import Grow, Options, Workplace, real_interpreter, say

CHECKOUT = Path(__file__).resolve().parent.parent
DEFAULT_ROUNDS = 20
QUICK_ROUNDS = 3


def main() -> int:
    arguments = _parser().parse_args()
    if arguments.rows:
        print("\n".join(f"{row.group:<9} {row.name:<20} {row.what}" for row in ROWS))
        return 0
    # A missed budget is a finding, not an error; a wrong result or a crash is one.
    code = 0
    if arguments.source:
        result = load(Path(arguments.source))
    else:
        result, failed = _measured(arguments)
        code = int(failed)
    if arguments.report:
        for path in document.write(result, Path(arguments.docs)):
            say(f"wrote {os.path.relpath(path)}")
    print(as_json(result) if arguments.json else as_text(result))
    return code


def _measured(arguments: argparse.Namespace) -> tuple[Result, bool]:
    """The result, with what the file of `--into` held before, and whether a row failed now."""
    options = _options(arguments)
    rows = chosen(arguments.only, arguments.group)
    into = Path(arguments.into).resolve() if arguments.into else None
    root = _workplace(arguments.keep)
    try:
        return _measure(rows, Workplace(root, options), into)
    finally:
        os.chdir(CHECKOUT)
        if arguments.keep is None:
            shutil.rmtree(root, ignore_errors=True)


def _measure(rows: list[Row], place: Workplace, into: Path | None) -> tuple[Result, bool]:
    machine = describe(place.spawner, place.options.python, place.root)
    before = load(into) if into is not None and into.exists() else None
    lines: list[Line] = []
    result = make_result(lines, place.options, machine)
    for row in rows:
        say(f"row {row.name}")
        lines.append(measure_row(row, place))
        result = make_result(lines, place.options, machine)
        if before is not None:
            result = merge(before, result, [known.name for known in ROWS])
        if into is not None:
            save(result, into)  # after each row, so that an interrupted run has its rows
    return result, any(line.problem for line in lines)


def measure_row(row: Row, place: Workplace) -> Line:
    start = time.monotonic()
    try:
        found = row.run(place)
    except Skipped as reason:
        say(f"SKIPPED {row.name}: {reason}")
        return Line(row, skipped=str(reason))
    except (CommandFailed, Unfaithful, OSError, ValueError, KeyError) as problem:
        say(f"FAILED {row.name}: {problem}")
        return Line(row, problem=f"{type(problem).__name__}: {problem}")
    return Line(row, found if isinstance(found, list) else [found], seconds=time.monotonic() - start)


def chosen(names: list[str] | None, groups: list[str] | None) -> list[Row]:
    """The rows of these names and those of these groups; all, if none is named."""
    known = [row.name for row in ROWS]
    unknown = [name for name in names or [] if name not in known]
    if unknown:
        raise SystemExit(f"error: no row {unknown[0]}; there are: {' '.join(known)}")
    if not names and not groups:
        return ROWS
    return [row for row in ROWS if row.name in (names or []) or row.group in (groups or [])]


def _options(arguments: argparse.Namespace) -> Options:
    script = Path(arguments.rewind).resolve()
    if not script.is_file():
        raise SystemExit(f"error: there is no {script}")
    python = os.path.realpath(arguments.python) if arguments.python else real_interpreter()
    if arguments.quick:
        return quick_options(python, script, arguments.rounds or QUICK_ROUNDS, arguments.settle or 0.1)
    return Options(
        quick=False,
        files=20_000,
        scale=(10_000, 100_000),
        rounds=arguments.rounds or DEFAULT_ROUNDS,
        commits=100,
        listed=1_000,
        settle=2.2 if arguments.settle is None else arguments.settle,
        python=python,
        script=script,
    )


def quick_options(python: str, script: Path, rounds: int, settle: float) -> Options:
    """Small enough to see whether everything runs; the figures mean nothing."""
    return Options(
        quick=True,
        files=400,
        scale=(100, 1_000),
        rounds=rounds,
        commits=5,
        listed=20,
        settle=settle,
        python=python,
        script=script,
        sizes=(100, 800),
        untracked=(50, 100, 200),
        grow=Grow((2, 20), (300_000, 3_000_000), (2, 20), (100, 1_000)),
    )


def _workplace(keep: str | None) -> Path:
    if keep is None:
        return Path(tempfile.mkdtemp(prefix="rewind-bench-")).resolve()
    root = Path(keep).resolve()
    root.mkdir(parents=True, exist_ok=True)
    if any(root.iterdir()):
        raise SystemExit(f"error: {root} is not empty")
    return root


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Measures Rewind against what a user would otherwise have; see bench/README.md.",
    )
    add = parser.add_argument
    add("--quick", action="store_true", help="tiny trees and 3 rounds: does it run at all?")
    add("--rounds", type=int, metavar="N", help=f"rounds per row (default {DEFAULT_ROUNDS})")
    add("--only", action="append", metavar="ROW", help="this row; repeatable")
    add("--group", action="append", choices=GROUPS, help="the rows of this group; repeatable")
    add("--rows", action="store_true", help="list the rows and end")
    add("--json", action="store_true", help="print JSON instead of tables")
    add("--into", metavar="FILE", help="add the rows to this JSON result, or renew them in it")
    add("--from", dest="source", metavar="FILE", help="measure nothing, take the result from this file")
    add("--report", action="store_true", help="write the tables and plots of docs/benchmarks.md")
    add("--docs", metavar="DIR", default=CHECKOUT / "docs", help="where benchmarks.md is")
    add("--keep", metavar="DIR", help="work in DIR, which must be empty, and leave it")
    add("--python", metavar="PATH", help="interpreter that runs Rewind")
    add("--rewind", metavar="PATH", default=CHECKOUT / "bin" / "rewind", help="another bin/rewind")
    add("--settle", type=float, metavar="S", help="seconds between edits and measuring (default 2.2)")
    return parser
