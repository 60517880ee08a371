"""One checkpoint by whatever a person types; and what was meant where that names nothing, or too much."""

from __future__ import annotations

import os
from typing import Any

import pytest

from cli import conftest as in_process
from cli.conftest import InProcess
from map_scene import Story
from rewind.checkpoint.select.turn_name import split_selector, turn_name
from rewind.errors import RewindError
from rewind_cli import Result

cli = in_process.cli  # the fixture


class Told(Story):
    def select(self, text: str) -> str:
        return self.controller().find(text).name

    def refused(self, text: str) -> RewindError:
        with pytest.raises(RewindError) as caught:
            self.controller().find(text)
        return caught.value


@pytest.fixture
def story(cli: InProcess) -> Told:
    return Told(cli)


@pytest.fixture
def told(story: Told) -> Any:
    """Three turns; `names` has the checkpoints before and after each."""
    story.names = [story.turn("Add a parser", a="1"), story.turn("Please clean up the repository", a="2"),
                   story.turn("Clean up the docs", a="3")]
    return story


def test_a_number_is_the_stored_one_and_stays(told: Any) -> None:
    for record in told.records():
        assert told.select(str(record.sequence)) == record.name
        assert told.select(f"{record.sequence:04d}") == record.name
    third = told.select("3")
    told.turn("More")
    assert told.select("3") == third


def test_last_prev_and_here(told: Any) -> None:
    assert told.select("last") == told.names[-1][1] and told.select("prev") == told.names[-1][0]
    assert told.select("@") == told.select("last")
    told.cli.ok("restore", told.names[0][1], "--code-only")
    assert told.select("@") == told.names[0][1] and told.select("last") == told.names[-1][1]


def test_tilde_follows_parents(told: Any) -> None:
    line = [name for pair in reversed(told.names) for name in reversed(pair)]
    assert [told.select(f"last~{n}") for n in range(len(line))] == line
    assert told.select("last~") == line[1]
    told.cli.ok("restore", told.names[0][1], "--code-only")
    told.write(a="another branch")
    told.cli.save("on another branch")
    assert told.select("@~1") == told.names[0][1]
    error = told.refused("last~99")
    assert error.exit_code == 12 and error.near[0][0] == "1"


@pytest.mark.parametrize("form", ["t{}", "turn:{}", "{{session}}:t{}", "{{session}}:turn:{}"])
def test_a_turn_is_before_it_and_with_a_plus_after_it(told: Any, form: str) -> None:
    for number, (before, after) in enumerate(told.names, 1):
        text = form.format(number).format(session=told.session[:8])
        assert told.select(text) == before and told.select(f"{text}+") == after


def test_what_a_person_changed_after_a_turn_is_not_the_turns(told: Any) -> None:
    told.write(mine="by hand")
    told.turn("Next")
    assert told.select("t3+") == told.names[2][1]


def test_an_unknown_turn_names_the_last_ones(told: Any) -> None:
    error = told.refused("t9")
    assert error.exit_code == 12
    assert error.near == [("t1", "Add a parser"), ("t2", "Please clean up the repository"),
                          ("t3", "Clean up the docs")]
    assert [near for near, _ in told.refused(f"{told.session[:8]}:t9+").near] == [
        f"{told.session[:8]}:t{n}+" for n in (1, 2, 3)]


def test_a_turn_that_runs_has_no_end(told: Any) -> None:
    told.talk.prompt("Not answered yet")
    told.flush()
    assert "has not ended" in told.refused("t4+").hint


def test_text_of_a_prompt_is_before_it(told: Any) -> None:
    assert told.select("clean up the repo") == told.names[1][0]
    assert told.select("PARSER") == told.names[0][0]


def test_a_text_that_several_say_is_ambiguous(told: Any) -> None:
    error = told.refused("clean up")
    assert error.exit_code == 12 and [near for near, _ in error.near] == ["t3", "t2"]


def test_the_whole_text_of_a_prompt_wins(story: Told) -> None:
    story.turn("go on")
    before, _ = story.turn("Go on with the tests")
    story.turn("something else")
    assert story.select("go on with the tests") == before
    assert story.select("go on") != before


def test_a_description_names_a_checkpoint(told: Any) -> None:
    name = told.cli.save("before the big refactoring")
    told.turn("Refactor")
    assert told.select("big refactoring") == name


def test_a_path_is_not_taken_for_text_of_a_prompt(told: Any) -> None:
    told.turn("Delete docs please")
    os.mkdir(told.cli.project / "docs")
    assert told.refused("docs").exit_code == 12


def test_a_time_is_the_checkpoint_that_the_project_stood_on(told: Any) -> None:
    assert told.select("0s") == told.names[-1][1]
    error = told.refused("9d")
    assert error.exit_code == 12 and error.near[0][0] == "1"
    told.cli.ok("restore", told.names[0][1], "--code-only")
    assert told.select("0s") == told.names[0][1]


def test_a_beginning_of_a_name_must_be_unique(told: Any) -> None:
    name = told.names[0][0]
    assert told.select(name) == name
    error = told.refused(name[:8])
    assert error.exit_code == 12 and len(error.near) == 3
    assert all(near.isdigit() for near, _ in error.near)


@pytest.mark.parametrize("text", ["99999", "777", "20200101_000000_001", "no prompt says this", "LAST", "lst",
                                  "@@", "~", "~1", "t", "tx", "٣", "nosuch:t1", "t99999999"])
def test_what_names_nothing_is_exit_12(told: Any, text: str) -> None:
    assert told.refused(text).exit_code == 12


def test_nothing_is_a_usage_error(told: Any) -> None:
    assert told.refused("  ").exit_code == 2


def near(result: Result) -> list[str]:
    lines = result.err.splitlines()
    return [line.strip().partition("  ")[0] for line in lines if line.startswith("  rewind ")]


def test_the_nearest_are_commands_to_copy(told: Any) -> None:
    result = told.cli.run("restore", "clean up", "--dry-run")
    assert result.code == 12
    assert near(result) == ["rewind restore t3 --dry-run", "rewind restore t2 --dry-run"]
    assert "# Please clean up the repository" in result.err
    assert near(told.cli.run("show", "lasst")) == ["rewind show last"]
    assert near(told.cli.run("diff", "t1", "t9"))[-1] == "rewind diff t1 t3"
    assert near(told.cli.run("cat", "lasst:a b.txt")) == ["rewind cat 'last:a b.txt'"]
    assert told.cli.fails_with_json(12, "show", "t9")["near"][0] == "rewind show --json t1"


@pytest.mark.parametrize("text, wanted", [
    ("t4", (None, 4, False)), ("turn:4", (None, 4, False)), ("t4+", (None, 4, True)),
    ("3f2a:t12", ("3f2a", 12, False)), ("3f2a:turn:12+", ("3f2a", 12, True)),
    ("/x/y.jsonl:t1", ("/x/y.jsonl", 1, False))])
def test_the_name_of_a_turn_is_read(text: str, wanted: tuple[Any, ...]) -> None:
    found = turn_name(text)
    assert found and (found.session, found.turn, found.after) == wanted


@pytest.mark.parametrize("text", ["t", "t+", "turn:", "4", "last", "t4x", "x4", "10:30", "t4~1", "two",
                                  "t20261119"])
def test_something_else_is_no_turn(text: str) -> None:
    assert turn_name(text) is None


@pytest.mark.parametrize("text, wanted", [
    ("last:a/b", ("last", "a/b")), ("14:30:a", ("14:30", "a")), ("t4:a:b", ("t4", "a:b")),
    ("turn:4:a", ("turn:4", "a")), ("3f2a:t4+:a", ("3f2a:t4+", "a")), ("3f2a:turn:4:a", ("3f2a:turn:4", "a")),
    ("last:t4:x", ("last:t4", "x")), ("12", ("12", "")), ("12:t4", ("12", "t4")), (":x", ("", "x"))])
def test_a_checkpoint_and_a_path_are_told_apart(text: str, wanted: tuple[str, str]) -> None:
    assert split_selector(text) == wanted


def test_select_turn_gives_the_session_and_the_number(told: Any) -> None:
    controller = told.controller()
    for text, turn in (("t2", 2), ("repository", 2), (f"{told.session}:t1", 1)):
        session, number = controller.select_turn(text)
        assert (session.session_id, number) == (told.session, turn)
    for text in ("last", "nothing says this", "clean up", "t9"):
        with pytest.raises(RewindError) as caught:
            controller.select_turn(text)
        assert caught.value.exit_code == 12
