"""Entries: lines, reduced to what is needed for the shape of a conversation.

They are small on purpose: a conversation of a gigabyte has a hundred thousand of them.
"""

from __future__ import annotations

from rewind.agents.profile import holds, pick
from rewind.transcript.read.lines import parse, read_at
from rewind.transcript.read.prompts import IF_ANSWERED, NO, YES, kind_of_prompt, prompt_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from rewind.agents.profile import Profile
    from rewind.agents.profile_sections import Lines
    from rewind.jsonfile import JsonObject
    from rewind.transcript.read.lines import Event

USER, ASSISTANT, OTHER = "user", "assistant", "other"


class Entry:
    __slots__ = ("end", "id", "is_compaction", "is_main", "logical", "offset", "parent",
                 "passing", "prompt", "role", "stamp", "version")

    def __init__(self, event: Event, profile: Profile, id: str) -> None:
        data, lines = event.data, profile.lines
        self.offset = event.offset
        self.end = event.end
        self.id = id
        self.parent = _text(pick(data, lines["parent"]))
        self.logical = _logical(data, profile)
        self.version = _text(pick(data, lines["version"]))
        self.stamp = _text(pick(data, lines["timestamp"])) if lines.get("lostParentSeconds") else ""
        self.is_main = _is_main(data, lines)
        self.is_compaction = is_compaction(data, profile)
        self.role = (USER if holds(lines["user"], data) else
                     ASSISTANT if holds(lines["assistant"], data) else OTHER)
        self.passing = bool(lines["passing"]) and holds(lines["passing"], data)
        self.prompt = kind_of_prompt(data, profile)

    @property
    def is_prompt(self) -> bool:
        return self.prompt == YES

    @property
    def speaker(self) -> str:
        """Who says something here: USER or ASSISTANT. Empty for an entry that says nothing."""
        return self.role if self.is_main and not self.passing and self.role != OTHER else ""

    def resolve_if_answered(self, next_speaker: str) -> None:
        """A slash command is a prompt if the next thing said is an answer."""
        if self.prompt == IF_ANSWERED:
            self.prompt = YES if next_speaker == ASSISTANT else NO


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _is_main(data: JsonObject, lines: Lines) -> bool:
    """Whether the agent may continue from it. It may not from a subagent's line, or one that only reports
    progress."""
    if lines["sideline"] and holds(lines["sideline"], data):
        return False
    return holds(lines.get("main") or {}, data)


def _logical(data: JsonObject, profile: Profile) -> tuple[str, ...]:
    """What came before an entry without a parent, the best candidate first. If a compaction has kept the
    latest messages, the last of these comes before it, and not the last message that was summed up."""
    kept = (profile.compaction or {}).get("kept")
    found = (_text(pick(data, path)) for path in (kept, profile.lines["logicalParent"]) if path)
    return tuple(id for id in found if id)


def is_compaction(data: JsonObject, profile: Profile) -> bool:
    return profile.compaction is not None and holds(profile.compaction["line"], data)


def entry_of(event: Event, profile: Profile) -> Entry | None:
    """None for a line that is not part of the conversation."""
    id = pick(event.data, profile.lines["id"])
    if profile.links == "file-order" and not isinstance(id, str):
        id = f"@{event.offset}"  # in file order nothing refers to it, so any name will do
    if not isinstance(id, str) or not id or not holds(profile.lines["entry"], event.data):
        return None
    return Entry(event, profile, id)


class Prompt:
    """What a prompt says, where its line begins, and the time in that line."""

    def __init__(self, text: str, offset: int, uuid: str, stamp: object = None) -> None:
        self.text = text
        self.offset = offset
        self.uuid = uuid
        self.stamp = stamp


def read_prompt(file: BinaryIO, entry: Entry, profile: Profile) -> Prompt:
    events = parse(entry.offset, read_at(file, entry.offset, entry.end - entry.offset))
    if not events:
        return Prompt("", entry.offset, entry.id)
    data = events[0].data
    stamp = pick(data, profile.lines.get("timestamp"))
    return Prompt(prompt_text(data, profile), entry.offset, entry.id, stamp)
