"""The quick parser for plain command lines never says anything that argparse would not."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Optional

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from other_pythons import examples
from rewind.cli.parse.arguments import _parse_plain, make_parser, parse, project_paths
from rewind.cli.parse.commands import COMMANDS, load_command
from rewind.errors import UsageError
from rewind.paths import Project

WITH_VALUE = ("-C", "--project", "--keep", "--to", "--mode", "--session", "--max-size-mb")
SWITCHES = ("--json", "--dry-run", "--force", "--all", "--files", "--stat", "--deep", "--trust",
            "--code-only", "--if-changed", "--unprotected", "--allow-links-out")
VALUES = ("last", "prev", "3", "-3", "0", "x", "", " ", "a b", "5 ", "1_0", "٣", "project", "global", "-",
          "20261115_101502_003", "file.tar.gz", "ü", "\udcff", "@file", "key=value", "storage.maxSizeMb")
ODD = ("--keep=3", "-Cdir", "--json=1", "--js", "-j", "-x", "--nothing", "--set", "--unset", "--tier",
       "--global", "-h3", "--dry-runs", "---")
LINES = st.lists(st.sampled_from(WITH_VALUE + SWITCHES) | st.sampled_from(VALUES) | st.sampled_from(ODD),
                 max_size=6)


def by_argparse(name: str, argv: list[str]) -> Optional[dict[str, Any]]:
    """What argparse makes of it; None when it is refused."""
    try:
        return vars(make_parser(load_command(name), name).parse_args(argv))
    except UsageError:
        return None


def options_first(argv: list[str]) -> list[str]:
    """argparse before 3.13.1 cannot see a second optional word once an option stands before it."""
    options: list[str] = []
    words: list[str] = []
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word in WITH_VALUE and rest:
            options += [word, rest.pop(0)]
        else:
            (options if word.startswith("-") else words).append(word)
    return options + words


@pytest.mark.parametrize("name", COMMANDS)
@settings(max_examples=examples(60), deadline=None)
@given(argv=LINES)
def test_a_plain_line_means_what_argparse_says(name: str, argv: list[str]) -> None:
    plain = _parse_plain(load_command(name), argv)
    if plain is not None:
        assert vars(plain) == by_argparse(name, options_first(argv))
        assert by_argparse(name, argv) in (None, vars(plain))


@pytest.mark.parametrize("line", [
    "save", "save words", "save --if-changed", "save words --json", "list", "list --all", "list --session s1",
    "show last", "show 2 --files", "diff", "diff 3", "diff 3 1 --stat", "diff --json 3 1", "restore last",
    "restore prev --force", "jump 2 --dry-run", "undo", "undo --force --json", "redo --dry-run",
    "undo-restore", "gc", "gc --keep 5", "export last f.tar.gz", "import f.tar.gz --max-size-mb 10",
    "status", "status --unprotected", "validate --deep", "init", "init --mode global", "save -C dir words",
    "list --project dir"])
def test_everyday_lines_do_without_argparse_and_mean_the_same(line: str) -> None:
    name, *argv = line.split()
    plain = _parse_plain(load_command(name), argv)
    assert plain is not None and vars(plain) == by_argparse(name, argv)


@pytest.mark.parametrize("line", [
    "restore", "export last", "gc --keep", "gc --keep x", "gc --keep --json",
    "save a b", "init --mode nowhere", "list --nothing", "undo word", "list --js", "show last --files=1",
    "-C"])
def test_what_is_wrong_is_a_usage_error_with_a_hint(line: str) -> None:
    name, *argv = line.split() if not line.startswith("-") else ["list", line]
    with pytest.raises(UsageError) as caught:
        parse(load_command(name), name, argv)
    assert caught.value.hint == f"Run `rewind {name} --help`."


def test_everything_after_two_dashes_is_a_path() -> None:
    found = parse(load_command("restore"), "restore", ["last", "--force", "--", "--json", "-x", "--", "a"])
    assert found.checkpoint == "last" and found.force and not found.json
    assert found.paths == ["--json", "-x", "--", "a"]
    assert parse(load_command("restore"), "restore", ["last"]).paths is None
    assert parse(load_command("restore"), "restore", ["last", "--"]).paths == []


@pytest.mark.parametrize("name, words, dest, said", [
    ("grep", ["-i", "--", "--both"], "text", "--both"), ("save", ["--", "-x"], "description", "-x"),
    ("save", ["--if-changed", "--dry-run", "--", "--"], "description", "--"),
    ("forks", ["rename", "3f2a9c11", "--", "-x"], "names", ["3f2a9c11", "-x"]),
    ("log", ["--patch", "--", "-rf"], "path", "-rf"), ("blame", ["-L", "1,2", "--", "-rf"], "file", "-rf"),
    ("blame", ["--", "-rf", "last"], "checkpoint", "last"),
    ("describe", ["12", "--", "-x"], "description", "-x")])
def test_a_text_that_looks_like_an_option_follows_two_dashes(name: str, words: list[str], dest: str,
                                                             said: object) -> None:
    assert getattr(parse(load_command(name), name, words), dest) == said


@pytest.mark.parametrize("name", ["grep", "save"])
def test_one_text_is_enough(name: str) -> None:
    for words in (["text", "--", "file"], ["--", "text", "file"]):
        with pytest.raises(UsageError, match='takes no argument "file"'):
            parse(load_command(name), name, words)


@pytest.mark.parametrize("name", [n for n in COMMANDS
                                  if not getattr(load_command(n), "takes_paths", False)
                                  and not getattr(load_command(n), "takes_text", False)])
def test_a_command_that_takes_no_paths_says_so(name: str) -> None:
    words = {"show": ["last"], "export": ["last", "f"], "import": ["f"],
             "rewrite-chat": ["last"], "cat": ["last:f"], "pin": ["1"],
             "unpin": ["1"], "delete": ["1"], "completion": ["bash"],
             "share": ["last", "f"], "open": ["f"], "clone": ["url"]}.get(name, [])
    with pytest.raises(UsageError, match="takes no paths"):
        parse(load_command(name), name, [*words, "--", "file"])


# what is empty

WITH_A_VALUE = [(name, action.option_strings[-1]) for name in COMMANDS
                for action in make_parser(load_command(name), name)._actions
                if action.option_strings and action.nargs != 0]
NEEDED = {"show": ["last"], "export": ["last", "f"], "import": ["f"], "rewrite-chat": ["last"], "log": ["f"],
          "cat": ["last:f"], "grep": ["f"], "completion": ["bash"], "restore": ["last"], "jump": ["last"],
          "undo-restore": ["op"], "pin": ["1"], "unpin": ["1"], "describe": ["1", "d"], "delete": ["1"],
          "blame": ["f"], "bisect": ["run"], "revert": ["t1"], "fork": ["t1"],
          "share": ["last", "f"], "open": ["f"], "clone": ["url"]}


@pytest.mark.parametrize("name, option", WITH_A_VALUE)
def test_no_option_takes_an_empty_value(name: str, option: str) -> None:
    for words in ([option, ""], [f"{option}="]):
        with pytest.raises(UsageError, match=f"{option} "):
            parse(load_command(name), name, [*NEEDED.get(name, []), *words])


@pytest.mark.parametrize("name, words, what", [
    ("restore", [""], "CHECKPOINT"), ("diff", ["1", ""], "B"), ("sessions", ["show", ""], "SESSION"),
    ("log", [""], "PATH"), ("export", ["last", ""], "FILE"), ("config", [""], "KEY")])
def test_no_name_is_empty(name: str, words: list[str], what: str) -> None:
    with pytest.raises(UsageError, match=f"The value of {what} is empty."):
        parse(load_command(name), name, words)


def test_a_description_may_be_empty() -> None:
    assert parse(load_command("save"), "save", [""]).description == ""


# paths

@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    root = Path(os.path.realpath(tmp_path)) / "project"
    (root / "sub").mkdir(parents=True)
    (root / "link").symlink_to(tmp_path)
    monkeypatch.chdir(root)
    return Project(str(root), str(root / ".agent/rewind"), str(tmp_path / "home"))


@pytest.mark.parametrize("typed, meant", [
    ("file", b"file"), ("./file", b"file"), ("sub/../file", b"file"), ("sub/", b"sub"), (".", b""),
    ("link", b"link"), ("a//b", b"a/b"), ("\udcff", b"\xff")])
def test_paths_are_meant_from_the_current_directory(here: Project, typed: str, meant: bytes) -> None:
    assert project_paths([typed], here) == [meant]


def test_below_the_top_paths_are_meant_from_there(here: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(here.root) / "sub")
    assert project_paths(["file", "../top", here.root + "/abs"], here) == [b"sub/file", b"top", b"abs"]


def test_outside_the_project_paths_are_meant_from_its_top(
        here: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    assert project_paths(["sub/file"], here) == [b"sub/file"]


@pytest.mark.parametrize("typed", ["..", "../project2/file", "/", "/etc/passwd", "sub/../../x"])
def test_a_path_outside_the_project_is_refused(here: Project, typed: str) -> None:
    with pytest.raises(UsageError, match="outside the project"):
        project_paths([typed], here)


def test_a_project_that_is_reached_by_a_link_knows_its_paths(here: Project, tmp_path: Path) -> None:
    (tmp_path / "other").symlink_to(here.root)
    (tmp_path / "part").symlink_to(here.root + "/sub")
    (Path(here.root) / "self").symlink_to(".")
    typed = [f"{tmp_path}/{name}" for name in ("other/sub/x", "other", "other/link", "other/self", "part/x")]
    assert project_paths(typed, here) == [b"sub/x", b"", b"link", b"self", b"sub/x"]
    for outside in ("part", "other/../x", "nothing/x"):
        with pytest.raises(UsageError, match="outside the project"):
            project_paths([f"{tmp_path}/{outside}"], here)


def test_no_path_at_all_after_the_dashes_is_refused(here: Project) -> None:
    with pytest.raises(UsageError):
        project_paths([], here)
    assert project_paths(None, here) is None


def test_an_empty_path_is_not_the_whole_project(here: Project) -> None:
    with pytest.raises(UsageError, match="A path is empty"):
        project_paths(["a", ""], here)
