"""What one worker has recorded serves the other workers of the run, too."""

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
    """What `record` makes in a directory of its own, by whoever comes first; the others wait for it.

    Tests copy a recording before they go on with it, so that nobody changes what all have.
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
    """A directory for each try: one that failed, as its test says, leaves something behind."""
    tries = len(list(folder.parent.glob(f"{folder.name}-*")))
    place = folder.with_name(f"{folder.name}-{tries}")
    place.mkdir()
    found = [[str(one.stage.home), str(one.stage.project), one.session, one.told] for one in record(place)]
    folder.mkdir()
    part = done.with_suffix(".part")
    part.write_text(json.dumps(found))
    part.replace(done)
