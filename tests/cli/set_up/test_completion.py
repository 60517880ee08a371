"""`rewind completion`, in real shells where they are installed, and the helper that their scripts ask."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from chat_scene import Claude, Scene
from cli.conftest import InProcess
from make_transcripts import place
from map_scene import Story
from rewind.cli.parse.commands import COMMANDS
from rewind_cli import PROGRAM, Rewind

pytestmark = pytest.mark.slow

PATIENCE = 90


def offered(cli: Rewind, *words: str) -> list[str]:
    return [line.split("\t")[0] for line in cli.ok("__complete", *words).out.splitlines()]


def test_commands_topics_and_options_are_offered(cli: Rewind) -> None:
    assert set(offered(cli, "")) == {*COMMANDS, "help"}
    assert offered(cli, "rest") == ["restore"]
    assert "safety" in offered(cli, "help", "") and offered(cli, "help", "sav") == ["save"]
    assert offered(cli, "list", "--a") == ["--all"]
    assert offered(cli, "completion", "") == ["bash", "zsh", "fish"]
    assert set(offered(cli, "forks", "")) >= {"list", "rename"}


def test_checkpoints_are_offered_where_one_is_wanted(two: Rewind) -> None:
    names = two.names()
    assert offered(two, "show", "") == ["last", "prev", "@", "2", "1"]
    assert offered(two, "diff", "last", "p") == ["prev"]
    assert offered(two, "restore", "--force", names[0][:8]) == names
    assert offered(two, "show", "last", "") == [], "it takes only one"
    assert offered(two, "-C", str(two.project), "show", "l") == ["last"]
    assert offered(two, "-C", str(two.project), "sho") == ["show"]


def test_files_of_a_checkpoint_are_offered_level_by_level(two: Rewind) -> None:
    assert offered(two, "cat", "la") == ["last:"]
    assert offered(two, "cat", "last:") == ["last:README.md", "last:new.txt", "last:src/"]
    assert offered(two, "cat", "last:src/a") == ["last:src/app.py"]
    assert offered(two, "cat", "last:README.md/") == []


def test_paths_come_from_the_checkpoint_that_is_named(two: Rewind) -> None:
    (two.project / "src/app.py").unlink()
    (two.project / "src").rmdir()
    assert offered(two, "restore", "last", "--", "") == ["README.md", "new.txt", "src/"]
    assert offered(two, "restore", "--code-only", "1", "--", "s") == ["src/"], "though it is gone by now"
    assert offered(two, "restore", "1", "--", "README.md", "src/") == ["src/app.py"]
    assert offered(two, "list", "--", "") == [], "left to the shell"


def test_settings_and_operations_are_offered(two: Rewind) -> None:
    assert "storage.maxSizeMb=" in offered(two, "config", "--set", "storage")
    assert offered(two, "config", "--set", "tier=b") == ["tier=balanced"]
    assert offered(two, "config", "ti") == ["tier"]
    two.ok("restore", "1")
    op = two.json("ops")["operations"][0]["id"]
    assert offered(two, "undo-restore", "") == [op] and offered(two, "ops", "show", "") == [op]
    assert offered(two, "delete", "la") == ["last"] and offered(two, "ls", "--a") == ["--all"]


def test_turns_are_offered_with_their_prompts(cli: InProcess) -> None:
    story = Story(cli)
    story.turn("Add a parser")
    story.turn("Please clean up")
    assert offered(cli, "restore", "t") == ["t2", "t1"] and offered(cli, "show", "t1+") == ["t1+"]
    assert "Please clean up" in cli.ok("__complete", "restore", "t2").out


def test_sessions_are_offered_where_one_is_wanted(cli: InProcess) -> None:
    scene = Scene(cli)
    scene.say("hello", "again")
    assert offered(cli, "sessions", "show", "") == [scene.session]
    assert offered(cli, "back", "--session", scene.session[:4]) == [scene.session]
    assert offered(cli, "forks", "rename", "") == [scene.session]
    assert "hello" in cli.ok("__complete", "sessions", "show", "").out
    cli.ok("back")
    fork = next(path.stem for path in scene.forks())
    cli.ok("forks", "delete", fork)
    assert offered(cli, "forks", "undelete", "") == [fork]


def test_there_is_never_an_error(cli: Rewind) -> None:
    for words in (["show", ""], ["cat", "x:y"], ["xyzzy", ""], ["-C"], [], ["list", "--session", ""],
                  ["show", "-C", "/no/such", ""]):
        result = cli.ok("__complete", *words)
        assert result.err == ""


def test_odd_names_are_left_out(two: Rewind) -> None:
    (two.project / "with space").write_text("x")
    (two.project / "evil\x1b[2J").write_text("x")
    two.ok("save", "a\x1b[2J\tb\nc")
    assert offered(two, "cat", "last:") == ["last:README.md", "last:new.txt", "last:src/"]
    assert all(line.count("\t") <= 1 and "\x1b" not in line
               for line in two.ok("__complete", "show", "").out.splitlines())


# real shells

@pytest.fixture
def shell_env(rewind: Rewind) -> dict[str, str]:
    """`rewind` in the PATH, and a project with two checkpoints to be completed."""
    (rewind.project / "src").mkdir()
    (rewind.project / "src/app.py").write_text("x\n")
    (rewind.project / "plain-file").write_text("x\n")
    rewind.init()
    folder = rewind.home / "bin"
    folder.mkdir()
    (folder / "rewind").write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{PROGRAM}" "$@"\n')
    (folder / "rewind").chmod(0o755)
    return {**rewind.env, "PATH": f"{folder}:{os.environ['PATH']}", "TERM": "xterm"}


def shell(name: str) -> str:
    found = shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not installed, so its completion is NOT tested (try: apt install {name})")
    return found


def in_bash(bash: str, env: dict[str, str], cwd: Path, line: str) -> list[str]:
    script = ('eval "$(rewind completion bash)"; COMP_LINE="$1"; COMP_POINT=${#1}; _rewind;'
              ' printf "%s\\n" "${COMPREPLY[@]}"; complete -p rewind >&2')
    done = subprocess.run([bash, "--norc", "-c", script, "bash", line], cwd=cwd, env=env, check=True,
                          capture_output=True, timeout=PATIENCE)
    assert b"-F _rewind rewind" in done.stderr
    return done.stdout.decode().split()


def test_bash_completes(rewind: Rewind, shell_env: dict[str, str]) -> None:
    bash = shell("bash")

    def completed(line: str) -> list[str]:
        return in_bash(bash, shell_env, rewind.project, line)

    assert completed("rewind undo") == ["undo", "undo-restore"]
    assert completed("rewind restore --code") == ["--code-only"]
    assert completed("rewind show ") == ["last", "@", "1"]
    assert completed("rewind cat last:src/") == ["src/app.py"], "readline begins a word after a colon"
    assert completed("rewind log ") == [], "left to the shell, which offers files"


def in_fish(fish: str, env: dict[str, str], cwd: Path, line: str) -> list[str]:
    script = 'rewind completion fish | source; complete -C "$argv[1]"'
    done = subprocess.run([fish, "--no-config", "-c", script, line], cwd=cwd, env=env,
                          check=True, capture_output=True, timeout=PATIENCE)
    return [row.split("\t")[0] for row in done.stdout.decode().splitlines()]


def test_fish_completes(rewind: Rewind, shell_env: dict[str, str]) -> None:
    fish = shell("fish")

    def completed(line: str) -> list[str]:
        return in_fish(fish, shell_env, rewind.project, line)

    assert completed("rewind undo") == ["undo", "undo-restore"]
    assert completed("rewind restore --code") == ["--code-only"]
    assert completed("rewind show ") == ["last", "@", "1"]
    assert completed("rewind cat last:src/") == ["last:src/app.py"]
    assert completed("rewind log pl") == ["plain-file"]


def test_zsh_completes(rewind: Rewind, shell_env: dict[str, str]) -> None:
    zsh = Interactive("zsh", rewind, shell_env)
    try:
        assert zsh.completed("rewind compl") == "rewind completion "
        assert zsh.completed("rewind restore --code") == "rewind restore --code-only "
        assert zsh.completed("rewind show la") == "rewind show last "
        assert zsh.completed("rewind show 2") == f"rewind show {rewind.names()[0]} "
        assert zsh.completed("rewind cat last:s") == "rewind cat last:src/"
        assert zsh.completed("rewind cat last:src/") == "rewind cat last:src/app.py "
        assert zsh.completed("rewind log plai") == "rewind log plain-file "
    finally:
        zsh.close()


class Afternoon(NamedTuple):
    """What there is to be completed: a deleted directory, a fork, its parent, and an operation."""

    fork: str
    session: str
    operation: str

    def lines(self) -> dict[str, str]:
        """What is typed, and the line after the tab key."""
        done = {"rewind restore 1 -- s": "rewind restore 1 -- src/",
                "rewind restore 1 -- src/a": "rewind restore 1 -- src/app.py ",
                "rewind config --set storage.mo": "rewind config --set storage.mode=",
                "rewind config --set storage.mode=g": "rewind config --set storage.mode=global ",
                "rewind config runtime.sig": "rewind config runtime.significance."}
        for words, name in (("forks rename", self.fork), ("forks delete", self.fork),
                            ("sessions show", self.session), ("list --session", self.session),
                            ("undo-restore", self.operation), ("ops show", self.operation)):
            done[f"rewind {words} {name[:5]}"] = f"rewind {words} {name} "
        return done


@pytest.fixture
def afternoon(rewind: Rewind, shell_env: dict[str, str]) -> Afternoon:
    talk = Claude(rewind.project, "0a5e55aa-1111-4222-8333-444444444444")
    talk.prompt("one")
    talk.answer("Done")
    talk.prompt("two")
    talk.answer("Done")
    place(rewind.home, "claude", rewind.project, talk.bytes(), talk.session)
    fork = rewind.json("back", "1", "--session", talk.session)["fork"]["session_id"]
    shutil.rmtree(rewind.project / "src")
    return Afternoon(fork, talk.session, rewind.json("ops")["operations"][0]["id"])


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_tab_knows_deleted_paths_settings_forks_sessions_and_operations(
        rewind: Rewind, shell_env: dict[str, str], afternoon: Afternoon, name: str) -> None:
    started = Interactive(name, rewind, shell_env)
    try:
        for typed, line in afternoon.lines().items():
            assert started.completed(typed) == line, typed
    finally:
        started.close()


def test_fish_knows_them_as_well(rewind: Rewind, shell_env: dict[str, str], afternoon: Afternoon) -> None:
    for typed, line in afternoon.lines().items():
        found = in_fish(shell("fish"), shell_env, rewind.project, typed)
        if not typed.endswith("runtime.sig"):  # fish is given both keys, and takes their beginning
            assert found == [line.rstrip(" ").split(" ")[-1]], typed


_SETUP = {
    "zsh": ("autoload -Uz compinit && compinit -u -D\n", 'tell() {{ print -rn -- "$BUFFER|" > {0} }}\n'
            "zle -N tell; bindkey '^X' tell\n"),
    "bash": ("", "bind -x '\"\\C-x\": printf \"%s|\" \"$READLINE_LINE\" > {0}'\n"),
}
_START = {"zsh": ["-f", "-i"], "bash": ["--norc", "--noprofile", "-i"]}


class Interactive:
    """A shell on a terminal; a key writes the line that is being edited into a file."""

    def __init__(self, name: str, rewind: Rewind, env: dict[str, str]) -> None:
        self.line = rewind.home / "line"
        setup = rewind.home / "setup"
        first, last = _SETUP[name]
        setup.write_text(f'{first}eval "$(rewind completion {name})"\n{last.format(self.line)}')
        self.leader, follower = pty.openpty()
        self.process = subprocess.Popen([shell(name), *_START[name]], cwd=rewind.project, env=env,
                                        stdin=follower, stdout=follower, stderr=follower,
                                        start_new_session=True)
        os.close(follower)
        self._type(f"source {setup}\n")

    def completed(self, begun: str) -> str:
        """The line after the tab key was pressed."""
        self.line.unlink(missing_ok=True)
        self._type(f"\x15{begun}\t\x18")
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if select.select([self.leader], [], [], 0.02)[0]:
                os.read(self.leader, 4096)  # or it would wait for somebody to look
            elif self.line.exists() and self.line.read_text().endswith("|"):
                return self.line.read_text()[:-1]
        return "nothing"

    def _type(self, text: str) -> None:
        os.write(self.leader, text.encode())

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.leader)


def test_the_help_has_a_line_for_each_shell(cli: Rewind) -> None:
    lines = cli.ok("completion", "--help").out.splitlines()
    assert [line.split(":")[0] for line in lines if line.startswith(("bash:", "zsh:", "fish:"))] == [
        "bash", "zsh", "fish"]
