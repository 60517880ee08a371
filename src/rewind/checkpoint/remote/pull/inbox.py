"""Reads the commits of one writer. Nothing in them is trusted: `share/taking/incoming.py` checks them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rewind.checkpoint.remote.names import CHANGES, META, path_in_git
from rewind.checkpoint.remote.push.conversation_outbox import chunk_name
from rewind.checkpoint.remote.repository import Repository
from rewind.checkpoint.share.entries import FORMAT, bytes_of
from rewind.checkpoint.share.taking.incoming import MAX_ENTRIES, Incoming
from rewind.errors import FormatTooNew
from rewind.fast import quickjson
from rewind.jsonfile import JsonObject

_MOST_META = 1 << 20
_MOST_CHANGES = 1 << 30
_MOST_CHUNK = 1 << 30
_PIECE = 4 << 20


class Objects:
    """`with Objects(repository) as objects:` reads git objects, one after another."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    def __enter__(self) -> Objects:
        self._process = subprocess.Popen(
            self._repository.command("cat-file", "--batch"), cwd=self._repository.path,
            env=self._repository.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)
        assert self._process.stdin and self._process.stdout
        self._in, self._out = self._process.stdin, self._process.stdout
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._in.close()
        self._out.close()
        self._process.wait()

    def read(self, name: bytes, most: int) -> bytes | None:
        """A whole blob; None if it does not exist."""
        size = self._ask(name)
        if size is None:
            return None
        if size > most:
            raise ValueError(f"a part of it is {size:,} bytes long")
        return b"".join(self._pieces(size))

    def pieces(self, name: bytes) -> Iterator[bytes]:
        """A blob in pieces. All of them must be read before the next object."""
        size = self._ask(name)
        if size is None:
            raise ValueError("the content of a file in it is missing")
        return self._pieces(size)

    def _ask(self, name: bytes) -> int | None:
        self._in.write(name + b"\n")
        self._in.flush()
        words = self._out.readline().split()
        if len(words) < 3 or words[1] not in (b"blob", b"tree", b"commit", b"tag"):
            return None
        if words[1] == b"blob":
            return int(words[2])
        for _ in self._pieces(int(words[2])):
            pass
        return None

    def _pieces(self, size: int) -> Iterator[bytes]:
        left = size
        while left:
            piece = self._out.read(min(left, _PIECE))
            if not piece:
                raise ValueError("git cannot read a part of it")
            left -= len(piece)
            yield piece
        self._out.read(1)


class Inbox(Incoming):
    """The checkpoints and conversations of one writer that are new here.

    `commits` are all commits of the writer, oldest first, and `is_here` says which checkpoints need not be
    read. If the parent of a new checkpoint is neither here nor new, its changes are included in the child's.
    """

    def __init__(self, label: str, objects: Objects, commits: dict[str, bytes],
                 is_here: Callable[[str], bool], conversations: bytes = b"",
                 sessions: Iterable[str] = ()) -> None:
        self.label = label
        self._objects = objects
        self._commits = commits  # by the id of the checkpoint
        self.look_again(is_here)
        self._conversations = conversations
        self._sessions = list(sessions)
        self._where: dict[str, bytes] = {}  # digest of a file -> its name for git

    def look_again(self, is_here: Callable[[str], bool]) -> None:
        self._new = [name for name in self._commits if not is_here(name)]
        self._is_here = is_here

    @property
    def count(self) -> int:
        return len(self._new)

    # checkpoints

    def checkpoints(self) -> Iterator[tuple[Any, Iterable[Any]]]:
        passed: set[str] = set()
        for name in self._new:
            meta, changes = self._commit(name)
            parent, seen = meta.get("parent"), {name}
            while isinstance(parent, str) and parent not in passed and not self._is_here(parent):
                if parent not in self._commits or parent in seen or len(changes) > MAX_ENTRIES:
                    raise ValueError(f"the parent of its checkpoint {name} is missing")
                seen.add(parent)
                above, earlier = self._commit(parent)
                changes, parent = earlier + changes, above.get("parent")
            passed.add(name)
            yield {**meta, "parent": parent}, changes

    def _commit(self, name: str) -> tuple[JsonObject, list[Any]]:
        commit = self._commits[name]
        raw = self._objects.read(commit + b":" + META, _MOST_META)
        listed = self._objects.read(commit + b":" + CHANGES, _MOST_CHANGES)
        if raw is None or listed is None:
            raise ValueError("a commit of it is no checkpoint")
        meta = _json(raw)
        if not isinstance(meta, dict) or meta.get("id") != name:
            raise ValueError("a commit of it names one checkpoint and holds another")
        _check_format(self.label, meta.get("format"))
        changes = [_json(line) for line in listed.splitlines()]
        for change in changes:
            self._note(commit, change)
        return meta, changes

    def _note(self, commit: bytes, change: Any) -> None:
        """Remember where the content of a file is. The entry itself is checked later."""
        if isinstance(change, list) and len(change) == 5 and isinstance(change[4], str):
            self._where.setdefault(change[4], commit + b":" + path_in_git(bytes_of(change[1])))

    def contents(self, wanted: set[str]) -> Iterator[tuple[str, Iterable[bytes]]]:
        for digest in [digest for digest in self._where if digest in wanted]:
            yield digest, self._objects.pieces(self._where[digest])

    # conversations

    def conversations(self) -> Iterator[JsonObject]:
        for session in self._sessions:
            folder = self._conversations + b":" + session.encode() + b"/"
            raw = self._objects.read(folder + b"meta.json", _MOST_META)
            meta = _json(raw) if raw is not None else None
            if not isinstance(meta, dict) or meta.get("session") != session:
                raise ValueError(f"the conversation {session} in it is malformed")
            yield {**meta, "read": lambda folder=folder: self._conversation(folder)}

    def _conversation(self, folder: bytes) -> Iterator[bytes]:
        number = 1
        while (chunk := self._objects.read(folder + chunk_name(number), _MOST_CHUNK)) is not None:
            yield chunk
            number += 1


def _json(raw: bytes) -> Any:
    try:
        return quickjson.loads(raw.decode("utf-8", "surrogatepass"))
    except RecursionError:
        raise ValueError("a part of it is nested too deeply")


def _check_format(label: str, found: Any) -> None:
    if type(found) is not int or found < 1:
        raise ValueError("a checkpoint in it does not say its format")
    if found > FORMAT:
        raise FormatTooNew(what=f"What the remote {label} holds", found=found, known=FORMAT)
