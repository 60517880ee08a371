"""Reads `known-stores.json`: which stores this user made or trusted, and which paths they belong to.

A hook reads it for every event, so it is read here and written in `checkpoint/project/known_stores.py`.
"""

from __future__ import annotations

import os

from rewind import jsonfile
from rewind.errors import HomeUnreadable, StoreDamaged
from rewind.files import stamp_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rewind.jsonfile import JsonObject

FILE = "known-stores.json"
MAIN = "main"  # the name of a project's main place
STORAGE = "storage"
_MAX_BYTES = 16 << 20


class Index:
    """Entries by store id: `root`, `also` (former and additional paths), `aliases` (other paths of the same
    directory), `places` (path -> name), `dir` (its directory in `storage/`), `marked`."""

    def __init__(self, data: JsonObject) -> None:
        self.data = data
        self._paths: dict[str, tuple[str, str]] | None = None

    @property
    def stores(self) -> JsonObject:
        stores: JsonObject = self.data["stores"]
        return stores

    def entry(self, store_id: str) -> JsonObject:
        found = self.stores.get(store_id)
        return found if isinstance(found, dict) else {}

    def root(self, store_id: str) -> str:
        return _path(self.entry(store_id).get("root"))

    def roots(self, store_id: str) -> list[str]:
        """Where the project of the store is or was, the latest path first."""
        entry = self.entry(store_id)
        return [root for root in (_path(entry.get("root")), *jsonfile.texts_in(entry.get("also"))) if root]

    def paths(self, store_id: str) -> list[str]:
        """The same, and every other path that leads there."""
        return [*self.roots(store_id), *jsonfile.texts_in(self.entry(store_id).get("aliases"))]

    def at(self, path: str) -> tuple[str, str] | None:
        """(store id, place) of a path that is the top of a project or of a place."""
        if self._paths is None:
            self._paths = self._by_path()
        return self._paths.get(path)

    def _by_path(self) -> dict[str, tuple[str, str]]:
        found: dict[str, tuple[str, str]] = {}
        for store_id in self.stores:  # if two have the same path, the later one counts
            entry = self.entry(store_id)
            for path in (*jsonfile.texts_in(entry.get("aliases")), _path(entry.get("root"))):
                found[path] = store_id, MAIN
            places = entry.get("places")
            for path, name in places.items() if isinstance(places, dict) else ():
                if isinstance(name, str):
                    found[path] = store_id, name
        found.pop("", None)
        return found

    def storage(self, home: str, store_id: str) -> str:
        """The directory of a store in global storage, whether or not it exists."""
        return os.path.join(home, STORAGE, _name(self.entry(store_id).get("dir")) or store_id)


_last: tuple[object, Index] | None = None  # the version of the file that was read last, and its content


def load_index(home: str, *, fresh: bool = False) -> Index:
    """`fresh`: read it again in any case, in order to change it."""
    global _last
    path = os.path.join(home, FILE)
    stamp = stamp_of(path)
    version = path, stamp
    if fresh or _last is None or _last[0] != version or stamp is None:
        _last = version, _read(path)
    return _last[1]


def _read(path: str) -> Index:
    try:
        data = jsonfile.read(path, _MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return Index({"format": 1, "stores": {}})
    except OSError as error:
        raise HomeUnreadable(reason=error.strerror, path=path)
    if data is None or not isinstance(data.get("stores"), dict):
        raise StoreDamaged(what=f"{path} is not readable",
                           hint="Move it away, then run `rewind init --trust` in each project.")
    return Index(data)


def _path(value: Any) -> str:
    return value if isinstance(value, str) and os.path.isabs(value) and "\0" not in value else ""


def _name(value: Any) -> str:
    return value if isinstance(value, str) and value.isalnum() else ""
