"""Installations in the test's own process compile the library once for all tests, not once for each.

What `compileall` makes of it is tested where real processes install: `tests/install/test_installer.py`.
"""

from __future__ import annotations

import importlib.util
import marshal
import os
from pathlib import Path
from typing import Any

_codes: dict[bytes, bytes] = {}  # by source


def compile_dir(folder: str, **_: Any) -> bool:
    """In place of `compileall.compile_dir`. Code keeps the name of the file that had its source first."""
    found = [_compile(path) for path in Path(folder).rglob("*.py")]
    return all(found)


def _compile(path: Path) -> bool:
    source = path.read_bytes()
    if source not in _codes:
        try:
            _codes[source] = marshal.dumps(compile(source, str(path), "exec", dont_inherit=True))
        except SyntaxError:
            return False
    info = path.stat()
    numbers = (0, int(info.st_mtime) & 0xFFFFFFFF, info.st_size & 0xFFFFFFFF)
    target = importlib.util.cache_from_source(str(path))
    os.makedirs(os.path.dirname(target), exist_ok=True)
    head = importlib.util.MAGIC_NUMBER + b"".join(number.to_bytes(4, "little") for number in numbers)
    Path(target).write_bytes(head + _codes[source])
    return True
