"""The command line of `scripts/bench`: options in, report out, everything cleaned up."""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench import document
from bench.machine import describe
from bench.report import as_text
from bench.result import Result, RowResult, as_json, load, make_result, merge, ratios, save
from bench.rows.registry import ROWS
from bench.rows.row import GROUPS, Row, Unfaithful
from bench.skipped import Skipped
from bench.spawn import CommandFailed, adopt_orphans
from bench.workplace import MAIN, ONE_TREE, Grow, Options, Workplace, real_interpreter, say

CHECKOUT = Path(__file__).resolve().parent.parent
QUICK_ROUNDS = 3
QUICK_FILES = {"1k": 100, MAIN: 400, "100k": 800, ONE_TREE: 1_000}


def main() -> int:
    arguments = _parser().parse_args()
    if arguments.rows:
        print("\n".join(f"{row.group:<9} {row.name:<20} {row.what}" for row in ROWS))
        return 0
    # A missed budget is no error. A wrong result or a crash is.
    code = 0
    if arguments.source:
        result = load(Path(arguments.source))
    else:
        result, failed = _measured(arguments)
        code = int(failed)
    if arguments.before:
        result = {**result, "before": ratios(load(Path(arguments.before)))}
    if arguments.document:
        for path in document.write(result, Path(arguments.docs)):
            say(f"wrote {os.path.relpath(path)}")
    print(as_json(result) if arguments.json else as_text(result))
    return code


def _measured(arguments: argparse.Namespace) -> tuple[Result, bool]:
    """The result, together with the earlier rows in the file of `--into`, and whether a row failed now."""
    options = _options(arguments)
    adopt_orphans()
    rows = chosen(arguments.only, GROUPS if arguments.all else _groups(arguments))
    into = Path(arguments.into).resolve() if arguments.into else None
    root = _workplace(arguments.keep)
    try:
        place = Workplace(root, options)
        with place.at_end:
            return _measure(rows, place, into)
    finally:
        os.chdir(CHECKOUT)
        if arguments.keep is None:
            shutil.rmtree(root, ignore_errors=True)


def _measure(rows: list[Row], place: Workplace, into: Path | None) -> tuple[Result, bool]:
    machine = describe(place.spawner, place.options.python, place.root)
    before = load(into) if into is not None and into.exists() else None
    lines: list[RowResult] = []
    result = make_result(lines, place.options, machine)
    for row in rows:
        say(f"row {row.name}")
        lines.append(measure_row(row, place))
        result = make_result(lines, place.options, machine)
        if before is not None:
            result = merge(before, result, [known.name for known in ROWS])
        if into is not None:
            save(result, into)  # after each row, so that an interrupted run keeps its rows
    return result, any(line.problem for line in lines)


def measure_row(row: Row, place: Workplace) -> RowResult:
    start = time.monotonic()
    try:
        found = row.run(place)
    except Skipped as reason:
        say(f"SKIPPED {row.name}: {reason}")
        return RowResult(row, skipped=str(reason))
    except (CommandFailed, Unfaithful, OSError, ValueError, KeyError) as problem:
        say(f"FAILED {row.name}: {problem}")
        return RowResult(row, problem=f"{type(problem).__name__}: {problem}")
    return RowResult(row, found if isinstance(found, list) else [found], seconds=time.monotonic() - start)


def _groups(arguments: argparse.Namespace) -> list[str]:
    return [*(arguments.group or []), *(["speed", "large"] if arguments.large else [])]


def chosen(names: Sequence[str] | None, groups: Sequence[str] | None) -> list[Row]:
    """The rows with these names and those of these groups. Without either, the first group."""
    known = [row.name for row in ROWS]
    unknown = [name for name in names or [] if name not in known]
    if unknown:
        raise SystemExit(f"error: no row {unknown[0]}; there are: {' '.join(known)}")
    if not names and not groups:
        groups = GROUPS[:1]
    return [row for row in ROWS if row.name in (names or []) or row.group in (groups or [])]


def _options(arguments: argparse.Namespace) -> Options:
    checkout = Path(arguments.checkout).resolve()
    if not (checkout / "install.sh").is_file():
        raise SystemExit(f"error: there is no install.sh in {checkout}")
    python = os.path.realpath(arguments.python) if arguments.python else real_interpreter()
    options = quick_options(python, checkout) if arguments.quick else Options(python, checkout)
    asked = {"rounds": arguments.rounds, "settle": arguments.settle}
    return replace(options, **{key: value for key, value in asked.items() if value is not None})


def quick_options(python: str, checkout: Path) -> Options:
    """Small enough to see whether everything runs; the figures mean nothing."""
    return Options(python, checkout, rounds=QUICK_ROUNDS, settle=0.1, quick=True, files=QUICK_FILES,
                   sessions=5, history=20, listed=50, commits=5, untracked=(50, 100, 200),
                   grow=Grow((2, 20), (300_000, 3_000_000), (2, 20)))


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
    add("--rounds", type=_positive, metavar="N", help=f"rounds per row (default {Options.rounds})")
    add("--only", action="append", metavar="ROW", help="this row; repeatable")
    add("--group", action="append", choices=GROUPS, help="the rows of this group (default speed); repeatable")
    add("--large", action="store_true", help="the default rows, and those with 1,000,000 files")
    add("--all", action="store_true", help="the rows of all groups")
    add("--rows", action="store_true", help="list the rows and end")
    add("--json", action="store_true", help="print JSON instead of tables")
    add("--into", metavar="FILE", help="add the rows to this JSON result, or renew them in it")
    add("--from", dest="source", metavar="FILE", help="measure nothing, take the result from this file")
    add("--before", metavar="FILE", help="show the ratios of this older result beside the new ones")
    add("--document", action="store_true", help="write the tables and plots of docs/benchmarks.md")
    add("--docs", metavar="DIR", default=CHECKOUT / "docs", help="where benchmarks.md is")
    add("--keep", metavar="DIR", help="work in DIR, which must be empty, and leave it")
    add("--python", metavar="PATH", help="interpreter that runs Rewind")
    add("--checkout", metavar="DIR", default=CHECKOUT, help="install Rewind from this checkout")
    add("--settle", type=float, metavar="S", help="seconds between edits and measuring (default 2.2)")
    return parser


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} must be a positive integer")
    return int(text)
