"""A line reduced to what the shape of a conversation needs: who it is, whose child, and what kind.

Small on purpose: a conversation of a gigabyte has a hundred thousand of them.
"""

from __future__ import annotations

from rewind.agents.profile import holds, pick
from rewind.transcript.prompts import IF_ANSWERED, NO, YES, kind_of_prompt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rewind.agents.profile import Profile
    from rewind.transcript.lines import Event

USER, ASSISTANT, OTHER = "user", "assistant", "other"


class Entry:
    __slots__ = ("end", "id", "is_compaction", "is_main", "is_summary", "logical", "offset", "parent",
                 "passing", "prompt", "role", "version")

    def __init__(self, event: Event, profile: Profile, id: str) -> None:
        data, lines = event.data, profile.lines
        self.offset = event.offset
        self.end = event.end
        self.id = id
        self.parent = _text(pick(data, lines["parent"]))
        self.logical = _text(pick(data, lines["logicalParent"]))
        self.version = _text(pick(data, lines["version"]))
        self.is_main = not lines["sideline"] or not holds(lines["sideline"], data)
        self.is_compaction = is_compaction(data, profile)
        self.is_summary = is_summary(data, profile)
        self.role = (USER if holds(lines["user"], data) else
                     ASSISTANT if holds(lines["assistant"], data) else OTHER)
        self.passing = bool(lines["passing"]) and holds(lines["passing"], data)
        self.prompt = kind_of_prompt(data, profile)

    @property
    def is_prompt(self) -> bool:
        return self.prompt == YES

    @property
    def tells(self) -> str:
        """Whether it says that what came before was answered; empty when it says nothing."""
        return self.role if self.is_main and not self.passing and self.role != OTHER else ""

    def settle(self, next_tells: str) -> None:
        """A slash command is a prompt if an answer is the next thing that was said."""
        if self.prompt == IF_ANSWERED:
            self.prompt = YES if next_tells == ASSISTANT else NO


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def is_compaction(data: dict[str, Any], profile: Profile) -> bool:
    return profile.compaction is not None and holds(profile.compaction["line"], data)


def is_summary(data: dict[str, Any], profile: Profile) -> bool:
    where = profile.compaction["summary"] if profile.compaction else None
    return where is not None and holds(where, data)


def entry_of(event: Event, profile: Profile) -> Entry | None:
    """The entry that this event is; None for a line that is no part of the conversation."""
    id = pick(event.data, profile.lines["id"])
    if profile.links == "file-order" and not isinstance(id, str):
        id = f"@{event.offset}"  # in file order nobody refers to it: any name will do
    if not isinstance(id, str) or not id or not holds(profile.lines["entry"], event.data):
        return None
    return Entry(event, profile, id)


def named_leaf(event: Event, profile: Profile) -> str:
    """The entry that this line declares to be where the conversation stands, or nothing."""
    if profile.leaf is None or not holds(profile.leaf["line"], event.data):
        return ""
    leaf = _text(pick(event.data, profile.leaf["id"]))
    return "" if not leaf.strip("0-") else leaf
