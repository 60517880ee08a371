"""Codex's events: recorded payloads, whose they are, and what subagents do in the name of their parent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Optional

import pytest

from hook_scene import ACTIONS, Hooks
from rewind.hooks.event import EDIT, EVENTS, SHELL, HookEvent, read_event
from rewind.hooks.handle import Outcome, handle
from rewind.hooks.transcript_path import transcript_path
from rollouts import RECORDED, Talk

PAYLOADS: dict[str, Any] = json.loads((RECORDED / "hook-payloads.json").read_text())
OURS = [name for name, one in PAYLOADS.items() if one["payload"]["hook_event_name"] in EVENTS.values()]


def event(home: Path, name: str, environ: Optional[dict[str, str]] = None) -> HookEvent:
    text = json.dumps(PAYLOADS[name]["payload"]).replace("/home/dev/.codex", f"{home}/.codex")
    payload = json.loads(text)
    found = read_event(ACTIONS[payload["hook_event_name"]], payload, environ or {})
    assert found is not None
    return found


@pytest.mark.parametrize("name", OURS)
def test_a_recorded_event_is_codexs(home: Path, name: str) -> None:
    # Even when it was started from a shell of Claude Code's.
    found = event(home, name, {"CLAUDECODE": "1"})
    assert found.profile.name == "codex"
    assert found.session and found.cwd == "/home/dev/work/proj"


def test_an_event_without_a_transcript_is_known_by_the_hooks_command(home: Path) -> None:
    payload = {**PAYLOADS["Stop"]["payload"], "transcript_path": None}
    found = read_event("stop", payload, {"REWIND_AGENT": "codex"})
    assert found is not None and found.profile.name == "codex" and found.prompt_id


def test_tools_by_the_names_that_hooks_see(home: Path) -> None:
    shell = event(home, "PreToolUse")
    assert (shell.tool_kind, shell.command) == (SHELL, "touch perm.txt")
    patch = "*** Begin Patch\n*** Add File: b.txt\n+hello\n*** Delete File: sub/c.txt\n*** End Patch"
    payload = {**PAYLOADS["PreToolUse"]["payload"], "tool_name": "apply_patch",
               "tool_input": {"command": patch}, "transcript_path": None}
    edit = read_event("pre-tool-use", payload, {"REWIND_AGENT": "codex"})
    assert edit is not None and edit.tool_kind == EDIT
    assert edit.files() == ["/home/dev/work/proj/b.txt", "/home/dev/work/proj/sub/c.txt"]


def test_a_subagents_task_is_nobodys_prompt(home: Path) -> None:
    assert event(home, "UserPromptSubmit.subagent").is_machine_prompt
    assert not event(home, "UserPromptSubmit").is_machine_prompt


def test_a_subagents_event_is_about_its_parents_conversation(home: Path, tmp_path: Path) -> None:
    found = event(home, "PreToolUse.subagent")
    assert transcript_path(found) == ""  # the parent's is not there
    path = Talk(tmp_path, found.session).write(home)
    Talk(tmp_path, found.subagent, parent_thread_id=found.session, thread_source="subagent").write(home)
    assert transcript_path(event(home, "PreToolUse.subagent")) == str(path)


class Codex:
    """A thread in a project that is protected."""

    def __init__(self, hooks: Hooks) -> None:
        self.hooks = hooks
        self.talk = Talk(hooks.project)
        self.turn = ""

    def fire(self, name: str, **fields: Any) -> Outcome:
        path = self.talk.write(self.hooks.home)
        payload = {"session_id": self.talk.id, "transcript_path": str(path), "cwd": str(self.hooks.project),
                   "hook_event_name": name, "turn_id": self.turn, "model": "m", **fields}
        environ = {key: value for key, value in self.hooks.env().items() if not key.startswith("CLAUDE")}
        return handle(ACTIONS[name], json.dumps(payload).encode(), environ)

    def say(self, text: str, **files: str) -> None:
        self.turn = self.talk.start()
        assert self.fire("UserPromptSubmit", prompt=text).out == ""
        self.talk.prompt(text, self.turn)
        for name, content in files.items():
            (self.hooks.project / name).write_text(content)
        self.talk.message("assistant", f"To {text}")
        assert self.fire("Stop", stop_hook_active=False, last_assistant_message="").out == ""
        self.talk.event("task_complete", turn_id=self.turn)
        self.talk.write(self.hooks.home)


def test_turns_have_checkpoints_with_their_conversation(hooks: Hooks) -> None:
    codex = Codex(hooks)
    codex.say("one", made="1")
    codex.say("two", made="2")
    records = hooks.records()
    told = [(r.trigger.get("event"), r.data["transcript"]) for r in records if r.data["hasTranscript"]]
    assert [event for event, _ in told] == ["UserPromptSubmit", "Stop"] * 2
    assert {(chat["agent"], chat["sessionId"]) for _, chat in told} == {("codex", codex.talk.id)}


def test_a_subagents_tool_is_saved_with_the_parents_conversation(hooks: Hooks) -> None:
    codex = Codex(hooks)
    codex.say("one")
    child = Talk(hooks.project, parent_thread_id=codex.talk.id, thread_source="subagent")
    before = hooks.count()
    codex.fire("UserPromptSubmit", prompt="Do this", agent_id=child.id, agent_type="default",
               transcript_path=str(child.write(hooks.home)))
    assert hooks.count() == before
    hooks.clock += 1000
    patch = "*** Begin Patch\n*** Update File: a.txt\n" + "+x" * 100
    codex.fire("PreToolUse", agent_id=child.id, tool_name="apply_patch", tool_use_id="call_1",
               tool_input={"command": patch}, transcript_path=str(child.write(hooks.home)))
    assert hooks.last().data["transcript"]["sessionId"] == codex.talk.id


def test_the_guard_blocks_a_patch_of_the_checkpoints(hooks: Hooks) -> None:
    patch = f"*** Begin Patch\n*** Delete File: {hooks.state}/store.json\n*** End Patch"
    done = Codex(hooks).fire("PreToolUse", tool_name="apply_patch", tool_use_id="c",
                             tool_input={"command": patch})
    assert done.code == 93 and done.err
