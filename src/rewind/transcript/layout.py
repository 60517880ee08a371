"""How agents lay out their transcripts: the end of a file's name, and folders by date."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SUFFIX = ".jsonl"


def stem(path: str) -> str:
    return path[: -len(SUFFIX)] if path.endswith(SUFFIX) else path


def by_date(top: str) -> Iterator[str]:
    """`YYYY/MM/DD` below a directory, the latest first."""
    for year in _numbered(top):
        for month in _numbered(year):
            yield from _numbered(month)


def _numbered(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder), reverse=True)
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name.isascii() and name.isdigit()]
