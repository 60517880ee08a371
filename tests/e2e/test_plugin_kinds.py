"""Both kinds of installation come, change their version and go, beside what belongs to others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from claude_client import Claude
from conversation import Recording
from kinds import (
    Neighbourhood,
    add_foreign,
    checkout_of,
    install_plugin,
    install_sh,
    remove_plugin,
    set_version,
    update_plugin,
)
from mock_api import MockApi
from scripted import claude_script
from shared import recorded_once
from stage import Stage, copy_stage, make_stage

from rewind import __version__
from rewind_cli import CHECKOUT, Rewind

pytestmark = [pytest.mark.slow, pytest.mark.longest]
NEWER, OLDER = "9.9.9", "0.0.1"


@pytest.fixture(scope="session")
def neighbours(claude_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """A home with what belongs to others, in which nothing was said yet."""
    def record(folder: Path) -> list[Recording]:
        stage = make_stage(folder)
        with MockApi(claude_script(stage.project)) as api:
            add_foreign(Claude(claude_program, stage, api), folder / "market")
        return [Recording(stage, "", [])]
    return recorded_once(tmp_path_factory, "neighbours", record)[0]


@pytest.fixture
def claude(claude_program: Path, stage: Stage, claude_api: MockApi, neighbours: Recording) -> Claude:
    copy_stage(neighbours.stage, stage)
    return Claude(claude_program, stage, claude_api)


@pytest.fixture
def around(claude: Claude, rewind: Rewind) -> Neighbourhood:
    return Neighbourhood(claude, rewind)


def installed_by_us(claude: Claude) -> str:
    file = claude.config / "skills" / "rewind" / ".claude-plugin" / "plugin.json"
    return str(json.loads(file.read_text())["version"])


def installed_by_client(claude: Claude) -> str:
    found = json.loads((claude.config / "plugins" / "installed_plugins.json").read_text())
    return str(found["plugins"]["rewind@rewind"][0]["version"])


def check_gone(around: Neighbourhood, settings: bytes) -> None:
    assert around.settings.read_bytes() == settings
    home = around.claude.home
    assert not any((home / name).exists() for name in (".rewind/system", ".local", ".claude/skills"))
    around.check(protected=False, commands=False)


def test_the_installers_comes_changes_and_goes(around: Neighbourhood, claude: Claude, tmp_path: Path) -> None:
    around.reformat()
    before = around.settings.read_bytes()
    for version in (__version__, NEWER, OLDER):
        checkout = CHECKOUT if version == __version__ else checkout_of(tmp_path / version, version)
        install_sh(claude, checkout, "--yes", "--agents", "claude")
        assert installed_by_us(claude) == version
        around.check(protected=True, commands=True)
    install_sh(claude, checkout, "--uninstall", "--yes")
    check_gone(around, before)


def test_the_clients_comes_changes_and_goes(around: Neighbourhood, claude: Claude, tmp_path: Path) -> None:
    before = around.settings.read_bytes()
    checkout = checkout_of(tmp_path / "rewind", __version__)
    install_plugin(claude, checkout)
    for version in (__version__, NEWER, OLDER):
        if version != __version__:
            set_version(checkout, version)
            update_plugin(claude)
        assert installed_by_client(claude) == version
        around.check(protected=True, commands=True)
    remove_plugin(claude)
    check_gone(around, before)


@pytest.mark.parametrize("removed_first", ["plugin", "installer"])
@pytest.mark.parametrize("installed_first", ["plugin", "installer"])
def test_both_come_and_go_in_any_order(around: Neighbourhood, claude: Claude, rewind: Rewind, tmp_path: Path,
                                       installed_first: str, removed_first: str) -> None:
    before = around.settings.read_bytes()
    newer = checkout_of(tmp_path / "rewind", NEWER)
    steps = {"plugin": lambda: install_plugin(claude, newer),
             "installer": lambda: install_sh(claude, CHECKOUT, "--yes", "--agents", "claude")}
    steps.pop(installed_first)()
    steps.popitem()[1]()
    around.check(protected=True, commands=True)
    told = [check["fix"] for check in rewind.run("doctor", "--json").data["checks"]]
    assert any("claude plugin uninstall rewind@rewind" in fix for fix in told)
    steps = {"plugin": lambda: remove_plugin(claude),
             "installer": lambda: install_sh(claude, CHECKOUT, "--uninstall", "--yes")}
    steps.pop(removed_first)()
    around.check(protected=True, commands=True)
    steps.popitem()[1]()
    check_gone(around, before)


def test_hooks_of_the_project_and_the_clients_plugin_do_not_work_twice(
        around: Neighbourhood, claude: Claude, rewind: Rewind) -> None:
    install_sh(claude, CHECKOUT, "--yes", "--no-hooks")
    rewind.init()
    assert rewind.run("config", "--register-hooks", "--in-project").code == 0
    install_plugin(claude)
    around.check(protected=True, commands=True)
