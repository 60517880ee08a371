"""The whole package in one file, compiled, so that an import need not search directories.

A hook loads about ninety modules, and finding one takes as long as running it. `rewind install` writes the
file (`install/machine/bundle.py`) for its own interpreter, whose magic number is in the name. Another
interpreter does not find the file and imports as usual, and so does a checkout.

The modules that a checkpoint needs are there once more in one piece, in the order in which they are loaded:
the overhead of a Python import is as long as running the module.

The error classes are there one by one. Making all hundred takes a tenth of the time of a short hook, which
needs only a few.
"""

from __future__ import annotations

import marshal
import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, ModuleType
    from typing import Any

PACKAGE = "rewind"
ERRORS = "rewind.errors"  # its classes are made on demand
FOLDER = b"package"
# Everything that one of these imports is loaded along with it. A hook imports them in this order: the last
# six only if it makes a checkpoint, and the last three when the agent has continued.
ROOTS = ("rewind.hooks.event", "rewind.hooks.handle", "rewind.checkpoint.project.known_stores",
         "rewind.hooks.memory.session_file", "rewind.hooks.making.in_time", "rewind.hooks.making.checkpoint",
         "rewind.transcript.find", "rewind.checkpoint.conversations.which_session",
         "rewind.checkpoint.conversations.stored", "rewind.checkpoint.save.create")
# The same for commands. Each begins with the first two; the others are those of `list` and of going back.
COMMAND_ROOTS = ("rewind.cli.main", "rewind.controller", "rewind.cli.look.list.list_",
                 "rewind.cli.look.list.list_turns", "rewind.checkpoint.map.facts",
                 "rewind.checkpoint.rewind.apply")
# What these import inside functions and nearly always need is loaded along with them as well.
ALONG = {"rewind.cli.main": ("rewind.cli.output.streams",),
         "rewind.cli.look.list.list_": (
             "rewind.checkpoint.rewind.operation_words", "rewind.checkpoint.map.turn_map",
             "rewind.checkpoint.operation_log.lineage", "rewind.checkpoint.records.timeline",
             "rewind.checkpoint.project.vanished", "rewind.checkpoint.project.missed")}
HEAD = 16  # bytes that say where the code begins and how long the file is; the index follows


def bundle_path(library: str) -> str:
    return os.path.join(library, f"modules-{MAGIC_NUMBER[:2].hex()}")


class _Bundle:
    """Finds and loads the modules in the file. Python imports all others."""

    def __init__(self, library: str) -> None:
        self._library = library
        self._path = bundle_path(library)
        fd = os.open(self._path, os.O_RDONLY)
        try:
            self._file = _file_at(fd)
            head = os.read(fd, HEAD)
            self._begin, size = (int.from_bytes(head[at:at + 8], "little") for at in (0, 8))
            if size != self._file[0]:
                raise ValueError("the file is not complete")
            self._index = os.read(fd, self._begin - HEAD)  # a line for each module, of which few are needed
        finally:
            os.close(fd)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if not name.startswith(PACKAGE):
            return None
        if name in ROOTS or name in COMMAND_ROOTS:
            self._load_before(name)
        kind, code = self._entry(name)
        if not code:
            return None
        spec = ModuleSpec(name, self, is_package=kind == FOLDER)  # type: ignore[arg-type]
        spec.loader_state = code
        if kind == FOLDER:
            spec.submodule_search_locations = [os.path.join(self._library, *name.split("."))]
        return spec

    def _entry(self, name: str) -> tuple[bytes, bytes]:
        """Its kind and its code; nothing if it is not in the file."""
        at = self._index.find(f"\n{name} ".encode())
        if at < 0:
            return b"", b""
        kind, start, size = self._index[at:self._index.index(b"\n", at + 1)].split()[1:]
        return kind, self._read(int(start), int(size))

    def _load_before(self, root: str) -> None:
        """Load everything that `root` imports. No other thread imports at the beginning of a hook."""
        _, piece = self._entry(f"{root}+")
        for name, is_folder, code in marshal.loads(piece) if piece else ():
            if name not in sys.modules:
                self._load(name, is_folder, code)

    def _load(self, name: str, is_folder: bool, code: CodeType) -> None:
        """What Python's import does, without its locks and searches."""
        above, _, last = name.rpartition(".")
        if above not in sys.modules:  # it belongs to another root, which was not imported
            __import__(above)
        module = _Module(name)
        spec = module.__spec__ = ModuleSpec(name, self, is_package=is_folder)  # type: ignore[arg-type]
        module.__loader__ = self  # type: ignore[assignment]
        module.__package__ = name if is_folder else above
        path = f"{self._library}/{name.replace('.', '/')}"
        if is_folder:
            module.__path__ = spec.submodule_search_locations = [path]
        module.__file__ = f"{path}/__init__.py" if is_folder else f"{path}.py"
        sys.modules[name] = module
        try:
            exec(code, module.__dict__)
        except BaseException:
            del sys.modules[name]
            raise
        setattr(sys.modules[above], last, module)

    def _read(self, start: int, size: int) -> bytes:
        """The file is opened each time, because a detached process closes all descriptors. Empty if an
        upgrade has put another file in its place meanwhile."""
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


def on_demand(names: dict[str, Any], classes: bytes) -> Callable[[str], Any]:
    """The `__getattr__` of a module. `classes` has the base and the code of each class, by name."""
    from _thread import RLock

    known: dict[str, tuple[str, bytes]] = marshal.loads(classes)
    one_at_a_time = RLock()  # `except` with one copy of a class would not catch another copy

    def make(name: str) -> Any:
        if name not in known:
            raise AttributeError(f"{ERRORS} has no {name}")
        with one_at_a_time:
            if name not in names:
                base, code = known[name]
                if base in known:
                    make(base)
                exec(marshal.loads(code), names)
        return names[name]

    return make


_Module = type(sys)


def _file_at(fd: int) -> tuple[int, ...]:
    """Its size, and which file it is. The time is part of it, because inode numbers are used again."""
    found = os.fstat(fd)
    return found.st_size, found.st_dev, found.st_ino, found.st_mtime_ns


def use_bundle(library: str) -> None:
    """From now on, imports come from the file, if there is one."""
    try:
        sys.meta_path.insert(0, _Bundle(library))
    except (OSError, ValueError):
        pass  # there is none, or it is not complete
