"""Runs one command of Rewind many times on the same project and kills it each time at another moment.

With strace, the moment is a system call: SIGKILL comes on entering the Nth call of a name, so the files are
as right after the disk-changing call before it. Without strace, the moments are random.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Optional, Protocol

from rewind_cli import Result, Rewind, Tree, differences, steps_of, tree_state

CHANGING_CALLS = ("write,pwrite64,writev,pwritev,pwritev2,rename,renameat,renameat2,fsync,fdatasync,"
                  "sync_file_range,unlink,unlinkat,mkdir,mkdirat,rmdir,ftruncate,truncate,fallocate,"
                  "symlink,symlinkat,link,linkat,chmod,fchmod,fchmodat,fchown,fchownat,copy_file_range,"
                  "flock,utimensat")
TORTURE = bool(os.environ.get("REWIND_TORTURE"))
KILLS = 200  # per command, in full mode
SEED = int(os.environ.get("REWIND_SEED", "20261115"))


class Moment(NamedTuple):
    """When to kill: on entering the Nth call of a name, or after some seconds."""

    call: str = ""
    number: int = 0
    after: float = 0.0


class Killable(Protocol):
    rewind: Rewind

    def thaw(self) -> None: ...


class Project:
    """A project with a history that can be reset to exactly the same state."""

    def __init__(self, top: Path, home: Path, commands: Callable[[Path, Path], Rewind] = Rewind) -> None:
        self.root = top / "project"
        self.home = home
        self.template = top / "template"
        self.elsewhere = top / "elsewhere"
        self.rewind = commands(self.root, home)
        self.trees: dict[str, Tree] = {}  # checkpoint -> what a restore of it must give
        self.root.mkdir()

    def save(self) -> str:
        name = self.rewind.save()
        self.trees[name] = tree_state(self.root)
        return name

    def freeze(self) -> None:
        self.frozen = tree_state(self.root)
        self.frozen_names = self.rewind.names(backups=True)
        self.frozen_steps = len(self.history()["entries"])
        _copy(self.root, self.template)

    def thaw(self) -> None:
        shutil.rmtree(self.root)
        shutil.rmtree(self.elsewhere, ignore_errors=True)
        _copy(self.template, self.root)

    def history(self) -> dict[str, Any]:
        return {"entries": steps_of(self.rewind.state)}

    def tree(self) -> Tree:
        return tree_state(self.root)

    def check_tree(self, wanted: Tree, why: str) -> None:
        assert differences(wanted, self.tree()) == {}, why

    def check_restores(self, name: str) -> None:
        target = self.elsewhere / name
        self.rewind.ok("restore", name, "--to", str(target))
        assert differences(self.trees[name], tree_state(target)) == {}, name
        shutil.rmtree(target)

    def check_valid(self) -> bool:
        """Whether there is no problem. Every problem must say what to do about it."""
        result = self.rewind.run("validate", "--deep", "--json")
        problems = result.data["problems"]
        assert result.data["ok"] == (not problems) == (result.code == 0), result
        for problem in problems:
            assert "interrupted" in problem and "`rewind " in problem, problem
        return not problems


def _copy(source: Path, target: Path) -> None:
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)


# killing

def has_strace() -> bool:
    if not shutil.which("strace"):
        return False
    probe = ["strace", "-f", "-qq", "-o", os.devnull, "-e", "trace=write", "-e",
             "inject=write:signal=SIGKILL:when=1", "sh", "-c", "echo alive"]
    done = subprocess.run(probe, capture_output=True)
    return b"alive" not in done.stdout and done.returncode != 0


def _start(rewind: Rewind, tracer: list[str], args: tuple[str, ...]) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*tracer, *rewind.command, *args], cwd=rewind.project, env=rewind.env,
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, start_new_session=True)


def traced_calls(project: Killable, args: tuple[str, ...], log: Path) -> list[tuple[str, int]]:
    """Every disk-changing call of a run without a kill, as (name, Nth of that name), which is how strace
    counts."""
    tracer = ["strace", "-f", "-qq", "-o", str(log), "-e", "trace=" + CHANGING_CALLS,
              "-e", "signal=none"]
    process = _start(project.rewind, tracer, args)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    seen: Counter[tuple[str, str]] = Counter()
    calls = []
    for line in log.read_text(errors="replace").splitlines():
        match = re.match(r"(\d+) +(\w+)\(", line)
        if match:
            seen[match[1], match[2]] += 1
            calls.append((match[2], seen[match[1], match[2]]))
    return list(dict.fromkeys(calls))


def clean_seconds(project: Killable, args: tuple[str, ...]) -> float:
    """The time of a run without a kill, as a real process, even if `project.rewind` starts none."""
    start = time.monotonic()
    process = _start(project.rewind, [], args)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return time.monotonic() - start


def kill_at(project: Killable, args: tuple[str, ...], moment: Moment, codes: tuple[int, ...] = (0,)) -> bool:
    """Run the command and kill it. False if it ended before, or with one of `codes`, because the kill may
    have hit a process that it started."""
    tracer: list[str] = []
    if moment.call:
        tracer = ["strace", "-f", "-qq", "-o", os.devnull, "-e", "trace=" + CHANGING_CALLS, "-e",
                  f"inject={moment.call}:signal=SIGKILL:when={moment.number}"]
    process = _start(project.rewind, tracer, args)
    if not moment.call:
        time.sleep(moment.after)
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    _, err = process.communicate(timeout=120)
    assert b"Traceback" not in err, err
    killed = process.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
    assert killed or process.returncode in codes, (moment, process.returncode, err)
    return killed


def moments(project: Killable, args: tuple[str, ...], log: Path, quick: int) -> list[Moment]:
    """In full mode every call, then random moments. Otherwise a sample of both."""
    chooser = random.Random(f"{SEED} {args[0]}")
    calls: list[tuple[str, int]] = []
    if has_strace():
        calls = traced_calls(project, args, log)
        project.thaw()
    seconds = clean_seconds(project, args)
    project.thaw()
    wanted = len(calls) + 2 * KILLS if TORTURE else quick  # some moments come after the end of the command
    if not TORTURE:
        calls = chooser.sample(calls, min(len(calls), quick * 3 // 4))
    times = [chooser.uniform(0.2, 0.9) * seconds for _ in range(wanted - len(calls))]
    return [Moment(name, n) for name, n in calls] + [Moment(after=t) for t in times]


class Tally:
    """What happened, for the line that the test prints."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.killed = 0
        self.finished = 0
        self.unclean = 0

    def count(self, *, killed: bool, clean: bool) -> None:
        self.killed += killed
        self.finished += not killed
        self.unclean += not clean

    def is_enough(self, moment: Moment) -> bool:
        """In full mode, random moments continue until there were enough kills."""
        return TORTURE and not moment.call and self.killed >= KILLS

    def __str__(self) -> str:
        return (f"{self.command}: killed {self.killed} times, finished first {self.finished} times;"
                f" a restore was left half done {self.unclean} times")


def rerun(project: Project, *args: str, codes: Optional[tuple[int, ...]] = (0,)) -> Result:
    result = project.rewind.run(*args)
    assert codes is None or result.code in codes, (args, result)
    return result
