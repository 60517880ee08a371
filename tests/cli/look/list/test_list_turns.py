"""`rewind list` by turns, as a person sees it: the afternoon of `map_scene` at every width."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from chat_scene import client_is_running
from cli.conftest import InProcess
from cli.graph_cases import CASES
from cli.test_main import on_terminal
from map_scene import Story, afternoon, set_clock
from rewind.graph import lanes

SNAPSHOTS = Path(__file__).parent / "snapshots"
RENEW = bool(os.environ.get("REWIND_RENEW_SNAPSHOTS"))  # before a test has its own environment


@pytest.fixture
def story(cli: InProcess) -> Story:
    return afternoon(cli)


def shown(story: Story, columns: int, *args: str, **env: str) -> list[str]:
    more = {"NO_COLOR": "1", "COLUMNS": str(columns), **env}
    controller = story.controller()
    controller.add_map_facts(controller.turn_map(backups=True), 60)  # on a slow machine rows would be left
    return on_terminal(story.cli, "list", *args, **more).splitlines()


def columns_of(story: Story, *args: str) -> list[list[str]]:
    """number, graph, turn, age, text, changes, mark, session, name"""
    controller = story.controller()
    controller.add_map_facts(controller.turn_map(backups=True), 60)
    return [line.split("\t") for line in story.cli.ok("list", *args).out.splitlines()]


# the picture

@pytest.mark.parametrize("colour", ["plain", "colour"])
@pytest.mark.parametrize("columns", [80, 100, 120, 200])
def test_the_list_looks_as_it_did_when_somebody_looked_at_it(story: Story, columns: int, colour: str) -> None:
    """REWIND_RENEW_SNAPSHOTS=1 writes them anew; look at the difference."""
    set_clock(story.cli, time.time() - 20)
    plain = {"NO_COLOR": "1" if colour == "plain" else ""}
    text = "\n".join(_without_chance(line) for line in shown(story, columns, **plain)) + "\n"
    path = SNAPSHOTS / f"list-{columns}-{colour}.txt"
    if RENEW:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def _without_chance(line: str) -> str:
    line = re.sub(r"\d{8}_\d{6}_\d{3}", "20261116_000000_001", line)
    line = re.sub(r"(?<![0-9a-f])(?!00005e55)[0-9a-f]{8}(?![0-9a-f_])", "........", line)
    return re.sub(r"(?<!\d)[23]\d s\b", "20 s", line)


def test_no_line_is_longer_than_the_terminal_and_the_prompt_grows_with_it(story: Story) -> None:
    longest = 0
    for columns in (60, 80, 81, 100, 120, 140, 160, 180, 200, 250):
        lines = shown(story, columns)
        assert max(map(len, lines)) < columns
        prompt = next(line for line in lines if "Add a health" in line)
        length = len(prompt[prompt.index("Add a"):].split("  ")[0])
        assert length >= longest, columns
        longest = length


def test_an_operation_is_not_cut_where_there_is_room(cli: InProcess) -> None:
    story = Story(cli)
    story.turn("A", a="1")
    long = "Please clean up the repository and remove whatever looks unused to you"
    story.turn(long, b="1")
    cli.ok("back", "1", "--both", "--session", story.session)
    assert any(line.endswith(f'↶ went back to before "{long}"') for line in shown(story, 120))


# what it says

def test_each_turn_is_a_row_with_its_prompt_and_what_it_changed(story: Story) -> None:
    rows = {row[4]: row for row in columns_of(story)}
    number, _, turn, _, _, changes, _, session, name = rows["Use plain dictionaries for the settings instead"]
    assert (turn, changes, session) == ("t2", "+8 −30 in 1 file", story.session[:8])
    assert story.cli.json("show", number)["name"] == name


def test_going_to_the_number_of_a_turn_goes_to_before_it(story: Story) -> None:
    number = next(row[0] for row in columns_of(story) if row[4] == "Please clean up the repository")
    story.cli.ok("restore", number, "--code-only")
    assert (story.cli.project / "src").is_dir()


@pytest.mark.parametrize("rotten", ["{", "1, 2", ""])
def test_a_summary_that_is_rotten_is_counted_again(story: Story, rotten: str) -> None:
    before = columns_of(story)
    derived = story.controller().state.derived
    (trees,) = derived.query("SELECT trees FROM turn_changes LIMIT 1")[0]
    derived.write([("UPDATE turn_changes SET summary=? WHERE trees=?", [(rotten, trees)])])
    again = columns_of(story)
    assert [row[4:6] for row in again] == [row[4:6] for row in before]


def test_a_large_deletion_is_marked(story: Story) -> None:
    marked = [row[4] for row in columns_of(story) if row[5].startswith("!")]
    assert marked == ["Please clean up the repository"]


def test_an_edit_by_hand_is_a_row_of_its_own_and_charged_to_nobody(story: Story) -> None:
    rows = columns_of(story)
    at = next(i for i, row in enumerate(rows) if row[4] == "✎ you changed README.md")
    assert rows[at][5] == "+2 in 1 file" and rows[at][0] == ""
    assert rows[at + 1][5] == "+12 in 1 file" and rows[at - 1][5] == "+30 in 1 file"


def test_an_edit_after_the_last_turn_is_not_the_turns(story: Story) -> None:
    def told(row: list[str]) -> list[str]:
        return [*row[:3], *row[4:6]]  # without its age

    before = columns_of(story)[1]
    story.write(later="by hand")
    story.cli.save("later")
    assert told(columns_of(story)[2]) == told(before)


def test_a_prompt_that_the_client_rewound_is_marked(story: Story) -> None:
    rewound = [row[4] for row in columns_of(story) if row[6] == "(rewound)"]
    assert rewound == ["Use dataclasses for the settings"]


def test_operations_and_manual_checkpoints_and_imports_have_rows(story: Story) -> None:
    texts = [row[4] for row in columns_of(story)]
    assert texts[0] == "◆ imported: First checkpoint" and "◆ before the clean-up" in texts
    assert '↶ went back to before "Please clean up the repository"' in texts


def test_here_moves_with_what_the_project_stands_on(story: Story) -> None:
    def here() -> list[str]:
        return [row[4] for row in columns_of(story) if row[6] == "◀ here"]

    assert here() == ["Remove unused imports only; do not delete anything"]
    story.cli.ok("restore", "t1+", "--code-only")
    assert len(here()) == 1 and here()[0].startswith("Add a health check")
    story.cli.ok("restore", "t2", "--code-only")
    assert here() == ["Use dataclasses for the settings"], "before turn 2 is where the turn before it ended"


def test_branches_are_drawn_where_they_left_each_other(story: Story) -> None:
    graph = {row[4]: row[1] for row in columns_of(story)}
    assert graph["Please clean up the repository"] == "│ ●" and graph["◆ before the clean-up"] == "●─╯"


def test_without_branches_there_is_no_graph(cli: InProcess) -> None:
    story = Story(cli)
    story.turn("one", a="1")
    story.turn("two", a="2")
    assert {row[1] for row in columns_of(story)} == {""}


def test_a_pipe_gets_the_same_columns_and_nothing_is_cut(story: Story) -> None:
    text = "word " * 38
    story.turn(text, z="z")
    rows = columns_of(story)
    assert all(len(row) == 9 for row in rows)
    assert text.strip() in [row[4] for row in rows]


def test_a_list_of_one_session_has_the_same_numbers(story: Story) -> None:
    numbers = {row[8]: row[0] for row in columns_of(story) if row[0]}
    some = columns_of(story, "--session", story.session)
    assert len(some) == 6 and all(numbers[row[8]] == row[0] for row in some if row[0])


def test_a_list_of_a_path_has_what_changed_it_with_the_same_numbers(story: Story) -> None:
    numbers = {row[8]: row[0] for row in columns_of(story) if row[0]}
    done = story.cli.ok("list", "--", "settings.txt")
    rows = [line.split("\t") for line in done.out.splitlines()]
    assert [row[4] for row in rows] == ["Use plain dictionaries for the settings instead",
                                        "Use dataclasses for the settings"]
    assert all(numbers[row[8]] == row[0] for row in rows)
    lines = story.cli.ok("list", "--checkpoints", "--", "README.md").out.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["13", "4", "1"]
    assert "No turn" in story.cli.ok("list", "--", "no-such-file").out


def test_json_has_checkpoints_turns_edits_and_here(story: Story) -> None:
    columns_of(story)  # counted once, it is remembered
    found: dict[str, Any] = story.cli.json("list")
    newest = found["checkpoints"][0]
    assert (newest["number"], newest["parent"], newest["place"]) == (13, None, "main")
    assert found["here"] == found["checkpoints"][1]["name"] == found["turns"][0]["after"]
    turn = found["turns"][1]
    assert (turn["prompt"], turn["turn"], turn["number"]) == ("Please clean up the repository", 3, 9)
    assert turn["changes"] == {"added": 0, "removed": 240, "files": 12, "counted": True,
                               "largeDeletion": True}
    assert [turn["abandoned"] for turn in found["turns"]] == [False, False, False, True, False]
    assert found["edits"][0]["changes"]["added"] == 2
    assert found["checkpoints"] == story.cli.json("list", "--checkpoints")["checkpoints"]


def test_a_turn_that_is_not_over_says_so(cli: InProcess) -> None:
    story = Story(cli)
    story.turn("still at it", end=False)
    recorded = {"session_id": story.session, "agent": "claude", "running": True,
                "transcript_path": str(story.path)}
    (story.cli.state / "session.json").write_text(json.dumps(recorded))
    client = client_is_running(cli.home, story.session, status="busy")
    assert columns_of(story)[0][5] == "running"
    story.save("PreToolUse", tool="Edit")
    assert columns_of(story)[0][5] == "running" and "is still running" in cli.ok("show", "t1").out
    client_is_running(cli.home, story.session, status="idle")  # Esc: no hook hears of it
    assert columns_of(story)[0][5] == "unfinished" and "did not finish" in cli.ok("show", "t1").out
    client.unlink()  # it was killed
    assert columns_of(story)[0][5] == "unfinished"


def test_an_interrupted_turn_is_charged_with_what_came_until_the_next_prompt(cli: InProcess) -> None:
    story = Story(cli)
    story.turn("stopped by Esc", end=False, a="half\n")
    story.turn("next", b="1\n")
    rows = [(row[4], row[5]) for row in columns_of(story)[:2]]
    assert rows == [("next", "+1 in 1 file"), ("stopped by Esc", "+1 in 1 file")]


def test_a_prompt_typed_while_a_turn_runs_is_not_a_turn_of_its_own(cli: InProcess) -> None:
    story = Story(cli)
    story.save("UserPromptSubmit", promptId="p1", promptText="one")
    story.save("UserPromptSubmit", promptId="p1", promptText="typed meanwhile")
    story.do("one", a="1\n")
    story.save("Stop", promptId="p1")
    assert [row[4] for row in columns_of(story)] == ["one", "◆ First checkpoint"]


def test_a_prompt_cannot_steer_the_terminal_or_break_the_columns(cli: InProcess) -> None:
    story = Story(cli)
    story.turn("a\tb\nc \x1b[2J", a="1")
    row = columns_of(story)[0]
    assert len(row) == 9 and row[4] == "a b c \\x1b[2J"


def test_wide_characters_keep_the_columns(cli: InProcess) -> None:
    story = Story(cli)
    story.turn("修复登录页面的错误并添加测试用例以及文档说明请尽快完成谢谢修复登录页面的错误", a="1\n")
    story.turn("plain", b="1\n")
    wide, plain = shown(story, 60)[1], shown(story, 60)[0]
    assert len(plain[:plain.index("+1")]) > len(wide[:wide.index("+1")]) and "…" in wide


@pytest.mark.parametrize("rows, picture", CASES)
def test_the_graph(rows: list[Any], picture: list[str]) -> None:
    assert [line.rstrip() for line in lanes(rows)] == picture


def test_what_a_revert_wrote_is_not_called_yours(story: Story) -> None:
    story.cli.ok("revert", "t1")
    texts = [row[4] for row in columns_of(story)]
    assert texts[0].startswith("↶ reverted turn 1") and texts[1].startswith("◆ Reverted turn 1"), texts[:3]
