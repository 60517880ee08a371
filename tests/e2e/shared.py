"""Shares recordings between the workers of a run."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Callable

import pytest
from conversation import Recording
from stage import Stage


def recorded_once(places: pytest.TempPathFactory, name: str,
                  record: Callable[[Path], Sequence[Recording]]) -> list[Recording]:
    """The recordings that `record` makes in its own directory. The first worker makes them; the others wait.

    Tests copy a recording before they continue it, so that the shared one does not change.
    """
    top = places.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        top = top.parent
    folder = top / f"recorded-{name}"
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / "recordings.json"
        if not done.exists():
            _make(folder, done, record)
    return [Recording(Stage(Path(home), Path(project)), session, told)
            for home, project, session, told in json.loads(done.read_text())]


def _make(folder: Path, done: Path, record: Callable[[Path], Sequence[Recording]]) -> None:
    """Each try has its own directory, because a failed one leaves files behind."""
    tries = len(list(folder.parent.glob(f"{folder.name}-*")))
    place = folder.with_name(f"{folder.name}-{tries}")
    place.mkdir()
    found = [[str(one.stage.home), str(one.stage.project), one.session, one.told] for one in record(place)]
    folder.mkdir()
    part = done.with_suffix(".part")
    part.write_text(json.dumps(found))
    part.replace(done)
