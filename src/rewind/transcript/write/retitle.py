"""Changes a session's title in its own file, where the agent's picker reads it.

Claude Code uses the last title line, so one is appended, as its own `/rename` does. That is safe while a
client has the session open. Droid keeps the title in line 1, so the file is replaced, but only if nobody has
it open.
"""

from __future__ import annotations

import os

from rewind.agents.profile import Profile, holds, pick
from rewind.files import write_all
from rewind.transcript.names import session_id_of
from rewind.transcript.place.cursor import header_length
from rewind.transcript.read.lines import open_transcript, size_of
from rewind.transcript.read.titles import ends_backward
from rewind.transcript.write.content import title_lines, titled_header
from rewind.transcript.write.copying import copy_range
from rewind.transcript.write.in_place import replace_keeping_time


def keeps_titles(profile: Profile) -> bool:
    """Whether the agent reads a title from the file."""
    return bool(profile.titles and (profile.fork["header"] or title_lines(profile, "", "")))


def needs_new_file(profile: Profile) -> bool:
    """Whether a new title needs a new file, which a client that has the old one open would not notice."""
    return bool(profile.fork["header"])


def given_title(path: str, profile: Profile) -> str:
    """The title that a person or a fork gave it. Empty if the agent makes its own title."""
    with open_transcript(path) as file:
        for event in ends_backward(file, size_of(file)):
            for kind in profile.titles[:None if needs_new_file(profile) else 1]:
                text = pick(event.data, kind["field"]) if holds(kind["line"], event.data) else None
                if isinstance(text, str):
                    return text
    return ""


def retitle(path: str, profile: Profile, title: str) -> None:
    """The file keeps its time, because nothing new was said and pickers sort by it."""
    if needs_new_file(profile):
        _replace_header(path, profile, title)
    else:
        _append(path, title_lines(profile, session_id_of(path), title))


def _append(path: str, lines: bytes) -> None:
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW)
    try:
        info = os.fstat(fd)
        ends = not info.st_size or os.pread(fd, 1, info.st_size - 1) == b"\n"
        write_all(fd, lines if ends else b"\n" + lines)
        os.utime(fd, ns=(info.st_atime_ns, info.st_mtime_ns))
        os.fsync(fd)
    finally:
        os.close(fd)


def _replace_header(path: str, profile: Profile, title: str) -> None:
    with open_transcript(path) as file:
        head, length, end = titled_header(file, profile, title), header_length(file), size_of(file)
        if not head:
            return

        def fill(fd: int) -> None:
            write_all(fd, head)
            copy_range(file, length, end, fd)

        replace_keeping_time(path, fill)
