"""Reads some things only once for all commands that run in the process of the tests.

A real command reads each of them once, so it would gain nothing. Tests about real processes start them.
"""

from __future__ import annotations

import functools

from rewind.checkpoint.rewind.files import open_files
from rewind.install.machine import bundle
from rewind.snapshot.rules import ignore

_LONG = 1000  # only the built-in list is longer, and its objects never change
_new = ignore.IgnoreFile
_known = functools.lru_cache(maxsize=8)(_new)
_others = open_files._others
_before: set[bytes] = set()
_imported = bundle._imported
_imports: dict[tuple[bytes, str, frozenset[str]], list[str]] = {}  # by source, name and all modules


def read_once() -> None:
    """Replace the functions from now on."""
    _before.update(_others(open_files._PROC))
    ignore.IgnoreFile = _ignore_file  # type: ignore[assignment, misc]
    open_files._others = _started_since
    bundle._imported = _imported_once


def _ignore_file(text: bytes, prefix: bytes = b"") -> ignore.IgnoreFile:
    return (_known if len(text) > _LONG else _new)(text, prefix)


def _started_since(proc: bytes) -> list[bytes]:
    """Leave out processes that are older than the run, because they cannot have a file of a test open. The id
    of one that has ended may be used again."""
    found = _others(proc)
    if proc == open_files._PROC:
        _before.intersection_update(found)
        found = [pid for pid in found if pid not in _before]
    return found


def _imported_once(name: str, modules: dict[str, str]) -> list[str]:
    """The imports of a module, found once for all installations of the same source."""
    with open(modules[name], "rb") as file:
        key = file.read(), name, frozenset(modules)
    if key not in _imports:
        _imports[key] = _imported(name, modules)
    return _imports[key]
