"""The directory of a future: a place of the project, and in a git repository a linked work tree."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from rewind.checkpoint.futures.known.where import place_at, plain_place
from rewind.checkpoint.project.known_stores import change
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.records.source import Source
from rewind.errors import RewindError
from rewind.paths import Project
from rewind.snapshot.git.run import Git
from rewind.snapshot.rules.gitfiles import work_tree_top
from rewind.snapshot.scan.cache import ScanCache
from rewind.snapshot.scan.scan import scan
from rewind.snapshot.trees.change import Paths, differences
from rewind.snapshot.trees.listing import uncovered
from rewind.snapshot.trees.tree import FILES, UNCOVERED, TreeEntry

if TYPE_CHECKING:
    from rewind.checkpoint.project.known_stores import KnownStore

_STAGING = b".rewind-tmp-"


def commit_for(state: State, record: Record) -> str | None:
    """The commit that was checked out at the checkpoint, or else is now. None if a linked work tree cannot be
    made: without git, without a commit, or if the project is not the repository's top directory."""
    top = work_tree_top(state.root)
    if top is None or os.path.realpath(top) != os.path.realpath(state.root):
        return None
    git, head = Git(top), (record.data.get("git") or {}).get("head")
    for name in (head, "HEAD"):
        found = git.ask("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") if name else None
        if found:
            return found.decode().strip()
    return None


def make_place(state: State, commit: str | None, folder: str, name: str = "") -> Project:
    """An empty directory that is a place of the project. With a `commit` it is a linked work tree. `name` is
    the place's name if it existed before."""
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    if commit is None:
        os.makedirs(folder, exist_ok=True)
        plain = plain_place(state, folder, name)
        _remember(state, plain)
        return plain
    Git(state.root).run("worktree", "add", "--quiet", "--detach", "--no-checkout", folder, commit)
    Git(os.fsencode(folder)).run("read-tree", commit)
    project = place_at(state, folder)
    if project is None:
        raise RewindError(f"{folder} did not become a work tree of {state.project.main}.")
    return project


def _remember(state: State, project: Project) -> None:
    """Remember the place in the index. Without git, nothing in the directory says whose place it is."""
    def put(entry: KnownStore) -> None:
        places = entry.get("places")
        entry["places"] = {**(places if isinstance(places, dict) else {}), project.root: project.place}

    change(state.project.home, state.store_info["id"], put)


def forget_place(state: State, root: str) -> None:
    """Remove the directory from git's work trees and from the index."""
    def put(entry: KnownStore) -> None:
        places = entry.get("places")
        if isinstance(places, dict):
            entry["places"] = {path: name for path, name in places.items() if path != root}

    # If a fork is removed from within, the current directory no longer exists.
    top = next((one for one in (state.root, os.fsencode(state.project.main)) if os.path.isdir(one)), None)
    if top is not None and work_tree_top(top) is not None:
        # `--force` twice: git locks a work tree while it makes it, and may have been killed then.
        Git(top).ask("worktree", "remove", "--force", "--force", root)
    change(state.project.home, state.store_info["id"], put)


def work_trees(state: State) -> dict[str, str]:
    """Name -> git's directory with the data of a linked work tree."""
    found = Git(state.root).ask("rev-parse", "--git-common-dir") if work_tree_top(state.root) else None
    top = os.path.join(os.fsdecode(state.root), os.fsdecode((found or b"").rstrip(b"\n")), "worktrees")
    names = os.listdir(top) if found and os.path.isdir(top) else []
    return {name: os.path.join(top, name) for name in names}


def forget_broken(state: State, folder: str, known: list[str]) -> None:
    """Delete the incomplete data of this work tree that a killed git left: with it, every `git worktree` in
    the repository fails. `known` are the work trees from before, which are not ours."""
    for name, path in work_trees(state).items():
        ours = name not in known and name.startswith(os.path.basename(folder)) and not os.path.islink(path)
        if ours and _first_text_of(os.path.join(path, "gitdir")) in ("", os.path.join(folder, ".git")):
            shutil.rmtree(path)


def _first_text_of(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read(1 << 14).strip()
    except FileNotFoundError:
        return ""


def delete_directory(folder: str, *, keep_empty: bool = False, ignore_errors: bool = False) -> None:
    """Read-only parts as well; symbolic links are not followed. `keep_empty` leaves an empty directory."""
    if os.path.islink(folder):
        os.unlink(folder)
    for at, dirs, _ in os.walk(folder):
        for path in (os.path.join(at, name) for name in dirs):
            if not os.path.islink(path):
                os.chmod(path, 0o700)
    if os.path.isdir(folder):
        os.chmod(folder, 0o700)
        shutil.rmtree(folder, ignore_errors=ignore_errors)
    if keep_empty:
        os.mkdir(folder)


def foreign_file(state: State, record: Record, folder: str, place: str) -> str:
    """The first file in it that the checkpoint does not have like this; empty if deleting it loses
    nothing."""
    found = [path for path, old, new in _differences(state, record, folder, place)
             if new and new.kind in (*FILES, UNCOVERED) and not (old and old.same_content(new))]
    return os.fsdecode(min(found)) if found else ""


def is_as(state: State, record: Record, folder: str, place: str) -> bool:
    return not _differences(state, record, folder, place)


def _differences(state: State, record: Record, folder: str,
                 place: str) -> list[tuple[bytes, TreeEntry | None, TreeEntry | None]]:
    """Between the checkpoint and the directory. A directory that no checkpoint captures does not count."""
    project = state.project
    there = State(Project(folder, project.state, project.home, place, project.main))
    try:
        snapshot = scan(there.root, there.rules(), ScanCache(None), there.objects, keep=False)
        with Source(there, record) as source:
            found = list(differences(record.tree, source.tree, snapshot.root, snapshot.tree, Paths()))
        # The trees do not show changes of what is not captured.
        found += [(path, None, TreeEntry(UNCOVERED, 0, 0, reason))
                  for path, reason in uncovered(snapshot.root, snapshot.tree) if is_file(there.root, path)]
    finally:
        there.close()
    return [one for one in found if not one[0].startswith(_STAGING)]


def is_file(root: bytes, path: bytes) -> bool:
    full = os.path.join(root, path)
    return os.path.isfile(full) and not os.path.islink(full)
