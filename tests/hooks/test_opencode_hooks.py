"""opencode's events, as Rewind's plugin tells them: whose they are, and what subagents do in the name of
their parent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Optional

import pytest

from hook_scene import ACTIONS, Hooks
from opencode_sessions import Talk, recorded
from rewind.hooks.event import EDIT, SHELL, HookEvent, read_event
from rewind.hooks.handle import BLOCK, Outcome, handle

CALLED = recorded("plugin-payloads")["tool.execute.before"]["payload"]


def event(name: str, environ: Optional[dict[str, str]] = None, **fields: Any) -> HookEvent:
    payload = {"hook_event_name": name, "session_id": "ses_a", "cwd": "/home/dev/work", **fields}
    found = read_event(ACTIONS[name], payload, {"REWIND_AGENT": "opencode"} if environ is None else environ)
    assert found is not None
    return found


def test_an_event_is_known_by_the_copy_of_its_session(home: Path, tmp_path: Path) -> None:
    path = Talk(tmp_path).write(home)
    found = event("Stop", {"CLAUDECODE": "1"}, transcript_path=str(path))
    assert found.profile.name == "opencode" and found.transcript == str(path)


@pytest.mark.usefixtures("home")
def test_a_recorded_call_of_a_tool() -> None:
    found = event("PreToolUse", tool_name=CALLED["input"]["tool"], tool_input=CALLED["output"]["args"],
                  tool_use_id=CALLED["input"]["callID"])
    assert (found.tool_kind, found.tool_use_id) == (EDIT, "call_125_0")
    assert found.files() == ["/home/dev/work/proj-o/smp.txt"]


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("tool, given, kind, files", [
    ("bash", {"command": "make"}, SHELL, []),
    ("edit", {"filePath": "/a/b.txt", "oldString": "x", "newString": "y"}, EDIT, ["/a/b.txt"]),
    ("apply_patch", {"patchText": "*** Begin Patch\n*** Add File: b.txt\n+x\n*** End Patch"}, EDIT,
     ["/home/dev/work/b.txt"]),
    ("read", {"filePath": "/a/b.txt"}, "", ["/a/b.txt"])])
def test_tools_by_the_names_that_opencode_has(tool: str, given: Any, kind: str, files: list[str]) -> None:
    found = event("PreToolUse", tool_name=tool, tool_input=given)
    assert (found.tool_kind, found.files()) == (kind, files)
    assert kind != SHELL or found.command == "make"


class Opencode:
    """A session in a project that is protected."""

    def __init__(self, hooks: Hooks) -> None:
        self.hooks = hooks
        self.talk = Talk(hooks.project)

    def fire(self, name: str, **fields: Any) -> Outcome:
        path = self.talk.write(self.hooks.home)
        payload = {"session_id": self.talk.id, "transcript_path": str(path), "cwd": str(self.hooks.project),
                   "hook_event_name": name, **fields}
        environ = {key: value for key, value in self.hooks.env().items() if not key.startswith("CLAUDE")}
        return handle(ACTIONS[name], json.dumps(payload).encode(), {**environ, "REWIND_AGENT": "opencode"})


@pytest.fixture
def opencode(hooks: Hooks) -> Opencode:
    return Opencode(hooks)


def test_a_turn_has_a_checkpoint_before_and_after(opencode: Opencode, hooks: Hooks) -> None:
    assert opencode.fire("SessionStart", source="startup").out == ""
    opencode.fire("UserPromptSubmit", prompt="one", prompt_id="msg_1")
    (hooks.project / "a.txt").write_text("1")
    opencode.talk.turn("one")
    opencode.fire("Stop", prompt_id="msg_1", messages=2)
    records = [record for record in hooks.records() if record.data["hasTranscript"]]
    told = [(record.trigger.get("event"), record.data["transcript"]) for record in records]
    assert [event for event, _ in told][-2:] == ["UserPromptSubmit", "Stop"]
    assert {(chat["agent"], chat["sessionId"]) for _, chat in told} == {("opencode", opencode.talk.id)}


def test_a_subagents_tool_is_its_parents(opencode: Opencode, hooks: Hooks) -> None:
    opencode.fire("SessionStart", source="startup")
    before = hooks.count()
    opencode.fire("UserPromptSubmit", prompt="Do this", prompt_id="msg_c", agent_id="ses_child")
    assert hooks.count() == before, "its task is nobody's prompt"
    hooks.clock += 1000
    opencode.fire("PreToolUse", agent_id="ses_child", tool_name="write", tool_use_id="call_1",
                  tool_input={"filePath": str(hooks.project / "a.txt"), "content": "y" * 100})
    assert hooks.count() == before + 1
    assert hooks.last().data["transcript"]["sessionId"] == opencode.talk.id


def test_the_guard_knows_its_shell(opencode: Opencode) -> None:
    opencode.fire("SessionStart", source="startup")
    done = opencode.fire("PreToolUse", tool_name="bash", tool_input={"command": "rewind back 1 --both"})
    assert done.code == BLOCK and "Rewind blocks this" in done.err
    assert opencode.fire("PreToolUse", tool_name="bash", tool_input={"command": "rewind list"}).code == 0
