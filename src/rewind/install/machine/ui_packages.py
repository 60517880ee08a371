"""The packages of the terminal and web interfaces, in a virtual environment that nothing else uses."""

from __future__ import annotations

import os
import subprocess
import sys

from rewind.install.machine.system import System

# The extra `ui` of pyproject.toml; an installed copy has no such file.
PACKAGES = ("textual>=6", "starlette>=0.37", "uvicorn>=0.29", "websockets>=12", "markdown-it-py>=2.2",
            "pygments>=2.13")


def add_packages(system: System, python: str) -> str:
    """Make the environment and install the packages. Returns what went wrong, or an empty text."""
    # --clear: an environment of another Python, or an unfinished one, is of no use.
    problem = _run([python, "-m", "venv", "--clear", system.venv])
    inner = os.path.join(system.venv, "bin", "python")
    return problem or _run([inner, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                            *PACKAGES])


def fits(system: System) -> bool:
    """Whether the environment, if there is one, belongs to the Python that runs this."""
    return not os.path.isdir(system.venv) or os.path.isdir(packages_folder(system))


def packages_folder(system: System) -> str:
    return os.path.join(system.venv, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}",
                        "site-packages")


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, check=False)
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    if done.returncode == 0:
        return ""
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    said = next((line for line in reversed(lines) if line.lower().startswith("error")), lines[-1:])
    return said if isinstance(said, str) else "".join(said) or f"exit status {done.returncode}"
