"""The package as a library in `system/`, replaced as a whole while hooks may be running from it."""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Callable

from rewind.fast.bundle import bundle_path
from rewind.install.machine.bundle import write_bundle
from rewind.install.machine.in_use import is_in_use
from rewind.install.machine.system import System

Point = Callable[[str], None]  # makes the scripts start from the library that it is given

PACKAGE = "rewind"
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", ".DS_Store")


def own_package() -> str:
    """The package that runs this: in a checkout, a virtual environment, or an installation."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def is_same(package: str, other: str) -> bool:
    """Whether two copies hold the same files with the same bytes."""
    names = _files(package)
    return names == _files(other) and not any(
        filecmp.cmpfiles(package, other, names, shallow=False)[1:])


def _files(package: str) -> list[str]:
    found = []
    for at, folders, names in os.walk(package, followlinks=True):  # in a checkout, the plugin is a link
        left_out = _LEFT_OUT(at, [*folders, *names])
        folders[:] = [name for name in folders if name not in left_out]
        found += [os.path.relpath(os.path.join(at, name), package) for name in names if name not in left_out]
    return sorted(found)


def put_library(system: System, package: str, version: str, before: str | None, point: Point) -> None:
    """Put the package in its place and make the scripts start from it.

    `before` is the library that the scripts start from now. It stays, under its name or as `…-previous`,
    because a running hook loads some of its modules late.
    """
    library = system.library(version)
    if os.path.isdir(library) and is_same(package, os.path.join(library, PACKAGE)):
        if not os.path.exists(bundle_path(library)):  # it was installed for another interpreter
            _compile(library, library)
        point(library)
        return
    sweep(system)
    new = _stage(package, library)
    if os.path.isdir(library):
        # Two renames, and no hook may begin between them: meanwhile the scripts start from a copy.
        copy = _stage(os.path.join(library, PACKAGE), library + "-previous")
        _remove(library + "-previous")
        os.rename(copy, library + "-previous")
        if before:
            point(library + "-previous")
        old = new + ".old"
        os.rename(library, old)
        os.rename(new, library)
        point(library)
        _remove(old)
        before = library + "-previous"
    else:
        os.rename(new, library)
        point(library)
    _prune(system, {library, before})


def _stage(package: str, library: str) -> str:
    folder, name = os.path.split(library)
    new = os.path.join(folder, f".{name}.{os.getpid()}.tmp")
    _remove(new)
    try:
        shutil.copytree(package, os.path.join(new, PACKAGE), ignore=_LEFT_OUT)
        _compile(new, library)
    except BaseException:
        _remove(new)
        raise
    return new


def _compile(new: str, library: str) -> None:
    """Compile the package: hooks are so short that compiling would take most of their time. If it fails,
    hooks are only slower."""
    import compileall

    try:
        compileall.compile_dir(new, quiet=2, ddir=library)
    except Exception:
        pass  # Python compiles each time
    _bundle(new)


def _bundle(library: str) -> None:
    path = bundle_path(library)
    try:
        write_bundle(library)
    except Exception:  # without a bundle, imports take longer
        if os.path.lexists(path):
            os.unlink(path)


def _prune(system: System, kept: set[str | None]) -> None:
    for library in system.libraries():
        if library not in kept and not is_in_use(library):
            _remove(library)


def sweep(system: System) -> None:
    """Remove what a killed installation left. The caller holds the lock, so no other one is running."""
    for name in os.listdir(system.folder):
        if name.startswith(".") and name.endswith((".tmp", ".tmp.old")):
            _remove(os.path.join(system.folder, name))


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    elif os.path.lexists(path):
        os.unlink(path)
