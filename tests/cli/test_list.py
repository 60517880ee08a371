"""`rewind list`."""

from __future__ import annotations

from rewind_cli import Rewind


def test_list_shows_the_newest_first_with_numbers(two: Rewind) -> None:
    lines = two.ok("list").out.splitlines()
    assert [line.split()[0] for line in lines] == ["1", "2"]
    assert "two" in lines[0] and "First checkpoint" in lines[1]


def test_list_as_json_has_the_fields_of_the_contract(two: Rewind) -> None:
    newest, oldest = two.json("list")["checkpoints"]
    assert {"name", "createdAt", "kind", "description", "trigger", "hasTranscript",
            "sessionId"} <= set(newest)
    assert (newest["kind"], oldest["kind"]) == ("manual", "initial")


def test_list_shows_backups_only_when_asked(two: Rewind) -> None:
    two.ok("restore", "prev")
    assert len(two.names()) == 2
    assert len(two.names(backups=True)) == 3
    assert "backup" in two.ok("list", "--all").out


def test_list_of_another_session_is_empty(two: Rewind) -> None:
    assert two.json("list", "--session", "none")["checkpoints"] == []
    assert "no checkpoints" in two.ok("list", "--session", "none").out


def test_list_escapes_control_characters(two: Rewind) -> None:
    two.ok("save", "evil \x1b[2J\nsecond line")
    assert "\x1b" not in two.ok("list").out
    assert len(two.ok("list").out.splitlines()) == 3
