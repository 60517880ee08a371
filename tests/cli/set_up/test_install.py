"""`rewind install` and `rewind uninstall`, and the hooks that `rewind config` registers."""

from __future__ import annotations

import compileall
import json
from pathlib import Path
from typing import Any

import pytest

from compiled_once import compile_dir
from rewind import __version__
from rewind.agents import registry
from rewind_cli import Rewind, tree_state

pytestmark = pytest.mark.slow

CLAUDE = ".claude/settings.json"


@pytest.fixture(autouse=True)
def compiled_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compileall, "compile_dir", compile_dir)


@pytest.fixture
def agents(cli: Rewind) -> Rewind:
    """Both agents have been used here."""
    registry._loaded.clear()
    (cli.home / ".claude" / "projects").mkdir(parents=True)
    (cli.home / ".factory" / "sessions").mkdir(parents=True)
    return cli


def hooks(cli: Rewind, file: str = CLAUDE) -> dict[str, Any]:
    path = cli.home / file
    return dict(json.loads(path.read_text())["hooks"]) if path.exists() else {}


# install

def test_install_reports_as_json(agents: Rewind) -> None:
    done = agents.json("install", "--yes")
    assert done["version"] == __version__ and done["upgrade"] is False and done["dryRun"] is False
    assert done["system"] == str(agents.home / ".rewind" / "system")
    assert done["link"] == str(agents.home / ".local" / "bin" / "rewind")
    assert Path(done["python"]).is_absolute() and done["tier"] == "balanced" and done["ui"] is False
    assert [one["agent"] for one in done["hooks"]] == ["claude", "droid"]
    assert done["hooks"][0]["files"] == [str(agents.home / CLAUDE)]
    assert agents.json("install", "--yes")["upgrade"] is True


def test_install_without_a_terminal_takes_the_defaults(agents: Rewind) -> None:
    agents.ok("install")
    assert "Stop" in hooks(agents) and "Stop" in hooks(agents, ".factory/settings.json")


def test_install_tried_touches_nothing(agents: Rewind) -> None:
    before = tree_state(agents.home)
    said = agents.ok("install", "--dry-run", "--tier", "minimal").out
    assert "Would install" in said and "minimal" in said and "Claude Code" in said
    plan = agents.json("install", "--dry-run", "--with-ui")
    assert plan["dryRun"] is True and plan["ui"] is True and len(plan["hooks"]) == 2
    assert tree_state(agents.home) == before


def test_options_that_contradict_each_other_are_refused(agents: Rewind) -> None:
    agents.fails(2, "install", "--agents", "claude", "--no-hooks")
    agents.fails(2, "install", "--with-ui", "--no-ui")
    agents.fails(2, "install", "--agents", ",")
    agents.fails(2, "install", "--agents", "claude,nobody", hint="claude, droid")
    agents.fails(2, "install", "--tier", "extreme")
    assert not (agents.home / ".rewind").exists()


def test_install_says_when_its_directory_is_not_on_the_path(agents: Rewind) -> None:
    assert ".local/bin is not on your PATH" in agents.ok("install", "--yes").err
    done = agents.run("install", "--yes", env={"PATH": f"{agents.home}/.local/bin:/usr/bin:/bin"})
    assert done.code == 0 and "PATH" not in done.err


def test_install_ends_with_the_next_step(agents: Rewind) -> None:
    assert "Git projects need nothing more" in agents.ok("install", "--yes").out
    agents.ok("config", "--global", "--set", "init.auto=never")
    assert "cd your-project && rewind init" in agents.ok("install", "--yes").out


def test_a_home_that_cannot_be_written_is_one_sentence(agents: Rewind) -> None:
    (agents.home / ".rewind").write_text("a file")
    agents.fails(1, "install", "--yes")


def test_a_bin_directory_that_cannot_be_written_leaves_the_rest(user: Rewind) -> None:
    folder = user.home / ".local" / "bin"
    folder.mkdir(parents=True)
    folder.chmod(0o555)
    done = user.run("install", "--yes")
    assert done.code == 0, done
    program = user.home / ".rewind" / "system" / "bin-rewind"
    assert "warning: " in done.err and str(program) in done.err
    assert program.exists() and not (folder / "rewind").exists()


def test_settings_that_cannot_be_written_make_it_partial(user: Rewind) -> None:
    folder = user.home / ".claude"
    folder.mkdir()
    (folder / "settings.json").write_text("{}")
    folder.chmod(0o555)
    try:
        done = user.run("install", "--yes")
    finally:
        folder.chmod(0o755)
    assert done.code == 3 and "cannot be written" in done.out


# uninstall

def test_uninstall_without_a_terminal_needs_a_yes(agents: Rewind) -> None:
    agents.ok("install", "--yes")
    before = tree_state(agents.home)
    agents.fails(2, "uninstall", hint="--yes")
    assert agents.fails_with_json(2, "uninstall")["code"] == "usage-error"
    assert tree_state(agents.home) == before


def test_uninstall_tried_shows_what_would_go(agents: Rewind) -> None:
    agents.ok("install", "--yes")
    agents.ok("init")
    before = tree_state(agents.home)
    said = agents.ok("uninstall", "--dry-run").out
    for path in (".rewind/system", ".local/bin/rewind", CLAUDE):
        assert str(agents.home / path) in said
    plan = agents.json("uninstall", "--dry-run")
    assert plan["dryRun"] is True and plan["problems"] == []
    assert plan["remaining"] == [{"root": str(agents.project), "state": str(agents.state)}]
    assert str(agents.home / CLAUDE) in plan["hooks"]
    assert tree_state(agents.home) == before


def test_uninstall_reports_as_json(agents: Rewind) -> None:
    before = tree_state(agents.home)
    agents.ok("install", "--yes")
    done = agents.json("uninstall", "--yes")
    assert done["dryRun"] is False and done["remaining"] == [] and done["problems"] == []
    assert str(agents.home / ".rewind" / "system") in done["removed"]
    assert tree_state(agents.home) == before
    assert agents.json("uninstall", "--yes")["removed"] == []


# rewind config --register-hooks

def test_hooks_are_registered_and_taken_out_again(agents: Rewind) -> None:
    agents.ok("install", "--no-hooks")
    before = tree_state(agents.home)
    said = agents.ok("config", "--register-hooks").out
    assert "Claude Code" in said and "Factory Droid" in said and "Stop" in hooks(agents)
    assert "already" in agents.ok("config", "--register-hooks").out
    done = agents.json("config", "--unregister-hooks")
    changed = [one["agent"] for one in done["hooks"] if one["files"]]
    assert changed == ["claude", "droid"] and done["changed"] == []
    assert tree_state(agents.home) == before
    assert "no hooks of Rewind" in agents.ok("config", "--unregister-hooks").out


def test_a_tier_and_its_hooks_in_one_command(agents: Rewind) -> None:
    agents.ok("install", "--no-hooks")
    agents.ok("config", "--global", "--tier", "minimal", "--register-hooks")
    assert list(hooks(agents)) == ["SessionStart"]
    said = agents.ok("config", "--global", "--tier", "aggressive").err
    assert "rewind config --register-hooks" in said
    agents.ok("config", "--register-hooks")
    assert "Stop" in hooks(agents)
    assert "register-hooks" not in agents.ok("config", "--global", "--tier", "aggressive").err


def test_hooks_in_a_project_follow_its_own_tier(agents: Rewind) -> None:
    agents.ok("install", "--no-hooks")
    agents.fails(10, "config", "--register-hooks", "--in-project")
    agents.ok("init")
    agents.ok("config", "--tier", "minimal", "--register-hooks", "--in-project")
    found = json.loads((agents.project / ".claude" / "settings.json").read_text())
    assert list(found["hooks"]) == ["SessionStart"] and hooks(agents) == {}
    agents.ok("config", "--unregister-hooks", "--in-project")
    assert not (agents.project / ".claude").exists()


def test_registering_tried_touches_nothing(agents: Rewind) -> None:
    agents.ok("install", "--no-hooks")
    before = tree_state(agents.home)
    assert "would be registered with Claude Code" in agents.ok("config", "--register-hooks", "--dry-run").out
    assert agents.json("config", "--register-hooks", "--dry-run")["dryRun"] is True
    assert tree_state(agents.home) == before


def test_hooks_need_something_to_call_and_somebody_who_calls(cli: Rewind) -> None:
    registry._loaded.clear()
    cli.fails(1, "config", "--register-hooks", hint="rewind install")
    cli.ok("install")
    cli.fails(1, "config", "--register-hooks", hint="--agents")
    cli.fails(2, "config", "--register-hooks", "--unregister-hooks")
    cli.fails(2, "config", "--in-project")


def test_hooks_that_cannot_be_registered_make_it_partial(agents: Rewind) -> None:
    agents.ok("install", "--no-hooks")
    (agents.home / CLAUDE).write_text("{ no")
    done = agents.run("config", "--register-hooks")
    assert done.code == 3 and str(agents.home / CLAUDE) in done.err
    assert "Stop" in hooks(agents, ".factory/settings.json")
