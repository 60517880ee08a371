"""From the command line to an exit code: help, errors, colours, pipes and bugs."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess

import pytest

import rewind.cli.look.list.list_ as list_command
from rewind import __version__
from rewind.cli.parse.arguments import make_parser
from rewind.cli.parse.commands import COMMANDS, load_command
from rewind.errors import Locked, StoreDamaged
from rewind_cli import Rewind


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_examples(cli: Rewind, command: str) -> None:
    text = cli.ok(command, "--help").out
    assert f"usage: rewind {command}" in text and "examples:" in text
    assert text == cli.ok("help", command).out
    examples = text.split("examples:")[1].strip().splitlines()
    assert examples and all(line.strip().startswith("rewind ") for line in examples)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_and_argument_is_explained(command: str) -> None:
    for action in make_parser(load_command(command), command)._actions:
        assert action.help, (command, action)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_are_commands_that_exist(command: str) -> None:
    module = load_command(command)
    for example in module.examples:
        words = re.sub(r"\s+[#|].*", "", example).split()
        if words[1] == "-C":
            words[1:3] = []
        options = {o for a in make_parser(load_command(words[1]), words[1])._actions
                   for o in a.option_strings}
        assert {w for w in words if w.startswith("-") and w not in ("-", "--")} <= options, example


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_reports_as_json_and_every_change_can_be_tried(command: str) -> None:
    options = {o for a in make_parser(load_command(command), command)._actions
               for o in a.option_strings}
    assert "--json" in options
    if command not in ("list", "show", "diff", "log", "blame", "cat", "grep", "watch", "completion", "status",
                       "validate", "version", "projects", "sessions", "ops", "doctor", "demo", "ui", "tui"):
        assert "--dry-run" in options


@pytest.mark.parametrize("args", [[], ["help"], ["--help"], ["-h"]])
def test_the_overview_names_every_command(cli: Rewind, args: list[str]) -> None:
    text = cli.ok(*args).out
    for command in COMMANDS:
        assert re.search(rf"^  {command} +\S", text, re.MULTILINE), command


@pytest.mark.parametrize("args", [["-q"], ["-C", "."], ["-C", ".", "--help"], ["-q", "help"], ["-C.", "-h"]])
def test_options_may_stand_before_the_overview(cli: Rewind, args: list[str]) -> None:
    assert cli.ok(*args).out == cli.ok("help").out


@pytest.mark.parametrize("args", [["-C", "P"], ["-CP"], ["--project", "P"], ["--project=P"],
                                  ["-q", "-C", "P", "-v"], ["-qv", "--project=P"]], ids=" ".join)
def test_options_may_stand_before_the_command(two: Rewind, args: list[str]) -> None:
    words = [word.replace("P", str(two.project)) for word in args]
    assert two.run(*words, "show", "last", "--json", cwd=two.home).out == two.ok("show", "last", "--json").out
    assert two.ok(*words, "help", "show").out == two.ok("help", "show").out
    assert two.ok(*words, "--version").out == two.ok("--version").out


def test_an_option_before_the_command_needs_its_value_too(cli: Rewind) -> None:
    assert cli.fails(2, "-C", hint="rewind help") == "error: -C needs a value."
    assert cli.fails(2, "-C", "", "list") == "error: The value of --project is empty."


def test_the_version_is_told(cli: Rewind) -> None:
    assert cli.ok("--version").out == f"rewind {__version__}\n"


def test_an_unknown_command_is_answered_with_the_nearest(cli: Rewind) -> None:
    assert cli.fails(2, "lsit", hint="Did you mean `rewind list`?") == 'error: There is no command "lsit".'
    cli.fails(2, "xyzzy", hint="rewind help")
    cli.fails(2, "help", "xyzzy")


@pytest.mark.parametrize("args", [["export", "last", "\0"], ["list", "-C", "a\0b"],
                                  ["restore", "last", "--", "\0"]])
def test_a_null_byte_in_an_argument_is_one_sentence(cli: Rewind, args: list[str]) -> None:
    assert cli.fails(2, *args, hint="cannot contain one") == "error: There is a null byte in an argument."


def test_an_error_is_one_line_and_a_hint(two: Rewind) -> None:
    result = two.run("show", "99")
    assert result.code == 12 and result.out == ""
    first, second, *near = result.err.splitlines()
    assert (first, second) == ('error: No checkpoint matches "99".', "hint: Did you mean:")
    assert [line.split("  #")[0] for line in near] == ["  rewind show 1", "  rewind show 2"]


def test_an_error_cannot_steer_a_terminal(two: Rewind) -> None:
    result = two.run("diff", "--", "no\x1b[2Jsuch")
    assert result.code == 12 and "\x1b" not in result.err and "no\\x1b[2Jsuch" in result.err


def test_a_hint_cannot_steer_a_terminal(two: Rewind) -> None:
    odd = two.project.parent / "odd\x1b[2J\nhint: name"
    odd.mkdir()
    two.ok("init", "-C", str(odd))
    result = two.run("diff", "-C", str(odd), "--", "/elsewhere")
    assert result.code == 2 and "\x1b" not in result.err
    assert result.err.splitlines()[1].endswith("odd\\x1b[2J\\nhint: name")


def test_an_error_for_programs_is_one_object_on_stderr(two: Rewind) -> None:
    result = two.run("show", "99", "--json")
    assert result.code == 12 and result.out == ""
    assert json.loads(result.err) == {"error": {
        "code": "checkpoint-not-found", "message": 'No checkpoint matches "99".',
        "hint": "Run `rewind list --all` to see the names.", "exitCode": 12,
        "near": ["rewind show 1 --json", "rewind show 2 --json"]}}


@pytest.mark.parametrize("error, code", [
    (Locked(holder="x"), 11), (StoreDamaged(what="x"), 20), (KeyboardInterrupt(), 130),
    (PermissionError(13, "Permission denied", "/x"), 1), (OSError(28, "No space left on device"), 1)])
def test_what_goes_wrong_has_its_exit_code(two: Rewind, monkeypatch: pytest.MonkeyPatch,
                                           error: BaseException, code: int) -> None:
    def fails(*args: object) -> int:
        raise error

    monkeypatch.setattr(list_command, "run", fails)
    result = two.run("list")
    assert result.code == code and result.err.startswith("error: ")
    assert json.loads(two.run("list", "--json").err)["error"]["exitCode"] == code


def test_a_bug_is_one_sentence_and_the_rest_goes_to_a_file(
        two: Rewind, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: object) -> int:
        raise ZeroDivisionError("of a test")

    monkeypatch.setattr(list_command, "run", fails)
    result = two.run("list")
    log = two.home / ".rewind/crash.log"
    assert result.code == 70 and "ZeroDivisionError" in result.err and str(log) in result.err
    assert "Traceback" in log.read_text() and __version__ in log.read_text()
    assert log.stat().st_mode & 0o077 == 0
    assert json.loads(two.run("list", "--json").err)["error"]["exitCode"] == 70


def test_the_project_may_be_named(two: Rewind) -> None:
    elsewhere = two.home
    assert two.run("list", cwd=elsewhere).code == 10
    assert two.run("list", "-C", str(two.project), cwd=elsewhere).code == 0
    env = {"REWIND_PROJECT_ROOT": str(two.project)}
    assert two.run("list", cwd=elsewhere, env=env).code == 0
    two.fails(1, "list", "-C", str(two.project / "nothing"))


# real processes

def on_terminal(rewind: Rewind, *args: str, **env: str) -> str:
    """What a person sees: both streams on one terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen([*rewind.command, *args], cwd=rewind.project, stdin=follower,
                               stdout=follower, stderr=follower,
                               env={**rewind.env, "TERM": "xterm", **env})
    os.close(follower)
    parts = []
    try:
        while True:
            parts.append(os.read(leader, 4096))
            if not parts[-1]:
                break
    except OSError:
        pass  # Linux says EIO when the other end is closed
    os.close(leader)
    process.wait()
    return b"".join(parts).decode()


@pytest.fixture
def changed(rewind: Rewind) -> Rewind:
    (rewind.project / "a.txt").write_text("one\n")
    rewind.init()
    (rewind.project / "a.txt").write_text("\x1b]0;owned\x07two\n")
    return rewind


def test_there_are_colours_on_a_terminal_and_content_cannot_steer_it(changed: Rewind) -> None:
    text = on_terminal(changed, "diff")
    assert "\x1b[31m-one" in text and "\x1b[32m+" in text
    assert "\x1b]" not in text and "\x07" not in text and "+\\x1b]0;owned\\x07two" in text


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
@pytest.mark.parametrize("args", [["diff"], ["diff", "--stat"], ["list"], ["show", "last"], ["status"],
                                  ["config"], ["validate"], ["help"], ["show", "99"]],
                         ids=" ".join)
def test_no_colour_where_none_is_wanted(changed: Rewind, args: list[str], env: dict[str, str]) -> None:
    assert "\x1b" not in on_terminal(changed, *args, **env)


def test_an_archive_is_not_sent_to_a_terminal(changed: Rewind) -> None:
    assert "Refusing to write a tar.gz to the terminal" in on_terminal(changed, "export", "last", "-")


@pytest.mark.parametrize("args", [["list"], ["diff"], ["help"], ["show", "last", "--files"]])
def test_a_reader_that_stops_early_is_no_error(changed: Rewind, args: list[str]) -> None:
    (changed.project / "a.txt").write_text("a long line of text\n" * 20_000)
    take, give = os.pipe()
    os.close(take)
    done = subprocess.run([*changed.command, *args], cwd=changed.project, env=changed.env, stdout=give,
                          stderr=subprocess.PIPE)
    os.close(give)
    assert (done.returncode, done.stderr) == (0, b"")
