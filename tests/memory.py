"""The peak memory of the current process, for programs that a test starts."""

from __future__ import annotations

import resource
import sys


def peak_mb() -> int:
    try:
        # Not `ru_maxrss`, which a process inherits from its parent.
        with open("/proc/self/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) // 1024
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak // (1024 if sys.platform == "linux" else 1 << 20)
