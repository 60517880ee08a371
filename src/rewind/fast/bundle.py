"""The whole package in one file, compiled, so that an import need not search directories.

A hook loads about ninety modules, and finding one takes as long as running it. `rewind install` writes the
file for its own interpreter, whose mark is in the name. Another interpreter does not find the file and
imports as usual, and so does a checkout.
"""

from __future__ import annotations

import marshal
import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

_PACKAGE = "rewind"
_FOLDER = b"package"
_HEAD = 16  # bytes that say where the code begins and how long the file is; then comes the index
_PYC_HEAD = 16  # bytes before the code, in what Python compiles


def bundle_path(library: str) -> str:
    return os.path.join(library, f"modules-{MAGIC_NUMBER[:2].hex()}")


class _Bundle:
    """Finds and loads the modules that are in the file. All others are left to Python."""

    def __init__(self, library: str) -> None:
        self._library = library
        self._path = bundle_path(library)
        fd = os.open(self._path, os.O_RDONLY)
        try:
            self._file = _file_at(fd)
            head = os.read(fd, _HEAD)
            self._begin, size = (int.from_bytes(head[at:at + 8], "little") for at in (0, 8))
            if size != self._file[0]:
                raise ValueError("not all of the file is there")
            self._index = os.read(fd, self._begin - _HEAD)  # a line for each module; few are asked for
        finally:
            os.close(fd)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        at = self._index.find(f"\n{name} ".encode()) if name.startswith(_PACKAGE) else -1
        if at < 0:
            return None
        kind, start, size = self._index[at:self._index.index(b"\n", at + 1)].split()[1:]
        code = self._read(int(start), int(size))
        if not code:
            return None
        spec = ModuleSpec(name, self, is_package=kind == _FOLDER)  # type: ignore[arg-type]
        spec.loader_state = code
        if kind == _FOLDER:
            spec.submodule_search_locations = [os.path.join(self._library, *name.split("."))]
        return spec

    def _read(self, start: int, size: int) -> bytes:
        """Opened each time, as a detached process closes all descriptors. Nothing, where an upgrade has put
        another file in its place meanwhile."""
        try:
            fd = os.open(self._path, os.O_RDONLY)
        except OSError:
            return b""
        try:
            return os.pread(fd, size, self._begin + start) if _file_at(fd) == self._file else b""
        finally:
            os.close(fd)

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        assert spec
        path = os.path.join(self._library, *spec.name.split("."))
        module.__file__ = f"{path}/__init__.py" if spec.submodule_search_locations else path + ".py"
        code, spec.loader_state = marshal.loads(spec.loader_state), None
        exec(code, module.__dict__)


def _file_at(fd: int) -> tuple[int, ...]:
    """Its size, and which file it is: a number is given to another file once the first is gone."""
    found = os.fstat(fd)
    return found.st_size, found.st_dev, found.st_ino, found.st_mtime_ns


def use_bundle(library: str) -> None:
    """From here on, imports come from the file, if there is one."""
    try:
        sys.meta_path.insert(0, _Bundle(library))
    except (OSError, ValueError):
        pass  # none here, or not all of it


def write_bundle(library: str) -> None:
    """From what Python has compiled. The caller removes the file if this fails."""
    lines, codes, at = [b""], [], 0
    for name, source in sorted(_modules(library)):
        code = _compiled(source)
        kind = _FOLDER if os.path.basename(source) == "__init__.py" else b"module"
        lines.append(b"%s %s %d %d" % (name.encode(), kind, at, len(code)))
        codes.append(code)
        at += len(code)
    index = b"\n".join([*lines, b""])
    begin = _HEAD + len(index)
    with open(bundle_path(library), "xb") as file:
        for number in (begin, begin + at):
            file.write(number.to_bytes(8, "little"))
        file.write(index + b"".join(codes))


def _modules(library: str) -> Iterator[tuple[str, str]]:
    """Each module's name and source."""
    for folder, _, names in os.walk(os.path.join(library, _PACKAGE)):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".py"):
                module = os.path.relpath(path, library)[:-len(".py")].replace(os.sep, ".")
                yield module[:-len(".__init__")] if name == "__init__.py" else module, path


def _compiled(source: str) -> bytes:
    from importlib.util import cache_from_source

    with open(cache_from_source(source), "rb") as file:
        return file.read()[_PYC_HEAD:]
