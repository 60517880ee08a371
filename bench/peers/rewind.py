"""Rewind itself as one contender among the others."""

from __future__ import annotations

from bench.ours import Rewind
from bench.peers.peer import Peer
from bench.trees import allocated_bytes


class Ours(Peer):
    def __init__(self, rewind: Rewind) -> None:
        super().__init__(rewind.spawner, rewind.project, rewind.home)
        self._rewind = rewind

    def version(self) -> str:
        return self._rewind.output("--version").decode().split()[-1]

    def first(self) -> None:
        self._rewind.init()

    def snapshot(self) -> None:
        self._rewind.save()

    def mark(self) -> str:
        return self._rewind.save_named()

    def restore(self, mark: str) -> None:
        self._rewind.restore(mark)

    def wait_until_idle(self, quiet: float) -> None:
        self._rewind.wait_until_idle(quiet)

    def stored(self) -> int:
        return allocated_bytes(self._rewind.state)

    def remove(self) -> None:
        self._rewind.forget()
