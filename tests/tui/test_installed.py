"""Skipped aloud where there is no textual, so that nobody takes untested for tested."""

from __future__ import annotations

import importlib.util

import pytest


def test_the_terminal_ui_is_tested_here() -> None:
    if importlib.util.find_spec("textual") is None:
        pytest.skip("textual is not installed, so nothing of the terminal UI is tested")
