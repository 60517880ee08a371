"""How agents lay out their transcripts: the names of files, as most agents choose them, and folders by
date."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SUFFIX = ".jsonl"


def stem(path: str) -> str:
    return path[: -len(SUFFIX)] if path.endswith(SUFFIX) else path


def session_id_of(path: str) -> str:
    return os.path.basename(stem(path))


def path_beside(original: str, session_id: str) -> str:
    return os.path.join(os.path.dirname(original), session_id + SUFFIX)


def by_date(top: str) -> Iterator[str]:
    """The directories `YYYY/MM/DD` below this one, latest first."""
    for year in _numbered(top):
        for month in _numbered(year):
            yield from _numbered(month)


def _numbered(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder), reverse=True)
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name.isascii() and name.isdigit()]
