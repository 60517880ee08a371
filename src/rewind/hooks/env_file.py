"""The file from which an agent's shell commands get variables: ours are appended, once."""

from __future__ import annotations

import os
import stat

from rewind.agents.registry import session_home
from rewind.hooks.transcript_path import transcript_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from rewind.hooks.event import HookEvent

_MAX_BYTES = 1 << 20


def env_file_of(event: HookEvent, environ: Mapping[str, str]) -> str:
    """Its path if the agent names one in its own directory, else an empty text."""
    path = environ.get(event.profile.environment["envFile"] or "") or event.env_file
    home = session_home(event.profile, environ)
    if not path or not home or "\0" in path or not os.path.isabs(path):
        return ""
    inside = os.path.realpath(os.path.dirname(path)) + os.sep
    return path if inside.startswith(os.path.realpath(home) + os.sep) else ""


def add_variables(path: str, event: HookEvent, root: str, environ: Mapping[str, str]) -> None:
    """One line for each variable, with its value written out, because some agents parse the file."""
    local = os.path.expanduser("~/.local/bin")
    search = environ.get("PATH", os.defpath)
    values = {"REWIND_PROJECT_ROOT": root, "REWIND_TRANSCRIPT_PATH": transcript_path(event, environ),
              "REWIND_SESSION_ID": event.session, "REWIND_AGENT": event.profile.name}
    if search.split(os.pathsep)[0] != local:
        values["PATH"] = local + os.pathsep + search
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK
                 | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return
        found = os.pread(fd, _MAX_BYTES, 0)
        lines = [f"export {name}={_quoted(value)}\n".encode("utf-8", "surrogateescape")
                 for name, value in values.items()]
        fresh = b"".join(line for line in lines if line not in found)
        if fresh:
            glue = b"\n" if found and not found.endswith(b"\n") else b""
            os.write(fd, glue + fresh)
    finally:
        os.close(fd)


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "'\\''") + "'"
