"""Says it when the page cannot be tested here."""

from __future__ import annotations

import pytest


def test_the_browser_and_its_driver_are_here(needs: str) -> None:
    if needs:
        pytest.skip(f"SKIPPED: the page was NOT tested in a browser, for there is no {needs} here")
