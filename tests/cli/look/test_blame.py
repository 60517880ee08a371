"""`rewind blame` as a user meets it."""

from __future__ import annotations

import os

import pytest

from chat_scene import Scene
from cli.conftest import InProcess
from rewind_cli import git


@pytest.fixture
def scene(cli: InProcess) -> Scene:
    return Scene(cli)


@pytest.fixture
def turns(scene: Scene) -> Scene:
    """Two turns, an edit between them, and one that is in no checkpoint."""
    scene.save("UserPromptSubmit", promptId="p1", promptText="Write a poem")
    scene.say("Write a poem")
    scene.write(a="one\ntwo\n")
    scene.save("Stop", promptId="p1")
    scene.write(a="one\ntwo\nmine\n")
    scene.save("UserPromptSubmit", promptId="p2", promptText="Make it longer")
    scene.say("Make it longer")
    # Nothing but the checkpoints around the turn knows that a shell command did this.
    os.system(f"cd '{scene.cli.project}' && printf 'three\\n' >> a.txt")
    scene.save("Stop", promptId="p2")
    with open(scene.cli.project / "a.txt", "a") as file:
        file.write("new\n")
    return scene


def test_each_line_with_its_turn_and_prompt(turns: Scene) -> None:
    lines = turns.cli.json("blame", "a.txt")["lines"]
    assert [(x["who"], x["turn"], x["prompt"]) for x in lines] == [
        ("agent", 1, "Write a poem"), ("agent", 1, "Write a poem"), ("you", None, None),
        ("agent", 2, "Make it longer"), ("you", None, None)]
    assert [x["line"] for x in lines] == [1, 2, 3, 4, 5]
    assert lines[3]["session"] == turns.session and lines[3]["checkpoint"] and lines[3]["saved"]
    assert lines[4]["checkpoint"] is None and not lines[4]["saved"]


def test_the_same_for_people(turns: Scene) -> None:
    rows = turns.cli.ok("blame", "a.txt").out.splitlines()
    assert rows[0].startswith("t1 ") and "Write a poem" in rows[0] and rows[0].endswith("1  one")
    assert rows[2].startswith("you ") and rows[3].startswith("t2 ")
    assert rows[4].startswith("you*") and "not in a checkpoint yet" in rows[4]


def test_a_range_of_lines(turns: Scene) -> None:
    for text, wanted in (("2,3", [2, 3]), ("4,", [4, 5]), (",2", [1, 2]), ("2,+2", [2, 3]), ("5", [5]),
                         ("3,2", [2, 3]), ("4,99", [4, 5])):
        assert [x["line"] for x in turns.cli.json("blame", "a.txt", "-L", text)["lines"]] == wanted, text


def test_as_a_checkpoint_has_it(turns: Scene) -> None:
    lines = turns.cli.json("blame", "a.txt", "last")["lines"]
    assert [x["text"] for x in lines] == ["one", "two", "mine", "three"]


def test_a_renamed_file_is_followed(turns: Scene) -> None:
    turns.cli.save()
    os.rename(turns.cli.project / "a.txt", turns.cli.project / "b.txt")
    turns.cli.save()
    lines = turns.cli.json("blame", "b.txt")["lines"]
    assert [x["turn"] for x in lines] == [1, 1, None, 2, None]
    assert lines[0]["was"] == "a.txt" and lines[0]["who"] == "agent"


def test_a_renamed_and_changed_file_is_followed(turns: Scene) -> None:
    turns.cli.save()
    (turns.cli.project / "a.txt").unlink()
    (turns.cli.project / "b.txt").write_text("one\ntwo\nMINE\nthree\nnew\n")
    turns.cli.save()
    assert [x["turn"] for x in turns.cli.json("blame", "b.txt")["lines"]] == [1, 1, None, 2, None]


def test_lines_that_a_commit_has_are_gits(cli: InProcess) -> None:
    git(cli.project, "init", "-q", home=cli.home)
    (cli.project / "a.txt").write_bytes(b"one\ntwo\nthree\n")
    git(cli.project, "add", ".", home=cli.home)
    git(cli.project, "commit", "-qm", "The first", home=cli.home)
    head = git(cli.project, "rev-parse", "HEAD", home=cli.home).strip()
    (cli.project / "a.txt").write_bytes(b"one\ntwo, changed before init\nthree\n")
    cli.init()
    (cli.project / "a.txt").write_bytes(b"one\ntwo, changed before init\nthree\nfour\n")
    cli.save()
    lines = cli.json("blame", "a.txt")["lines"]
    assert [(x["who"], x["commit"]) for x in lines] == [
        ("git", head), ("you", None), ("git", head), ("you", None)]
    assert f"git {head[:7]}" in cli.ok("blame", "a.txt").out


def test_in_a_project_below_the_top_of_the_repository(cli: InProcess) -> None:
    top = cli.project
    cli.project = top / "inner"
    cli.project.mkdir()
    git(top, "init", "-q", home=cli.home)
    (cli.project / "a.txt").write_bytes(b"one\n")
    git(top, "add", ".", home=cli.home)
    git(top, "commit", "-qm", "The first", home=cli.home)
    cli.init()
    assert [x["who"] for x in cli.json("blame", "a.txt")["lines"]] == ["git"]


def test_an_empty_file_has_no_lines(cli: InProcess) -> None:
    (cli.project / "a.txt").write_bytes(b"")
    cli.init()
    assert cli.json("blame", "a.txt")["lines"] == []
    assert cli.ok("blame", "a.txt").out == ""


def test_odd_names_and_bytes(cli: InProcess) -> None:
    name = b"\xff odd\n.txt"
    with open(os.path.join(os.fsencode(cli.project), name), "wb") as file:
        file.write(b"caf\xe9\r\n\x1b[31mred\n")
    cli.init()
    found = cli.json("blame", name)
    assert found["path_b64"] and [x["text"] for x in found["lines"]] == ["caf\ufffd", "\x1b[31mred"]
    assert "\x1b" not in cli.ok("blame", name).out


@pytest.mark.parametrize(("code", "words", "text"), [
    (12, ["nothing.txt"], "No checkpoint holds nothing.txt"),
    (1, ["folder"], "directory"),
    (1, ["binary"], "binary"),
    (12, ["a.txt", "20200101_000000_001"], "No checkpoint matches"),
    (12, ["new.txt", "last"], "does not hold new.txt"),
    (2, ["a.txt", "-L", "x"], "Not a range"),
    (2, ["a.txt", "-L", "9,12"], "no line 9"),
    (2, ["a.txt", "-L", "0,3"], "count from 1"),
    (2, ["../elsewhere"], "outside the project"),
    (1, ["big.txt"], "larger than maxFileSizeMb"),
    (1, ["gone.txt"], "no such file now"),
    (1, ["link", "last"], "symbolic link"),
    (1, ["link"], "symbolic link"),
])
def test_what_cannot_be_blamed_is_said_in_a_sentence(cli: InProcess, code: int, words: list[str],
                                                     text: str) -> None:
    (cli.project / "a.txt").write_text("one\n")
    (cli.project / "gone.txt").write_text("one\n")
    (cli.project / "binary").write_bytes(b"a\0b")
    (cli.project / "folder").mkdir()
    (cli.project / "link").symlink_to("a.txt")
    cli.init()
    cli.ok("config", "--set", "maxFileSizeMb=1")
    (cli.project / "big.txt").write_bytes(b"x\n" * (1 << 20))
    (cli.project / "gone.txt").unlink()
    cli.save()
    (cli.project / "new.txt").write_text("one\n")
    assert text in cli.fails(code, "blame", *words)


def test_for_a_file_that_is_gone_a_checkpoint_is_named_that_holds_it(cli: InProcess) -> None:
    (cli.project / "gone.txt").write_text("one\n")
    cli.init()
    (cli.project / "gone.txt").unlink()
    cli.save()
    cli.fails(1, "blame", "gone.txt", hint="rewind blame gone.txt 1")
    assert "one" in cli.ok("blame", "gone.txt", "1").out


def test_a_checkpoint_that_does_not_hold_the_file_is_passed_over(cli: InProcess) -> None:
    (cli.project / "a.txt").write_text("one\n")
    cli.init()
    (cli.project / "a.txt").write_bytes(b"one\ntwo\n" + b"x" * (2 << 20))
    cli.ok("config", "--set", "maxFileSizeMb=1")
    cli.save()
    (cli.project / "a.txt").write_text("one\ntwo\n")
    third = cli.save()
    first = cli.names()[-1]
    assert [x["checkpoint"] for x in cli.json("blame", "a.txt")["lines"]] == [first, third]
