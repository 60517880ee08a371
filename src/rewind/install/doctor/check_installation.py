"""Is Rewind installed completely, and can it be found? The scripts, the interpreter, the library, PATH."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping

from rewind import __version__
from rewind.errors import PathNotText
from rewind.install.agent_settings.merger import is_text
from rewind.install.doctor.finding import Finding, ok, problem, warning
from rewind.install.machine.interpreter import output_of, version_of
from rewind.install.machine.system import ScriptPaths, System, read_script_paths
from rewind.install.machine.ui_packages import fits
from rewind.install.market_plugin import has_market_plugin

_AGAIN = "Run `rewind install`; your settings and hooks stay as they are."
_FIRST = "Run `rewind install`, or `./install.sh` in a checkout."
_OLDEST = (3, 9)
# Loads what a hook loads, so that a half-written library is noticed.
_LOAD = ("import sys; sys.path.insert(0, sys.argv[1]); import rewind, rewind.hooks.handle;"
         " sys.stdout.write(rewind.__version__)")


def check_installation(system: System, environ: Mapping[str, str]) -> Iterator[Finding]:
    if not system.is_installed() and has_market_plugin(system.home):
        yield ok("installed", "Rewind runs from the plugin of your agent, without a command.")
    elif not system.is_installed():
        yield problem("installed", "Rewind is not installed, so agents have nothing to call.", _FIRST)
    else:
        yield from _check_shim(system, environ)
        yield from _check_command(system, environ)
        if not fits(system):
            yield warning("ui", "The packages of the user interfaces are for another Python.",
                          "Run `rewind install --with-ui`.")
    if not shutil.which("git", path=environ.get("PATH")):
        yield warning("git", "git is not on PATH. Rewind works without it, except that it cannot find an"
                      " ignore file named in git's settings.", "Install git.")


def _check_shim(system: System, environ: Mapping[str, str]) -> Iterator[Finding]:
    shim = system.shim
    paths = read_script_paths(shim)
    if not os.path.exists(shim):
        yield problem("shim", f"The script that agents call is missing: {shim}", _AGAIN)
    elif not os.access(shim, os.X_OK):
        yield problem("shim", f"The script that agents call is not executable: {shim}",
                      f"Run `chmod +x {shim}`, or `rewind install`.")
    elif paths is None:
        yield problem("shim", f"This is not the script that Rewind put there: {shim}", _AGAIN)
    elif not is_text(shim):
        yield problem("shim", PathNotText(shim=shim).message, PathNotText.hint)
    else:
        yield ok("shim", f"Installed in {system.folder}")
    if paths:
        python, found = _interpreter(paths, environ)
        yield found
        if python:
            yield _library(paths, python)


def _interpreter(paths: ScriptPaths, environ: Mapping[str, str]) -> tuple[str, Finding]:
    """The Python that hooks run with, or an empty text, and the finding about it."""
    if os.access(paths.python, os.X_OK):
        return _named(paths.python)
    other = shutil.which("python3", path=environ.get("PATH")) or ""
    version = version_of(other) if other else None
    if version and version >= _OLDEST:
        gone = f"The Python that hooks were set up with is gone: {paths.python}."
        return other, warning("interpreter", f"{gone} They take `python3` from PATH, which may be slow.",
                              _AGAIN)
    return "", problem("interpreter", f"There is no Python for the hooks: {paths.python} is gone, and"
           " `python3` on PATH is not suitable.", _AGAIN)


def _named(python: str) -> tuple[str, Finding]:
    version = version_of(python)
    if version is None:
        return "", problem("interpreter", f"This Python does not start, or lacks sqlite3 or zlib: {python}",
                           "Run `rewind install` with another Python.")
    if version < _OLDEST:
        return "", problem("interpreter", "Python 3.9 or newer is required; this is"
                                          f" {version[0]}.{version[1]}: {python}",
                           "Run `rewind install` with a newer Python.")
    return python, ok("interpreter", f"Python {version[0]}.{version[1]}: {python}")


def _library(paths: ScriptPaths, python: str) -> Finding:
    if not os.path.isfile(paths.entry):
        return problem("library", f"The library that the hooks use is missing: {paths.library}", _AGAIN)
    version = output_of(python, _LOAD, paths.library)
    if version is None:
        return problem("library", f"The library that the hooks use cannot be loaded: {paths.library}",
                       _AGAIN)
    if version != __version__:
        return warning("library", f"Hooks run version {version}, and this program is {__version__}.",
                       "Run `rewind install` with the one that you want.")
    return ok("library", f"Version {version}, the same as this program")


def _check_command(system: System, environ: Mapping[str, str]) -> Iterator[Finding]:
    folders = environ.get("PATH", "").split(os.pathsep)
    first = shutil.which("rewind", path=environ.get("PATH"))
    if first and os.path.realpath(first) == os.path.realpath(system.program):
        yield ok("command", f"`rewind` is {first}")
    elif first and system.has_our_link() and os.path.dirname(system.link) in folders:
        yield warning("command", f"Another `rewind` comes first on PATH: {first}",
                      f"Put {os.path.dirname(system.link)} before {os.path.dirname(first)} on PATH, or remove"
                      " the other one.")
    elif first:
        yield warning("command", f"`rewind` on PATH is not the installed one: {first}",
                      f"This is fine if intended. The installed one is {system.program}")
    else:
        yield warning("command", f"`rewind` is not on PATH; the installed one is {system.program}",
                      'Add to your shell\'s profile: export PATH="$HOME/.local/bin:$PATH"')
