"""`session.json`: which session is the latest, whether a turn runs, and who has it open."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from hook_scene import Hooks
from make_transcripts import event_id
from rewind.processes import process_start

OTHER = event_id(0xA1)


def other(hooks: Hooks, name: str, session: str = OTHER, **fields: Any) -> None:
    """An event of another session in the same project."""
    path = hooks.transcript.with_name(f"{session}.jsonl")
    hooks.fire(name, session_id=session, transcript_path=str(path), **fields)


def test_a_session_that_starts_is_the_latest(hooks: Hooks) -> None:
    hooks.fire("SessionStart", env={"CLAUDE_PID": str(os.getpid())}, source="startup")
    found = hooks.session_json()
    assert found["agent"] == "claude"
    assert found["session_id"] == hooks.session
    assert found["transcript_path"] == str(hooks.transcript)
    assert found["client"] == {"pid": os.getpid(), "start": process_start(os.getpid())}
    assert found["running"] is False
    assert found["env_file"] == "" and found["recent"] == [] and found["started"]


@pytest.mark.parametrize("tier", ["minimal", "balanced", "aggressive"])
@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact", "", "something-new"])
def test_it_is_written_at_every_start_on_every_tier(bare: Hooks, tier: str, source: str) -> None:
    bare.protect(tier)
    bare.prompt("an earlier checkpoint of this conversation")
    bare.start(source)
    assert bare.session_json()["session_id"] == bare.session


def test_the_client_is_found_among_the_ancestors_when_it_does_not_say(hooks: Hooks) -> None:
    hooks.start()
    client = hooks.session_json()["client"]
    assert client is None or process_start(client["pid"]) == client["start"]


@pytest.mark.parametrize("pid", ["", "abc", "-1", "0", "99999999999999999999", "１２", "1e3", "4194305"])
def test_a_pid_that_cannot_be_is_no_client_of_that_number(hooks: Hooks, pid: str) -> None:
    hooks.fire("SessionStart", env={"CLAUDE_PID": pid}, source="startup")
    client = hooks.session_json()["client"]
    assert client is None or str(client["pid"]) != pid
    assert hooks.count() == 2


def test_the_one_before_becomes_a_recent_one(hooks: Hooks) -> None:
    hooks.start()
    other(hooks, "SessionStart", source="startup")
    found = hooks.session_json()
    assert found["session_id"] == OTHER
    assert [s["session_id"] for s in found["recent"]] == [hooks.session]
    hooks.start("resume")
    found = hooks.session_json()
    assert found["session_id"] == hooks.session
    assert [s["session_id"] for s in found["recent"]] == [OTHER]


@pytest.mark.slow
def test_the_recent_ones_are_few(hooks: Hooks) -> None:
    for number in range(30):
        other(hooks, "UserPromptSubmit", event_id(number), prompt="x", prompt_id=str(number))
    recent = [s["session_id"] for s in hooks.session_json()["recent"]]
    assert recent == [event_id(number) for number in range(28, 8, -1)]


# a turn that runs

def test_a_turn_runs_from_its_prompt_to_its_end(hooks: Hooks) -> None:
    hooks.start()
    hooks.prompt()
    assert hooks.session_json()["running"] is True
    hooks.edit()
    hooks.edit(when="Post")
    assert hooks.session_json()["running"] is True
    hooks.stop()
    assert hooks.session_json()["running"] is False


def test_what_the_start_said_is_kept_by_the_turns(hooks: Hooks) -> None:
    hooks.fire("SessionStart", env={"CLAUDE_PID": str(os.getpid())}, source="startup")
    was = hooks.session_json()
    hooks.prompt()
    hooks.stop()
    assert hooks.session_json() == was


def test_a_machines_prompt_does_not_make_a_turn_run(hooks: Hooks) -> None:
    hooks.start()
    hooks.prompt("<task-notification>\n<task-id>a</task-id>")
    assert hooks.session_json()["running"] is False


def test_a_session_whose_start_went_by_unseen_is_recorded_by_its_prompt(hooks: Hooks) -> None:
    hooks.prompt()
    found = hooks.session_json()
    assert found["session_id"] == hooks.session and found["running"] is True


def test_the_session_that_is_worked_in_is_the_latest(hooks: Hooks) -> None:
    hooks.start()
    other(hooks, "SessionStart", source="startup")
    hooks.prompt()
    assert hooks.session_json()["session_id"] == hooks.session


def test_an_end_of_a_turn_elsewhere_does_not_end_this_one(hooks: Hooks) -> None:
    hooks.prompt()
    other(hooks, "UserPromptSubmit", prompt="x", prompt_id="q1")
    other(hooks, "Stop", prompt_id="q1")
    entries = [hooks.session_json(), *hooks.session_json()["recent"]]
    assert {e["session_id"]: e["running"] for e in entries} == {OTHER: False, hooks.session: True}


def test_a_new_start_ends_a_turn_that_was_interrupted(hooks: Hooks) -> None:
    """The client was killed in the middle of a turn: no Stop, no SessionEnd."""
    hooks.prompt()
    hooks.start("resume")
    assert hooks.session_json()["running"] is False


# the end

@pytest.mark.parametrize("reason", ["clear", "other", "prompt_input_exit", "resume", "new-reason"])
def test_the_end_clears_who_has_it_open(hooks: Hooks, reason: str) -> None:
    hooks.fire("SessionStart", env={"CLAUDE_PID": str(os.getpid())}, source="startup")
    hooks.prompt()
    hooks.fire("SessionEnd", reason=reason)
    found = hooks.session_json()
    assert found["client"] is None and found["running"] is False and found["ended"]
    assert found["session_id"] == hooks.session  # still the latest


def test_the_end_of_an_earlier_session_leaves_the_latest_alone(hooks: Hooks) -> None:
    """/clear: the new session starts, then the old one may still end."""
    hooks.fire("SessionStart", env={"CLAUDE_PID": str(os.getpid())}, source="startup")
    path = hooks.transcript.with_name(f"{OTHER}.jsonl")
    hooks.fire("SessionStart", env={"CLAUDE_PID": str(os.getpid())}, source="clear", session_id=OTHER,
               transcript_path=str(path))
    hooks.fire("SessionEnd", reason="clear")
    found = hooks.session_json()
    assert found["session_id"] == OTHER and found["client"]["pid"] == os.getpid()
    assert found["recent"][0]["client"] is None


def test_a_session_that_goes_on_has_not_ended(hooks: Hooks) -> None:
    hooks.start()
    hooks.fire("SessionEnd", reason="other")
    hooks.start("resume")
    assert not hooks.session_json().get("ended")


def test_the_end_of_a_session_that_nobody_knows_writes_nothing(hooks: Hooks) -> None:
    hooks.fire("SessionEnd", reason="other")
    assert not (hooks.state / "session.json").exists()


# files of any kind in its place

@pytest.mark.parametrize("content", ["", "[]", "null", "{", '{"recent": 7, "session_id": []}', "\0\0",
                                     '{"recent": [1, null, {"session_id": {}}]}', "[" * 100_000])
def test_a_damaged_file_begins_anew(hooks: Hooks, content: str) -> None:
    (hooks.state / "session.json").write_text(content)
    hooks.start()
    hooks.prompt()
    hooks.stop()
    hooks.fire("SessionEnd", reason="other")
    assert hooks.session_json()["session_id"] == hooks.session
    assert not hooks.log()


def test_fields_of_another_version_are_kept(hooks: Hooks) -> None:
    hooks.start()
    data = {**hooks.session_json(), "later": {"version": 2}}
    (hooks.state / "session.json").write_text(json.dumps(data))
    hooks.prompt()
    assert hooks.session_json()["later"] == {"version": 2}


def test_it_is_private(hooks: Hooks) -> None:
    hooks.start()
    assert (hooks.state / "session.json").stat().st_mode & 0o777 == 0o600


def test_a_payload_without_a_session_writes_nothing(hooks: Hooks) -> None:
    for name in ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"):
        hooks.fire(name, session_id=None, prompt="x")
    assert not (hooks.state / "session.json").exists()


def test_a_subagents_tools_do_not_change_whose_session_it_is(hooks: Hooks) -> None:
    hooks.prompt()
    was = hooks.session_json()
    hooks.shell(agent_id="a1", agent_type="general-purpose")
    hooks.shell(when="Post", agent_id="a1", agent_type="general-purpose")
    assert hooks.session_json() == was


def test_a_resumed_session_whose_path_does_not_exist_is_recorded_where_it_is(hooks: Hooks) -> None:
    """Claude Code 2.1.325: `cd B && claude --resume` of a session of A names a path in B's folder."""
    hooks.talk("an earlier prompt")
    moved = hooks.transcript.parent.with_name("-somewhere-else") / hooks.transcript.name
    moved.parent.mkdir()
    hooks.transcript.rename(moved)
    hooks.start("resume")
    assert hooks.session_json()["transcript_path"] == str(moved)
    hooks.prompt("the next one")
    assert hooks.last().data["transcript"]["original_path"] == str(moved), "its conversation is saved, too"


def test_a_new_session_is_recorded_where_its_file_will_be(hooks: Hooks) -> None:
    hooks.start()
    assert not hooks.transcript.exists()
    assert hooks.session_json()["transcript_path"] == str(hooks.transcript)
