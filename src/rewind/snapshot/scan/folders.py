"""Opens directories of a project from the top down, without following links.

After a directory was listed, somebody may replace it by a link to another place. What is read through these
descriptors is inside the project in any case.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_BELOW = _FLAGS | os.O_NOFOLLOW


class Folders:
    """One directory is open at a time, with those above it, because the next one is usually near."""

    def __init__(self, root: bytes) -> None:
        self._root = root
        self._names: list[bytes] = []
        self._fds: list[int] = []

    def __enter__(self) -> Folders:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._close_from(0)

    def fd(self, folder: bytes) -> int:
        """Use it before you ask for the next one. Raises OSError if a part of the path is not a directory."""
        names = folder.split(b"/") if folder else []
        if not self._fds:
            self._fds.append(os.open(self._root, _FLAGS))
        same = 0
        for one, other in zip(names, self._names):
            if one != other:
                break
            same += 1
        self._close_from(same + 1)
        for name in names[same:]:
            self._fds.append(os.open(name, _BELOW, dir_fd=self._fds[-1]))
            self._names.append(name)
        return self._fds[-1]

    def _close_from(self, depth: int) -> None:
        for fd in self._fds[depth:]:
            os.close(fd)
        del self._fds[depth:]
        del self._names[max(0, depth - 1):]
