"""Wherever a killed process may have left a draft outside of our state, the next writer sweeps it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli import conftest as in_process
from cli.conftest import InProcess
from rewind.checkpoint.project.known_stores import remember
from rewind.transcript.write.sidecars import remove_from_index

pytestmark = pytest.mark.slow

cli = in_process.cli  # the fixture


@pytest.fixture(scope="module")
def dead() -> int:
    """The number of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", ""])
    process.wait()
    return process.pid


def _settings(cli: InProcess) -> Path:
    cli.ok("config", "--set", "storage.maxSizeMb=512", "--global")
    return cli.home / ".rewind" / "config.json"


def _known_stores(cli: InProcess) -> Path:
    remember(str(cli.home / ".rewind"), "0" * 32, str(cli.project))
    return cli.home / ".rewind" / "known-stores.json"


def _exported(cli: InProcess) -> Path:
    target = cli.home / "given.tar.gz"
    cli.ok("export", "last", str(target), "--force")
    return target


def _sessions(cli: InProcess) -> Path:
    index = cli.home / ".claude" / "sessions-index.json"
    index.write_text(json.dumps({"version": 1, "entries": [{"sessionId": "one"}, {"sessionId": "two"}]}))
    remove_from_index(str(index.parent), "one")
    assert b"one" not in index.read_bytes()
    return index


def _agent(cli: InProcess) -> Path:
    file = cli.home / ".claude" / "settings.json"
    if not file.exists():
        file.write_text('{"model": "opus"}')
        cli.ok("install", "--yes", "--no-ui")
    else:
        cli.ok("uninstall", "--yes")
    return file


def _link(cli: InProcess) -> Path:
    cli.ok("install", "--yes", "--no-ui")
    return cli.home / ".local" / "bin" / "rewind"


def _agent_without_others(cli: InProcess) -> Path:
    """There is nothing in it but ours, so the whole file goes."""
    file = cli.home / ".claude" / "settings.json"
    cli.ok(*(["uninstall", "--yes"] if file.exists() else ["install", "--yes", "--no-ui"]))
    return file


@pytest.mark.parametrize("replace", [_settings, _known_stores, _exported, _sessions, _agent,
                                     _agent_without_others, _link])
def test_a_draft_that_a_killed_process_left_is_swept_by_whoever_replaces_the_file_next(
        cli: InProcess, dead: int, replace: Callable[[InProcess], Path]) -> None:
    (cli.home / ".claude").mkdir(exist_ok=True)
    cli.init()
    file = replace(cli)
    assert os.path.lexists(file)
    suffix = "part" if replace is _exported else "tmp"
    left = file.with_name(f".{file.name}.{dead}.{suffix}")
    others = [file.with_name(f".{file.name}.{os.getppid()}.{suffix}"),  # of a process that is at work
              file.with_name(f".{file.name}.mine.{suffix}"), file.with_name(f".another.{dead}.{suffix}")]
    for path in (left, *others):
        path.write_text("half of it")
    replace(cli)
    assert not left.exists() and all(path.exists() for path in others)
