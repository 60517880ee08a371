"""Finds the git commits of lines that are older than the first checkpoint, with `git blame` of the commit
that was checked out then."""

from __future__ import annotations

from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record
from rewind.errors import GitFailed
from rewind.snapshot.diff.linediff import changed_blocks
from rewind.snapshot.diff.textdiff import lines_of
from rewind.snapshot.git.head import is_commit
from rewind.snapshot.git.run import Git
from rewind.snapshot.rules.gitfiles import work_tree_top

_MOST = 64 << 20


class Commit:
    def __init__(self, id: str) -> None:
        self.id = id
        self.author = ""
        self.summary = ""
        self.time = 0.0


def commits_of(state: State, record: Record, path: bytes, lines: list[bytes]) -> dict[int, Commit]:
    """Line number in the checkpoint's file, from 0 -> the commit that wrote the line. Lines that are not in
    the commit that was checked out are left out."""
    noted = record.data.get("git")
    head = noted.get("head") if isinstance(noted, dict) else None
    top = work_tree_top(state.root) if isinstance(head, str) else None
    if top is None or not isinstance(head, str) or not is_commit(head):
        return {}
    name = state.root[len(top):].strip(b"/") + b"/" + path if state.root != top else path
    try:
        return _from_git(Git(top), head, name, lines)
    except GitFailed:
        return {}  # git is not installed, or the commit is gone


def _from_git(git: Git, head: str, name: bytes, lines: list[bytes]) -> dict[int, Commit]:
    size = git.ask("cat-file", "-s", b"%s:%s" % (head.encode(), name))
    if size is None or int(size) > _MOST:
        return {}
    committed = lines_of(git.run("cat-file", "blob", b"%s:%s" % (head.encode(), name)))
    commits = _parsed(git.run("blame", "--porcelain", "--no-textconv", head, b"--", name))
    found: dict[int, Commit] = {}
    at = 0
    # Git may have changed the line ends when it wrote the file.
    for old, _, new, new_end in [*changed_blocks(_plain(committed), _plain(lines)),
                                 (len(committed), 0, len(lines), 0)]:
        shift = old - new
        found.update({n: commits[n + shift] for n in range(at, new) if n + shift in commits})
        at = new_end
    return found


def _plain(lines: list[bytes]) -> list[bytes]:
    return [line[:-2] + b"\n" if line.endswith(b"\r\n") else line for line in lines]


def _parsed(porcelain: bytes) -> dict[int, Commit]:
    """Line number, from 0 -> its commit."""
    commits: dict[str, Commit] = {}
    found: dict[int, Commit] = {}
    commit = Commit("")
    for line in porcelain.split(b"\n"):
        if line.startswith(b"\t"):
            continue
        key, _, value = line.decode("utf-8", "replace").partition(" ")
        if is_commit(key):
            commit = commits.setdefault(key, Commit(key))
            found[int(value.split()[1]) - 1] = commit
        elif key == "author":
            commit.author = value
        elif key == "author-time" and value.isdigit():
            commit.time = float(value)
        elif key == "summary":
            commit.summary = value
    return found
