"""One agent as data. `docs/agents.md` explains every field, and `check.py` checks its value.

A condition (`where`) is an object of dotted field names, each with the values it may have; all must hold.
A list of such objects holds when one of them does.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rewind.agents import profile_sections as sections
    from rewind.agents.profile_sections import Where
    from rewind.jsonfile import JsonObject

TREE, ROLLOUT = "jsonl-tree", "jsonl-rollout"  # kinds of transcripts; the first one is the default
OPLOG, SQLITE = "jsonl-oplog", "sqlite"


class Profile:
    """One agent, as data. Sections stay dictionaries: `profile_sections.py` says what is in each."""

    __slots__ = ("commands", "compaction", "data", "environment", "fork", "kind", "leaf",
                 "lines", "links", "liveness", "locks", "name", "native", "payload", "prompt", "recognise",
                 "registration", "sessions", "title", "titles", "tools")

    def __init__(self, data: JsonObject) -> None:
        self.data = data
        self.name: str = data["name"]
        self.title: str = data["title"]
        self.kind: str = data.get("kind", TREE)
        self.links: str = data["links"]
        self.environment: sections.Environment = data["environment"]
        self.sessions: sections.Sessions | None = data["sessions"]
        self.recognise: sections.Recognise | None = data["recognise"]
        self.lines: sections.Lines = data["lines"]
        self.prompt: sections.Prompt = data["prompt"]
        self.leaf: sections.Leaf | None = data["leaf"]
        self.compaction: sections.Compaction | None = data["compaction"]
        self.titles: list[sections.Title] = data["titles"]
        self.fork: sections.Fork = data["fork"]
        self.native: sections.Native | None = data["native"]
        self.liveness: sections.Liveness | None = data["liveness"]
        self.locks: sections.Locks | None = data.get("locks")
        self.payload: dict[str, list[str]] | None = data["payload"]
        self.registration: sections.Registration | None = data.get("registration")
        self.commands: sections.Commands = data["commands"]
        self.tools: dict[str, list[str]] = data["tools"]

    def __repr__(self) -> str:
        return f"Profile({self.name})"


def pick(data: Any, path: str | None) -> Any:
    """The value at a dotted path of an object, or None."""
    if path is None:
        return None
    for key in path.split("."):
        if not isinstance(data, dict):
            return None
        data = data.get(key)
    return data


def replaced(data: JsonObject, path: str, value: object) -> JsonObject:
    """A copy of the object with another value at a dotted path, which must exist."""
    key, _, rest = path.partition(".")
    return {**data, key: replaced(data[key], rest, value) if rest else value}


def holds(where: Where, data: JsonObject) -> bool:
    """Whether a condition holds; an empty one always does."""
    if isinstance(where, list):
        return any(holds(one, data) for one in where)
    return all(_is_one_of(pick(data, path), values) for path, values in where.items())


def _is_one_of(value: object, values: list[Any]) -> bool:
    # In Python `1 == True`, but not in these files.
    return any(value == v and isinstance(value, bool) == isinstance(v, bool) for v in values)
