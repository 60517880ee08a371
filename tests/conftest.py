"""A home and a project for every test, and nothing of the person who runs them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("rewind_cli", "hook_scene", "scene", "kill_driver")

from rewind_cli import Rewind, as_ordinary_user, clean_env  # noqa: E402


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty HOME, also for code under test that runs in this process."""
    home = tmp_path / "home"
    home.mkdir()
    wanted = clean_env(home)
    for key in set(os.environ) - set(wanted):
        monkeypatch.delenv(key)
    for key, value in wanted.items():
        monkeypatch.setenv(key, value)
    return home


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "project"
    folder.mkdir()
    yield folder
    for at, dirs, _ in os.walk(folder):  # pytest cannot remove what a read-only directory holds
        for name in dirs:
            if not os.path.islink(os.path.join(at, name)):
                os.chmod(os.path.join(at, name), 0o700)
    shutil.rmtree(folder)


@pytest.fixture
def rewind(project: Path, home: Path) -> Rewind:
    return Rewind(project, home)


@pytest.fixture
def user() -> Iterator[Rewind]:
    """Rewind under a user who is not root, in a project of their own."""
    with as_ordinary_user() as rewind:
        if rewind is None:
            pytest.skip("no Python here that a user other than root can run")
        yield rewind
