"""Gemini CLI's events: recorded payloads, whose they are, and which of its files is the conversation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hook_scene import ACTIONS, LONG, Hooks
from oplogs import RECORDED, Talk, chats
from rewind.agents.registry import profile_named
from rewind.hooks.event import EDIT, SHELL, HookEvent, read_event
from rewind.hooks.handle import Outcome, handle
from rewind.hooks.transcript_path import transcript_path

PAYLOADS: dict[str, Any] = json.loads((RECORDED / "hook-payloads.json").read_text())
NAMES = {theirs: ours for ours, theirs in (profile_named("gemini").registration or {})["events"].items()}
OURS = [name for name in PAYLOADS if NAMES.get(name, name) in ACTIONS]


def event(home: Path, name: str, **fields: Any) -> HookEvent:
    text = json.dumps(PAYLOADS[name]["payload"]).replace("/home/dev-g/.gemini", f"{home}/.gemini")
    environ = {"GEMINI_SESSION_ID": "x", "CLAUDE_PROJECT_DIR": "/home/dev/work/proj-g"}
    found = read_event(ACTIONS[NAMES.get(name, name)], {**json.loads(text), **fields}, environ)
    assert found is not None
    return found


@pytest.mark.parametrize("name", OURS)
def test_a_recorded_event_is_geminis(home: Path, name: str) -> None:
    for fields in ({}, {"transcript_path": ""}):
        found = event(home, name, **fields)
        assert found.profile.name == "gemini" and found.session
        assert found.cwd == "/home/dev/work/proj-g" and not found.is_machine_prompt


def test_what_a_prompt_begins_with_does_not_make_it_a_machines(home: Path) -> None:
    assert not event(home, "BeforeAgent", prompt="/home/dev is full").is_machine_prompt


def test_tools_by_the_names_that_hooks_see(home: Path) -> None:
    edit = event(home, "BeforeTool")
    assert edit.tool_kind == EDIT and edit.files() == ["/home/dev/work/proj-g/smp.txt"]
    shell = event(home, "BeforeTool", tool_name="run_shell_command", tool_input={"command": "ls"})
    assert (shell.tool_kind, shell.command) == (SHELL, "ls")


class Gemini:
    """A session in a project that is protected."""

    def __init__(self, hooks: Hooks) -> None:
        self.hooks = hooks
        self.talk = Talk(hooks.project)

    def fire(self, name: str, **fields: Any) -> Outcome:
        path = self.talk.write(self.hooks.home)
        payload = {"session_id": self.talk.id, "transcript_path": str(path), "cwd": str(self.hooks.project),
                   "hook_event_name": name, "timestamp": self.talk.now(), **fields}
        environ = {key: value for key, value in self.hooks.env().items() if not key.startswith("CLAUDE")}
        done = handle(ACTIONS[NAMES.get(name, name)], json.dumps(payload).encode(), environ)
        assert done.out == "", "it would be shown"
        return done

    def say(self, text: str, **files: str) -> None:
        assert self.fire("BeforeAgent", prompt=text).err == ""
        self.talk.prompt(text)
        for name, content in files.items():
            (self.hooks.project / name).write_text(content)
        self.talk.answer(f"To {text}")
        assert self.fire("AfterAgent", prompt=text, prompt_response="", stop_hook_active=False).err == ""


def test_turns_have_checkpoints_with_their_conversation(hooks: Hooks) -> None:
    gemini = Gemini(hooks)
    gemini.fire("SessionStart", source="startup")
    gemini.say("one", made="1")
    gemini.say("two", made="2")
    for _ in range(3):  # as after /quit and signals
        gemini.fire("SessionEnd", reason="exit")
    records = [r for r in hooks.records() if r.data["hasTranscript"]]
    told = [(r.trigger.get("event"), r.data["transcript"]) for r in records]
    assert [event for event, _ in told] == ["SessionStart", *["UserPromptSubmit", "Stop"] * 2]
    assert {(chat["agent"], chat["sessionId"]) for _, chat in told} == {("gemini", gemini.talk.id)}
    assert told[-1][1]["snapshot"]["bytes"] == len(gemini.talk.data), "all of it is kept"


def test_the_stub_that_a_resumption_names_is_not_believed(hooks: Hooks) -> None:
    gemini = Gemini(hooks)
    gemini.say("one")
    stub = chats(hooks.home, hooks.project) / f"session-2026-11-16T09-00-{gemini.talk.id[:8]}.jsonl"
    for written in (False, True):
        if written:
            stub.write_bytes(Talk(hooks.project, gemini.talk.id).data)
        gemini.fire("SessionStart", source="resume", transcript_path=str(stub))
        payload = {"session_id": gemini.talk.id, "transcript_path": str(stub), "cwd": str(hooks.project)}
        found = read_event("session-start", payload, {})
        assert found is not None
        assert transcript_path(found) == str(gemini.talk.write(hooks.home))
    paths = {r.data["transcript"]["original_path"] for r in hooks.records() if r.data["hasTranscript"]}
    assert paths == {str(gemini.talk.write(hooks.home))}


def test_the_guard_blocks_a_change_of_the_checkpoints(hooks: Hooks) -> None:
    gemini = Gemini(hooks)
    done = gemini.fire("BeforeTool", tool_name="write_file",
                       tool_input={"file_path": f"{hooks.state}/store.json", "content": LONG})
    assert done.code == 93 and done.err
    done = gemini.fire("BeforeTool", tool_name="run_shell_command", tool_input={"command": "rewind back 1"})
    assert done.code == 93 and done.err
