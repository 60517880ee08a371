"""Commands after a kill run in this process. Only the command that is killed needs its own."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

import pytest

from cli.conftest import InProcess, cli  # noqa: F401 - the fixture
from rewind_cli import Rewind


@pytest.fixture
def commands(cli: InProcess, project: Path) -> Callable[[Path, Path], Rewind]:  # noqa: F811
    """Makes a `Rewind` for a project and a home."""
    project.rmdir()  # these tests make their own
    return cli.elsewhere
