"""Writes conversations into our repository: whenever one has grown, one commit with all of them.

Each conversation is a directory of chunks of whole lines. Lines never change, so only the last chunk of a
conversation that has grown is written again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rewind.checkpoint.remote.push.fast_import import FastImport
from rewind.checkpoint.share.giving.conversations import OutConversation
from rewind.fast import quickjson

CHUNK = 256 << 10
MESSAGE = b"conversations"


def chunk_name(number: int) -> bytes:
    return b"%08d" % number


def write_conversations(fast: FastImport, ref: str, tip: bytes, conversations: Iterable[OutConversation],
                        when: int) -> tuple[int, bytes]:
    """How many of them have changed, and the commit that has them."""
    changes: list[tuple[bytes, bytes]] = []
    count = 0
    for one in conversations:
        found = list(_changes(fast, tip, one))
        changes += found
        count += bool(found)
    if not changes:
        return 0, tip
    commit = fast.commit(ref, MESSAGE, when, tip)
    for path, blob in changes:
        if blob:
            fast.write(path, b"100644", blob)
        else:
            fast.delete(path)
    return count, fast.commit_of(commit)


def _changes(fast: FastImport, tip: bytes, one: OutConversation) -> Iterator[tuple[bytes, bytes]]:
    """(path, blob) of each chunk that is new or different. An empty blob means that the chunk is gone."""
    folder = one.session.encode() + b"/"
    number = 0
    for number, chunk in enumerate(chunks_of(one.read()), 1):
        path = folder + chunk_name(number)
        if not tip or fast.look(tip, path)[1] != _git_id(chunk):
            yield path, fast.blob(len(chunk), [chunk])
    while tip and fast.look(tip, folder + chunk_name(number + 1))[1]:  # it was cut in place
        number += 1
        yield folder + chunk_name(number), b""
    meta = _meta(one)
    path = folder + b"meta.json"
    if not tip or fast.look(tip, path)[1] != _git_id(meta):
        yield path, fast.blob(len(meta), [meta])


def _meta(one: OutConversation) -> bytes:
    about = {"session": one.session, "agent": one.agent, "title": one.title, "lines": one.lines,
             "bytes": one.size, "turns": one.turns}
    return quickjson.dumps(about, sort_keys=True).encode()


def chunks_of(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Cuts at the first line end that makes a chunk long enough, so the cuts stay the same as it grows."""
    pending = b""
    for piece in pieces:
        pending += piece
        while len(pending) >= CHUNK:
            cut = pending.find(b"\n", CHUNK - 1)
            if cut < 0:
                break
            yield pending[:cut + 1]
            pending = pending[cut + 1:]
    if pending:
        yield pending


def _git_id(data: bytes) -> bytes:
    import hashlib  # it loads OpenSSL, which a push without conversations does not need

    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest().encode()
