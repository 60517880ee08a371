"""What a session that is cut at some place must contain so that the agent resumes exactly that part.

What differs between agents is in the profile's `fork` section.
"""

from __future__ import annotations

import os
from typing import Any, BinaryIO

from rewind.agents.profile import Profile, holds, pick, replaced
from rewind.errors import NothingBeforeCut
from rewind.files import write_all
from rewind.jsonfile import JsonObject
from rewind.transcript.place.cursor import header_length, header_of
from rewind.transcript.place.cut import Cut
from rewind.transcript.read.chain import Tail
from rewind.transcript.read.entries import OTHER
from rewind.transcript.read.lines import events_backward, line_of, lines_forward, parse
from rewind.transcript.read.titles import FORK_PREFIX
from rewind.transcript.write.active_only import kept_ranges
from rewind.transcript.write.copying import copy_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.agents.profile_sections import Header


class SessionNames:
    """The id of a new session, the id of the one it comes from, its title, and the directory in which it
    continues if that is another one."""

    def __init__(self, session: str, parent: str, title: str, cwd: str = "") -> None:
        self.session = session
        self.parent = parent
        self.title = title
        self.cwd = cwd


class Content:
    """Ranges of the source that a session consists of."""

    def __init__(self, ranges: list[tuple[int, int]], leaf: str | None) -> None:
        self.ranges = ranges
        self.leaf = leaf  # the entry that a line at the end must name, because it is not the last one


def plan_content(file: BinaryIO, profile: Profile, cut: Cut) -> Content:
    """How to make the agent resume the right branch. `cut` is in its place already. Reads the tail of the
    file, or all of it if branches must be left out."""
    whole = [(0, cut.offset)] if cut.offset else []
    if profile.links == "file-order" or not cut.leaf:
        return Content(whole, None)
    tail = Tail(file, profile, cut.offset)
    resumed = tail.leaf()
    if resumed is not None and resumed.id == cut.leaf:
        return Content(whole, None)
    if _honours_leaf(profile, tail, cut.leaf):
        return Content(whole, cut.leaf)
    return Content(kept_ranges(file, profile, cut), None)


def check_resumable(file: BinaryIO, profile: Profile, cut: Cut) -> None:
    """Refuse a cut before which nothing was said on its branch."""
    if not _is_resumable(file, profile, cut):
        raise NothingBeforeCut(agent=profile.title, start=profile.commands["start"])


def _is_resumable(file: BinaryIO, profile: Profile, cut: Cut) -> bool:
    if profile.fork["header"] and not _has_header(file, profile, cut):
        return False
    if profile.fork["emptyResumes"]:
        return True
    tail = Tail(file, profile, cut.offset)
    chain = tail.chain() if cut.leaf is None else tail.chain_of(tail.find(cut.leaf) if cut.leaf else None)
    return any(entry.role != OTHER for entry in chain)


def _has_header(file: BinaryIO, profile: Profile, cut: Cut) -> bool:
    """Droid refuses to load a session without its first line."""
    header = header_of(file)
    wanted = (profile.recognise or {}).get("equals") or {}
    return bool(header) and cut.offset >= header_length(file) and holds(wanted, header)


def _honours_leaf(profile: Profile, tail: Tail, leaf: str) -> bool:
    """Whether the client heeds a line that names this leaf. Older versions do not, and the latest lines say
    which version wrote them. Claude Code 2.1.325 does not if there is a compaction after the leaf."""
    if not profile.leaf:
        return False
    at = tail.find(leaf)
    if at is None or any(e.is_compaction and e.offset > at.offset for e in tail.entries):
        return False
    since = profile.leaf["since"]
    written = next((e.version for e in tail.entries if e.version), "")
    return not since or _version(written) >= _version(since)


def _version(text: str) -> list[int]:
    return [int(part) if part.isascii() and part.isdigit() else 0 for part in text.split("-")[0].split(".")]


def new_session_id() -> str:
    return uuid_of(os.urandom(16), 4)


def uuid_of(random: bytes, version: int) -> str:
    raw = bytearray(random)
    raw[6] = raw[6] & 0x0F | version << 4
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def write_session(fd: int, file: BinaryIO, profile: Profile, content: Content, names: SessionNames) -> None:
    values = {"session": names.session, "parent": names.parent, "title": names.title,
              "leaf": content.leaf or ""}
    ranges = content.ranges
    if profile.fork["header"]:
        ranges = _write_header(fd, file, profile, ranges, values, names.cwd)
    elif profile.fork["titleField"]:
        ranges = _write_titled_head(fd, file, profile, ranges)
    write_content(fd, file, ranges)
    write_leaf(fd, profile, content.leaf, names.session)
    for line in profile.fork["append"]:
        write_all(fd, line_of(_filled(line, values)))


def write_content(fd: int, file: BinaryIO, ranges: list[tuple[int, int]]) -> None:
    """The source's own bytes. Each range ends in a newline, because the agent appends to the file."""
    for start, end in ranges:
        copy_range(file, start, end, fd)
        if end > start and os.pread(fd, 1, os.fstat(fd).st_size - 1) != b"\n":
            write_all(fd, b"\n")


def write_leaf(fd: int, profile: Profile, leaf: str | None, session_id: str) -> None:
    if leaf and profile.leaf:
        write_all(fd, line_of(_filled(profile.leaf["append"], {"leaf": leaf, "session": session_id})))


def _filled(template: JsonObject, values: dict[str, str]) -> JsonObject:
    return {key: _fill(value, values) for key, value in template.items()}


def _fill(value: Any, values: dict[str, str]) -> Any:
    """`{title}` only stands for a whole value, so that braces in a title are never replaced."""
    if isinstance(value, str) and value[:1] == "{" and value[-1:] == "}":
        return values.get(value[1:-1], value)
    return value


def _write_header(fd: int, file: BinaryIO, profile: Profile, ranges: list[tuple[int, int]],
                  values: dict[str, str], cwd: str) -> list[tuple[int, int]]:
    """Line 1 says which session it is and where it works. Returns the ranges without line 1."""
    rule, length = profile.fork["header"], header_length(file)
    assert rule
    data = header_of(file)
    values = {**values, "lastMessage": _last_message(file, profile, rule, ranges[-1][1])}
    for key in rule["drop"]:
        data.pop(key, None)
    data.update(_filled(rule["set"], values))
    data.update(_filled({k: v for k, v in rule["setIfPresent"].items() if k in data}, values))
    if not values["lastMessage"]:
        data = {k: v for k, v in data.items() if rule["set"].get(k) != "{lastMessage}"}
    where = profile.lines["cwd"]
    if cwd and where is not None and isinstance(pick(data, where), str):
        data = replaced(data, where, cwd)
    write_all(fd, line_of(data))
    return [(max(start, length), end) for start, end in ranges if end > length]


def title_lines(profile: Profile, session_id: str, title: str) -> bytes:
    """The lines at the end of a fork that give its title; none if the agent keeps titles elsewhere."""
    values = {"title": title, "session": session_id}
    return b"".join(line_of(_filled(line, values)) for line in profile.fork["append"]
                    if "{title}" in line.values())


def titled_header(file: BinaryIO, profile: Profile, title: str) -> bytes:
    """Line 1 with another title, otherwise unchanged."""
    rule, data = profile.fork["header"], header_of(file)
    if not rule or not data:
        return b""
    fields = {**rule["set"], **rule["setIfPresent"]}
    data.update({key: title for key, value in fields.items() if value == "{title}" and key in data})
    return line_of(data)


def _last_message(file: BinaryIO, profile: Profile, rule: Header, end: int) -> str:
    for event in events_backward(file, end):
        id = pick(event.data, profile.lines["id"])
        if (isinstance(id, str) and holds(profile.lines["entry"], event.data)
                and not holds(rule["lastMessage"]["refuse"], event.data)):
            return id
    return ""


def _write_titled_head(fd: int, file: BinaryIO, profile: Profile,
                       ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Prefix the title in the first line near the top that has one. All else stays byte for byte."""
    rule = profile.fork["titleField"]
    assert rule
    end = ranges[-1][1] if ranges else 0
    for number, (offset, raw) in enumerate(lines_forward(file, 0, end)):
        if number >= rule["within"]:
            break
        events = parse(offset, raw)
        old = events[0].data.get(rule["field"]) if len(events) == 1 else None
        if isinstance(old, str):
            copy_range(file, 0, offset, fd)
            write_all(fd, line_of({**events[0].data, rule["field"]: FORK_PREFIX + old}))
            return [(offset + len(raw), end)] if offset + len(raw) < end else []
    return ranges
