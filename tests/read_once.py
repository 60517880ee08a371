"""What each command reads anew is read once for all commands that run in the process of the tests.

A real command reads each of it once, so its process would gain nothing. Real processes are started wherever
one is what a test is about.
"""

from __future__ import annotations

import functools

from rewind.checkpoint.rewind.files import open_files
from rewind.install.machine import bundle
from rewind.snapshot.rules import ignore

_LONG = 1000  # the built-in list, of which nothing changes once it is read
_new = ignore.IgnoreFile
_known = functools.lru_cache(maxsize=8)(_new)
_others = open_files._others
_before: set[bytes] = set()
_imported = bundle._imported
_imports: dict[tuple[bytes, str, frozenset[str]], list[str]] = {}  # by source, name and what else there is


def read_once() -> None:
    """From now on."""
    _before.update(_others(open_files._PROC))
    ignore.IgnoreFile = _ignore_file  # type: ignore[assignment, misc]
    open_files._others = _started_since
    bundle._imported = _imported_once


def _ignore_file(text: bytes, prefix: bytes = b"") -> ignore.IgnoreFile:
    return (_known if len(text) > _LONG else _new)(text, prefix)


def _started_since(proc: bytes) -> list[bytes]:
    """No file of a test is in the hands of a process that is older than the run. A number that has become
    free may be given to a younger one."""
    found = _others(proc)
    if proc == open_files._PROC:
        _before.intersection_update(found)
        found = [pid for pid in found if pid not in _before]
    return found


def _imported_once(name: str, modules: dict[str, str]) -> list[str]:
    """What a library's module imports, for each installation of the same source."""
    with open(modules[name], "rb") as file:
        key = file.read(), name, frozenset(modules)
    if key not in _imports:
        _imports[key] = _imported(name, modules)
    return _imports[key]
