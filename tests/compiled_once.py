"""Compiles the library once for all tests of a worker, and not once for each installation and each copy.

The real `compileall` is tested where real processes install Rewind: `tests/install/test_installer.py`.
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import shutil
from pathlib import Path
from typing import Any

from rewind import __version__
from rewind.install.machine.library import _stage
from rewind_cli import CHECKOUT

_codes: dict[bytes, bytes] = {}  # by source


def copy_program(top: Path) -> Path:
    """Copy `bin` and a compiled `src` that every user can read. Returns the command."""
    for name in ("bin", "src"):
        shutil.copytree(CHECKOUT / name, top / name, ignore=shutil.ignore_patterns("__pycache__"))
    assert compile_dir(str(top / "src"))
    for path in [top, *top.rglob("*")]:
        path.chmod(0o755)
    return top / "bin" / "rewind"


def stage_library(folder: Path) -> Path:
    """Make the library as an installation of this version does."""
    library = folder / f"lib-{__version__}"
    os.rename(_stage(str(CHECKOUT / "src" / "rewind"), str(library)), library)
    return library


def preinstall_library(library: Path, home: Path) -> None:
    """Call this before an installation into this home. The installation then finds the library of its
    version, which takes a quarter of the processor time."""
    shutil.copytree(library, home / ".rewind" / "system" / library.name)


def compile_dir(folder: str, **_: Any) -> bool:
    """Replaces `compileall.compile_dir`. Equal sources share code, with the name of the first file."""
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
