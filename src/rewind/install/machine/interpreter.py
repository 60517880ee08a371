"""The Python that is baked into the scripts: the interpreter itself, which stays when a venv goes."""

from __future__ import annotations

import os
import subprocess
import sys

# Also what a hook cannot do without: some builds lack one of these.
_PROBE = "import sys, sqlite3, zlib; sys.stdout.write('%d.%d' % sys.version_info[:2])"
_PATIENCE = 20.0


def base_interpreter() -> str:
    """The real path of the interpreter that runs this, not of a stand-in for it.

    A version manager's stand-in costs 50 ms with every hook, and a virtual environment may be deleted
    any time.
    """
    own = os.path.realpath(sys.executable)
    found = [getattr(sys, "_base_executable", None) or own, own]
    for path in dict.fromkeys(found):
        for candidate in _behind(os.path.realpath(path)):
            if version_of(candidate) == sys.version_info[:2]:
                return candidate
    return own


def _behind(path: str) -> list[str]:
    """A copy in a virtual environment (`venv --copies`) is no link: its configuration names the real one."""
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
    """The version that this interpreter says it has; None where it cannot run Rewind at all."""
    return answer(python, _PROBE)


def answer(python: str, program: str) -> tuple[int, int] | None:
    text = output_of(python, program)
    major, _, minor = (text or "").partition(".")
    return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else None


def output_of(python: str, program: str, *arguments: str) -> str | None:
    """What a small program prints, started as hooks are; None when it fails."""
    try:
        done = subprocess.run([python, "-I", "-S", "-c", program, *arguments], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=_PATIENCE, check=False)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done.stdout.decode("utf-8", "replace").strip()
