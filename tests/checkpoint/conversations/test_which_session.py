"""Which conversation is meant: the named one, this process's own, the recorded one, else the latest."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from chat_scene import LONG_AGO, Claude, Scene, a_dead_pid, client_is_running, droid
from cli import conftest as in_process
from cli.conftest import InProcess
from make_transcripts import place, session_folder
from rewind.checkpoint.conversations.recorded_sessions import recorded_session, recorded_sessions
from rewind.checkpoint.conversations.which_session import choose_session
from rewind.errors import NoSession, TranscriptNotFound, UsageError
from rewind.transcript.find import SessionNotFound

cli = in_process.cli  # the fixture
OLD, NEW = "0000000a-0000-4000-8000-000000000000", "0000000b-0000-4000-8000-000000000000"
THIRD = "0000000d-0000-4000-8000-000000000000"
FOURTH = "0000000f-0000-4000-8000-000000000000"


class Choice:
    """Three sessions: an old one and a new one of Claude's, and an older one of Droid's."""

    def __init__(self, cli: InProcess) -> None:
        self.scene = Scene(cli)
        self.scene.path.unlink()
        self.cli = cli
        self.old = self.put(Claude(cli.project, OLD), OLD, 20)
        self.new = self.put(Claude(cli.project, NEW), NEW, 10)
        self.third = self.put(droid(cli.project, THIRD), THIRD, 30)

    def put(self, talk: Any, session: str, age: int) -> Path:
        talk.turn(session)
        agent = "claude" if isinstance(talk, Claude) else "droid"
        path = place(self.cli.home, agent, self.cli.project, talk.bytes(), session)
        os.utime(path, (LONG_AGO - age, LONG_AGO - age))
        return path

    def taken(self, named: Any = None, **environ: str) -> str:
        with patch.dict(os.environ, environ):
            return choose_session(self.scene.controller().state, named).session.session_id

    def note(self, **environ: str) -> str:
        with patch.dict(os.environ, environ):
            return choose_session(self.scene.controller().state).note

    def record(self, data: Any) -> None:
        path = self.cli.state / "session.json"
        path.write_text(data if isinstance(data, str) else json.dumps(data))


@pytest.fixture
def choice(cli: InProcess) -> Choice:
    return Choice(cli)


def test_without_any_word_the_latest_is_taken(choice: Choice) -> None:
    assert choice.taken() == NEW and choice.note() == ""


def test_a_name_comes_before_everything(choice: Choice) -> None:
    assert choice.taken(OLD, REWIND_TRANSCRIPT_PATH=str(choice.new)) == OLD
    assert choice.taken("0000000a") == OLD
    assert choice.taken(str(choice.third)) == THIRD


def test_a_transcript_named_by_its_path_may_lie_anywhere(choice: Choice, tmp_path: Path) -> None:
    path = tmp_path / "copy.jsonl"
    path.write_bytes(choice.old.read_bytes())
    assert choice.taken(str(path)) == "copy"


def test_the_transcript_of_the_environment_comes_next(choice: Choice) -> None:
    assert choice.taken(REWIND_TRANSCRIPT_PATH=str(choice.old), CLAUDECODE="1",
                        CLAUDE_CODE_SESSION_ID=NEW) == OLD


def test_then_the_session_of_the_environment(choice: Choice) -> None:
    assert choice.taken(CLAUDECODE="1", CLAUDE_CODE_SESSION_ID=OLD) == OLD
    assert choice.taken(REWIND_SESSION_ID=THIRD) == THIRD
    assert choice.taken(REWIND_SESSION_ID=THIRD, CLAUDECODE="1", CLAUDE_CODE_SESSION_ID=OLD) == THIRD


def test_a_session_of_the_environment_that_is_not_of_this_project_is_passed_over(choice: Choice) -> None:
    for wanted in ("0000000e-0000-4000-8000-000000000000", "../../x", "x" * 5000):
        assert choice.taken(CLAUDECODE="1", CLAUDE_CODE_SESSION_ID=wanted) == NEW


def test_a_variable_of_claude_means_nothing_under_droid(choice: Choice) -> None:
    under_droid = {"FACTORY_PROJECT_DIR": "/p", "DROID_PROJECT_DIR": "/p", "CLAUDE_PROJECT_DIR": "/p"}
    assert choice.taken(**under_droid) == NEW


def test_then_the_one_that_the_hooks_recorded(choice: Choice) -> None:
    choice.record({"agent": "claude", "transcript_path": str(choice.old), "session_id": OLD})
    assert choice.taken() == OLD
    assert choice.taken(CLAUDECODE="1", CLAUDE_CODE_SESSION_ID=NEW) == NEW


def test_a_recorded_one_that_is_gone_leads_to_the_one_before_it(choice: Choice) -> None:
    choice.record({"agent": "claude", "transcript_path": str(choice.new) + "x", "recent": [
        {"agent": "droid", "transcript_path": str(choice.third), "session_id": THIRD}]})
    assert choice.taken() == THIRD


def test_a_recorded_one_outside_the_session_root_is_not_used(choice: Choice, tmp_path: Path) -> None:
    outside = tmp_path / f"{OLD}.jsonl"
    outside.write_bytes(choice.old.read_bytes())
    link = choice.old.parent / "out.jsonl"
    link.symlink_to(outside)
    for path in (str(outside), str(link), "/a\0b/x.jsonl", "x" * 5000):
        choice.record({"agent": "claude", "transcript_path": path, "session_id": OLD})
        assert choice.taken() == NEW, path


def test_a_record_of_the_hooks_that_makes_no_sense_is_passed_over(choice: Choice) -> None:
    for data in ("{", "", "[]", "7", {"transcript_path": 7}, {"recent": 7}, "[" * 100_000,
                 {"recent": [7, None, {"transcript_path": None}]}):
        choice.record(data)
        assert recorded_sessions(choice.scene.controller().state) == [] and choice.taken() == NEW


def test_a_recorded_session_is_found_by_its_id(choice: Choice) -> None:
    entry = {"agent": "claude", "transcript_path": str(choice.old), "session_id": OLD}
    choice.record({**entry, "session_id": NEW, "recent": [entry]})
    state = choice.scene.controller().state
    assert recorded_session(state, OLD) == entry and recorded_session(state, "nobody") is None


def test_another_one_that_was_active_in_the_last_minutes_is_told(choice: Choice) -> None:
    now = time.time()
    os.utime(choice.new, (now, now))
    os.utime(choice.old, (now - 60, now - 60))
    assert NEW in choice.note() and OLD in choice.note() and "--session" in choice.note()
    choice.record({"agent": "claude", "transcript_path": str(choice.old), "session_id": OLD})
    assert choice.taken() == OLD
    assert choice.note().startswith(f"Using session {OLD}. ") and choice.note().endswith(NEW)
    os.utime(choice.new, (now - 3600, now - 3600))
    assert choice.note() == ""


def test_a_choice_that_was_made_needs_no_note(choice: Choice) -> None:
    now = time.time()
    for path in (choice.new, choice.old):
        os.utime(path, (now, now))
    assert choice.note(REWIND_TRANSCRIPT_PATH=str(choice.old)) == ""


# nothing there

def test_no_session_is_an_error_that_says_how_to_name_one(cli: InProcess) -> None:
    scene = Scene(cli)
    scene.path.unlink()
    with pytest.raises(NoSession) as caught:
        choose_session(scene.controller().state)
    assert caught.value.exit_code == 12 and "--session" in caught.value.hint


def test_a_name_that_leads_nowhere_is_not_found(choice: Choice) -> None:
    with pytest.raises(SessionNotFound):
        choice.taken("0000000f-0000-4000-8000-000000000000")
    for path in ("../../x", "/no/such.jsonl", "x.jsonl", "a\0b.jsonl", "/" + "x" * 5000 + ".jsonl"):
        with pytest.raises(TranscriptNotFound):
            choice.taken(path)
    with pytest.raises(UsageError):
        choice.taken("a\0b")
    with pytest.raises(TranscriptNotFound):
        choice.taken(REWIND_TRANSCRIPT_PATH="/no/such.jsonl")


def test_a_checkpoint_is_made_although_the_environment_leads_nowhere(choice: Choice) -> None:
    result = choice.cli.run("save", "--json", env={"REWIND_TRANSCRIPT_PATH": "/no/such.jsonl"})
    assert result.code == 0 and result.data["hasTranscript"] is False


# Transcripts that Claude Code has moved to the folder of another directory (worktrees, /cd)

@pytest.fixture
def moved(choice: Choice, tmp_path: Path) -> Path:
    """OLD began here, and lies elsewhere now."""
    path = session_folder(choice.cli.home, "claude", tmp_path / "elsewhere") / choice.old.name
    path.parent.mkdir()
    choice.old.rename(path)
    return path


def test_a_moved_session_is_found_by_its_whole_id(choice: Choice, moved: Path) -> None:
    assert choice.taken(OLD) == OLD
    with pytest.raises(SessionNotFound):
        choice.taken(OLD[:8])


def test_the_environment_may_name_the_path_where_a_session_was(choice: Choice, moved: Path) -> None:
    assert choice.taken(REWIND_TRANSCRIPT_PATH=str(choice.old)) == OLD
    assert choice.taken(CLAUDECODE="1", CLAUDE_CODE_SESSION_ID=OLD) == OLD
    assert choice.taken(REWIND_SESSION_ID=OLD) == OLD


def test_a_recorded_session_that_was_moved_is_still_the_latest(choice: Choice, moved: Path) -> None:
    choice.record({"agent": "claude", "transcript_path": str(choice.old), "session_id": OLD, "recent": [
        {"agent": "droid", "transcript_path": str(choice.third), "session_id": THIRD}]})
    assert choice.taken() == OLD


def test_a_moved_session_is_in_the_list_and_can_be_shown(choice: Choice, moved: Path) -> None:
    choice.record({"agent": "claude", "transcript_path": str(choice.old), "session_id": OLD})
    listed = choice.cli.run("sessions", "list", "--json").data["sessions"]
    assert {one["session_id"] for one in listed} == {OLD, NEW, THIRD}
    shown = choice.cli.run("sessions", "show", OLD, "--json").data
    assert shown["path"] == str(moved) and len(shown["turns"]) == 1


@pytest.fixture
def resumed_here(choice: Choice, tmp_path: Path) -> Path:
    """A session of another directory, resumed in this one: SessionStart names a path that does not exist."""
    other = tmp_path / "other"
    other.mkdir()
    talk = Claude(other, FOURTH)
    talk.turn("one")
    talk.turn("two")
    path = place(choice.cli.home, "claude", other, talk.bytes(), FOURTH)
    os.utime(path, (LONG_AGO - 40, LONG_AGO - 40))
    said = choice.old.with_name(f"{FOURTH}.jsonl")
    choice.record({"agent": "claude", "transcript_path": str(said), "session_id": FOURTH})
    return path


def test_a_session_of_another_directory_that_goes_on_here_is_taken(
        choice: Choice, resumed_here: Path) -> None:
    assert choice.taken() == FOURTH
    assert choice.taken(FOURTH) == FOURTH
    assert choice.taken(CLAUDECODE="1", CLAUDE_CODE_SESSION_ID=FOURTH) == FOURTH


def test_one_that_our_hooks_have_not_seen_is_not(choice: Choice, resumed_here: Path) -> None:
    choice.record({})
    assert choice.taken(CLAUDECODE="1", CLAUDE_CODE_SESSION_ID=FOURTH) == NEW
    with pytest.raises(SessionNotFound):
        choice.taken(FOURTH)


def test_back_forks_a_session_beside_where_it_lies_now(choice: Choice, resumed_here: Path) -> None:
    done = choice.cli.run("back", "1", "--json")
    assert done.code == 0, done
    assert Path(done.data["fork"]["path"]).parent == resumed_here.parent
    assert [prompt["text"] for prompt in done.data["prompts"]] == ["two"]


def test_a_checkpoint_brings_back_the_conversation_from_where_it_lies_now(
        choice: Choice, tmp_path: Path) -> None:
    saved = choice.cli.run("save", "--json").data["checkpoint"]
    path = session_folder(choice.cli.home, "claude", tmp_path / "elsewhere") / choice.new.name
    path.parent.mkdir()
    choice.new.rename(path)
    done = choice.cli.run("restore", str(saved), "--context-only", "--json")
    assert done.code == 0, done
    assert Path(done.data["fork"]["path"]).parent == path.parent
    assert "gone" not in done.out + done.err


# open in a client

def test_the_one_that_a_client_has_open_wins_over_a_later_one(choice: Choice) -> None:
    choice.record({"agent": "claude", "transcript_path": str(choice.new), "session_id": NEW})
    client_is_running(choice.scene.cli.home, OLD)
    assert choice.taken() == OLD, "a finished -p run is later, and nobody has it open"
    os.utime(choice.new)
    note = choice.note()
    assert note.startswith(f"Using session {OLD}, which is open in Claude Code.") and note.endswith(
        f"--session {NEW}")


def test_a_client_that_was_killed_has_nothing_open(choice: Choice) -> None:
    client_is_running(choice.scene.cli.home, OLD, pid=a_dead_pid())
    assert choice.taken() == NEW


def test_of_two_that_are_open_the_later_is_taken_and_the_other_named(choice: Choice) -> None:
    client_is_running(choice.scene.cli.home, OLD)
    client_is_running(choice.scene.cli.home, NEW, pid=os.getppid())
    assert choice.taken() == NEW
    assert f"open in Claude Code as well. To use that one: --session {OLD}" in choice.note()


def test_back_takes_the_latest_with_a_prompt_to_take_back(choice: Choice) -> None:
    empty = choice.old.with_name("0000000f-0000-4000-8000-000000000000.jsonl")
    empty.write_text('{"type":"mode","mode":"normal"}\n')
    state = choice.scene.controller().state
    choice.record({"agent": "claude", "transcript_path": str(empty), "session_id": empty.stem})
    assert choose_session(state, with_prompt=True).session.session_id == NEW
    assert choose_session(state).session.session_id == empty.stem


def test_a_dry_run_says_which_session_it_took(choice: Choice) -> None:
    talk = Claude(choice.cli.project, OLD)
    talk.turn("one")
    talk.turn("two")
    choice.old.write_bytes(talk.bytes())
    client_is_running(choice.scene.cli.home, OLD)
    os.utime(choice.new)
    said = choice.scene.cli.ok("back", "--dry-run").err
    assert f"Using session {OLD}" in said and f"--session {NEW}" in said
