"""A protected project with an agent, for every test of the hooks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from hook_scene import Hooks
from queue_scene import Scene
from rewind_cli import Rewind


@pytest.fixture
def bare(project: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hooks]:
    """An agent in a directory without Rewind."""
    # A hook has one thread; a test runner may have more.
    warnings.filterwarnings("ignore", ".*multi-threaded, use of fork", DeprecationWarning)
    (project / "a.txt").write_text("a\n")
    yield Hooks(project, home, monkeypatch)


@pytest.fixture
def hooks(bare: Hooks) -> Hooks:
    """An agent in a protected project, with the default tier."""
    return bare.protect()


@pytest.fixture
def scene(rewind: Rewind, tmp_path: Path) -> Iterator[Scene]:
    """Hooks of one work tree that wait for each other."""
    scene = Scene(rewind, tmp_path)
    yield scene
    scene.end()
