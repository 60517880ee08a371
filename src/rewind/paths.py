"""Where things are: Rewind's home, a project's state, and the project a directory belongs to."""

from __future__ import annotations

import os

from rewind.sha256 import sha256

STATE_IN_PROJECT = os.path.join(".agent", "rewind")
STORE_FILE = "store.json"
TEMP_PREFIX = ".rewind-tmp-"  # then 16 hex digits: a name of ours that may lie in a project for an instant


class Project:
    """A directory tree that is checkpointed, and the directory that holds its state."""

    __slots__ = ("home", "root", "state")

    def __init__(self, root: str, state: str, home: str) -> None:
        self.root = root
        self.state = state
        self.home = home

    def path(self, *parts: str) -> str:
        return os.path.join(self.state, *parts)

    @property
    def mode(self) -> str:
        return "project" if self.state == project_state(self.root) else "global"

    def __repr__(self) -> str:
        return f"Project({self.root!r}, {self.mode})"


def current_dir() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        from rewind.errors import RewindError

        raise RewindError("The directory that you are in does not exist any more.",
                          hint="Go to one that does, or name the project with `--project`.") from None


def is_temp_name(name: bytes) -> bool:
    """Exactly a name that we make: anything else, however alike, is the user's."""
    prefix = TEMP_PREFIX.encode()
    digits = name[len(prefix):]
    return name.startswith(prefix) and len(digits) == 16 and not digits.strip(b"0123456789abcdef")


def temp_name() -> str:
    return TEMP_PREFIX + os.urandom(8).hex()


def is_state_path(path: bytes) -> bool:
    """Whether a path in a project is, or lies in, a state directory: this project's or a nested one's."""
    return b"/.agent/rewind/" in b"/" + path + b"/"


def rewind_home() -> str:
    """A relative `REWIND_HOME` is one in the home directory: in the current one, a repository could bring it
    along, with the list of stores that are trusted in it."""
    return os.path.abspath(os.path.join(os.path.expanduser("~"), os.environ.get("REWIND_HOME") or ".rewind"))


def project_state(root: str) -> str:
    return os.path.join(root, STATE_IN_PROJECT)


def global_state(root: str, home: str) -> str:
    return os.path.join(home, "storage", sha256(os.fsencode(root)).hex()[:32])


def open_project(root: str, home: str | None = None) -> Project | None:
    """The project whose top is exactly `root`, or None when it was never initialised."""
    home = home or rewind_home()
    root = os.path.realpath(root)
    if os.path.lexists(os.path.join(project_state(root), STORE_FILE)):
        return Project(root, project_state(root), home)
    if os.path.isdir(os.path.join(home, "storage")):
        state = global_state(root, home)
        if os.path.lexists(os.path.join(state, STORE_FILE)):
            return Project(root, state, home)
    return None


def find_project(start: str, home: str | None = None) -> Project | None:
    """The nearest project at or above `start`.

    The walk ends at HOME: a state directory left in HOME by accident must not make one giant
    project of everything below it.
    """
    home = home or rewind_home()
    start = os.path.realpath(start)
    stop = os.path.realpath(os.path.expanduser("~"))
    at = start
    while True:
        if at != stop or at == start:
            project = open_project(at, home)
            if project:
                return project
        parent = os.path.dirname(at)
        if at in (stop, parent):
            return None
        at = parent
