"""Whether a client has a session open: by its own word, by the recorded process, else by the file's age."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from chat_scene import LONG_AGO, a_dead_pid, client_is_running
from rewind.agents.registry import profile_named
from rewind.errors import SessionInUse
from rewind.processes import process_start
from rewind.transcript.liveness import is_open, why_open

pytestmark = pytest.mark.usefixtures("home")
SESSION = "aaaaaaaa-0000-4000-8000-000000000000"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_text("{}\n")
    return path


def is_claude_open(recorded: Any = None) -> Any:
    return is_open(profile_named("claude"), SESSION, recorded)


def test_an_entry_with_a_living_process_means_open(home: Path) -> None:
    client_is_running(home, SESSION)
    assert is_claude_open() is True


def test_an_entry_of_another_session_does_not(home: Path) -> None:
    client_is_running(home, "bbbbbbbb-0000-4000-8000-000000000000")
    assert is_claude_open() is False


def test_an_entry_that_a_killed_client_left_does_not(home: Path) -> None:
    client_is_running(home, SESSION, pid=a_dead_pid(), procStart="123")
    assert is_claude_open() is False


def test_an_entry_whose_number_another_process_got_does_not(home: Path) -> None:
    client_is_running(home, SESSION, procStart="1")
    assert is_claude_open() is False


def test_an_entry_without_a_start_time_is_believed_when_the_process_lives(home: Path) -> None:
    client_is_running(home, SESSION, procStart=None)
    assert is_claude_open() is True


def test_an_empty_register_means_closed_however_new_the_file_is(home: Path, path: Path) -> None:
    (home / ".claude/sessions").mkdir(parents=True)
    assert is_claude_open() is False
    assert why_open(profile_named("claude"), SESSION, str(path)) == ""


@pytest.mark.parametrize(("name", "text"), [
    ("{pid}.json", "{"), ("{pid}.json", "[]"), ("{pid}.json", ""), ("{pid}.abcdef.key", '{"sessionId":"S"}'),
    ("notes.json", '{"sessionId":"S"}'), ("²3.json", '{"sessionId":"S"}'), ("-1.json", '{"sessionId":"S"}'),
    ("0.json", '{"sessionId":"S"}'), ("99999999999999999999.json", '{"sessionId":"S"}')])
def test_other_files_in_the_register_mean_nothing(home: Path, name: str, text: str) -> None:
    folder = home / ".claude/sessions"
    folder.mkdir(parents=True)
    (folder / name.format(pid=os.getpid())).write_text(text.replace("S", SESSION))
    assert is_claude_open() is False


def test_the_register_decides_over_what_was_recorded(home: Path) -> None:
    (home / ".claude/sessions").mkdir(parents=True)
    assert is_claude_open({"client": {"pid": os.getpid(), "start": process_start(os.getpid())}}) is False


def test_a_moved_register_is_the_one_that_counts(home: Path, tmp_path: Path,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    (home / ".claude/sessions").mkdir(parents=True)
    moved = tmp_path / "moved"
    client_is_running(moved, SESSION)
    assert is_claude_open() is False
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(moved / ".claude"))
    assert is_claude_open() is True


# without a register

@pytest.mark.parametrize("agent", ["claude", "droid"])
def test_without_a_register_the_recorded_process_decides(agent: str) -> None:
    profile = profile_named(agent)
    start = process_start(os.getpid())
    assert is_open(profile, SESSION, {"client": {"pid": os.getpid(), "start": start}}) is True
    assert is_open(profile, SESSION, {"client": {"pid": os.getpid(), "start": "1"}}) is False
    assert is_open(profile, SESSION, {"client": {"pid": a_dead_pid(), "start": start}}) is False


@pytest.mark.parametrize("recorded", [None, {}, {"client": None}, {"client": {"pid": "7"}}, {"client": []}])
def test_without_any_evidence_nobody_knows(recorded: Any) -> None:
    assert is_claude_open(recorded) is None


def test_then_a_file_written_in_the_last_minutes_counts_as_open(path: Path) -> None:
    droid = profile_named("droid")
    assert "last minutes" in why_open(droid, SESSION, str(path))
    os.utime(path, (LONG_AGO, LONG_AGO))
    assert why_open(droid, SESSION, str(path)) == ""
    path.unlink()
    assert why_open(droid, SESSION, str(path)) == ""


def test_a_dead_recorded_process_means_closed_however_new_the_file_is(path: Path) -> None:
    recorded = {"client": {"pid": a_dead_pid(), "start": "1"}}
    assert why_open(profile_named("droid"), SESSION, str(path), recorded) == ""


def test_the_reason_names_the_client(home: Path, path: Path) -> None:
    client_is_running(home, SESSION)
    assert "Claude Code" in why_open(profile_named("claude"), SESSION, str(path))


def test_the_error_says_what_to_do_and_what_force_would_cost() -> None:
    error = SessionInUse(reason="x")
    assert error.exit_code == 13 and "--in-place" in error.hint and "--force" in error.hint


def test_a_process_that_has_ended_but_was_not_waited_for_does_not_live(home: Path) -> None:
    pid = os.fork()
    if not pid:
        os._exit(0)
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        entry = {"pid": pid, "sessionId": SESSION}
        folder = home / ".claude/sessions"
        folder.mkdir(parents=True)
        (folder / f"{pid}.json").write_text(json.dumps(entry))
        assert is_claude_open() is False
    finally:
        os.waitpid(pid, 0)
