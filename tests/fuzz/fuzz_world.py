"""A small world to spoil: a project with checkpoints, a conversation, a fork and a step back, made once with
the real program and copied for every case; and commands run in it such that what must not happen is seen."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from make_transcripts import ClaudeTalk, event_id, place
from rewind import processes
from rewind_cli import Rewind

SESSION = event_id(0xF1)
_SECONDS = 120  # no command in so small a world takes one; a hang takes for ever


class Broken(AssertionError):
    """What no input may bring about: a bug's exit code, a hang, or a change outside the project."""


class World:
    def __init__(self, top: Path) -> None:
        self.top = top
        self.project = top / "project"
        self.home = top / "home"
        self.outside = top / "outside"
        self.state = self.project / ".agent" / "rewind"

    @property
    def transcript(self) -> Path:
        return next((self.home / ".claude" / "projects").rglob("*.jsonl"))

    @property
    def archive(self) -> Path:
        return self.top / "export.tar.gz"

    @property
    def kept(self) -> Path:
        """The world as it was made; it is always put back to one place, for conversations know theirs."""
        return self.top.with_name(self.top.name + "-kept")

    def make_anew(self) -> None:
        shutil.rmtree(self.top, ignore_errors=True)
        shutil.copytree(self.kept, self.top, symlinks=True)

    def run(self, *argv: str) -> int:
        """In this process, for speed; the exit code."""
        from rewind.cli.main import main

        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="strict")
        err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="strict")
        with self._inside(), _alarm(argv), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main(list(argv))
            except SystemExit as error:  # argparse: --help
                code = int(error.code or 0)
        if code not in range(65) and code != 130:
            err.flush()
            raise Broken(
                f"`rewind {' '.join(argv)}` ended with {code}: "
                f"{err.buffer.getvalue().decode()[-2000:]}\n{self.crash()}"
            )  # type: ignore[attr-defined]
        return code

    def hook(self, action: str, payload: bytes) -> None:
        """A hook's payload, however strange, is handled; nothing is left to the net that catches all."""
        from rewind.hooks.handle import handle

        with self._inside(), _alarm(action):
            outcome = handle(action, payload, os.environ)
        if outcome.code not in (0, 2):
            raise Broken(f"the hook ended with {outcome.code}")

    def crash(self) -> str:
        log = self.home / ".rewind" / "crash.log"
        return log.read_text(errors="replace")[-3000:] if log.exists() else ""

    @contextlib.contextmanager
    def _inside(self) -> Iterator[None]:
        before, here = dict(os.environ), os.getcwd()
        for name in list(os.environ):
            if name.startswith(("REWIND_", "CLAUDE", "FACTORY")):
                del os.environ[name]
        os.environ.update(
            {
                "HOME": str(self.home),
                "REWIND_HOME": str(self.home / ".rewind"),
                "LC_ALL": "C.UTF-8",
                "GIT_CONFIG_GLOBAL": str(self.home / "gitconfig"),
            }
        )
        os.chdir(self.project)
        detached, processes.spawn_detached = (
            processes.spawn_detached,
            lambda command: None,
        )  # it would outlive the case
        try:
            yield
        finally:
            processes.spawn_detached = detached
            os.chdir(here)
            os.environ.clear()
            os.environ.update(before)

    def check_outside(self) -> None:
        found = {path.name: path.read_bytes() for path in self.outside.iterdir()}
        if found != {"precious": b"outside\n"} or (self.top / "pwned").exists():
            raise Broken(f"something outside the project was changed: {sorted(found)}")


@contextlib.contextmanager
def _alarm(argv: Any) -> Iterator[None]:
    def too_long(number: int, frame: Any) -> None:
        raise Broken(f"{argv} hangs")

    old = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


def make_world(top: Path) -> World:
    world = World(top)
    for folder in (world.project / "src", world.home, world.outside):
        folder.mkdir(parents=True)
    (world.outside / "precious").write_text("outside\n")
    rewind = Rewind(world.project, world.home)
    subprocess.run(["git", "init", "-q", str(world.project)], env=rewind.env, check=True)
    (world.project / ".gitignore").write_text("*.log\nbuild/\n")
    talk = ClaudeTalk(SESSION)
    path = place(world.home, "claude", world.project, b"", SESSION)
    (world.home / ".claude" / "sessions").mkdir(parents=True, exist_ok=True)
    rewind.init("project")
    for number in range(4):
        talk.turn(f"Prompt number {number}")
        path.write_bytes(
            talk.bytes().replace(b"/home/dev/proj", os.fsencode(os.path.realpath(world.project)))
        )
        os.utime(path, (1_700_000_000, 1_700_000_000))
        (world.project / "src" / f"file{number}.py").write_text(f"value = {number}\n" * 20)
        (world.project / "notes.log").write_text(f"ignored {number}\n")
        rewind.save(f"Number {number}")
    rewind.ok("back", "1")
    rewind.ok("restore", "3", "--code-only")
    rewind.ok("config", "--set", "maxFileSizeMb=40")
    rewind.ok("export", "last", str(world.archive))
    rewind.ok("list")
    shutil.copytree(world.top, world.kept, symlinks=True)
    return world
