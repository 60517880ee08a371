"""Names and directories of futures."""

from __future__ import annotations

import os

from rewind.checkpoint.project.state import State
from rewind.errors import RewindError, UsageError
from rewind.paths import Project, find_project

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
_LONGEST = 60
MOST = 20  # at once


def names_for(wanted: str, count: int, taken: set[str]) -> list[str]:
    """`wanted` or `fork`, with a number if there are several or the name is taken."""
    if not 1 <= count <= MOST:
        raise UsageError(f"Cannot make {count} forks at once.", hint=f"Use a number from 1 to {MOST}.")
    base = " ".join(wanted.split()) or "fork"
    if not _SAFE.issuperset(base) or base.startswith(("-", ".")) or len(base) > _LONGEST:
        raise UsageError(f"A fork cannot be called {wanted!r}.",
                         hint="Use letters, digits, dots, dashes and underscores.")
    if wanted and count == 1:
        if base in taken:
            raise RewindError(f"A fork called {base} already exists.",
                              hint="Choose another name; `rewind forks` shows them.")
        return [base]
    found: list[str] = []
    number = 1
    while len(found) < count:
        name = f"{base}-{number}"
        if name not in taken:
            found.append(name)
        number += 1
    return found


def folders_for(state: State, to: str, names: list[str]) -> list[str]:
    """`PROJECT-NAME` beside the project; or `to`, or directories below `to` if there are several."""
    root = state.project.root
    if to and len(names) == 1:
        folders = [os.path.realpath(to)]
    elif to:
        folders = [os.path.join(os.path.realpath(to), name) for name in names]
    else:
        folders = [f"{root}-{name}" for name in names]
    for folder in folders:
        _check(state, folder)
    return folders


def _check(state: State, folder: str) -> None:
    if folder == state.project.root:
        raise UsageError("A fork needs a directory of its own.", hint="Name another one with --to.")
    if os.path.lexists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise RewindError(f"{folder} is not an empty directory.",
                          hint="Name a directory with --to that is empty or does not exist yet.")
    inside = os.path.realpath(state.project.state)
    if folder == inside or folder.startswith(inside + os.sep):
        raise UsageError("A fork cannot be in Rewind's own directory.", hint="Name another one with --to.")


def place_at(state: State, folder: str) -> Project | None:
    """The place of this project that a directory is, if it is one."""
    found = find_project(folder, state.project.home)
    ours = found and found.root == os.path.realpath(folder) and found.state == state.project.state
    return found if ours else None


def plain_place(state: State, folder: str, name: str = "") -> Project:
    """A place without a git work tree. It has the name of its directory, with a number if that is taken."""
    kept = "".join(c if c in _SAFE and c != "." else "-" for c in os.path.basename(folder))[:_LONGEST - 10]
    base, number, taken = kept or "fork", 1, set(state.places())
    found = name or base
    while not name and found in taken:
        number += 1
        found = f"{base}-{number}"
    project = state.project
    return Project(os.path.realpath(folder), project.state, project.home, found, project.main)
