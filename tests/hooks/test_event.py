"""One shape for what every agent tells: fields, files, sizes, and what tells two events apart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hook_scene import ACTIONS, LONG, Case, Hooks, recorded
from rewind.hooks.event import EDIT, EVENTS, SHELL, HookEvent, read_event

USED = [case for case in recorded() if case.event in ACTIONS]
WRONG: list[Any] = [None, 0, 1.5, True, [], {}, ["x"], {"a": 1}, "", "\0", "x" * 100_000]


def event_of(case: Case, home: Path, project: Path, env: dict[str, str]) -> HookEvent:
    event = read_event(ACTIONS[case.event], case.payload(home, project), env)
    assert event is not None
    return event


def droid(home: Path, name: str = "PreToolUse", **fields: Any) -> HookEvent:
    payload = {"transcript_path": str(home / ".factory/sessions/-p/s.jsonl"), "session_id": "s", "cwd": "/p",
               **fields}
    event = read_event(ACTIONS[name], payload, {})
    assert event is not None and event.profile.name == "droid"
    return event


@pytest.mark.parametrize("case", USED, ids=repr)
def test_a_recorded_payload_is_read_completely(case: Case, home: Path, project: Path) -> None:
    payload = case.payload(home, project)
    event = event_of(case, home, project, {})
    assert event.profile.name == case.agent
    assert event.name == case.event
    assert event.session == payload["session_id"]
    assert event.transcript == payload["transcript_path"]
    assert event.cwd == payload["cwd"]
    assert event.tool == payload.get("tool_name", "")
    assert event.prompt == payload.get("prompt", "")
    assert event.source == payload.get("source", "")
    assert event.input == payload.get("tool_input", {})
    assert event.tool_use_id == payload.get("tool_use_id", "")
    assert event.subagent == payload.get("agent_id", "")
    assert event.prompt_id == payload.get("prompt_id" if case.agent == "claude" else "message_id", "")


@pytest.mark.parametrize("case", USED, ids=repr)
def test_the_transcripts_place_decides_whose_event_it_is(case: Case, home: Path, project: Path) -> None:
    """Droid sets Claude Code's variables, and can import Claude Code's hooks."""
    both = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "x", "CLAUDE_PROJECT_DIR": "/p",
            "FACTORY_PROJECT_DIR": "/p", "DROID_PROJECT_DIR": "/p"}
    assert event_of(case, home, project, both).profile.name == case.agent


@pytest.mark.parametrize(("env", "agent"), [
    ({"CLAUDECODE": "1"}, "claude"),
    ({"FACTORY_PROJECT_DIR": "/p", "DROID_PROJECT_DIR": "/p", "CLAUDE_PROJECT_DIR": "/p"}, "droid"),
    ({"REWIND_AGENT": "droid", "CLAUDECODE": "1"}, "droid"),
])
def test_without_a_transcript_the_environment_decides(home: Path, env: dict[str, str], agent: str) -> None:
    event = read_event("stop", {"session_id": "s"}, env)
    assert event is not None and event.profile.name == agent


@pytest.mark.parametrize("payload", [None, 1, "text", [], [{}], True])
def test_what_is_no_object_is_no_event(home: Path, payload: Any) -> None:
    assert read_event("stop", payload, {"CLAUDECODE": "1"}) is None


def test_what_no_agent_says_is_no_event(home: Path) -> None:
    assert read_event("stop", {"transcript_path": "/elsewhere/s.jsonl"}, {}) is None


@pytest.mark.parametrize("action", ["", "Stop", "stop ", "STOP", "notification", "../stop", "pre-compact"])
def test_an_unknown_action_is_no_event(home: Path, action: str) -> None:
    assert read_event(action, {}, {"CLAUDECODE": "1"}) is None


@pytest.mark.parametrize("case", USED, ids=repr)
def test_a_wrong_type_in_any_field_is_as_if_it_were_not_there(case: Case, home: Path, project: Path) -> None:
    for payload in mutations(case.payload(home, project), WRONG):
        use(case, payload)


def test_half_a_character_in_any_field_upsets_nothing(home: Path, project: Path) -> None:
    """JavaScript cuts texts in the middle of a pair of surrogates."""
    for case in USED:
        for payload in mutations(case.payload(home, project), ["\ud83d", "/p/\ud83d", "a\ude00b"]):
            use(case, payload)


def mutations(whole: dict[str, Any], values: list[Any]) -> Iterator[dict[str, Any]]:
    for value in values:
        yield from ({**whole, field: value} for field in whole)
        given = whole.get("tool_input", {})
        yield from ({**whole, "tool_input": {**given, field: value}} for field in given)


def use(case: Case, payload: dict[str, Any]) -> None:
    """Everything that is ever asked of an event, without an error."""
    env = {"CLAUDECODE": "1"} if case.agent == "claude" else {"FACTORY_PROJECT_DIR": "/p"}
    event = read_event(ACTIONS[case.event], payload, env)
    assert event is not None
    texts = (event.session, event.transcript, event.cwd, event.tool, event.prompt, event.key(), event.command,
             event.tool_kind, *event.files())
    assert all(isinstance(text, str) for text in texts)
    assert isinstance(event.change_size(), int) and isinstance(event.is_machine_prompt, bool)
    json.dumps(event.trigger())


# tools

@pytest.mark.parametrize(("agent", "tool", "kind"), [
    ("claude", "Edit", EDIT), ("claude", "Write", EDIT), ("claude", "MultiEdit", EDIT),
    ("claude", "NotebookEdit", EDIT), ("claude", "Bash", SHELL), ("claude", "Read", ""),
    ("claude", "Agent", ""), ("claude", "mcp__files__write", ""), ("claude", "edit", ""), ("claude", "", ""),
    ("droid", "Create", EDIT), ("droid", "Edit", EDIT), ("droid", "ApplyPatch", EDIT),
    ("droid", "Execute", SHELL), ("droid", "Read", ""), ("droid", "TodoWrite", ""), ("droid", "Bash", ""),
])
def test_the_profile_says_what_a_tool_does(home: Path, agent: str, tool: str, kind: str) -> None:
    event = read_event("pre-tool-use", {"tool_name": tool}, {"REWIND_AGENT": agent})
    assert event is not None and event.tool_kind == kind


def test_a_file_is_named_in_full_whatever_the_agent_writes(bare: Hooks) -> None:
    for named, wanted in (("/p/a.txt", "/p/a.txt"), ("a.txt", "/elsewhere/a.txt"),
                          ("../b/./a.txt", "/b/a.txt"), ("/p//x/../a.txt", "/p/a.txt")):
        event = bare.event("PreToolUse", tool_name="Edit", tool_input={"file_path": named}, cwd="/elsewhere")
        assert event.files() == [wanted]


def test_a_notebook_is_a_file_too(bare: Hooks) -> None:
    event = bare.event("PreToolUse", tool_name="NotebookEdit", tool_input={"notebook_path": "/p/n.ipynb"})
    assert event.files() == ["/p/n.ipynb"]


def test_every_file_of_a_patch_is_named(home: Path) -> None:
    patch = ("*** Begin Patch\n*** Add File: new.txt\n+one\n*** Update File: src/a.py\n"
             "*** Move to: src/b.py\n@@\n-x\n+*** Delete File: not this\n"
             "*** Delete File: old.txt\n*** End Patch")
    event = droid(home, tool_name="ApplyPatch", tool_input={"input": patch})
    assert event.files() == ["/p/new.txt", "/p/src/a.py", "/p/src/b.py", "/p/old.txt"]
    assert event.change_size() == len(patch)


@pytest.mark.parametrize("given", [{}, {"file_path": None}, {"file_path": ""}, {"file_path": "a\0b"},
                                   {"file_path": ["a"]}, {"input": 5}])
def test_what_names_no_file_has_none(home: Path, given: dict[str, Any]) -> None:
    assert droid(home, tool_name="Edit", tool_input=given).files() == []


def test_the_size_of_a_change_is_the_longer_side_and_never_the_name(bare: Hooks) -> None:
    event = bare.event("PreToolUse", tool_name="Edit", tool_input={
        "file_path": "/p/" + LONG, "old_string": "abc", "new_string": "abcde", "replace_all": True})
    assert event.change_size() == 5


def test_a_size_stays_cheap_however_deep_the_input_is(bare: Hooks) -> None:
    deep: Any = "x"
    for _ in range(500):
        deep = [deep]
    assert bare.event("PreToolUse", tool_name="Edit", tool_input={"edits": deep}).change_size() == 0


# old spellings

def test_older_droids_wrote_camel_case(home: Path) -> None:
    payload = {"sessionId": "s", "transcriptPath": str(home / ".factory/sessions/s.jsonl"),
               "toolName": "Create", "hookEventName": "PreToolUse", "toolInput": {"file_path": "a"},
               "messageId": "m", "cwd": "/p"}
    event = read_event("pre-tool-use", payload, {})
    assert event is not None and event.profile.name == "droid"
    assert (event.session, event.tool, event.message_id, event.files()) == ("s", "Create", "m", ["/p/a"])


# which events are the same

def test_events_with_different_ids_have_different_keys(home: Path, project: Path) -> None:
    keys = [event_of(case, home, project, {}).key() for case in USED]
    told = [key for key in keys if key]
    assert len(set(told)) == len(told)


@pytest.mark.parametrize("case", USED, ids=repr)
def test_an_event_told_twice_has_the_same_key(case: Case, home: Path, project: Path) -> None:
    assert event_of(case, home, project, {}).key() == event_of(case, home, project, {"X": "y"}).key()


def test_before_and_after_one_tool_call_are_two_events(bare: Hooks) -> None:
    keys = {bare.event(name, tool_name="Bash", tool_use_id="t1").key()
            for name in ("PreToolUse", "PostToolUse")}
    assert len(keys) == 2


def test_the_same_id_in_another_session_is_another_event(bare: Hooks) -> None:
    one = bare.event("UserPromptSubmit", prompt_id="p", prompt="x", session_id="a")
    two = bare.event("UserPromptSubmit", prompt_id="p", prompt="x", session_id="b")
    assert one.key() != two.key()


def test_without_an_id_no_event_is_taken_for_another(bare: Hooks) -> None:
    """Claude Code 2.1.162 gives no prompt_id: the same words twice are two prompts."""
    assert bare.event("UserPromptSubmit", prompt="go on").key() == ""
    assert bare.event("PreToolUse", tool_name="Bash").key() == ""


# what a record gets

def test_the_trigger_holds_the_keys_by_which_the_place_is_found(bare: Hooks) -> None:
    event = bare.event("PreToolUse", tool_name="Write", tool_use_id="toolu_1", prompt_id="p1", agent_id="a1",
                       tool_input={"file_path": "/p/app.py", "content": "x"})
    assert event.trigger() == {"event": "PreToolUse", "tool": "Write", "file": "/p/app.py",
                               "session": bare.session, "promptId": "p1", "toolUseId": "toolu_1",
                               "subagent": "a1"}


def test_a_long_prompt_is_kept_to_its_first_200_characters(bare: Hooks) -> None:
    trigger = bare.event("UserPromptSubmit", prompt="é" * 10_000).trigger()
    assert trigger["promptText"] == "é" * 200


def test_there_is_an_action_for_every_event_and_no_other() -> None:
    assert EVENTS == {"session-start": "SessionStart", "user-prompt-submit": "UserPromptSubmit",
                      "pre-tool-use": "PreToolUse", "post-tool-use": "PostToolUse", "stop": "Stop",
                      "session-end": "SessionEnd"}
