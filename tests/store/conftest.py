"""Every test of a store leaves nothing open."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def no_leftovers() -> Iterator[None]:
    """A connection that nobody closed is found here, not in whatever test comes next."""
    yield
    gc.collect()
