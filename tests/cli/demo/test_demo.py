"""The tour: it goes well and says so, notices what is wrong, and touches nothing of a person's."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import InProcess
from rewind.cli.demo import demo
from rewind.cli.demo.demo_session import BEFORE, TURNS
from rewind.cli.demo.demo_world import World
from rewind_cli import PROGRAM, Rewind, tree_state

pytestmark = pytest.mark.slow


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the demo makes its directory."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


def test_everything_comes_back_exactly(rewind: Rewind, temporary: Path) -> None:
    result = rewind.run("demo", env={"TMPDIR": str(temporary)})
    assert result.code == 0, result
    lines = result.out.splitlines()
    assert any(line.startswith("Everything came back exactly. (") and line.endswith(" s)") for line in lines)
    for typed in ("rewind init", "rewind list", "rewind back 1 --both", "rewind undo-restore", "rewind redo"):
        assert any(line.strip() == f"$ {typed}" for line in lines), typed
    for turn in TURNS:
        assert turn.prompt in result.out
    assert result.err == ""
    assert not os.listdir(temporary)


def test_it_fits_on_a_narrow_terminal(cli: InProcess, temporary: Path) -> None:
    assert max(len(line) for line in cli.ok("demo").out.splitlines()) <= 80


def test_nothing_of_the_person_is_touched(rewind: Rewind, temporary: Path) -> None:
    """Also when the demo is started from inside an agent, in a project that is protected."""
    transcripts = rewind.home / ".claude" / "projects" / "-mine"
    transcripts.mkdir(parents=True)
    (transcripts / "mine.jsonl").write_text('{"type": "user"}\n')
    rewind.init()
    was = tree_state(rewind.home), tree_state(os.fsencode(rewind.state)), tree_state(rewind.project)
    inside = {"CLAUDE_CONFIG_DIR": str(rewind.home / ".claude"), "CLAUDECODE": "1",
              "CLAUDE_CODE_SESSION_ID": "mine", "CLAUDE_PROJECT_DIR": str(rewind.project),
              "REWIND_TRANSCRIPT_PATH": str(transcripts / "mine.jsonl"), "REWIND_SESSION_ID": "mine",
              "REWIND_PROJECT_ROOT": str(rewind.project), "REWIND_AGENT": "droid",
              "FACTORY_PROJECT_DIR": str(rewind.project), "TMPDIR": str(temporary)}
    result = rewind.run("demo", env=inside)
    assert result.code == 0, result
    assert (tree_state(rewind.home), tree_state(os.fsencode(rewind.state)), tree_state(rewind.project)) == was


def test_it_needs_neither_git_nor_anything_else_on_the_path(rewind: Rewind, temporary: Path) -> None:
    tools = temporary.parent / "tools"
    tools.mkdir()
    (tools / "rm").symlink_to("/bin/rm")
    result = rewind.run("demo", env={"PATH": str(tools), "TMPDIR": str(temporary)})
    assert result.code == 0
    assert f"{PROGRAM} install" in result.out  # there is no `rewind` on that path yet


def test_as_json_it_is_one_object(cli: InProcess, temporary: Path) -> None:
    found = cli.json("demo")
    assert found["ok"] is True and found["directory"] is None and found["seconds"] > 0
    assert [step["command"] for step in found["steps"]] == [
        "rewind init", None, "rewind list", "rewind back 1 --both", "rewind undo-restore", "rewind redo"]
    assert all(step["checked"] for step in found["steps"])


def test_kept_it_says_where_and_holds_what_was_shown(cli: InProcess, temporary: Path) -> None:
    result = cli.ok("demo", "--keep")
    top = Path(result.err.splitlines()[-1].rpartition(" ")[2])
    assert top.parent == Path(os.path.realpath(temporary))
    assert (top / "todo" / ".env").read_text() == BEFORE[".env"]
    assert (top / "todo" / "tasks.csv").exists() and (top / "todo" / "tests" / "test_todo.py").exists()
    kept = Rewind(top / "todo", top / "home")
    assert kept.json("validate", "--deep")["ok"] is True
    assert len(kept.names()) == 8
    typed = result.err.partition("To look around:\n")[2].splitlines()[:2]
    program = " ".join(shlex.quote(part) for part in cli.command)
    seen = subprocess.run(["/bin/sh", "-c", "\n".join([*typed, f"{program} sessions list"])], env=cli.env,
                          capture_output=True, text=True, timeout=60).stdout
    assert "todo" in seen and "todo · from turn 2" in seen, "as typed, the conversation and its fork are seen"


def test_without_its_packages_the_page_is_explained_in_one_line(cli: InProcess, temporary: Path) -> None:
    env = {**cli.env, "TMPDIR": str(temporary)}
    done = subprocess.run([*cli.command, "demo", "--ui"], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr  # started with -S, so that nothing but Python is there
    assert len(done.stderr.splitlines()) == 1 and "--with-ui" in done.stderr
    assert not os.listdir(temporary)


def test_the_page_shows_the_demo_until_it_is_ended(cli: InProcess, temporary: Path) -> None:
    pytest.importorskip("uvicorn")
    env = {**cli.env, "TMPDIR": str(temporary), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen([sys.executable, "-I", str(PROGRAM), "demo", "--ui"], env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        address = next(line.split()[-1] for line in process.stdout if line.startswith("Rewind is at "))
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        opener.open(address, timeout=90).close()
        with opener.open(address.split("?")[0] + "api/sessions", timeout=90) as answer:
            titles = [session["title"] for session in json.load(answer)["sessions"]]
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert "Traceback" not in process.stderr.read()
        assert process.wait(90) == 0
    assert sorted(titles) == ["todo", "todo"]
    assert not os.listdir(temporary)


def test_the_recorded_app_works() -> None:
    """What the agent of the demo writes is real code, and its test is true."""
    files = {given["file_path"]: given["content"] for _, given in TURNS[0].tools}
    program = files["todo.py"] + "\n" + files["tests/test_todo.py"].replace("from todo import add\n", "")
    space: dict[str, Any] = {}
    exec(compile(program, "todo.py", "exec"), space)
    space["test_a_task_is_added_at_the_end"]()
    assert TURNS[1].tools[0][1]["old_string"] in files["todo.py"]


# something is wrong

def sabotage(monkeypatch: pytest.MonkeyPatch, after: str, harm: Any) -> None:
    """After the command of that name the world is not as it should be."""
    right = World.rewind

    def wrong(self: World, *args: str) -> dict[str, Any]:
        found = right(self, *args)
        if args[0] == after:
            found = harm(self, found) or found
        return found

    monkeypatch.setattr(World, "rewind", wrong)


def damage(world: World, found: dict[str, Any]) -> None:
    world.write(".env", "not the same")


def leave(world: World, found: dict[str, Any]) -> None:
    world.write("left-over.txt", "x")


def cut_the_old_session(world: World, found: dict[str, Any]) -> None:
    for folder, _, names in os.walk(os.path.join(world.agent_home, "projects")):
        for name in names:
            os.truncate(os.path.join(folder, name), 0)


@pytest.mark.parametrize(("after", "harm", "step"), [
    ("list", lambda world, found: {"checkpoints": []}, 1),
    ("list", lambda world, found: {"checkpoints": found["checkpoints"][1:] or found["checkpoints"]}, 3),
    ("back", damage, 4), ("back", leave, 4), ("back", cut_the_old_session, 4),
    ("back", lambda world, found: {**found, "prompts": []}, 4),
    ("back", lambda world, found: {**found, "code": None}, 4),
    ("back", lambda world, found: {**found, "fork": None}, 4),
    ("undo-restore", damage, 5), ("undo-restore", leave, 5), ("redo", damage, 6), ("redo", leave, 6),
    ("validate", lambda world, found: {"problems": ["an object is damaged"]}, 6),
])
def test_whatever_is_wrong_the_step_is_named(cli: InProcess, temporary: Path, monkeypatch: pytest.MonkeyPatch,
                                             after: str, harm: Any, step: int) -> None:
    sabotage(monkeypatch, after, harm)
    result = cli.run("demo")
    assert result.code == 1, result
    assert f"error: Step {step} of the demo" in result.err and "hint: " in result.err
    assert "Everything came back exactly" not in result.out
    assert not os.listdir(temporary)


def test_a_command_that_fails_is_named(cli: InProcess, temporary: Path,
                                       monkeypatch: pytest.MonkeyPatch) -> None:
    sabotage(monkeypatch, "list",
             lambda world, found: len(found["checkpoints"]) > 1
             and world.shell('rm -r "$REWIND_HOME"/storage'))
    error = cli.fails_with_json(1, "demo")
    assert "Step 4" in error["message"] and "rewind back 1 --both" in error["message"]


def test_a_hook_that_says_something_is_noticed(cli: InProcess, temporary: Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewind.cli.demo.demo_world._ENTRY", str(temporary / "no-such-hook.py"))
    result = cli.run("demo")
    assert result.code == 1 and "Step 2 of the demo" in result.err and "the hook session-start" in result.err


def test_an_interruption_leaves_nothing_behind(cli: InProcess, temporary: Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: World, *args: str) -> dict[str, Any]:
        raise KeyboardInterrupt

    monkeypatch.setattr(World, "rewind", interrupted)
    assert cli.run("demo").code == 130
    assert not os.listdir(temporary)


# how it looks

def on_a_terminal(rewind: Rewind, temporary: Path, **env: str) -> str:
    import pty

    leader, follower = pty.openpty()
    with subprocess.Popen([*rewind.command, "demo"], stdin=subprocess.DEVNULL, stdout=follower,
                          stderr=follower,
                          env={**rewind.env, "TERM": "xterm", "TMPDIR": str(temporary), **env}) as process:
        os.close(follower)
        seen = b""
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        os.close(leader)
        assert process.wait(60) == 0
    return seen.decode()


def test_colours_are_for_terminals_that_want_them(rewind: Rewind, temporary: Path) -> None:
    assert "\x1b[32m✓" in on_a_terminal(rewind, temporary, LC_ALL="C.UTF-8")
    assert "\x1b[" not in on_a_terminal(rewind, temporary, NO_COLOR="1")
    assert "\x1b[" not in rewind.run("demo", env={"TMPDIR": str(temporary)}).out


def test_a_terminal_without_unicode_sees_plain_signs() -> None:
    class Ascii:
        encoding = "ascii"
        said = ""

        def isatty(self) -> bool:
            return False

        def write(self, text: str) -> None:
            text.encode("ascii")
            self.said += text

        def flush(self) -> None:
            pass

    stream = Ascii()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", stream)
        page = demo._Page(quiet=False)
        page.say("done …", mark="✓")
        page.prompt("do · it")
    assert stream.said == "   * done ...\n   > do , it\n"
