"""Finds the socket of this user's Watchman. Every hook in a large project does this, so it must be fast."""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Where builds of Watchman keep its state. Others use the temporary directory.
_STATE_DIRS = ("/usr/local/var/run/watchman", "/opt/homebrew/var/run/watchman", "/var/run/watchman",
               "/home/linuxbrew/.linuxbrew/var/run/watchman", "/run/watchman")
_START_SECONDS = 10.0


def find_socket(environ: Mapping[str, str]) -> str:
    """The socket of this user's Watchman, found without starting a process; empty if there is none."""
    return next((path for path in _candidates(environ) if _is_ours(path)), "")


def _candidates(environ: Mapping[str, str]) -> Iterator[str]:
    if environ.get("WATCHMAN_SOCK"):
        yield environ["WATCHMAN_SOCK"]
        return
    user = environ.get("USER") or environ.get("LOGNAME") or _user_name()
    if not user or "/" in user:
        return
    home = environ.get("HOME", "")
    state_home = environ.get("XDG_STATE_HOME") or (home and os.path.join(home, ".local", "state"))
    temporary = environ.get("TMPDIR") or environ.get("TMP") or "/tmp"
    for folder in (temporary, "/tmp", state_home and os.path.join(state_home, "watchman"), *_STATE_DIRS):
        if folder:
            yield os.path.join(folder, user + "-state", "sock")


def _user_name() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return ""


def _is_ours(path: str) -> bool:
    try:
        info = os.lstat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISSOCK(info.st_mode) and info.st_uid == os.geteuid()


def start_server() -> str:
    """Start Watchman if necessary. Returns its socket; empty if the program is missing."""
    import subprocess

    try:
        done = subprocess.run(["watchman", "--no-pretty", "get-sockname"], stdin=subprocess.DEVNULL, cwd="/",
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=_START_SECONDS)
        from rewind.fast import quickjson

        said = quickjson.loads(done.stdout)
        path = said.get("sockname", "") if isinstance(said, dict) else ""
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    return path if isinstance(path, str) and _is_ours(path) else ""
