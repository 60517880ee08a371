"""Makes a new session beside another one, from a part of it, so that the agent resumes exactly that part.

The original is only ever read. What differs between agents is in the profile's `fork` section.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from rewind.agents.profile import Profile
from rewind.errors import RewindError
from rewind.files import PRIVATE_FILE
from rewind.transcript.kinds import kind_of
from rewind.transcript.names import is_session_id, path_beside, session_id_of
from rewind.transcript.place.cursor import header_length
from rewind.transcript.place.cut import Cut
from rewind.transcript.read.conversation import open_conversation
from rewind.transcript.read.lines import open_transcript
from rewind.transcript.read.titles import FORK_PREFIX, read_title
from rewind.transcript.write.content import SessionNames, plan_content
from rewind.transcript.write.import_session import import_session
from rewind.transcript.write.sidecars import copy_sidecars

TEMP_SUFFIX = ".rewind-tmp"
_ABANDONED = 600.0  # seconds without a change; a process that is at work writes all the time


class Fork:
    def __init__(self, session_id: str, path: str, size: int, header: int, title: str) -> None:
        self.session_id = session_id
        self.path = path
        self.size = size
        self.header = header  # the length of line 1
        self.title = title
        self.notes: list[str] = []  # what could not be brought along


def temp_of(path: str) -> str:
    """The name under which the transcript `path` is written until it is complete."""
    return os.path.join(os.path.dirname(path), f".{session_id_of(path)}{TEMP_SUFFIX}")


def is_temp(name: str) -> bool:
    return name.startswith(".") and name.endswith(TEMP_SUFFIX) and is_session_id(name[1:-len(TEMP_SUFFIX)])


def write_fork(source: str, profile: Profile, cut: Cut, *, original: str, session_id: str = "",
               appears: Callable[[Fork], None] | None = None, identity: tuple[int, int] | None = None,
               beside: str = "", cwd: str = "", folder: str = "/", over: bool = False) -> Fork:
    """Make a fork beside `original` from `source`, which is the same file, or the store's copy of it. It
    appears complete or not at all, and `appears` is called right before. `folder` is the project's directory.
    A fork for another directory, `cwd`, is put beside `beside`. With `over`, it replaces an earlier fork with
    that id."""
    kind, parent = kind_of(profile), session_id_of(original, profile)
    session_id = session_id or kind.new_session_id()
    path = path_beside(beside or original, session_id, profile)
    sweep(os.path.dirname(path))
    with open_conversation(source, profile, identity) as file:
        cut = cut.placed(file)
        kind.check_resumable(file, profile, cut)
        content = plan_content(file, profile, cut)
        title = FORK_PREFIX + (read_title(file, profile) or parent)
        temp = temp_of(path)
        fd = os.open(temp, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, PRIVATE_FILE)
        try:
            kind.write_session(fd, file, profile, content, SessionNames(session_id, parent, title, cwd))
            with open_transcript(temp) as made:
                fork = Fork(session_id, path, os.fstat(fd).st_size, header_length(made), title)
            if appears:
                appears(fork)
            import_session(temp, profile, session_id, folder)  # first: the file means that the fork exists
            if over:
                os.replace(temp, path)
            else:
                move_into_place(temp, path)
        finally:
            os.close(fd)
            _remove(temp)
    fork.notes = copy_sidecars(original, path, profile)
    return fork


def sweep(folder: str) -> None:
    """Delete what killed processes left in the agent's directory. Such a file may be as long as a
    conversation."""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if is_temp(name) and time.time() - os.lstat(path).st_mtime > _ABANDONED:
            _remove(path)


def move_into_place(temp: str, path: str) -> None:
    """Give the file its name in one step, and never replace another file."""
    try:
        os.link(temp, path)
    except FileExistsError:
        raise RewindError(f"A session with this name already exists: {path}")
    except OSError:
        # A file system without hard links. The name holds 122 random bits.
        if os.path.lexists(path):
            raise RewindError(f"A session with this name already exists: {path}")
        os.rename(temp, path)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # the fork is made nevertheless; the next command deletes the file
