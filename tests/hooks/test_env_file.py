"""The file by which an agent's shell commands get variables."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hook_scene import Hooks


@pytest.fixture
def env_file(hooks: Hooks) -> Path:
    path = hooks.home / ".claude" / "session-env" / hooks.session / "sessionstart-hook-0.sh"
    path.parent.mkdir(parents=True)
    return path


def start(hooks: Hooks, path: Path, source: str = "startup", **env: str) -> None:
    outcome = hooks.fire("SessionStart", env={"CLAUDE_ENV_FILE": str(path), **env}, source=source)
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")


def variables(path: Path, *names: str) -> list[str]:
    """What a shell has after it has read the file, which it does before each command."""
    script = '. "$1"; shift; for name; do eval "printf \'%s\\0\' \\"\\$$name\\""; done'
    done = subprocess.run(["/bin/sh", "-c", script, "sh", str(path), *names], capture_output=True, check=True,
                          env={"PATH": os.environ["PATH"]})
    return [os.fsdecode(value) for value in done.stdout.split(b"\0")[:-1]]


def test_the_variables_reach_a_shell(hooks: Hooks, env_file: Path) -> None:
    start(hooks, env_file)
    assert variables(env_file, "REWIND_PROJECT_ROOT", "REWIND_TRANSCRIPT_PATH", "REWIND_SESSION_ID",
                     "REWIND_AGENT") == [os.path.realpath(hooks.project), str(hooks.transcript),
                                         hooks.session, "claude"]


def test_the_path_is_written_out_with_the_users_programs_in_front(hooks: Hooks, env_file: Path) -> None:
    start(hooks, env_file, PATH="/opt/bin:/usr/bin")
    assert variables(env_file, "PATH") == [f"{hooks.home}/.local/bin:/opt/bin:/usr/bin"]
    assert "$" not in env_file.read_text()


def test_a_path_that_begins_so_already_is_left_alone(hooks: Hooks, env_file: Path) -> None:
    start(hooks, env_file, PATH=f"{hooks.home}/.local/bin:/usr/bin")
    assert "PATH=" not in env_file.read_text().replace("TRANSCRIPT_PATH=", "")


def test_every_line_is_a_plain_export(hooks: Hooks, env_file: Path) -> None:
    """Some agents read the file themselves, line by line."""
    start(hooks, env_file)
    for line in env_file.read_text().splitlines():
        assert line.startswith("export ") and line.endswith("'") and "='" in line


def test_they_are_added_once(hooks: Hooks, env_file: Path) -> None:
    start(hooks, env_file)
    once = env_file.read_bytes()
    start(hooks, env_file, "resume")
    start(hooks, env_file, "compact")
    assert env_file.read_bytes() == once


def test_what_others_wrote_stays(hooks: Hooks, env_file: Path) -> None:
    env_file.write_text("export OTHER=1")  # without a newline at its end
    start(hooks, env_file)
    assert variables(env_file, "OTHER", "REWIND_AGENT") == ["1", "claude"]
    assert env_file.read_text().startswith("export OTHER=1\n")


def test_the_file_is_private(hooks: Hooks, env_file: Path) -> None:
    start(hooks, env_file)
    assert env_file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["it's", "$(touch broken)", "a`b`", 'say "hi"', "back\\slash", "two\nlines",
                                  "ümlaut", "# no comment"])
def test_any_name_of_a_project_is_quoted(hooks: Hooks, env_file: Path, name: str) -> None:
    hooks.transcript = hooks.transcript.parent / name / "t.jsonl"
    start(hooks, env_file)
    assert variables(env_file, "REWIND_TRANSCRIPT_PATH") == [str(hooks.transcript)]
    assert not list(hooks.project.parent.rglob("broken"))


# where it may be

@pytest.mark.parametrize("where", ["{home}/.bashrc", "{home}/.ssh/rc", "{project}/env.sh",
                                   "{home}/.claude/../.profile", "relative.sh", "/dev/null", "",
                                   "{home}/.claude-not-quite/x.sh"])
def test_a_file_outside_the_agents_own_directory_is_not_written(hooks: Hooks, where: str,
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(hooks.project)
    (hooks.home / ".ssh").mkdir()
    (hooks.home / ".claude-not-quite").mkdir()
    path = where.format(home=hooks.home, project=hooks.project)
    hooks.fire("SessionStart", env={"CLAUDE_ENV_FILE": path}, source="startup")
    assert not os.path.isfile(path)
    assert hooks.session_json()["env_file"] == ""
    assert hooks.count() == 2


def test_a_directory_that_leads_out_by_a_link_counts_as_outside(hooks: Hooks) -> None:
    (hooks.home / "elsewhere").mkdir()
    (hooks.home / ".claude" / "session-env").symlink_to(hooks.home / "elsewhere")
    start(hooks, hooks.home / ".claude" / "session-env" / "x.sh")
    assert not list((hooks.home / "elsewhere").iterdir())
    assert hooks.count() == 2


def test_a_moved_home_of_the_agent_is_honoured(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = hooks.home / "moved"
    moved.mkdir()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(moved))
    start(hooks, moved / "x.sh")
    assert "REWIND_AGENT" in (moved / "x.sh").read_text()


def test_droid_names_it_in_the_payload_too(hooks: Hooks) -> None:
    folder = hooks.home / ".factory" / "temp" / "env"
    folder.mkdir(parents=True)
    transcript = hooks.home / ".factory" / "sessions" / "-project" / "s.jsonl"
    hooks.fire("SessionStart", source="startup", transcript_path=str(transcript), session_id="s",
               CLAUDE_ENV_FILE=str(folder / "droid.sh"))
    assert variables(folder / "droid.sh", "REWIND_AGENT", "REWIND_SESSION_ID") == ["droid", "s"]


# what may stand in its place: the checkpoint is made all the same

def test_a_link_in_its_place_is_not_followed(hooks: Hooks, env_file: Path) -> None:
    precious = hooks.home / ".bashrc"
    precious.write_text("# mine\n")
    env_file.symlink_to(precious)
    start(hooks, env_file)
    assert precious.read_text() == "# mine\n"
    assert hooks.count() == 2


def test_a_fifo_in_its_place_holds_nobody_up(hooks: Hooks, env_file: Path) -> None:
    os.mkfifo(env_file)
    start(hooks, env_file)
    assert hooks.count() == 2


def test_a_directory_in_its_place_is_left_alone(hooks: Hooks, env_file: Path) -> None:
    env_file.mkdir()
    start(hooks, env_file)
    assert hooks.count() == 2


def test_a_directory_that_is_missing_costs_no_checkpoint(hooks: Hooks, env_file: Path) -> None:
    env_file.parent.rmdir()
    start(hooks, env_file)
    assert hooks.count() == 2


def test_only_the_start_of_a_session_writes_it(hooks: Hooks, env_file: Path) -> None:
    for name in ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"):
        hooks.fire(name, env={"CLAUDE_ENV_FILE": str(env_file)}, prompt="x")
    assert not env_file.exists()
