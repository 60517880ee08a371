"""Which builds of a project would include its `.agent/`. Most packers respect the `.gitignore` in it, or
include only what they are told. `docs/places.md` says which ones, and how that was found out."""

from __future__ import annotations

import os
from collections.abc import Iterator

_MAX_BYTES = 1 << 20


def unprotected_builds(root: str) -> Iterator[tuple[str, str]]:
    """(the build, the file in which a line would prevent it)"""
    uses_hatchling = "hatchling" in _text(root, "pyproject.toml")
    if uses_hatchling and not _names_agent(root, ".gitignore", "pyproject.toml"):
        yield "hatchling", ".gitignore"
    if _has_dockerfile(root) and not _names_agent(root, ".dockerignore"):
        yield "docker build", ".dockerignore"


def _has_dockerfile(root: str) -> bool:
    try:
        return any(name.startswith(("Dockerfile", "Containerfile")) for name in os.listdir(root))
    except OSError:
        return False


def _names_agent(root: str, *files: str) -> bool:
    """Whether a line names `.agent` or leaves everything out, which is good enough for a warning."""
    lines = [line.strip() for file in files for line in _text(root, file).splitlines()]
    return any(".agent" in line or line in ("*", ".*", "**/.*") for line in lines)


def _text(root: str, name: str) -> str:
    try:
        with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
            return file.read(_MAX_BYTES)
    except OSError:
        return ""
