"""A home and a project for every test, independent of the settings of the person who runs it."""

from __future__ import annotations

import errno
import gc
import itertools
import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Optional

import hypothesis
import pytest

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A shell ignores SIGINT in what it starts in the background, and every process of a test would inherit
    # that.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Collected tests are kept until the end, so searching them for garbage is useless.
gc.disable()

pytest.register_assert_rewrite("rewind_cli", "hook_scene", "scene", "kill_driver")

import on_disk  # noqa: E402
import other_pythons  # noqa: E402
from compiled_once import copy_program, stage_library  # noqa: E402
from read_once import read_once  # noqa: E402
from rewind_cli import Rewind, as_ordinary_user, clean_env  # noqa: E402
from spawned import spawn_where_python_forks  # noqa: E402

# The speed at which a machine makes examples is not tested.
hypothesis.settings.register_profile("patient", deadline=None, max_examples=other_pythons.examples(100),
                                     suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("patient")

read_once()
spawn_where_python_forks()

_HERE = Path(__file__).parent


def pytest_ignore_collect(collection_path: Path) -> Optional[bool]:
    return other_pythons.is_left_out(os.path.relpath(collection_path, _HERE)) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put slow tests first, so that at the end no worker is the only one that still runs."""
    slow = [item for item in items if other_pythons.is_too_slow(
        os.path.relpath(item.path, _HERE), item.get_closest_marker("slow") is not None)]
    if slow:
        config.hook.pytest_deselected(items=slow)
        left_out = set(slow)
        items[:] = [item for item in items if item not in left_out]
    marks = ("longest", "slow")
    items.sort(key=lambda item: next((at for at, mark in enumerate(marks) if item.get_closest_marker(mark)),
                                     len(marks)))


def pytest_collection_finish() -> None:
    """Exclude nine thousand tests and all modules from garbage collection. A test that collects then takes
    milliseconds instead of half a second. Other collections are made less often than usual, because they took
    a twentieth of all processor time."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome = yield
    item.stash[_FAILED] = item.stash.get(_FAILED, False) or outcome.get_result().failed  # type: ignore[attr-defined]


_numbers = itertools.count()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The test's own directory, on a disk for tests about files. It replaces pytest's fixture, which in
    version 8 lists all earlier directories before it makes another."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    disk = on_disk.disk_for(os.path.relpath(request.path, _HERE))
    if disk:
        yield Path(tempfile.mkdtemp(prefix=f"{name}-", dir=disk))
        return
    folder = tmp_path_factory.getbasetemp() / f"{name}-{next(_numbers)}"
    folder.mkdir(0o700)
    yield folder
    if not request.node.stash.get(_FAILED, False):
        on_disk.passed(folder)


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
    # Code in this process is not tested for power cuts. Tests about them start processes and trace them.
    monkeypatch.setattr(os, "fsync", lambda fd: None)
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
    _remove(folder)


def _remove(folder: Path) -> None:
    """A detached process that collects or packs may still run and remove files itself."""
    for patience in range(100, -1, -1):
        if not folder.exists():
            return  # the test removed it
        try:
            shutil.rmtree(folder)
            return
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTEMPTY) or not patience:
                raise
            time.sleep(0.05)


@pytest.fixture
def rewind(project: Path, home: Path) -> Rewind:
    return Rewind(project, home)


@pytest.fixture(scope="session")
def program_copy() -> Iterator[Path]:
    """The command in a compiled copy of the program that every user can read."""
    top = Path(tempfile.mkdtemp(prefix="rewind-test-")).resolve()
    yield copy_program(top)
    shutil.rmtree(top)


@pytest.fixture(scope="session")
def ready_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library for `preinstall_library`."""
    return stage_library(tmp_path_factory.mktemp("library"))


@pytest.fixture
def user(program_copy: Path) -> Iterator[Rewind]:
    """Rewind run by a user who is not root, in this user's own project."""
    with as_ordinary_user(program_copy) as rewind:
        if rewind is None:
            pytest.skip("no Python here that a user other than root can run")
        yield rewind
