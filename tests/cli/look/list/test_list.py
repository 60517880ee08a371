"""`rewind list`."""

from __future__ import annotations

import pytest

from chat_scene import Scene
from cli.conftest import InProcess
from cli.test_main import on_terminal
from rewind_cli import Rewind


def test_list_shows_the_newest_first_with_numbers_that_stay(two: Rewind) -> None:
    for args in ([], ["--checkpoints"]):
        lines = two.ok("list", *args).out.splitlines()
        assert [line.split()[0] for line in lines] == ["2", "1"]
    three = two.json("save", "three")["checkpoint"]
    lines = two.ok("list").out.splitlines()
    assert [line.split()[0] for line in lines] == ["3", "2", "1"] and lines[0].endswith(three)
    lines = lines[1:]
    assert "two" in lines[0] and "First checkpoint" in lines[1]


def test_list_as_json_has_the_fields_of_the_contract(two: Rewind) -> None:
    newest, oldest = two.json("list")["checkpoints"]
    assert {"name", "createdAt", "kind", "description", "trigger", "hasTranscript",
            "sessionId"} <= set(newest)
    assert (newest["kind"], oldest["kind"]) == ("manual", "initial")


def test_list_shows_backups_only_when_asked(two: Rewind) -> None:
    (two.project / "new.txt").write_text("unsaved")
    two.ok("restore", "prev")
    assert len(two.names()) == 2
    assert len(two.names(backups=True)) == 3
    assert "backup" in two.ok("list", "--all", "--checkpoints").out
    assert "◇" in two.ok("list", "--all").out and "◇" not in two.ok("list").out


def test_list_of_another_session_is_empty(two: Rewind) -> None:
    assert two.json("list", "--session", "none")["checkpoints"] == []
    assert "no checkpoints" in two.ok("list", "--session", "none").out


def test_list_escapes_control_characters(two: Rewind) -> None:
    two.ok("save", "evil \x1b[2J\nsecond line")
    assert "\x1b" not in two.ok("list").out
    assert len(two.ok("list").out.splitlines()) == 3


def test_list_without_any_says_what_to_do(two: Rewind) -> None:
    assert "rewind sessions list" in two.ok("list", "--session", "none").err


def test_list_says_what_a_checkpoint_was_made_for(cli: InProcess) -> None:
    scene = Scene(cli)
    scene.say("write a")
    scene.save("UserPromptSubmit", promptText="write a")
    scene.save("PreToolUse", tool="Edit")
    scene.save("Stop")
    lines = cli.ok("list", "--checkpoints").out.splitlines()
    assert [line.split("\t")[3] for line in lines] == ["turn end", "Edit", "prompt", "initial"]
    assert [line.split("\t")[4] for line in lines] == ["chat", "chat", "chat", ""]


# on a terminal

@pytest.fixture
def three(rewind: Rewind) -> Rewind:
    (rewind.project / "a.txt").write_text("one\ntwo\n")
    rewind.init()
    (rewind.project / "a.txt").write_text("one\n2\n3\n")
    (rewind.project / "b.bin").write_bytes(b"\0")
    rewind.save("a description that is so long that it fits on no line of a terminal " * 3)
    rewind.save("nothing new")
    return rewind


def shown(rewind: Rewind, columns: int, *args: str) -> list[str]:
    args = ("--checkpoints", *args)
    return on_terminal(rewind, "list", *args, NO_COLOR="1", COLUMNS=str(columns)).splitlines()


def test_a_terminal_gets_what_changed(three: Rewind) -> None:
    newest, middle, first = shown(three, 130)
    assert "  unchanged  " in newest and "  +2 −1 in 2 files  " in middle and "lines" not in first
    assert len({line.index("new  ") for line in (newest, middle, first)}) == 1, "columns are aligned"
    assert "  +2 −1 in 2 files  " in shown(three, 130)[1], "the same when it is remembered"


def test_where_lines_are_counted_in_some_files_only_that_is_said(three: Rewind) -> None:
    for number in range(250):
        (three.project / f"many-{number}").write_text("one\n")
    name = three.save("many")
    assert "  at least +200 in 250 files  " in shown(three, 130)[0]
    told = "250 added, 0 modified, 0 deleted (at least +200 lines; counted in 200 of 250 files)"
    assert told in three.ok("show", name).out
    for number in range(250):
        (three.project / f"many-{number}").write_bytes(b"\0")
    three.save("binary")
    assert "  250 files, lines not counted  " in shown(three, 130)[0], "nobody looked at the last fifty"


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 160])
def test_a_line_fits_on_the_terminal_where_there_is_room_for_names(three: Rewind, columns: int) -> None:
    lines = shown(three, columns)
    assert len(lines) == 3 and all(name in line for name, line in zip(three.names(), lines))
    if columns >= 60:
        assert max(map(len, lines)) < columns


def test_backups_have_their_number_as_well(three: Rewind) -> None:
    (three.project / "unsaved").write_text("work")
    three.ok("restore", "1")
    lines = shown(three, 120, "--all")
    assert lines[0].split()[:2] == ["↶", "restored"]
    assert "backup" in lines[1] and [line.split()[0] for line in lines[1:]] == ["4", "3", "2", "1"]
    assert three.json("show", "4")["kind"] == "backup"
