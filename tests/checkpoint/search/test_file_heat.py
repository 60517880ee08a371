"""How often each file changed, also where a checkpoint is damaged."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from cli.conftest import InProcess, cli  # noqa: F401
from rewind.controller import Controller


@pytest.mark.parametrize(("damaged", "times"), [("newest", 2), ("second", 2), ("none", 3)])
def test_damaged_checkpoints_are_skipped(cli: InProcess, damaged: str, times: int) -> None:  # noqa: F811
    cli.init()
    for number in range(3):
        (cli.project / "file").write_text(f"{number}\n")
        cli.save(f"number {number}")
    newest, second, *_ = cli.names()
    with closing(Controller(str(cli.project))) as controller:
        tree = controller.find(second if damaged == "second" else newest).tree
    if damaged != "none":
        with closing(sqlite3.connect(cli.state / "objects.db", isolation_level=None)) as db:
            assert db.execute("DELETE FROM objects WHERE id=?", (tree,)).rowcount == 1
    with closing(Controller(str(cli.project))) as controller:
        heat = controller.heat(newest, patience=60)
    assert heat.complete and heat.times[b"file"] == times
