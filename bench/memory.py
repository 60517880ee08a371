"""The peak memory of a command, which the system reports when it ends (`wait4`)."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from bench.spawn import Spawner

# A process inherits the peak of its parent, so a process that is smaller than any Rewind must start the
# command. The process of a hook continues after the script that started it has ended, and is then adopted
# here (36 is PR_SET_CHILD_SUBREAPER).
_STARTER = """
import os, sys
if sys.platform == "linux":
    import ctypes
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
files = [(os.POSIX_SPAWN_OPEN, 0, sys.argv[1], os.O_RDONLY, 0),
         (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
_, status, usage = os.wait4(os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ, file_actions=files), 0)
peak = usage.ru_maxrss
try:
    while True:
        peak = max(peak, os.wait3(0)[2].ru_maxrss)
except ChildProcessError:
    print(peak)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def peak_bytes(spawner: Spawner, python: str, argv: Sequence[str], stdin: object = os.devnull) -> int:
    """The peak of the largest process among the command and its children."""
    peak = int(spawner.output([python, "-I", "-S", "-c", _STARTER, str(stdin), *argv]))
    return peak * (1 if sys.platform == "darwin" else 1024)
