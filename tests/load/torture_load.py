"""The part `load` of scripts/torture: many processes, checkpoints, files, forks, and a transcript of 5 GB."""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path

from load.load_rows import ROWS
from load.load_runs import Row


def run(options: argparse.Namespace) -> tuple[list[str], bool]:
    if options.list:
        return list(ROWS), True
    file = options.state / "load.json"
    results = json.loads(file.read_text()) if options.resume and file.exists() else {}
    for name in ROWS:
        if (options.only and name not in options.only) or name in results or time.monotonic() > options.until:
            continue
        print(f"load: {name}", flush=True)
        top = Path(tempfile.mkdtemp(prefix="rewind-load-"))
        try:
            results[name] = ROWS[name](top, options.scale)
        finally:
            shutil.rmtree(top, ignore_errors=True)
        file.write_text(json.dumps(results, indent=1))
    rows = [Row(*row) for name in ROWS for row in results.get(name, ())]
    lines = ["| load | measured | bound | |", "|---|---:|---:|---|"]
    lines += [
        f"| {r.what} | {r.measured} | {r.bound} | {'kept' if r.good else '**missed**'} |"
        if r.bound
        else f"| {r.what} | {r.measured} | | |"
        for r in rows
    ]
    return lines, all(row.good for row in rows)
