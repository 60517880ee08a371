"""`rewind bisect` as a user meets it: real commands, real processes that are killed."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chat_scene import Scene, client_is_running
from cli.conftest import InProcess
from rewind_cli import Rewind, differences, tree_state

pytestmark = pytest.mark.slow

WORKS_UNTIL_5 = ("sh", "-c", "test $(cat n.txt) -lt 6")


@pytest.fixture
def steps(cli: InProcess) -> InProcess:
    """Checkpoints with 1 to 12 in `n.txt`, the oldest first."""
    cli._monkeypatch.setattr(os, "fsync", lambda fd: None)
    (cli.project / "n.txt").write_text("1\n")
    cli.init()
    for number in range(2, 13):
        (cli.project / "n.txt").write_text(f"{number}\n")
        cli.save(f"step {number}")
    return cli


def name_of(cli: InProcess, step: int) -> str:
    return cli.names()[12 - step]


def test_the_checkpoint_that_broke_it_is_found(steps: InProcess) -> None:
    before = tree_state(steps.project)
    found = steps.json("bisect", "run", "--", *WORKS_UNTIL_5)
    assert found["checkpoint"] == name_of(steps, 6) and found["good"] == name_of(steps, 5)
    assert found["runs"] <= 7 and found["who"] == "you"
    assert [file["path"] for file in found["changes"]["files"]] == ["n.txt"]
    assert differences(before, tree_state(steps.project)) == {}


def test_people_read_what_to_do_next(steps: InProcess) -> None:
    result = steps.ok("bisect", "run", "--good", name_of(steps, 1), "--", *WORKS_UNTIL_5)
    assert '"step 6"' in result.out and name_of(steps, 6) in result.out
    assert f"rewind restore {name_of(steps, 5)}" in result.err
    assert f"rewind revert {name_of(steps, 5)}..{name_of(steps, 6)}" in result.err
    assert "Run 1 (at most " in result.err


def test_the_turn_and_its_prompt_are_named(cli: InProcess) -> None:
    scene = Scene(cli)
    for number, text in enumerate(("Write a", "Break it", "Go on"), 1):
        scene.save("UserPromptSubmit", promptId=f"p{number}", promptText=text)
        scene.do(text, a=str(number))
        scene.save("Stop", promptId=f"p{number}")
    found = cli.json("bisect", "run", "--", "grep", "-q", "1", "a.txt")
    assert (found["session"], found["turn"], found["prompt"]) == (scene.session, 2, "Break it")
    assert found["revert"] == f"rewind revert {scene.session[:8]}:t2"
    assert 'turn 2' in cli.ok("bisect", "run", "--good", "t2", "--bad", "t3+", "--", "grep", "-q", "1",
                              "a.txt").out


def test_a_directory_that_the_command_replaces_by_a_link_is_not_followed(steps: InProcess,
                                                                        tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    (mine / "sub").mkdir(parents=True)
    for folder in (mine, mine / "sub"):
        folder.chmod(0o750)
    script = f'd=$(pwd); cd ..; rm -rf "$d"; ln -s {mine} "$d"; exit 1'
    steps.run("bisect", "run", "--good", name_of(steps, 1), "--", "sh", "-c", script)
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (mine, mine / "sub")] == [0o750, 0o750]


@pytest.mark.parametrize("in_place", [False, True])
def test_a_command_that_changes_files_does_not_disturb_the_next_run(steps: InProcess, in_place: bool) -> None:
    before = tree_state(steps.project)
    script = ("test $(cat n.txt) -lt 6; code=$?; test -e other && exit 99; echo 0 > n.txt; echo x > other;"
              " exit $code")
    found = steps.json("bisect", "run", *(["--in-place"] if in_place else []), "--", "sh", "-c", script)
    assert found["checkpoint"] == name_of(steps, 6)
    assert differences(before, tree_state(steps.project)) == {}


def test_in_place_ends_where_it_began(steps: InProcess) -> None:
    (steps.project / "n.txt").write_text("unsaved\n")
    (steps.project / "new.txt").write_text("also unsaved\n")
    (steps.project / ".gitignore").write_text("ignored\n")
    (steps.project / "ignored").write_text("kept\n")
    before, here = tree_state(steps.project), steps.json("list")["checkpoints"][0]["name"]
    found = steps.json("bisect", "run", "--in-place", "--", *WORKS_UNTIL_5)
    assert found["checkpoint"] == name_of(steps, 6)
    assert differences(before, tree_state(steps.project)) == {}
    assert steps.json("status")["here"] == here
    operations = steps.json("ops")["operations"]
    assert [op["command"] for op in operations] == ["bisect"] and not operations[0]["canUndo"]
    steps.fails(12, "undo-restore")


def test_quiet_the_command_runs_as_it_does_otherwise(steps: InProcess) -> None:
    script = "printenv PWD | grep -qx \"$(pwd -P)\" || exit 126; echo said; test $(cat n.txt) -lt 6"
    loud, quiet = (steps.ok("bisect", "run", *more, "--", "sh", "-c", script) for more in ([], ["--quiet"]))
    assert name_of(steps, 6) in loud.out and name_of(steps, 6) in quiet.out and quiet.err == ""


def test_in_place_the_command_runs_in_the_project(steps: InProcess) -> None:
    script = f'test "$PWD" = {os.path.realpath(steps.project)} || exit 126; test $(cat n.txt) -lt 6'
    assert steps.json("bisect", "run", "--in-place", "--", "sh", "-c", script)["checkpoint"]


def test_a_redo_is_still_there_after_in_place(steps: InProcess) -> None:
    steps.ok("undo")
    steps.ok("bisect", "run", "--in-place", "--", *WORKS_UNTIL_5)
    steps.ok("redo")
    assert (steps.project / "n.txt").read_text() == "12\n"


# killed

@pytest.fixture
def real(rewind: Rewind) -> Rewind:
    (rewind.project / "n.txt").write_text("1\n")
    rewind.init()
    for number in range(2, 7):
        (rewind.project / "n.txt").write_text(f"{number}\n")
        rewind.save(f"step {number}")
    (rewind.project / "n.txt").write_text("unsaved\n")
    (rewind.project / "new.txt").write_text("unsaved\n")
    return rewind


def start(real: Rewind, *options: str) -> subprocess.Popen[bytes]:
    """Until the command runs in the project, for the second time."""
    script = "touch ../ran-$(cat n.txt); test -e ../ran-5 && sleep 60; exit 1"
    process = subprocess.Popen([*real.command, "bisect", "run", *options, "--", "sh", "-c", script],
                               cwd=real.project, env=real.env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    for _ in range(600):
        if (real.project.parent / "ran-5").exists() or process.poll() is not None:
            break
        time.sleep(0.1)
    assert process.poll() is None, process.communicate()
    return process


@pytest.mark.parametrize("command", ["list", "status", "undo-restore", "save"])
def test_killed_in_place_the_next_command_brings_the_tree_back(real: Rewind, command: str) -> None:
    before = tree_state(real.project)
    process = start(real, "--in-place")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert differences(before, tree_state(real.project)), "it was not killed in the middle"
    real.ok(command)
    assert differences(before, tree_state(real.project)) == {}
    assert not any(op["interrupted"] for op in real.json("ops")["operations"][:1])
    real.ok("bisect", "run", "--in-place", "--good", real.names()[-1], "--", "sh", "-c",
            "test $(cat n.txt) = 1")


def test_ctrl_c_in_place_brings_the_tree_back_at_once(real: Rewind) -> None:
    before = tree_state(real.project)
    process = start(real, "--in-place")
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and b"Traceback" not in err
    assert differences(before, tree_state(real.project)) == {}
    assert not any(op["interrupted"] for op in real.json("ops")["operations"])


def test_while_it_runs_nobody_else_saves(real: Rewind) -> None:
    process = start(real, "--in-place")
    try:
        (real.project / "meanwhile.txt").write_text("of somebody else\n")
        assert real.run("save", timeout=60).code == 11
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
    # What was written meanwhile is in a backup: nothing is lost.
    assert any(real.run("cat", f"{name}:meanwhile.txt").code == 0 for name in real.names(backups=True))


# the scratch directory

def test_what_no_checkpoint_holds_is_linked_in(steps: InProcess) -> None:
    packages = steps.project / "node_modules" / "left-pad"
    packages.mkdir(parents=True)
    (packages / "index.js").write_text("1\n")
    cache = steps.project / "__pycache__"
    cache.mkdir()
    (cache / "x.pyc").write_text("1\n")
    script = "test -e node_modules/left-pad/index.js || exit 126; test -e __pycache__ && exit 127;" \
             " test $(cat n.txt) -lt 6"
    assert steps.json("bisect", "run", "--", "sh", "-c", script)["checkpoint"] == name_of(steps, 6)


def test_the_directory_where_one_stands_is_where_the_command_runs(steps: InProcess) -> None:
    (steps.project / "sub").mkdir()
    (steps.project / "sub" / "file").write_text("1\n")
    steps.save("a directory")
    found = steps.run("bisect", "run", "--json", "--", "sh", "-c", "test ! -e file",
                      cwd=steps.project / "sub")
    assert found.code == 12  # in older checkpoints there is no such directory, so they cannot tell
    assert "fails as early as" in json.loads(found.err.splitlines()[-1])["error"]["message"]


def test_nothing_is_left_behind(steps: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    script = "mkdir locked && touch locked/x && chmod 500 locked; test $(cat n.txt) -lt 6"
    steps.ok("bisect", "run", "--", "sh", "-c", script)
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("how", ["pth", "finder", "direct_url", "egg-link"])
def test_an_editable_install_of_the_project_is_refused(steps: InProcess, how: str) -> None:
    packages = steps.project / ".venv" / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    (steps.project / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    source = os.path.join(os.path.realpath(steps.project), "src")
    os.mkdir(source)
    if how == "pth":
        (packages / "__editable__.app.pth").write_text(f"{source}\n")
    elif how == "finder":
        (packages / "__editable___app_finder.py").write_text(f"MAPPING = {{'app': '{source}/app'}}\n")
    elif how == "egg-link":
        (packages / "app.egg-link").write_text(f"{source}\n.\n")
    else:
        info = packages / "app-1.dist-info"
        info.mkdir()
        (info / "direct_url.json").write_text(json.dumps(
            {"dir_info": {"editable": True}, "url": Path(os.path.realpath(steps.project)).as_uri()}))
    message = steps.fails(1, "bisect", "run", "--", "true", hint="--in-place")
    assert ".venv" in message
    steps.ok("bisect", "run", "--in-place", "--", *WORKS_UNTIL_5)


def test_a_real_environment_without_such_an_install_is_linked(steps: InProcess) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(steps.project / ".venv")], check=True)
    script = ".venv/bin/python -c 'import sys; sys.exit(int(open(\"n.txt\").read()) > 5)'"
    assert steps.json("bisect", "run", "--", "sh", "-c", script)["checkpoint"] == name_of(steps, 6)


def test_a_workspace_in_node_modules_is_refused(steps: InProcess) -> None:
    (steps.project / "packages" / "app").mkdir(parents=True)
    (steps.project / "node_modules" / "@me").mkdir(parents=True)
    (steps.project / "node_modules" / "@me" / "app").symlink_to("../../packages/app")
    assert "node_modules" in steps.fails(1, "bisect", "run", "--", "true")


def test_a_dry_run_says_what_would_be_searched(steps: InProcess) -> None:
    (steps.project / "node_modules").mkdir()
    (steps.project / "node_modules" / "x.js").write_text("1\n")
    before = tree_state(steps.project)
    found = steps.json("bisect", "run", "--dry-run", "--good", name_of(steps, 3), "--", "false")
    assert found["checkpoints"] == [name_of(steps, n) for n in range(3, 13)] and found["dryRun"]
    assert [one["path"] for one in found["linked"]] == ["node_modules"]
    assert "10 checkpoints" in steps.ok("bisect", "run", "--dry-run", "--good", name_of(steps, 3), "--",
                                        "false").out
    assert differences(before, tree_state(steps.project)) == {}
    assert not (steps.state / "bisect.log").exists()


# exit codes and logs

@pytest.mark.parametrize("code", [126, 127, 128, 255])
def test_other_exit_codes_stop_it(steps: InProcess, code: int) -> None:
    before = tree_state(steps.project)
    for options in ([], ["--in-place"]):
        assert f"status {code}" in steps.fails(1, "bisect", "run", *options, "--", "sh", "-c", f"exit {code}")
    assert differences(before, tree_state(steps.project)) == {}


def test_a_command_that_is_killed_stops_it(steps: InProcess) -> None:
    assert "status 137" in steps.fails(1, "bisect", "run", "--", "sh", "-c", "kill -9 $$")


def test_a_command_that_does_not_exist_stops_it(steps: InProcess) -> None:
    assert "status 127" in steps.fails(1, "bisect", "run", "--", "no-such-command")


def test_125_skips_and_what_is_left_is_named(steps: InProcess) -> None:
    script = "n=$(cat n.txt); test $n -ge 5 -a $n -le 7 && exit 125; test $n -lt 6"
    result = steps.run("bisect", "run", "--json", "--good", name_of(steps, 1), "--", "sh", "-c", script)
    assert result.code == 3
    assert result.data["checkpoint"] == name_of(steps, 8) and result.data["good"] == name_of(steps, 4)
    assert result.data["skipped"] == [name_of(steps, n) for n in (5, 6, 7)]


def test_a_log_can_be_replayed(steps: InProcess, tmp_path: Path) -> None:
    first = steps.json("bisect", "run", "--", *WORKS_UNTIL_5)
    log = tmp_path / "kept.log"
    log.write_text(steps.ok("bisect", "log").out)
    again = steps.json("bisect", "replay", str(log))
    assert again["checkpoint"] == first["checkpoint"] and again["runs"] == 0
    lines = log.read_text().splitlines()
    log.write_text("\n".join(lines[:-1]) + "\n")
    assert "the log has no result for" in steps.fails(12, "bisect", "replay", str(log), hint="-- CMD")
    more = steps.json("bisect", "replay", str(log), "--", *WORKS_UNTIL_5)
    assert more["checkpoint"] == first["checkpoint"] and more["runs"] == 1


@pytest.mark.parametrize(("code", "words", "text"), [
    (2, ["run"], "No command"),
    (2, ["run", "make"], "takes no file"),
    (2, ["replay"], "needs a log"),
    (2, ["log", "--good", "last"], "takes no options"),
    (2, ["run", "--force", "--", "true"], "--in-place only"),
    (12, ["run", "--", "true"], "does not fail at"),
    (12, ["run", "--", "false"], "fails as early as"),
    (12, ["run", "--good", "20200101_000000_001", "--", "true"], "No checkpoint matches"),
    (12, ["run", "--good", "t99", "--", "true"], "t99"),
    (1, ["replay", "nothing.log"], "no file"),
    (1, ["replay", "n.txt"], "not a log"),
    (1, ["log"], "No bisect was run"),
])
def test_bad_input_is_one_sentence_and_changes_nothing(steps: InProcess, code: int, words: list[str],
                                                       text: str) -> None:
    before = tree_state(steps.project)
    assert text in steps.fails(code, "bisect", *words)
    assert differences(before, tree_state(steps.project)) == {}
    assert steps.json("ops")["operations"] == []


def test_good_and_bad_must_be_on_one_line(steps: InProcess) -> None:
    side = name_of(steps, 12)
    steps.ok("restore", name_of(steps, 3), "--code-only")
    (steps.project / "n.txt").write_text("another way\n")
    steps.save()
    assert "not an ancestor" in steps.fails(12, "bisect", "run", "--good", side, "--", "true")


def test_one_checkpoint_is_not_enough(cli: InProcess) -> None:
    cli.init()
    assert "not two checkpoints" in cli.fails(12, "bisect", "run", "--", "false")


def test_a_running_turn_is_not_disturbed(steps: InProcess) -> None:
    scene = Scene(steps)
    client_is_running(steps.home, scene.session, status="busy")
    (steps.state / "session.json").write_text(json.dumps({
        "session_id": scene.session, "agent": "claude", "running": True, "transcript_path": str(scene.path)}))
    steps.fails(13, "bisect", "run", "--in-place", "--", *WORKS_UNTIL_5)
    steps.ok("bisect", "run", "--", *WORKS_UNTIL_5)
    steps.ok("bisect", "run", "--in-place", "--force", "--", *WORKS_UNTIL_5)
