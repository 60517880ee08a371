"""`rewind ops`: what Rewind did, and what can be done about it."""

from __future__ import annotations

import pytest

from chat_scene import Turns
from cli.conftest import InProcess


@pytest.fixture
def turns(cli: InProcess) -> Turns:
    scene = Turns(cli)
    for number in range(1, 4):
        scene.turn(f"task {number}", work=f"{number}")
    return scene


def test_one_operation_is_shown_with_what_it_left_and_how_to_undo_it(turns: Turns) -> None:
    back = turns.cli.json("back", "1", "--both")
    op = back["operation"]
    shown = dict(line.split(None, 1) for line in turns.cli.ok("ops", "show", op[:5]).out.splitlines()
                 if not line.startswith("to undo"))
    assert shown["operation"] == op and shown["session"] == back["fork"]["session_id"]
    assert shown["before"] in turns.cli.names() and shown["restored"] == back["checkpoint"]
    assert shown["state"].startswith("1 path written, fork ")
    assert f"rewind undo-restore {op}" in turns.cli.ok("ops", "show", op).out
    assert turns.cli.json("ops", "show", op) == turns.cli.json("ops")["operations"][0]


def test_what_is_undone_or_brought_back_in_part_says_so(turns: Turns) -> None:
    name = turns.records()[1].name
    path = next(turns.cli.project.glob("*work*")).name
    op = turns.cli.json("restore", name, "--", path)["operation"]
    shown = turns.cli.ok("ops", "show", op).out
    assert f"path         {path}" in shown and "to undo" in shown
    turns.cli.ok("undo-restore")
    shown = turns.cli.ok("ops", "show", op).out
    assert "; undone" in shown and "to undo" not in shown


def test_a_list_names_the_newest_and_how_many_are_older(turns: Turns,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewind.cli.go_back.ops._SHOWN", 2)
    for _ in range(2):
        turns.cli.ok("restore", "last~1", "--code-only")
        turns.cli.ok("undo-restore")
    out = turns.cli.ok("ops").out
    assert out.count("undid: ") == 1 and out.splitlines()[-1] == "2 older operations: rewind ops --all"
    assert turns.cli.ok("ops", "--all").out.count("undid: ") == 2


def test_an_operation_that_is_missing_or_too_much_is_explained(turns: Turns) -> None:
    assert "rewind ops" in turns.cli.fails_with_json(2, "ops", "show")["hint"]
    assert "rewind ops show x1" in turns.cli.fails_with_json(2, "ops", "list", "x1")["hint"]
