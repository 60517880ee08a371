"""A process of git's with pipes to it. Not with `subprocess`: loading that takes longer than git itself runs
for a small push."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import BinaryIO

# SIGPIPE and SIGXFSZ, on Linux and on macOS. Python ignores them, and a program that it starts would as well.
_AS_USUAL = (13, 25)
_PIECE = 1 << 16


class Process:
    """`out` and `err` are what it prints, `into` what it reads, unless a descriptor is given for that. `keep`
    is a descriptor that it holds open."""

    def __init__(self, command: list[str], env: dict[str, str], *, read: int = -1, keep: int = -1) -> None:
        pipes: list[int] = []
        try:
            pipes += os.pipe() if read < 0 else (read, -1)
            pipes += os.pipe()
            pipes += os.pipe()
            self.pid = _spawn(command, env, (pipes[0], pipes[3], pipes[5]), keep)
        except BaseException:
            _close(fd for fd in pipes if fd not in (read, -1))
            raise
        _close((*(pipes[:1] if read < 0 else ()), pipes[3], pipes[5]))
        self.into: BinaryIO | None = os.fdopen(pipes[1], "wb") if read < 0 else None
        self.out: BinaryIO = os.fdopen(pipes[2], "rb")
        self.err: BinaryIO = os.fdopen(pipes[4], "rb")
        self._code: int | None = None

    def kill(self) -> None:
        self._signal(9)

    def terminate(self) -> None:
        """So that it can remove what it has begun."""
        self._signal(15)

    def _signal(self, number: int) -> None:
        if self._code is None:  # else its id may be somebody else's
            os.kill(self.pid, number)

    def wait(self) -> int:
        """Its exit code; negative where a signal has ended it."""
        if self._code is None:
            status = os.waitpid(self.pid, 0)[1]
            self._code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        return self._code

    def close(self) -> None:
        for pipe in (self.into, self.out, self.err):
            try:
                if pipe:
                    pipe.close()
            except OSError:
                pass  # nobody reads any more what was left to write

    def listen(self, said: Callable[[bytes], None]) -> bytes:
        """All of its output; what comes on the other stream goes to `said`, piece by piece, as it comes."""
        import select

        poll, found = select.poll(), []
        waiting = {self.out.fileno(), self.err.fileno()}
        for fd in waiting:
            poll.register(fd, select.POLLIN)
        while waiting:
            for fd, _ in poll.poll():
                piece = os.read(fd, _PIECE)
                if not piece:
                    poll.unregister(fd)
                    waiting.discard(fd)
                elif fd == self.out.fileno():
                    found.append(piece)
                else:
                    said(piece)
        return b"".join(found)


def _spawn(command: list[str], env: dict[str, str], streams: tuple[int, int, int], keep: int) -> int:
    actions = [(os.POSIX_SPAWN_DUP2, fd, at) for at, fd in enumerate(streams)]
    if keep >= 0:
        os.set_inheritable(keep, True)
    try:
        return os.posix_spawnp(command[0], command, env, file_actions=actions, setsigdef=_AS_USUAL)
    finally:
        if keep >= 0:
            os.set_inheritable(keep, False)


def _close(fds: Iterable[int]) -> None:
    for fd in fds:
        os.close(fd)
