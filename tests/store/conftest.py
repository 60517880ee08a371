"""Checks that no test of a store leaves a connection open."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def no_leftovers() -> Iterator[None]:
    """An open connection fails this test and not a later one."""
    yield
    gc.collect()
