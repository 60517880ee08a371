"""`rewind.log`: a line for each thing that a hook could not do. It stays small and never causes an error."""

from __future__ import annotations

import os
import time

from rewind.files import keep_owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.paths import Project

_MAX_BYTES = 1 << 20


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def log_for(project: Project, text: str) -> None:
    """Write to the project's log, or to the log in Rewind's home if the project's state cannot be written."""
    if not os.path.isdir(project.state) or not write_log(project.state, text):
        write_log(project.home, f"{text} (in {project.root})")


def write_log(folder: str, text: str) -> bool:
    """Append a line. A log that has grown long is kept as `rewind.log.1`, and a new one begins."""
    path = os.path.join(folder, "rewind.log")
    line = f"{now()} {os.getpid()} {' '.join(text.split())[:1000]}\n".encode("utf-8", "backslashreplace")
    try:
        if not os.path.isdir(folder):
            os.makedirs(folder, mode=0o700, exist_ok=True)
        is_new = not os.path.lexists(path)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
                     | os.O_NONBLOCK, 0o600)
        try:
            if is_new:
                keep_owner(path, folder)
            if os.fstat(fd).st_size > _MAX_BYTES:
                os.replace(path, path + ".1")
            return os.write(fd, line) == len(line)
        finally:
            os.close(fd)
    except OSError:
        return False  # a full disk, no permission: the agent's turn goes on
