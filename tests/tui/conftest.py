"""Without textual, the terminal UI cannot be tested. `test_installed.py` reports that."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from cli.conftest import cli  # noqa: F401 - a fixture for the tests here, too

collect_ignore: list[str] = []
if importlib.util.find_spec("textual") is None:
    here = Path(__file__).parent
    collect_ignore = [test.name for test in here.glob("test_*.py") if test.name != "test_installed.py"]
