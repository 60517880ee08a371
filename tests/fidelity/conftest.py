"""Commands run in this process: what comes back is the same, and a test gives a dozen of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.conftest import InProcess, cli  # noqa: F401 - the fixture
from rewind_cli import Result


class Sound(InProcess):
    """As with a real process, no command may end as a bug."""

    def run(self, *args: Any, **more: Any) -> Result:
        result = super().run(*args, **more)
        assert result.code != 70, (args, result)
        return result


@pytest.fixture
def rewind(cli: InProcess, project: Path, home: Path, capsys: pytest.CaptureFixture[str],  # noqa: F811
           monkeypatch: pytest.MonkeyPatch) -> Sound:
    return Sound(project, home, capsys, monkeypatch)
