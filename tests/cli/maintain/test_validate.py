"""`rewind validate`."""

from __future__ import annotations

import pytest

from at_terminal import Terminal
from rewind_cli import Rewind, interrupt


@pytest.mark.parametrize("deep", [[], ["--deep"]])
def test_a_sound_store_is_ok(two: Rewind, deep: list[str]) -> None:
    assert two.ok("validate", *deep).out.startswith("ok: 2 checkpoints")
    answer = two.json("validate", *deep)
    assert answer["ok"] is True and answer["problems"] == []


def test_a_wrong_configuration_alone_is_exit_1_and_the_store_is_still_checked(two: Rewind) -> None:
    (two.state / "config.json").write_text('{"maxFileSizeMB": 5}')
    answer = two.json("validate", code=1)
    (problem,) = answer["problems"]
    assert answer["ok"] is False
    assert "config.json" in problem and "did you mean maxFileSizeMb?" in problem
    metadata = two.state / "checkpoints" / two_names(two)[0] / "metadata.json"
    metadata.write_text("{")
    answer = two.json("validate", code=20)
    assert len(answer["problems"]) >= 2


def two_names(rewind: Rewind) -> list[str]:
    """Also while the configuration is broken."""
    return sorted(path.name for path in (rewind.state / "checkpoints").iterdir())


def test_damage_is_exit_20_and_names_the_checkpoint(two: Rewind) -> None:
    name = two.names()[0]
    (two.state / "checkpoints" / name / "metadata.json").write_text("{")
    answer = two.json("validate", code=20)
    assert any(name in problem for problem in answer["problems"])
    done = two.run("validate")
    assert done.code == 20 and done.out.startswith("! ") and "problem" in done.err


def test_an_interrupted_restore_is_no_damage_but_has_to_be_settled(two: Rewind) -> None:
    two.ok("restore", "prev")
    interrupt(two.state)
    answer = two.json("validate", code=1)
    assert "undo-restore" in answer["problems"][0]


@pytest.mark.parametrize("answer", ["n", "y"])
def test_on_a_terminal_a_repair_says_what_it_would_do_and_asks(two: Rewind, answer: str) -> None:
    record = two.state / "checkpoints" / two.names()[0] / "metadata.json"
    record.write_text("{")
    terminal = Terminal(two, "validate", "--deep", "--repair")
    try:
        assert "would be repaired" in terminal.until("Repair this now?")
        assert record.read_text() == "{"
        terminal.say(answer)
        code, text = terminal.end()
    finally:
        terminal.close()
    assert (code, record.read_text() == "{") == ((20, True) if answer == "n" else (0, False)), text


def test_without_a_terminal_a_repair_needs_yes(two: Rewind) -> None:
    record = two.state / "checkpoints" / two.names()[0] / "metadata.json"
    record.write_text("{")
    for words in ((), ("--json",)):
        done = two.run("validate", "--deep", "--repair", *words)
        assert done.code == 2 and "Not a terminal. Pass --yes to confirm." in done.err
        assert record.read_text() == "{"
    two.json("validate", "--deep", "--repair", "--dry-run", code=20)
    two.ok("validate", "--deep", "--repair", "--yes")
    assert record.read_text() != "{"
