"""Many files read, hashed and packed by several processes; the parent stores what they send."""

from __future__ import annotations

import marshal
import os
import select

from rewind.snapshot.read import Read, read_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rewind.store.blobs import BlobSink

    Knows = Callable[[], "Callable[[bytes], bool] | None"]

WORTH_SHARING_FILES = 200
WORTH_SHARING_BYTES = 8 << 20
_BLOCK = 16  # files drawn at a time
_SEND = 256 << 10


def read_files(paths: list[bytes], sink: BlobSink | None, knows: Knows,
               processes: int, progress: Callable[[int], None]) -> list[Read]:
    """Every path read, in order. `knows` makes a child's way to ask whether a blob is stored."""
    results: list[Read | None] = [None] * len(paths)
    if processes > 1 and len(paths) >= _BLOCK * 2:
        _share_out(paths, results, sink, knows, processes, progress)
    done = sum(result is not None for result in results)
    for i, path in enumerate(paths):
        if results[i] is None:  # too few to share, or a child died on the way
            results[i] = read_file(path, sink)
            done += 1
            progress(done)
    return results  # type: ignore[return-value]


def _share_out(paths: list[bytes], results: list[Read | None], sink: BlobSink | None,
               knows: Knows, processes: int,
               progress: Callable[[int], None]) -> None:
    children = [_start(paths, number, processes, sink is not None, bool(sink and sink.in_bulk), knows)
                for number in range(processes)]
    buffers = {fd: bytearray() for _, fd in children}
    poll = select.poll()
    for _, fd in children:
        poll.register(fd, select.POLLIN)
    done = 0
    while buffers:
        for fd, _ in poll.poll():
            data = os.read(fd, 1 << 20)
            if not data:
                poll.unregister(fd)
                del buffers[fd]
                continue
            buffers[fd] += data
            done += _take_messages(buffers[fd], results, sink)
            progress(done)
    for pid, fd in children:
        os.close(fd)
        os.waitpid(pid, 0)


def _take_messages(buffer: bytearray, results: list[Read | None], sink: BlobSink | None) -> int:
    taken = 0
    while len(buffer) >= 4:
        end = 4 + int.from_bytes(buffer[:4], "big")
        if len(buffer) < end:
            break
        blobs, reads = marshal.loads(bytes(buffer[4:end]))
        del buffer[:end]
        if sink is not None:
            for oid, packed in blobs:
                sink.put_packed(oid, packed)
        for i, plain in reads:
            results[i] = Read(*plain)
        taken += len(reads)
    return taken


def _start(paths: list[bytes], number: int, processes: int, keep: bool, in_bulk: bool,
           knows: Knows) -> tuple[int, int]:
    out, into = os.pipe()
    pid = os.fork()
    if pid:
        os.close(into)
        return pid, out
    try:
        os.close(out)
        outbox = _Outbox(into, knows() if keep else None, in_bulk)
        for block in range(number * _BLOCK, len(paths), processes * _BLOCK):
            for i in range(block, min(block + _BLOCK, len(paths))):
                outbox.add(i, read_file(paths[i], outbox if keep else None))
        outbox.flush()
        os._exit(0)
    finally:
        os._exit(1)  # whatever a dead child did not deliver, the parent reads itself


class _Outbox:
    """A child's sink: blobs and results travel together, so that a result implies its blobs."""

    def __init__(self, into: int, known: Callable[[bytes], bool] | None, in_bulk: bool) -> None:
        self.in_bulk = in_bulk
        self._into = into
        self._known = known
        self._sent: set[bytes] = set()
        self._blobs: list[tuple[bytes, bytes]] = []
        self._reads: list[Any] = []
        self._size = 0

    def has(self, oid: bytes) -> bool:
        return oid in self._sent or (self._known is not None and self._known(oid))

    def put_packed(self, oid: bytes, packed: bytes) -> None:
        self._sent.add(oid)
        self._blobs.append((oid, packed))
        self._size += len(packed)
        if self._size > _SEND:
            self.flush()

    def add(self, i: int, read: Read) -> None:
        self._reads.append((i, read.plain()))
        if len(self._reads) >= 256:
            self.flush()

    def flush(self) -> None:
        message = marshal.dumps((self._blobs, self._reads))
        view = memoryview(len(message).to_bytes(4, "big") + message)
        while view:
            view = view[os.write(self._into, view):]
        self._blobs, self._reads, self._size = [], [], 0
