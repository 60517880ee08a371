"""The loads, each in a directory of its own. `scale` shrinks one, for trying the code itself."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from load.load_runs import Program, Row, Run, at_most, peak_row, seen
from make_transcripts import ClaudeTalk, event_id, place
from rewind_cli import CHECKOUT, PROGRAM

_HOOK_MB, _SCAN_MB, _MILLION_MB = 64, 150, 600
_API = """
import os, sys
sys.path.insert(0, sys.argv[1])
from rewind import Controller
project = Controller(sys.argv[2])
for number in range(int(sys.argv[3])):
    with open(os.path.join(sys.argv[2], "changing.txt"), "w") as file:
        file.write(f"state {number}\\n")
    project.save(f"number {number}")
"""
_CLIENT = """
import os, random, subprocess, sys, time
command, root, seed, until = sys.argv[1].split("\\t"), sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
rng, done, odd = random.Random(seed), 0, []
choices = {0: ["save -q"], 1: ["restore LAST --force", "undo-restore --force", "redo --force"],
           2: ["gc", "validate", "status"], 3: ["list --json", "show last", "diff prev last"]}
while time.time() < until:
    for number in range(rng.randrange(4)):
        with open(os.path.join(root, "files", f"{rng.randrange(200)}.txt"), "w") as file:
            file.write(f"{rng.random()}\\n" * rng.randrange(1, 300))
    argv = rng.choice(choices[seed % 4]).replace("LAST", str(rng.randrange(1, 6))).split()
    run = subprocess.run([*command, *argv], cwd=root, capture_output=True, text=True)
    done += 1
    # Said in so many words: some files moved under it, locked, nothing to undo, changed since the plan.
    if run.returncode not in (0, 3, 11, 12, 13):
        odd.append((argv, run.returncode, run.stdout[-300:], run.stderr[-300:]))
print(done, odd)
"""


def many_processes(top: Path, scale: float) -> list[Row]:
    """Savers, restorers, collectors and readers at once; afterwards every checkpoint is whole."""
    program = Program(top / "project", top / "home")
    (program.project / "files").mkdir()
    for number in range(200):
        (program.project / "files" / f"{number}.txt").write_text(f"{number}\n" * 100)
    program.run("init")
    until = time.time() + 180 * scale
    command = "\t".join([sys.executable, "-I", "-S", str(PROGRAM)])
    clients = [
        subprocess.Popen(
            [sys.executable, "-c", _CLIENT, command, str(program.project), str(seed), str(until)],
            env=program.env,
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in range(12)
    ]
    done, odd = 0, []
    for client in clients:
        out = client.communicate()[0]
        count, _, rest = out.partition(" ")
        done += int(count)
        odd += [rest.strip()] if rest.strip() != "[]" else []
    checked = program.run("validate", "--deep", ok=False)
    left = sum(
        1 for name in os.listdir(program.state) if name.endswith(".tmp") or name.startswith("temporary-")
    )
    for line in odd:
        print(line, file=sys.stderr)
    return [
        seen("12 processes at once: commands run", f"{done:,}"),
        seen("12 processes at once: commands that broke", str(len(odd)), not odd, "0"),
        seen(
            "12 processes at once: `validate --deep` afterwards",
            f"exit {checked.code}",
            not checked.code,
            "exit 0",
        ),
        seen("12 processes at once: temporary files left", str(left), not left, "0"),
    ]


def many_checkpoints(top: Path, scale: float) -> list[Row]:
    program = Program(top / "project", top / "home")
    program.run("init")
    count = int(10_000 * scale)
    times = []
    for share in (0.1, 0.9):
        subprocess.run(
            [sys.executable, "-c", _API, CHECKOUT / "src", program.project, str(int(count * share))],
            env=program.env,
            check=True,
        )
        program.run("list")
        (program.project / "changing.txt").write_text(f"{share}")
        times.append(
            {
                what: _best(lambda argv=argv: program.run(*argv))
                for what, argv in {
                    "list": ("list",),
                    "save": ("save",),
                    "show": ("show", "last"),
                    "gc": ("gc", "--dry-run"),
                }.items()
            }
        )
    rows = [
        at_most(
            f"{count:,} checkpoints: `{what}` ÷ at a tenth of them",
            times[1][what].seconds / times[0][what].seconds,
            12,
            "times",
        )
        for what in times[0]
    ]
    restored = program.run("restore", str(count // 2), "--force")
    return [
        *rows,
        peak_row(f"{count:,} checkpoints: memory of `list`", times[1]["list"], _SCAN_MB),
        seen(f"{count:,} checkpoints: restore of one in the middle", f"{restored.seconds:.2f} s"),
    ]


def many_files(top: Path, scale: float) -> list[Row]:
    """What a checkpoint costs for each file, at 100,000 and at ten times as many."""
    rows, per_file = [], []
    for count, bound in ((int(100_000 * scale), _SCAN_MB), (int(1_000_000 * scale), _MILLION_MB)):
        program = Program(top / str(count), top / f"home-{count}")
        _make_files(program.project, count)
        first = program.run("init")
        time.sleep(3 * scale)  # files as young as their checkpoint are read again by the next one
        program.run("save")
        again = _best(partial(program.run, "save"))
        per_file.append(again.seconds / count)
        rows += [
            peak_row(f"{count:,} files: memory of the first checkpoint, each process", first, bound),
            peak_row(f"{count:,} files: memory of the next one, each process", again, bound),
            seen(
                f"{count:,} files: first checkpoint, next one",
                f"{first.seconds:.1f} s, {again.seconds:.2f} s",
            ),
        ]
    return [*rows, at_most("cost per file at ten times as many", per_file[1] / per_file[0], 1.3, "times")]


def huge_transcript(top: Path, scale: float) -> list[Row]:
    program = Program(top / "project", top / "home")
    (program.project / "a.txt").write_text("a\n")
    program.run("init")
    wanted = int((5 << 30) * scale)
    path = _long_talk(program, wanted)
    size = path.stat().st_size
    first = program.run("save")
    _say_more(path)
    rows = [
        peak_row("5 GB transcript: memory of a checkpoint that reads it for the first time", first, _SCAN_MB),
        seen("5 GB transcript: that checkpoint", f"{first.seconds:.1f} s for {size / (1 << 30):.2f} GB"),
    ]
    for what, argv in (
        ("the next checkpoint", ("save",)),
        ("`back 1`", ("back", "1")),
        ("`sessions list`", ("sessions", "list")),
        ("`sessions show`", ("sessions", "show")),
    ):
        run = program.run(*argv)
        rows.append(peak_row(f"5 GB transcript: memory of {what}", run, _SCAN_MB))
        rows.append(seen(f"5 GB transcript: {what}", f"{run.seconds:.2f} s"))
    return rows


def many_forks(top: Path, scale: float) -> list[Row]:
    program = Program(top / "project", top / "home")
    (program.project / "a.txt").write_text("a\n")
    program.run("init")
    path = _long_talk(program, 200_000)
    rows, times = [], []
    total = int(500 * scale)
    for count in (total // 10, total):
        have = len(list(path.parent.glob("*.jsonl"))) - 1
        for _ in range(count - have):
            program.run("back", "1", "--session", path.stem)
        program.run("sessions", "list")
        times.append(
            {
                " ".join(argv): _best(lambda argv=argv: program.run(*argv))
                for argv in (
                    ("forks", "list"),
                    ("sessions", "list"),
                    ("back", "1", "--session", path.stem),
                    ("save",),
                )
            }
        )
    for what, run in times[1].items():
        what = "back 1" if what.startswith("back") else what
        before = next(r for w, r in times[0].items() if w.startswith(what))
        rows.append(
            at_most(
                f"{total} forks: `{what}` ÷ at a tenth of them", run.seconds / before.seconds, 12, "times"
            )
        )
        rows.append(peak_row(f"{total} forks: memory of `{what}`", run, _SCAN_MB))
    return rows


def hook_memory(top: Path, scale: float) -> list[Row]:
    """A hook in a project of 20,000 files, with a payload as large as they come."""
    program = Program(top / "project", top / "home")
    _make_files(program.project, int(20_000 * scale))
    program.run("init")
    time.sleep(3 * scale)
    program.run("save")
    path = _long_talk(program, int((50 << 20) * scale))
    payload = {
        "session_id": path.stem,
        "transcript_path": str(path),
        "cwd": str(program.project),
        "hook_event_name": "PreToolUse",
        "tool_name": "Write",
        "tool_input": {"file_path": str(program.project / "0" / "0.txt"), "content": "x" * 20_000},
    }
    (program.project / "0" / "0.txt").write_text("changed\n")
    runs = {
        "decides": program.hook("pre-tool-use", json.dumps({**payload, "tool_name": "Read"}).encode()),
        "saves": program.hook("pre-tool-use", json.dumps(payload).encode()),
    }
    made = json.loads(program.run("list", "--json").out)["checkpoints"]
    return [
        *(peak_row(f"memory of a hook that {what}", run, _HOOK_MB) for what, run in runs.items()),
        seen("that hook's checkpoint", "made" if len(made) > 2 else "missing", len(made) > 2),
    ]


ROWS: dict[str, Callable[[Path, float], list[Row]]] = {
    "processes": many_processes,
    "checkpoints": many_checkpoints,
    "files": many_files,
    "transcript": huge_transcript,
    "forks": many_forks,
    "hook": hook_memory,
}


def _best(once: Callable[[], Run]) -> Run:
    return min((once() for _ in range(3)), key=lambda run: run.seconds)


def _make_files(root: Path, count: int) -> None:
    """Fifty to a directory, a hundred directories to another one."""
    for number in range(count):
        folder = (
            root / str(number // 5000) / str(number // 50 % 100) if count > 5000 else root / str(number // 50)
        )
        if not number % 50:
            folder.mkdir(parents=True, exist_ok=True)
        with open(folder / f"{number % 50}.txt", "w") as file:
            file.write(f"{number}\n")


def _long_talk(program: Program, size: int) -> Path:
    """A conversation of about that many bytes, in turns of 1 MB at most, each with ids of its own."""
    session = event_id(0x10AD)
    path = place(program.home, "claude", program.project, b"", session)
    (program.home / ".claude" / "sessions").mkdir(parents=True, exist_ok=True)
    rng = random.Random(1)
    talk = ClaudeTalk(session)
    talk.cwd = os.path.realpath(program.project)  # type: ignore[attr-defined]
    filler = "".join(rng.choice("abcdefghij \\n") for _ in range(60_000))
    with open(path, "wb") as file:
        while file.tell() < size:
            talk.prompt(f"Prompt at {file.tell()}")
            for _ in range(12 if size > 1 << 20 else 1):
                start = rng.randrange(30_000)
                talk.tool("Bash", filler[start : start + 30_000])
            talk.answer("Done.")
            where = os.path.realpath(program.project).encode()
            file.write(talk.bytes().replace(b"/home/dev/proj", where))
            talk.lines = []
    os.utime(path, (1_700_000_000, 1_700_000_000))
    return path


def _say_more(path: Path) -> None:
    with open(path, "rb") as file:
        file.seek(-4096, os.SEEK_END)
        last = json.loads(file.read().splitlines()[-1])
    line = {
        **last,
        "type": "user",
        "parentUuid": last["uuid"],
        "uuid": event_id(0xABCDEF),
        "promptSource": "typed",
        "origin": {"kind": "human"},
        "message": {"role": "user", "content": "One more."},
    }
    with open(path, "ab") as file:
        file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
