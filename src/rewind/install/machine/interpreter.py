"""The Python whose path is written into the scripts: the interpreter itself, not one of a virtual
environment."""

from __future__ import annotations

import os
import subprocess
import sys

# Imports what a hook cannot do without: some builds of Python lack one of these.
_PROBE = "import sys, sqlite3, zlib; sys.stdout.write('%d.%d' % sys.version_info[:2])"
_PATIENCE = 20.0


def base_interpreter() -> str:
    """The real path of the interpreter that runs this, not of a stand-in for it.

    A version manager's stand-in costs 50 ms in each hook, and a virtual environment may be deleted.
    """
    own = os.path.realpath(sys.executable)
    found = [getattr(sys, "_base_executable", None) or own, own]
    for path in dict.fromkeys(found):
        for candidate in _behind(os.path.realpath(path)):
            if version_of(candidate) == sys.version_info[:2]:
                return candidate
    return own


def _behind(path: str) -> list[str]:
    """The interpreters that this one may stand for. A copy in a virtual environment (`venv --copies`) is not
    a link, but the configuration of the environment names the directory of the original."""
    folder = os.path.dirname(path)
    for config in (os.path.join(os.path.dirname(folder), "pyvenv.cfg"), os.path.join(folder, "pyvenv.cfg")):
        home = _home_in(config)
        if home:
            names = (f"python{sys.version_info[0]}.{sys.version_info[1]}", "python3", "python")
            return [os.path.realpath(os.path.join(home, name)) for name in names]
    return [path]


def _home_in(config: str) -> str:
    try:
        with open(config, encoding="utf-8", errors="surrogateescape") as file:
            pairs = [line.partition("=") for line in file]
    except OSError:
        return ""
    return next((value.strip() for key, _, value in pairs if key.strip() == "home"), "")


def version_of(python: str) -> tuple[int, int] | None:
    """The version that this interpreter says it has; None if it cannot run Rewind."""
    major, _, minor = (output_of(python, _PROBE) or "").partition(".")
    return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else None


def output_of(python: str, program: str, *arguments: str) -> str | None:
    """What a small program prints when it is started as hooks are; None if it fails."""
    try:
        done = subprocess.run([python, "-I", "-S", "-c", program, *arguments], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=_PATIENCE, check=False)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done.stdout.decode("utf-8", "replace").strip()
