"""Members of an archive that a stranger could have written."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from typing import Any

Members = list[tuple[tarfile.TarInfo, bytes]]
Change = Callable[[Members], Members]


def member(name: str, data: bytes = b"x", **more: Any) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in more.items():
        setattr(info, key, value)
    return info, data


def added(*members: tuple[tarfile.TarInfo, bytes]) -> Change:
    return lambda found: [*found, *members]
