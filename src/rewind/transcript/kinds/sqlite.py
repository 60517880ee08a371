"""opencode's sessions: rows of the agent's own database, which are read from a copy and never written.

The copy is a file of JSON lines: the session, then one line for each message and its parts. The plugin writes
it from what opencode's client returns. A row may change at any time, so the whole file is written each time,
but only its last lines usually differ. A fork is such a file with new ids, which opencode then imports
(`import_session`). Seen with opencode 1.18.33.
"""

from __future__ import annotations

import os
import time

from rewind.agents.profile import pick
from rewind.errors import CannotFork
from rewind.fast.sha256 import sha256
from rewind.files import write_all
from rewind.transcript.kinds.jsonl_tree import start_of_prompt
from rewind.transcript.kinds.sqlite_reading import session_in
from rewind.transcript.place.cursor import header_length
from rewind.transcript.place.cut import Cut, resolve_cut
from rewind.transcript.read.lines import (
    events_backward,
    events_forward,
    line_of,
    lines_forward,
    parse,
)
from rewind.transcript.write.content import Content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from rewind.agents.profile import Profile
    from rewind.jsonfile import JsonObject
    from rewind.transcript.read.lines import Event
    from rewind.transcript.write.content import SessionNames

__all__ = ["check_resumable", "new_session_id", "resolve_cut", "start_of_prompt", "turn_runs",
           "write_session"]

_NEWEST_MAJOR = 1  # of the client's version
_KNOWN_PARTS = {"text", "reasoning", "file", "tool", "step-start", "step-finish", "snapshot", "patch",
                "agent", "subtask", "retry", "compaction"}
_KNOWN_STATES = {"pending", "running", "completed", "error"}
_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_BITS = (1 << 48) - 1
_NOT_IN_A_FORK = ("parentID", "revert", "share", "summary", "time")

# names

def _id(kind: str, number: int, tail: bytes) -> str:
    return f"{kind}_{number & _BITS:012x}" + "".join(_LETTERS[byte % 62] for byte in tail[:14])


def new_session_id() -> str:
    """The time, inverted so that later sessions come first, and random letters."""
    return _id("ses", ~(int(time.time() * 1000) * 0x1000), os.urandom(14))


class _NewIds:
    """Ids for the rows of a fork, rising as opencode's own do. They are derived from the session's id, so a
    fork that is written again after a kill has the same ids, and importing it twice changes nothing."""

    def __init__(self, session: str) -> None:
        self.session = session
        try:
            self._first = ~int(session[4:16], 16)
        except ValueError:
            self._first = int(time.time() * 1000) * 0x1000
        self._count = 0
        self.new_ids: dict[str, str] = {}  # old -> new

    def add(self, kind: str, old: object) -> str:
        self._count += 1
        tail = sha256(f"{self.session} {self._count}".encode())
        made = _id(kind, self._first + self._count, tail)
        if isinstance(old, str):
            self.new_ids[old] = made
        return made


def turn_runs(file: BinaryIO) -> bool | None:
    """Whether the last answer is incomplete. If the client was killed, it stays incomplete."""
    for event in events_backward(file):
        role = pick(event.data, "info.role")
        if role is not None:
            return role == "user" or pick(event.data, "info.time.completed") is None
    return None


# forks

def check_resumable(file: BinaryIO, profile: Profile, cut: Cut) -> None:
    reason = getattr(file, "lacks", "") or _why_not(file, cut)
    if reason:
        raise CannotFork(reason=reason)


def _why_not(file: BinaryIO, cut: Cut) -> str:
    info = session_in(file)
    if not info or cut.offset < header_length(file):
        return "its first line is missing or of a format that this version of Rewind does not know"
    version = str(info.get("version"))
    major = version.split(".")[0]
    if major.isascii() and major.isdigit() and int(major) > _NEWEST_MAJOR:
        return f"it was written by opencode {version[:20]}, whose format this version of Rewind does not know"
    lacking = next((key for key in ("id", "directory", "projectID") if not _is_text(info.get(key))), "")
    if lacking:
        return f"its first line has no {lacking}"
    if info.get("parentID") is not None:
        return "it is a subagent's"
    known: set[object] = set()
    for offset, raw in lines_forward(file, header_length(file), cut.offset):
        events = parse(offset, raw)
        unknown = _unknown_content(events)
        if unknown:
            return f"it has {unknown} that this version of Rewind does not know"
        message = events[0].data["info"]
        parent = message.get("parentID")
        if message["id"] in known or (parent is not None and parent not in known):
            return "a message is missing in it, or there twice"
        known.add(message["id"])
    return ""


def _unknown_content(events: list[Event]) -> str:
    """What in a line is unknown and may mean anything. A line that is not a message would be missing in the
    fork."""
    if len(events) != 1:
        return "a line"
    data = events[0].data
    info, parts = data.get("info"), data.get("parts")
    if data.get("type") not in ("message", "compaction") or not isinstance(info, dict):
        return "a line"
    if not isinstance(parts, list) or not _is_text(info.get("id")):
        return "a message"
    if info.get("role") not in ("user", "assistant"):
        return f"a message of {str(info.get('role'))[:40]}"
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else None
        if not isinstance(kind, str) or kind not in _KNOWN_PARTS:
            return f"a part ({str(kind)[:40]})"
        if kind == "tool" and pick(part, "state.status") not in _KNOWN_STATES:
            return f"a state of a tool ({str(pick(part, 'state.status'))[:40]})"
    return ""


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def write_session(fd: int, file: BinaryIO, profile: Profile, content: Content, names: SessionNames) -> None:
    """With new ids: opencode silently skips a row whose id it has already."""
    end = content.ranges[-1][1]
    first = next(events_forward(file, 0, end))
    write_all(fd, line_of({**first.data, "info": _fork_info(first.data["info"], names)}))
    ids = _NewIds(names.session)
    for data in _message_lines(file, end):
        write_all(fd, line_of(_with_new_ids(data, ids)))


def _fork_info(info: JsonObject, names: SessionNames) -> JsonObject:
    """Without a parent: with one it would count as a subagent's, and opencode's list would omit it."""
    now = int(time.time() * 1000)
    kept = {key: value for key, value in info.items() if key not in _NOT_IN_A_FORK}
    return {**kept, "id": names.session, "slug": f"fork-{names.session[-6:].lower()}", "title": names.title,
            "time": {"created": now, "updated": now}}


def _message_lines(file: BinaryIO, end: int) -> Iterator[JsonObject]:
    return (event.data for event in events_forward(file, header_length(file), end))


def _with_new_ids(data: JsonObject, ids: _NewIds) -> JsonObject:
    """With the new ids, including those by which a row refers to another one: a compaction names the
    first message that it kept. The input and output of tools stay as they are."""
    info, session = data["info"], ids.session
    own = {"id": ids.add("msg", info["id"]), "sessionID": session}
    parts = [{**_with_ids_replaced(part, ids.new_ids), "id": ids.add("prt", part.get("id")),
              "sessionID": session, "messageID": own["id"]} for part in data["parts"]]
    return {**data, "info": {**_with_ids_replaced(info, ids.new_ids), **own}, "parts": parts}


def _with_ids_replaced(data: JsonObject, new_ids: dict[str, str]) -> JsonObject:
    return {key: new_ids.get(value, value) if isinstance(value, str) and key.lower().endswith("id") else value
            for key, value in data.items()}
