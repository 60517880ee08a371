"""Writes checkpoints to a temporary directory, for a command that must not change the project. What no
checkpoint holds, such as installed packages, is linked from the project."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes, urlsplit

from rewind.checkpoint.futures.known.directory import delete_directory
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.rewind.files.elsewhere import write_elsewhere
from rewind.errors import LinkedInstall
from rewind.snapshot.trees.listing import uncovered

# A command makes these again. If they were linked, an older version would write into those of the project.
_CACHES = ("__pycache__", ".next", ".nuxt", ".svelte-kit", ".turbo", ".gradle", ".hypothesis", ".pytype",
           ".nyc_output", ".kotlin", ".bloop", ".metals")
_REPOSITORIES = (".git", ".hg", ".jj", ".sl", ".svn")
_MOST_BYTES = 1 << 20  # of a file that says where an installed package is


def to_link(state: State) -> list[bytes]:
    """The `needed` paths. An error if one of them leads back to the project."""
    found = needed(state)
    for path in found:
        place = leads_back(state, path)
        if place:
            raise LinkedInstall(path=os.fsdecode(path), place=place)
    return found


def needed(state: State) -> list[bytes]:
    """Paths in the project that no checkpoint holds and that a command may need."""
    snapshot = state.look()
    return [path for path, _ in uncovered(snapshot.root, snapshot.tree) if _is_needed(path)]


def _is_needed(path: bytes) -> bool:
    name = os.fsdecode(os.path.basename(path))
    return name not in _CACHES and name not in _REPOSITORIES and "cache" not in name.lower()


class Scratch:
    """`with Scratch(state) as scratch:`, then `scratch.make(record)` for one checkpoint after another."""

    def __init__(self, state: State, links: list[bytes]) -> None:
        self._state = state
        self._links = links
        self._top = ""

    def __enter__(self) -> Scratch:
        self._top = tempfile.mkdtemp(prefix="rewind-bisect-")
        return self

    def __exit__(self, *error: object) -> None:
        delete_directory(self._top, ignore_errors=True)

    def make(self, record: Record) -> str:
        """Make the directory anew, without what a command did to the one before. It has the project's name,
        because some builds depend on that."""
        folder = os.path.join(self._top, os.path.basename(self._state.project.root) or "project")
        delete_directory(folder, ignore_errors=True)
        write_elsewhere(self._state, record, folder, None)
        for path in self._links:
            self._link(os.fsencode(folder), path)
        return folder

    def _link(self, folder: bytes, path: bytes) -> None:
        place, real = os.path.join(folder, path), os.path.join(self._state.root, path)
        above = os.path.dirname(place)
        if os.path.lexists(place) or not os.path.isdir(above) or not os.path.lexists(real):
            return
        if os.path.realpath(above) != os.path.realpath(folder) + above[len(folder):]:
            return  # in the checkpoint, a directory above is a link
        os.symlink(real, place)


# packages that lead back to the project

def leads_back(state: State, path: bytes) -> str:
    """The part of the project that an installed package in `path` leads to. Whoever used `path` elsewhere
    would run the present code of this project. Empty if there is none."""
    root = os.path.realpath(state.root)
    folder = os.path.join(state.root, path)
    for place in _places_that_lead_back(folder):
        real = os.path.realpath(os.path.join(folder, place))
        if _is_below(real, root) and not _is_below(real, os.path.realpath(folder)):
            return os.fsdecode(real)
    return ""


def _is_below(path: bytes, folder: bytes) -> bool:
    return path == folder or path.startswith(folder + b"/")


def _places_that_lead_back(folder: bytes) -> Iterator[bytes]:
    if os.path.isfile(os.path.join(folder, b"pyvenv.cfg")):
        yield from _of_python(folder)
    elif os.path.basename(folder) == b"node_modules":
        yield from _of_node(folder)


def _of_python(folder: bytes) -> Iterator[bytes]:
    for packages in _site_packages(folder):
        for name in sorted(os.listdir(packages)):
            full = os.path.join(packages, name)
            if name.endswith((b".pth", b".egg-link")):
                # A line is a path or code. The code of an editable install is in a module.
                yield from (line.strip() for line in _small(full).splitlines()
                            if line.strip() and not line.startswith((b"import ", b"#")))
            elif name.startswith(b"__editable__") and name.endswith(b".py"):
                yield from (match[2] for match in re.finditer(rb"""(['"])(/[^'"\n]*)\1""", _small(full)))
            elif name.endswith(b".dist-info"):
                yield from _direct(_small(os.path.join(full, b"direct_url.json")))


def _site_packages(folder: bytes) -> Iterator[bytes]:
    for lib in (b"lib", b"lib64"):
        at = os.path.join(folder, lib)
        if os.path.islink(at) or not os.path.isdir(at):
            continue
        for python in sorted(os.listdir(at)):
            packages = os.path.join(at, python, b"site-packages")
            if os.path.isdir(packages):
                yield packages


def _direct(text: bytes) -> Iterator[bytes]:
    try:
        found = json.loads(text)
        if found["dir_info"]["editable"] and found["url"].startswith("file://"):
            yield unquote_to_bytes(urlsplit(found["url"]).path)
    except (ValueError, KeyError, TypeError, AttributeError):
        return


def _of_node(folder: bytes) -> Iterator[bytes]:
    """Workspaces and `npm link`: links in the top directory, or in that of a scope."""
    scopes = [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith(b"@")]
    for at in (folder, *scopes):
        for name in sorted(os.listdir(at)) if os.path.isdir(at) else ():
            if os.path.islink(os.path.join(at, name)):
                yield os.path.join(at, name)


def _small(path: bytes) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return b""
