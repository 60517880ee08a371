"""The command line in this process: the same answers as from a real one, many times faster."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Optional

import pytest

from rewind.checkpoint.project.state import State
from rewind.cli.main import main
from rewind_cli import Arg, Result, Rewind

pytest.register_assert_rewrite("cli.any_agent")


class InProcess(Rewind):
    """Everything that `Rewind` can do, without starting a process."""

    def __init__(self, project: Path, home: Path, capsys: pytest.CaptureFixture[str],
                 monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(project, home)
        self._capsys = capsys
        self._monkeypatch = monkeypatch
        self.opened: list[State] = []  # by commands, which leave closing to the end of their process

    def elsewhere(self, project: Path, home: Path) -> Elsewhere:
        """Another project, perhaps of another user; it need not exist yet."""
        there = Elsewhere(project, home, self._capsys, self._monkeypatch)
        there.opened = self.opened
        return there

    def run(self, *args: Arg, env: Optional[Mapping[str, str]] = None, cwd: Optional[Path] = None,
            timeout: float = 120) -> Result:
        self._capsys.readouterr()
        with self._monkeypatch.context() as patch:
            patch.chdir(cwd or self.project)
            for key, value in (env or {}).items():
                patch.setenv(key, value)
            try:
                code = main([os.fsdecode(arg) for arg in args])
            except SystemExit as stop:  # argparse, after `--help`
                code = int(stop.code or 0)
        out, err = self._capsys.readouterr()
        assert "Traceback" not in out + err, (args, out, err)
        return Result(code, out, err)


class Elsewhere(InProcess):
    """With another HOME than the test's own. As with a real process, no command may end as a bug, and nothing
    stays open when it is done."""

    def run(self, *args: Arg, env: Optional[Mapping[str, str]] = None, cwd: Optional[Path] = None,
            timeout: float = 120) -> Result:
        before = len(self.opened)
        result = super().run(*args, env={**self.env, **(env or {})}, cwd=cwd, timeout=timeout)
        close_all(self.opened[before:])
        del self.opened[before:]
        assert result.code >= 0 and result.code != 70, (args, result)
        return result


def close_all(opened: list[State]) -> None:
    for state in opened:
        if hasattr(state, "_objects"):
            with contextlib.suppress(sqlite3.ProgrammingError):  # opened by another thread, which closes it
                state.close()


@pytest.fixture
def cli(project: Path, home: Path, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch) -> Iterator[InProcess]:
    here = InProcess(project, home, capsys, monkeypatch)
    init = State.__init__

    def remembering(self: State, *args: Any, **more: Any) -> None:
        here.opened.append(self)
        init(self, *args, **more)

    monkeypatch.setattr(State, "__init__", remembering)
    # A real `rewind` has one thread; a test runner may have more.
    warnings.filterwarnings("ignore", ".*multi-threaded, use of fork", DeprecationWarning)
    yield here
    close_all(here.opened)


@pytest.fixture
def two(cli: InProcess) -> InProcess:
    """Two checkpoints, `one` and `two`, and the tree as it is in the second."""
    (cli.project / "src").mkdir()
    (cli.project / "src/app.py").write_text("".join(f"line {n}\n" for n in range(1, 31)))
    (cli.project / "README.md").write_text("# one\n")
    cli.ok("init")
    (cli.project / "README.md").write_text("# two\n")
    (cli.project / "new.txt").write_text("new\n")
    cli.ok("save", "two")
    return cli
