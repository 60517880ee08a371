"""Where an installation is, and what its scripts say: `~/.rewind/system/`, and the link to it."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, field
from typing import NamedTuple

from rewind import jsonfile
from rewind.errors import RewindError
from rewind.files import read_bounded, sweep_drafts
from rewind.install.machine.scripts import NAME

PROGRAM = "bin-rewind"
LIBRARY = "lib-"
_MAX_BYTES = 1 << 20


class ScriptPaths(NamedTuple):
    """The paths that are written into a script: the interpreter, and the file that it starts."""

    python: str
    entry: str

    @property
    def library(self) -> str:
        """The directory that contains the package: the entry is two directories below it."""
        return os.path.dirname(os.path.dirname(os.path.dirname(self.entry)))


@dataclass
class Notes:
    """What an installation remembers about itself, for the uninstaller."""

    version: str = ""
    python: str = ""
    made: set[str] = field(default_factory=set)  # directories that it made


class System:
    """The paths of one installation."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.folder = os.path.join(home, "system")
        self.shim = os.path.join(self.folder, NAME)
        self.program = os.path.join(self.folder, PROGRAM)
        self.venv = os.path.join(self.folder, "venv")
        self.lock = os.path.join(self.folder, "lock")
        self.log = os.path.join(home, "rewind.log")
        self.link = os.path.join(os.path.expanduser("~"), ".local", "bin", "rewind")
        self._notes = os.path.join(self.folder, "install.json")

    def library(self, version: str) -> str:
        return os.path.join(self.folder, LIBRARY + version)

    def libraries(self) -> list[str]:
        try:
            names = sorted(os.listdir(self.folder))
        except OSError:
            return []
        return [os.path.join(self.folder, name) for name in names if name.startswith(LIBRARY)]

    def is_installed(self) -> bool:
        return os.path.lexists(self.shim) or os.path.lexists(self.program)

    def has_our_link(self) -> bool:
        """Whether the link leads to an installation, here or where Rewind's home was before."""
        try:
            target = os.path.join(os.path.dirname(self.link), os.readlink(self.link))
        except OSError:
            return False
        folder, name = os.path.split(target)
        return name == PROGRAM and os.path.basename(folder) == "system"

    def notes(self) -> Notes:
        found = jsonfile.read_or_empty(self._notes, _MAX_BYTES)
        return Notes(str(found.get("version") or ""), str(found.get("python") or ""),
                     set(jsonfile.texts_in(found.get("madeDirectories"))))

    def sweep(self) -> None:
        """Remove the drafts that a killed installation left. The caller holds the lock."""
        for path in (self.shim, self.program, self._notes):
            sweep_drafts(path)

    def write_notes(self, notes: Notes) -> None:
        jsonfile.write(self._notes, {"format": 1, "version": notes.version, "python": notes.python,
                                     "madeDirectories": sorted(notes.made)})


def read_script_paths(script: str) -> ScriptPaths | None:
    """None if there is no such script, or if it is not one of ours."""
    try:
        text = read_bounded(os.path.realpath(script), _MAX_BYTES).decode("utf-8", "surrogateescape")
        words = shlex.split(text, comments=True)
    except (OSError, ValueError, RewindError):
        return None
    found: dict[str, str] = {}
    for name, equals, value in (word.partition("=") for word in words):
        if equals:
            found.setdefault(name, value)  # the first `python=`; the second is the fallback
    return ScriptPaths(found["python"], found["entry"]) if {"python", "entry"} <= found.keys() else None


def script_in(command: str) -> str:
    """The file that a registered command starts."""
    try:
        words = shlex.split(command)
        while words and (words[0] == "env" or words[0].startswith("REWIND_AGENT=")):
            words.pop(0)
        return next(iter(words), "")
    except ValueError:
        return ""
