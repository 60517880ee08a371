"""Makes `subprocess` in the tests' process as fast on Python 3.9 as on later versions.

Before Python 3.10, `subprocess` forks first, and the process that runs the tests is so large that this takes
several times as long as git does. Hooks and commands in their own processes use the unchanged Python.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import Any, Optional

_ENV = b"/usr/bin/env"
_OF_THE_SYSTEM = (b"/bin/", b"/usr/", os.fsencode(os.path.dirname(sys.executable)))
_real = getattr(subprocess.Popen, "_execute_child")  # noqa: B009


def spawn_where_python_forks() -> None:
    if sys.version_info < (3, 10) and sys.platform == "linux":
        subprocess.Popen._execute_child = _execute_child  # type: ignore[attr-defined]


def _execute_child(self: Any, args: Any, executable: Any, preexec_fn: Any, close_fds: bool, pass_fds: Any,
                   cwd: Any, env: Any, startupinfo: Any, creationflags: Any, shell: bool, *more: Any) -> None:
    """Use `posix_spawn` if possible. All other files are closed on exec anyway."""
    *pipes, restore_signals = more[:7]
    plain = not (preexec_fn or pass_fds or shell or executable) and more[7:] == _NOTHING_MORE
    words = _words(args, cwd, env) if plain and not any(0 <= fd <= 2 for fd in pipes) else None
    if words:
        self._posix_spawn(words[1:], words[0], env, restore_signals, *pipes)
    else:
        _real(self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo, creationflags,
              shell, *more)


_NOTHING_MORE = (None, None, None, -1, False)  # group, groups, user, umask, new session


def _words(args: Any, cwd: Any, env: Any) -> Optional[list[Any]]:
    """The program, then its arguments, beginning with its name. None if Python must start it, and report
    errors."""
    if isinstance(args, (str, bytes, os.PathLike)) or not args:
        return None
    words = [os.fsencode(arg) for arg in args]
    name = words[0]
    path = (os.environ if env is None else env).get("PATH")
    found = name if b"/" in name else path and shutil.which(name, path=os.fsencode(path))
    if not found or not found.startswith(_OF_THE_SYSTEM) or not os.access(found, os.X_OK):
        return None
    if cwd is None:
        return [found, *words]
    there = os.path.isdir(cwd) and b"=" not in name
    return [_ENV, b"env", b"-C", os.fsencode(cwd), *words] if there else None
