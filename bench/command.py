"""The command line of `scripts/bench`: options in, report out, everything cleaned up."""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path

from bench.report import Line, as_json, as_text
from bench.rows.registry import ROWS
from bench.rows.row import Row, Unfaithful
from bench.spawn import CommandFailed
from bench.workplace import Options, Workplace, real_interpreter, say

CHECKOUT = Path(__file__).resolve().parent.parent
DEFAULT_ROUNDS = 9
QUICK_ROUNDS = 3


def main() -> int:
    arguments = _parser().parse_args()
    options = _options(arguments)
    rows = _chosen(arguments.only)
    root = _workplace(arguments.keep)
    try:
        lines = _measure(rows, Workplace(root, options))
    finally:
        os.chdir(CHECKOUT)
        if arguments.keep is None:
            shutil.rmtree(root, ignore_errors=True)
    print(as_json(lines, options) if arguments.json else as_text(lines, options))
    # A missed budget is a finding, not an error; a wrong result or a crash is one.
    return 1 if any(line.problem for line in lines) else 0


def _measure(rows: list[Row], place: Workplace) -> list[Line]:
    lines = []
    for row in rows:
        if row.run is not None:
            say(f"row {row.name}")
        lines.append(_line(row, place))
    return lines


def _line(row: Row, place: Workplace) -> Line:
    if row.run is None:
        return Line(row)
    try:
        return Line(row, row.run(place))
    except (CommandFailed, Unfaithful, OSError, ValueError, KeyError) as problem:
        return Line(row, problem=f"{type(problem).__name__}: {problem}")


def _chosen(names: list[str] | None) -> list[Row]:
    known = [row.name for row in ROWS]
    unknown = [name for name in names or [] if name not in known]
    if unknown:
        raise SystemExit(f"error: no row {unknown[0]}; there are: {' '.join(known)}")
    return [row for row in ROWS if not names or row.name in names]


def _options(arguments: argparse.Namespace) -> Options:
    quick = arguments.quick
    script = Path(arguments.rewind).resolve()
    if not script.is_file():
        raise SystemExit(f"error: there is no {script}")
    return Options(
        quick=quick,
        files=2_000 if quick else 20_000,
        scale=(1_000, 10_000) if quick else (10_000, 100_000),
        rounds=arguments.rounds or (QUICK_ROUNDS if quick else DEFAULT_ROUNDS),
        commits=10 if quick else 100,
        listed=100 if quick else 1_000,
        settle=arguments.settle,
        python=os.path.realpath(arguments.python) if arguments.python else real_interpreter(),
        script=script,
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
        description="Measures Rewind against git and tar; see bench/README.md.",
    )
    parser.add_argument("--quick", action="store_true", help="2,000 files and fewer rounds")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds per row (default 9)")
    parser.add_argument("--only", action="append", metavar="ROW", help="only this row; repeatable")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "--keep", metavar="DIR", help="work in DIR, which must be empty, and leave it"
    )
    parser.add_argument("--python", metavar="PATH", help="interpreter that runs Rewind")
    parser.add_argument(
        "--rewind", metavar="PATH", default=CHECKOUT / "bin" / "rewind", help="another bin/rewind"
    )
    parser.add_argument(
        "--settle", type=float, default=2.2, metavar="S", help="seconds between edits and measuring"
    )
    return parser
