"""Unpacks the next object while the caller is busy with the one before. Both zlib and OpenSSL let other
threads run meanwhile, so on two cores that costs next to nothing."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.store.objects import ObjectStore


class Ahead:
    """One object at a time; whoever asks for another one gets that, just later. It reads like a store."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._oid = b""
        self._thread: threading.Thread | None = None
        self._result: bytes | BaseException = b""

    def start(self, oid: bytes) -> None:
        """The store is read here and now: its connection belongs to one thread."""
        self.wait()
        unpack = self._store.get_later(oid)

        def work() -> None:
            try:
                self._result = unpack()
            except BaseException as error:
                self._result = error

        self._oid = oid
        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def get(self, oid: bytes) -> bytes:
        if self._thread is None or oid != self._oid:
            return self._store.get(oid)
        self.wait()
        if isinstance(self._result, BaseException):
            raise self._result
        return self._result

    def has(self, oid: bytes) -> bool:
        return self._store.has(oid)

    def wait(self) -> None:
        if self._thread:
            self._thread.join()
            self._thread = None
