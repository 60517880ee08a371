"""Which checkpoints are commits of our repository already. Git knows; a file beside it saves asking, which
takes longer the more there are. The file counts only for the very commit that it was written for."""

from __future__ import annotations

import os

from rewind.checkpoint.remote.repository import Repository
from rewind.errors import RewindError
from rewind.files import read_bounded, write_atomic

_FILE = "rewind-written"
_MAX_BYTES = 256 << 20
_ID, _COMMIT = 32, 40  # as long as they are in hexadecimal digits


def written_checkpoints(repository: Repository, tip: str) -> dict[str, bytes]:
    """Id -> commit of all that lead to a commit, in the order in which they were written: each commit comes
    after all before it. A ValueError where one is no checkpoint."""
    if not tip:
        return {}
    out = repository.git.run("log", "--topo-order", "--reverse", "--format=%s %H", tip, "--")
    if not out:
        raise ValueError("a ref of it is no commit")
    return _parsed(out.split(b"\n")[:-1])


def known_checkpoints(repository: Repository, tip: str) -> dict[str, bytes]:
    """The same, for commits of our own."""
    try:
        first, *lines = read_bounded(os.path.join(repository.path, _FILE), _MAX_BYTES).split(b"\n")[:-1]
        if tip and first == tip.encode():
            return _parsed(lines)
    except (OSError, ValueError, RewindError):
        pass
    return written_checkpoints(repository, tip)


def remember(repository: Repository, tip: str, written: dict[str, bytes]) -> None:
    lines = [tip.encode(), *(b"%s %s" % (name.encode(), commit) for name, commit in written.items())]
    write_atomic(os.path.join(repository.path, _FILE), b"\n".join(lines) + b"\n", sync=False)


def _parsed(lines: list[bytes]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for line in lines:
        name, _, commit = line.partition(b" ")
        if len(name) != _ID or len(commit) != _COMMIT or (name + commit).translate(None, b"0123456789abcdef"):
            raise ValueError("a commit of it is no checkpoint")
        found[name.decode()] = commit
    return found
