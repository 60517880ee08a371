"""Which tools a turn used: the files that editing tools named, and the commands that it ran."""

from __future__ import annotations

from typing import Any

from rewind.agents.profile import Profile, pick
from rewind.transcript.find import where_began
from rewind.transcript.read.conversation import open_conversation
from rewind.transcript.read.entries import entry_of
from rewind.transcript.read.lines import events_forward
from rewind.transcript.read.prompts import blocks_of
from rewind.transcript.turns.tool_calls import files_named, summary_of

_LONGEST = 64 << 20  # how much of a turn is read
_MOST = 1000


class TurnTools:
    def __init__(self) -> None:
        self.edited: dict[str, list[str]] = {}  # full path -> the tools that named it
        self.commands: list[str] = []  # one line of each
        self.others: list[str] = []  # names of other tools

    def see(self, name: str, given: Any, profile: Profile, cwd: str) -> None:
        for path in files_named(given, name, profile, cwd):
            tools = self.edited.setdefault(path, [])
            if name not in tools and len(self.edited) < _MOST:
                tools.append(name)
        if name in profile.tools["shell"] and len(self.commands) < _MOST:
            self.commands.append(summary_of(given))
        elif name not in profile.tools["edit"] and name not in self.others:
            self.others.append(name)


def tools_of_turn(path: str, profile: Profile, offset: int) -> TurnTools:
    """The tools of the turn whose prompt is at this offset. Subagents' calls are in other files and are not
    seen."""
    found, began = TurnTools(), ""
    with open_conversation(path, profile) as file:
        for event in events_forward(file, offset):
            entry = entry_of(event, profile)
            over = entry is not None and entry.is_prompt and entry.is_main and event.offset > offset
            if over or event.offset - offset > _LONGEST:
                break
            cwd = pick(event.data, profile.lines["cwd"])
            for block in blocks_of(event.data, profile):
                if block.get("type") == "tool_use":
                    if not isinstance(cwd, str):
                        cwd = began = began or where_began(path, profile)
                    found.see(str(block.get("name") or ""), block.get("input"), profile, cwd)
    return found
