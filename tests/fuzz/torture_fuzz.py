"""The part `fuzz` of scripts/torture: as many spoiled inputs as there is time for, and a table of them."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from fuzz.fuzz_targets import TARGETS, run_case
from fuzz.fuzz_world import World, make_world

_BATCH = 25


def run(options: argparse.Namespace) -> tuple[list[str], bool]:
    file = options.state / "fuzz.json"
    results = json.loads(file.read_text()) if options.resume and file.exists() else {}
    workers = [_start(number, options, results) for number in range(options.jobs)]
    for pid, read in workers:
        with os.fdopen(read) as lines:
            for line in lines:
                target, seed, problem = json.loads(line)
                entry = results.setdefault(target, {"cases": 0, "next": options.seed, "broken": {}})
                entry["cases"] += 1
                entry["next"] = max(entry["next"], seed + 1)
                if problem:
                    entry["broken"][str(seed)] = problem
        os.waitpid(pid, 0)
    file.write_text(json.dumps(results, indent=1))
    return _table(results), not any(entry["broken"] for entry in results.values())


def _start(number: int, options: argparse.Namespace, results: dict[str, Any]) -> tuple[int, int]:
    """One of the processes that share the seeds out; it tells what it tried, line by line."""
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        return pid, read
    status = 1
    try:
        os.close(read)
        with os.fdopen(write, "w") as out:
            top = Path(tempfile.mkdtemp(prefix="rewind-fuzz-"))
            try:
                _try(make_world(top / "world"), number, options, results, out)
            finally:
                shutil.rmtree(top, ignore_errors=True)
        status = 0
    finally:
        os._exit(status)


def _try(world: World, number: int, options: argparse.Namespace, results: dict[str, Any], out: Any) -> None:
    chosen = [name for name in TARGETS if not options.only or name in options.only]
    first = {name: results.get(name, {}).get("next", options.seed) for name in chosen}
    turn = 0
    while time.monotonic() < options.until:
        for name in chosen:
            for seed in range(first[name] + turn * _BATCH, first[name] + (turn + 1) * _BATCH):
                if seed % options.jobs != number or time.monotonic() >= options.until:
                    continue
                out.write(json.dumps([name, seed, _case(name, seed, world)]) + "\n")
                out.flush()
        turn += 1


def _case(name: str, seed: int, world: World) -> str:
    try:
        run_case(name, seed, world)
    except Exception as error:
        print(f"BROKEN: {name}, seed {seed}: {error!r}", file=sys.stderr)
        return repr(error)[:2000]
    return ""


def _table(results: dict[str, Any]) -> list[str]:
    lines = ["| spoiled | cases | broken |", "|---|---:|---:|"]
    lines += [
        f"| {name} | {entry['cases']:,} | {len(entry['broken'])} |" for name, entry in sorted(results.items())
    ]
    return lines
