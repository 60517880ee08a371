"""Unpacks the next object while the caller is busy with the one before. Both zlib and OpenSSL let other
threads run meanwhile, so on two cores that costs next to nothing."""

from __future__ import annotations

import threading
from queue import SimpleQueue

from rewind.store.alike import Alike

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Optional, Union

    from rewind.store.objects import ObjectStore

    Job = Optional[Callable[[], bytes]]
    Answer = Union[bytes, BaseException]


class Ahead:
    """One object at a time; whoever asks for another one gets that, just later. It reads like a store."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._alike = Alike()  # of the thread
        self._oid: bytes | None = None  # what is being unpacked
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._answers: SimpleQueue[Answer] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def start(self, oid: bytes) -> None:
        """The store is read here and now: its connection belongs to one thread."""
        unpack = self._store.get_later(oid, self._alike.unpack)
        self._drop()
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()
        self._oid = oid
        self._jobs.put(unpack)

    def _work(self) -> None:
        for job in iter(self._jobs.get, None):
            try:
                self._answers.put(job())
            except BaseException as error:
                self._answers.put(error)

    def get(self, oid: bytes) -> bytes:
        if oid != self._oid:
            return self._store.get(oid)
        self._oid = None
        answer = self._answers.get()
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def has(self, oid: bytes) -> bool:
        return self._store.has(oid)

    def _drop(self) -> None:
        """Nobody asked for it."""
        if self._oid is not None:
            self._oid = None
            self._answers.get()

    def close(self) -> None:
        self._drop()
        if self._thread:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None
