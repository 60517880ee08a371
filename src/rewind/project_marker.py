"""The marker: a small file in a project that names its store, so that a project that was moved is found
again, and a copy is not taken for the original. It is in the project's git directory, or else in
`.agent/`."""

from __future__ import annotations

import os
import stat

from rewind.errors import RewindError
from rewind.files import read_bounded, sweep_drafts, write_atomic

NAME = "rewind-store"
IN_AGENT = os.path.join(".agent", NAME)
_HEX = frozenset("0123456789abcdef")


def marker_path(root: str) -> str:
    """Where the marker of this directory belongs."""
    git = os.path.join(root, ".git")
    try:
        if stat.S_ISDIR(os.lstat(git).st_mode) and os.path.lexists(os.path.join(git, "HEAD")):
            return os.path.join(git, NAME)
    except OSError:
        pass
    if root.endswith(".git") and os.path.lexists(os.path.join(root, "HEAD")):
        return os.path.join(root, NAME)  # a bare repository, whose work trees are all linked ones
    return os.path.join(root, IN_AGENT)


def read_marker(root: str) -> str:
    """The id of the store in the marker of this directory, or an empty text."""
    if _is_behind_link(root):
        return ""
    try:
        text = read_bounded(marker_path(root), 200).decode("ascii", "replace").strip()
    except (OSError, RewindError):
        return ""
    return text if len(text) == 32 and _HEX.issuperset(text) else ""


def has_marker(root: str) -> bool:
    return os.path.lexists(marker_path(root))


def write_marker(root: str, store_id: str) -> None:
    path = marker_path(root)
    if _is_behind_link(root):
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    sweep_drafts(path)  # those of processes that were killed here
    write_atomic(path, store_id.encode() + b"\n", mode=0o644, sync=False)


def _is_behind_link(root: str) -> bool:
    """Whether the directory of the marker is a link, which may lead into another project."""
    return os.path.islink(os.path.dirname(marker_path(root)))


def is_tracked(root: str) -> bool:
    """Whether git tracks the marker, so that the author of the repository chose its content. Git is asked
    only about a marker outside the git directory."""
    if marker_path(root) != os.path.join(root, IN_AGENT) or not _is_in_repository(root):
        return False
    import subprocess

    try:
        asked = subprocess.run(["git", "ls-files", "--error-unmatch", "--", IN_AGENT], cwd=root,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return True  # this is not known, so the marker is not trusted
    return asked.returncode != 1


def _is_in_repository(root: str) -> bool:
    while True:
        if os.path.lexists(os.path.join(root, ".git")):
            return True
        parent = os.path.dirname(root)
        if parent == root:
            return False
        root = parent
