"""`scripts/torture`: the long part of the tests, in named parts, with a time limit and a table at the end.

Each part is a module with `run(options)`. It returns the lines of its section as Markdown, and whether Rewind
survived everything. It has to end at `options.until`, a time of `time.monotonic`.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path

PARTS = {"faults": "torture_faults", "fuzz": "fuzz.torture_fuzz", "load": "load.torture_load"}


def main(argv: list[str]) -> int:
    options = _options(argv)
    end = time.monotonic() + options.minutes * 60
    options.state.mkdir(parents=True, exist_ok=True)
    good = True
    chosen = list(options.parts or PARTS)
    for number, part in enumerate(chosen):
        now = time.monotonic()
        options.until = now + (end - now) / (len(chosen) - number)  # an equal share of what is left
        module = importlib.import_module(PARTS[part])
        lines, survived = module.run(options)
        good = good and survived
        print("\n".join(lines))
        if options.report:
            write_section(options.report, part, lines)
    return 0 if good else 1


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/torture", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", choices=[[], *PARTS],
                        help=f"which parts ({', '.join(PARTS)}); all if none is named")
    parser.add_argument("--only", action="append", metavar="CMD", help="only this command; may be repeated")
    parser.add_argument("--minutes", type=float, default=60.0, help="stop after that time (60)")
    parser.add_argument("--resume", action="store_true", help="go on where the last run stopped")
    parser.add_argument("--seed", type=int, default=1, help="the order in which points are tried (1)")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (2)")
    parser.add_argument("--scale", type=float, default=1.0,
                        help="the size of the loads, as a part of the real one")
    parser.add_argument("--state", type=Path, default=Path(".torture"), metavar="DIR",
                        help="where results are kept (.torture)")
    parser.add_argument("--report", type=Path, metavar="FILE",
                        help="put the tables into this file, between its markers")
    parser.add_argument("--list", action="store_true", help="only say which commands there are")
    return parser.parse_args(argv)


def write_section(file: Path, part: str, lines: list[str]) -> None:
    """Between `<!-- torture:PART -->` and `<!-- /torture:PART -->`."""
    begin, end = f"<!-- torture:{part} -->", f"<!-- /torture:{part} -->"
    text = file.read_text()
    if begin not in text or end not in text:
        raise SystemExit(f"{file} has no place for this part: {begin} … {end}")
    head, rest = text.split(begin, 1)
    file.write_text(head + begin + "\n" + "\n".join(lines) + "\n" + end + rest.split(end, 1)[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
