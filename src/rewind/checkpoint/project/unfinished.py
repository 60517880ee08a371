"""Temporary files in an agent's directory, which Rewind does not sweep. They are noted in the state directory
before they are written, so that the next writer removes them if this process is killed."""

from __future__ import annotations

import os
import stat

from rewind.errors import RewindError
from rewind.files import PRIVATE_FILE, read_bounded, write_all
from rewind.paths import Project

SUFFIX = ".unfinished"  # after `temporary-PID`
_MAX_BYTES = 16 << 10


class Unfinished:
    """`with Unfinished(project, temp):` around the writing of `temp`, which need not exist yet."""

    def __init__(self, project: Project, *temps: str) -> None:
        self.note = project.path(f"temporary-{os.getpid()}{SUFFIX}")
        self.temps = temps

    def __enter__(self) -> None:
        fd = os.open(self.note, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE)
        try:
            write_all(fd, b"\0".join(os.fsencode(temp) for temp in self.temps))
        finally:
            os.close(fd)

    def __exit__(self, *error: object) -> None:
        if any(os.path.lexists(temp) for temp in self.temps):
            return  # a file could not be removed: the next writer tries again
        try:
            os.unlink(self.note)
        except OSError:
            pass  # the next writer sweeps the note, whose files are gone


def remove_unfinished(note: str) -> None:
    """Remove the files that the note of a killed process names, if they have one of our temporary names."""
    try:
        for temp in read_bounded(note, _MAX_BYTES).split(b"\0"):
            _remove(os.fsdecode(temp))
    except (OSError, RewindError):
        pass  # not readable: the note is swept anyway


def _remove(temp: str) -> None:
    from rewind.transcript.write.fork import is_temp

    name = os.path.basename(temp)
    try:
        ours = os.path.isabs(temp) and (is_temp(name) or _is_draft(name))
        if ours and stat.S_ISREG(os.lstat(temp).st_mode):
            os.unlink(temp)
    except OSError:
        pass  # it was never written, or is already gone


def _is_draft(name: str) -> bool:
    """Whether it is `.NAME.PID.tmp`, as `write_atomic` names its drafts."""
    parts = name.split(".")
    return len(parts) > 3 and parts[0] == "" and parts[-1] == "tmp" and parts[-2].isdigit()
