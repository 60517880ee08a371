"""Describes the machine of a measurement in general words, without the name of a person or a host."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Any

from bench.peers.git import git_version
from bench.spawn import Spawner


def describe(spawner: Spawner, python: str, where: Path) -> dict[str, Any]:
    code = "import platform; print(platform.python_version())"
    release = re.match(r"\d+\.\d+", platform.release())
    return {
        "system": f"{platform.system()} {release[0] if release else ''}".strip(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "memory_gb": _memory_gb(),
        "disk": _disk(where),
        "python": spawner.output([python, "-I", "-S", "-c", code]).decode().strip(),
        "git": git_version(spawner),
    }


def sentence(machine: dict[str, Any]) -> str:
    memory = f", {machine['memory_gb']} GB of memory" if machine["memory_gb"] else ""
    return (
        f"{machine['system']} on {machine['processor']}, {machine['cores']} cores{memory}, "
        f"{machine['disk']}; Python {machine['python']}, git {machine['git']}"
    )


def _memory_gb() -> int | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    except (OSError, ValueError):
        return None


def _disk(where: Path) -> str:
    """The file system and the kind of disk below it. Linux only."""
    try:
        device = os.stat(where).st_dev
        number = f"{os.major(device)}:{os.minor(device)}"
        kind = next(line.split(" - ", 1)[1].split()[0] for line in _mounts() if line.split()[2] == number)
        return f"{kind} on {_medium(number)}"
    except (OSError, StopIteration):
        return "a disk of unknown kind"


def _mounts() -> list[str]:
    return Path("/proc/self/mountinfo").read_text().splitlines()


def _medium(number: str) -> str:
    block = Path(f"/sys/dev/block/{number}").resolve()
    for folder in (block, block.parent):  # a partition uses the queue of its disk
        switch = folder / "queue" / "rotational"
        if switch.exists():
            if block.name.startswith("vd") or block.parent.name.startswith("vd"):
                return "a virtual disk"
            return "a spinning disk" if switch.read_text().strip() == "1" else "a solid-state disk"
    return "no disk of its own"
