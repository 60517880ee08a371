"""What comes after a kill runs in this process: only what is killed has to be one of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Callable, Optional

import pytest

from cli.conftest import InProcess, cli  # noqa: F401 - the fixture
from rewind_cli import Arg, Result, Rewind

Commands = Callable[[Path, Path], Rewind]


class Here(InProcess):
    """In a home of its own; as with a real process, no command may end as a bug."""

    def run(self, *args: Arg, env: Optional[Mapping[str, str]] = None, cwd: Optional[Path] = None,
            timeout: float = 120) -> Result:
        result = super().run(*args, env={**self.env, **(env or {})}, cwd=cwd, timeout=timeout)
        assert result.code >= 0 and result.code != 70, (args, result)
        return result


@pytest.fixture
def commands(cli: InProcess, project: Path, capsys: pytest.CaptureFixture[str],  # noqa: F811
             monkeypatch: pytest.MonkeyPatch) -> Commands:
    """Makes a `Rewind` for a project and a home."""
    project.rmdir()  # these tests make their own
    return lambda folder, home: Here(folder, home, capsys, monkeypatch)
