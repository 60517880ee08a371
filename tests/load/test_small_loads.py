"""Each load at a small size, so that `scripts/torture load` works when it is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from load.load_rows import ROWS

pytestmark = pytest.mark.slow

SCALES = {
    "processes": 0.01,
    "checkpoints": 0.003,
    "files": 0.002,
    "transcript": 0.0005,
    "forks": 0.02,
    "hook": 0.02,
}


@pytest.mark.parametrize("name", ROWS)
def test_a_small_load_is_borne(name: str, tmp_path: Path) -> None:
    rows = ROWS[name](tmp_path, SCALES[name])
    # Ratios of times mean nothing at this size, and tests assert none.
    assert rows and [row for row in rows if not row.good and not row.bound.endswith("times")] == []
