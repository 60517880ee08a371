"""Makes the package `bench`, which is not installed, importable, and a workplace of tiny sizes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT))

from bench.command import quick_options  # noqa: E402
from bench.workplace import Options, Workplace, real_interpreter  # noqa: E402

from compiled_once import preinstall_library  # noqa: E402


@pytest.fixture
def options() -> Options:
    return replace(quick_options(real_interpreter(), CHECKOUT), rounds=1, settle=0.0)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: Options,
          ready_library: Path) -> Iterator[Workplace]:
    """With Rewind installed in it."""
    preinstall_library(ready_library, tmp_path / "home")
    monkeypatch.chdir(tmp_path)  # rows change the directory
    place = Workplace(tmp_path, options)
    with place.at_end:
        yield place
