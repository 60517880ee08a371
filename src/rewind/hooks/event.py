"""What an agent tells a hook, in one shape for all agents. Reads nothing but the payload."""

from __future__ import annotations

import os

from rewind.agents.registry import each_profile, is_under_root, profile_of_environment
from rewind.fast import quickjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from rewind.agents.profile import Profile
    from rewind.checkpoint.records.record import Trigger
    from rewind.jsonfile import JsonObject

EVENTS = {"session-start": "SessionStart", "user-prompt-submit": "UserPromptSubmit",
          "pre-tool-use": "PreToolUse", "post-tool-use": "PostToolUse", "stop": "Stop",
          "session-end": "SessionEnd"}
EDIT, SHELL = "edit", "shell"
PROMPT_TEXT = 200
_FILE_MARKS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")


class HookEvent:
    """One event. A field that the payload lacks is an empty text."""

    def __init__(self, name: str, profile: Profile, data: JsonObject) -> None:
        self.name = name
        self.profile = profile
        self._data = data
        self.session = self._text("session")
        self.transcript = _path(self._text("transcript"))
        self.cwd = _path(self._text("cwd"))
        self.tool = self._text("tool")
        self.prompt = self._text("prompt")
        self.prompt_id = self._text("promptId")
        self.message_id = self._text("messageId")
        self.tool_use_id = self._text("toolUseId")
        self.source = self._text("source")
        self.subagent = self._text("subagent")
        self.env_file = _path(self._text("envFile"))
        self.found: str | None = None  # where the transcript is: see `transcript_path.py`
        found = self._value("input")
        self.input: JsonObject = found if isinstance(found, dict) else {}

    def _value(self, field: str, data: Mapping[str, Any] | None = None) -> Any:
        data = self._data if data is None else data
        for key in (self.profile.payload or {}).get(field, ()):
            if data.get(key) is not None:
                return data[key]
        return None

    def _text(self, field: str) -> str:
        found = self._value(field)
        return found if isinstance(found, str) else ""

    @property
    def tool_kind(self) -> str:
        tools = self.profile.tools
        return EDIT if self.tool in tools["edit"] else SHELL if self.tool in tools["shell"] else ""

    @property
    def is_coming_edit(self) -> bool:
        return self.name == "PreToolUse" and self.tool_kind == EDIT

    @property
    def continues_session(self) -> bool:
        return self.name == "SessionStart" and self.source in ("resume", "clear", "compact")

    @property
    def command(self) -> str:
        found = self._value("command", self.input)
        return found if isinstance(found, str) else ""

    @property
    def is_machine_prompt(self) -> bool:
        """A background task reports through the same event as a person's prompt, and a subagent gets its task
        through it. Other texts that the client writes never come this way: a person has pasted them."""
        rule = self.profile.prompt
        starts = tuple(rule.get("notices", rule["refuseStarts"]))
        return bool(self.subagent) or self.prompt.lstrip().startswith(starts)

    def files(self) -> list[str]:
        """The files that a tool is about to change, as full paths."""
        named = [self.input.get(key) for key in (self.profile.payload or {}).get("files", ())]
        patch = self._value("patch", self.input)
        if isinstance(patch, str):
            named += [line[len(mark):].strip() for line in patch.split("\n") for mark in _FILE_MARKS
                      if line.startswith(mark)]
        return [os.path.normpath(os.path.join(self.cwd or os.getcwd(), name)) for name in named
                if isinstance(name, str) and _path(name)]

    def change_size(self) -> int:
        """How many characters an edit is about: the longer of old and new, all edits together."""
        apart = set((self.profile.payload or {}).get("files", ()))
        return _size({key: value for key, value in self.input.items() if key not in apart})

    def key(self) -> str:
        """The same text whenever an event is told again; empty if nothing tells it from the next event."""
        if self.name in ("PreToolUse", "PostToolUse"):
            own = self.tool_use_id
        elif self.name == "UserPromptSubmit":
            # A queued prompt carries the id of the turn that runs.
            own = self.prompt_id and f"{self.prompt_id} {self.prompt[:PROMPT_TEXT]}"
        else:
            # A turn that another Stop hook prolongs ends twice, with the same ids and different texts.
            # A session starts once, with or without an id for the event.
            has_id = self.message_id or self.prompt_id or self.name == "SessionStart"
            own = self._digest() if has_id else ""
        return f"{self.session} {self.name} {own}" if own else ""

    def _digest(self) -> str:
        from binascii import crc32

        return f"{crc32(quickjson.dumps(self._data, sort_keys=True).encode()):08x}"

    def trigger(self) -> Trigger:
        """For the checkpoint's record: the event, and the ids that lead to its place in the transcript."""
        files = self.files() if self.tool_kind == EDIT else []
        found = {"event": self.name, "tool": self.tool, "file": files[0] if files else "",
                 "session": self.session, "promptId": self.prompt_id, "messageId": self.message_id,
                 "toolUseId": self.tool_use_id, "promptText": self.prompt[:PROMPT_TEXT],
                 "source": self.source, "subagent": self.subagent}
        said: Any = {key: value for key, value in found.items() if value}
        trigger: Trigger = said
        return trigger


def _path(text: str) -> str:
    """Empty if no file can have this name: JavaScript may cut a string in the middle of a character."""
    try:
        return text if b"\0" not in os.fsencode(text) else ""
    except UnicodeEncodeError:
        return ""


def _size(value: Any, depth: int = 0) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return max((_size(v, depth + 1) for v in value.values()), default=0) if depth < 8 else 0
    if isinstance(value, list):
        return sum(_size(v, depth + 1) for v in value[:1000]) if depth < 8 else 0
    return 0


def read_event(action: str, payload: Any, environ: Mapping[str, str],
               home: str | None = None) -> HookEvent | None:
    """None if this is no event of an agent with hooks."""
    name = EVENTS.get(action)
    if name is None or not isinstance(payload, dict):
        return None
    profile = _profile(payload, environ, home)
    if profile is None or profile.payload is None:
        return None
    return HookEvent(name, profile, payload)


def _profile(payload: JsonObject, environ: Mapping[str, str], home: str | None) -> Profile | None:
    """By the path of the transcript first, because Droid also sets the variables of Claude Code."""
    for profile in each_profile(home, forgiving=True):
        for key in (profile.payload or {}).get("transcript", ()):
            path = payload.get(key)
            if isinstance(path, str) and _path(path) and is_under_root(profile, path, environ):
                return profile
    return profile_of_environment(environ, home, forgiving=True)
