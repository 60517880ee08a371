"""The state of the user's git repository: HEAD, its branch, and what is under way. Only small files are read,
because hooks need it for every checkpoint. What is unexpected counts as unknown."""

from __future__ import annotations

import os

from rewind.snapshot.rules.gitfiles import common_dir, git_dir, read_small

_UNDER_WAY = ((b"rebase-merge", "rebase"), (b"rebase-apply", "rebase"), (b"MERGE_HEAD", "merge"),
              (b"CHERRY_PICK_HEAD", "cherry-pick"), (b"REVERT_HEAD", "revert"), (b"BISECT_LOG", "bisect"))
_REF = b"ref: "
_DEPTH = 5  # how many references git follows one after the other


def git_head(top: bytes | None) -> dict[str, str | None] | None:
    """`head` (a commit's id), `branch` and `underWay` of the work tree at `top`. None if there is none."""
    folder = git_dir(top) if top else None
    if top is None or folder is None:
        return None
    text = read_small(os.path.join(folder, b"HEAD")).strip()
    branch = text[len(_REF):].strip() if text.startswith(_REF) else b""
    commit = _resolved(folder, common_dir(top) or folder, text)
    return {"head": commit, "branch": _short(branch), "underWay": _under_way(folder)}


def _resolved(folder: bytes, common: bytes, text: bytes) -> str | None:
    for _ in range(_DEPTH):
        if not text.startswith(_REF):
            break
        name = text[len(_REF):].strip()
        if not name.startswith(b"refs/") or b".." in name:
            return None
        # Each work tree has its own HEAD, but all share their branches.
        text = (read_small(os.path.join(common, name)) or read_small(os.path.join(folder, name))).strip()
        text = text or _packed(common, name)
    commit = text.decode("ascii", "replace")
    return commit if is_commit(commit) else None


def is_commit(text: str) -> bool:
    """Whether it is the full id of a commit."""
    return len(text) in (40, 64) and all(c in "0123456789abcdef" for c in text)


def _packed(common: bytes, name: bytes) -> bytes:
    content = read_small(os.path.join(common, b"packed-refs"))
    at = content.find(b" " + name + b"\n")
    return content[content.rfind(b"\n", 0, at) + 1:at] if at > 0 else b""


def _short(branch: bytes) -> str | None:
    if not branch:
        return None
    name = branch[len(b"refs/heads/"):] if branch.startswith(b"refs/heads/") else branch
    return name.decode("utf-8", "replace")


def _under_way(folder: bytes) -> str | None:
    try:
        names = set(os.listdir(folder))  # one call instead of six
    except OSError:
        return None
    return next((what for name, what in _UNDER_WAY if name in names), None)
