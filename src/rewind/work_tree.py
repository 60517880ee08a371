"""Linked git work trees: which repository a directory with a `.git` file belongs to, and its name there."""

from __future__ import annotations

import os
import stat

from rewind.errors import RewindError
from rewind.fast.sha256 import sha256
from rewind.files import read_bounded
from rewind.index import MAIN

_LINK = b"gitdir: "
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
_LONGEST = 60


class Linked:
    """A linked work tree: its top directory, the main work tree of its repository (or a bare repository
    itself), and the name of the place."""

    __slots__ = ("main", "name", "top")

    def __init__(self, top: str, main: str, name: str) -> None:
        self.top = top
        self.main = main
        self.name = name


def linked_at(top: str) -> Linked | None:
    """The linked work tree with this top directory. None for a main work tree, a submodule, or no
    repository."""
    folder = _git_dir(top)
    if not folder:
        return None
    common = _line(os.path.join(folder, "commondir"))
    if not common:
        return None  # a submodule, which is a repository of its own and a part of the project around it
    common = os.path.realpath(os.path.join(folder, common))
    if not os.path.lexists(os.path.join(common, "HEAD")):
        return None
    main = os.path.dirname(common) if os.path.basename(common) == ".git" else common
    return Linked(top, main, _place_name(top, folder))


def _git_dir(top: str) -> str:
    path = os.path.join(top, ".git")
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return ""
    except OSError:
        return ""
    link = _line(path, _LINK)
    return os.path.join(top, link) if link else ""


def _line(path: str, prefix: bytes = b"") -> str:
    try:
        text = read_bounded(path, 1 << 16)
    except (OSError, RewindError):
        return ""
    return os.fsdecode(text[len(prefix):].rstrip(b"\r\n")) if text.startswith(prefix) else ""


def _place_name(top: str, folder: str) -> str:
    """Git's name of the work tree, which is unique in its repository and stays when the work tree is moved. A
    copy of a work tree has the same name, so it gets a name made of its path."""
    name = os.path.basename(folder)
    belongs = os.path.dirname(_line(os.path.join(folder, "gitdir")))
    home = os.path.realpath(os.path.join(folder, belongs)) if belongs else top
    is_copy = home != top and _git_dir(home) and not os.path.samefile(home, top)
    if is_copy or name == MAIN or not _SAFE.issuperset(name) or len(name) > _LONGEST:
        kept = "".join(c if c in _SAFE else "-" for c in name)[:_LONGEST - 10]
        return f"{kept}-{sha256(os.fsencode(top if is_copy else name)).hex()[:8]}"
    return name
