"""Standard streams that are closed, or that take nothing more: the command is done, and says what it can."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hook_scene import ENTRY
from rewind_cli import PROGRAM, Result, Rewind

pytestmark = pytest.mark.slow

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")


def run_with(rewind: Rewind, streams: str, *args: str) -> Result:
    """`streams` in the words of the shell."""
    done = subprocess.run(["sh", "-c", f'"$@" {streams}', "sh", *rewind.command, *args], cwd=rewind.project,
                          env=rewind.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def changed(rewind: Rewind) -> Rewind:
    (rewind.project / "a.txt").write_text("one\n")
    rewind.init()
    (rewind.project / "a.txt").write_text("two\n")
    return rewind


@pytest.mark.parametrize("streams", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
def test_a_closed_stream_leads_nowhere(changed: Rewind, streams: str) -> None:
    assert run_with(changed, streams, "restore", "last").code == 0
    assert (changed.project / "a.txt").read_text() == "one\n"
    for args in ([], ["save", "x"], ["list", "--json"], ["status"], ["install", "--dry-run"]):
        assert run_with(changed, streams, *args).code == 0, args
    assert run_with(changed, streams, "show", "99").code == 12
    assert len(changed.names()) == 2
    assert changed.json("validate", "--deep")["ok"] is True


def test_what_is_left_of_the_streams_is_used(changed: Rewind) -> None:
    assert run_with(changed, "2>&-", "cat", "last:a.txt") == Result(0, "one\n", "")
    said = run_with(changed, "<&- >&-", "show", "99")
    assert said.code == 12 and said.err.startswith("error: No checkpoint matches \"99\".\nhint: ")


def test_in_one_file_both_streams_keep_their_order(changed: Rewind) -> None:
    """Results and talk alternate: a command to copy must stand below the sentence that introduces it."""
    lines = run_with(changed, "2>&1", "save", "x").out.splitlines()
    assert lines[0].startswith("Saved ") and lines[1].startswith("1 file, ")


def test_a_hook_with_closed_streams_writes_into_no_file_of_its_own(changed: Rewind) -> None:
    command = [*changed.command[:-1], str(ENTRY)]
    done = subprocess.run(["sh", "-c", '"$@" <&- >&- 2>&-', "sh", *command, "user-prompt-submit"],
                          cwd=changed.project, env=changed.env, timeout=60)
    assert done.returncode == 0
    assert changed.json("validate", "--deep")["ok"] is True


@needs_full
def test_a_result_that_cannot_be_written_is_told_and_what_was_done_stays_done(changed: Rewind) -> None:
    said = run_with(changed, ">/dev/full", "restore", "last")
    assert said.code == 1 and "try again" not in said.err.lower()
    assert "error: The command succeeded, but its output could not be written: No space left" in said.err
    assert "hint: Only the output is lost" in said.err
    assert (changed.project / "a.txt").read_text() == "one\n"
    error: dict[str, Any] = json.loads(run_with(changed, ">/dev/full", "list", "--json").err)["error"]
    assert error["code"] == "output-lost" and error["exitCode"] == 1


@needs_full
def test_a_long_result_that_cannot_be_written_is_told_too(changed: Rewind) -> None:
    for number in range(400):
        (changed.project / f"a file with a rather long name, number {number}").touch()
    said = run_with(changed, ">/dev/full", "restore", "last", "--json")
    assert said.code == 1 and "output could not be written" in json.loads(said.err)["error"]["message"]
    assert sorted(os.listdir(changed.project)) == [".agent", "a.txt"]


@needs_full
def test_talk_that_cannot_be_written_is_no_failure(changed: Rewind) -> None:
    said = run_with(changed, "2>/dev/full", "restore", "last")
    assert said.code == 0 and said.out.startswith("Restored to ")
    assert run_with(changed, "2>/dev/full", "show", "99").code == 12


@needs_full
@pytest.mark.parametrize("args", [["help"], ["--version"], ["list", "--help"], ["help", "storage"]])
def test_help_that_cannot_be_written_is_told(rewind: Rewind, args: list[str]) -> None:
    said = run_with(rewind, ">/dev/full", *args)
    assert said.code == 1 and "its output could not be written" in said.err


@needs_full
def test_an_address_that_cannot_be_written_is_no_port_that_is_taken(changed: Rewind) -> None:
    changed.command.remove("-S")
    said = run_with(changed, ">/dev/full", "ui", "--no-open")
    if "not installed" in said.err:
        pytest.skip("the packages of the web page are not installed")
    assert said.code == 1 and "error: The output could not be written: No space left" in said.err


@pytest.mark.parametrize("program", ["bin/rewind", "src/rewind/start.py", "src/rewind/__main__.py"])
def test_ctrl_c_while_the_program_is_loaded_is_no_traceback(tmp_path: Path, program: str) -> None:
    """The program stands beside a library whose loading is interrupted."""
    cli = tmp_path / "src/rewind/cli"
    cli.mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "src/rewind/fast").mkdir()
    for file in ("src/rewind/__init__.py", "src/rewind/cli/__init__.py", "src/rewind/fast/__init__.py"):
        (tmp_path / file).touch()
    bundle = "src/rewind/fast/bundle.py"  # where an installed program begins
    (tmp_path / bundle).write_bytes((PROGRAM.parent.parent / bundle).read_bytes())
    (cli / "main.py").write_text("import os, signal, time\n"
                                 f"os.kill(os.getpid(), {int(signal.SIGINT)})\ntime.sleep(5)\n")
    (tmp_path / program).write_bytes((PROGRAM.parent.parent / program).read_bytes())
    command = [*Rewind(tmp_path, tmp_path).command[:-1], program]
    if program.endswith("__main__.py"):
        command = [*Rewind(tmp_path, tmp_path).command[:1], "-S", "-m", "rewind"]
    done = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": "src"}, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")
