"""Where textual is not installed there is no terminal UI to be tested; `test_installed.py` says so."""

from __future__ import annotations

import importlib.util

from cli.conftest import cli  # noqa: F401 - a fixture for the tests here, too

collect_ignore: list[str] = []
if importlib.util.find_spec("textual") is None:
    collect_ignore = ["picture_of.py", "scene_tui.py", "test_app.py", "test_flows.py", "test_forks_screen.py",
                      "test_rows.py", "test_snapshots.py"]
