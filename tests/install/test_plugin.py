"""The plugin for Claude Code: put where its client finds it, and gone without a trace."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Optional

import pytest

from compiled_once import preinstall_library
from install_scene import Machine, everything
from rewind import __version__
from rewind.agents.registry import profile_named
from rewind.config.load import load_tier
from rewind.install.agent_settings.merger import entries_for
from rewind.install.doctor.check_plugin import check_plugins
from rewind.install.doctor.finding import Finding
from rewind.install.machine.system import System
from rewind.install.plugin import put_plugin
from rewind_cli import CHECKOUT

pytestmark = pytest.mark.slow

PLUGIN = CHECKOUT / "plugin"
SESSION = "0b7c1c52-5d0e-4a63-9b8a-2f1d3a6c9e41"


@pytest.fixture
def fresh(tmp_path: Path) -> Machine:
    """Where nothing of Rewind has ever been."""
    found = Machine(tmp_path)
    found.has_claude()
    return found


@pytest.fixture
def machine(fresh: Machine, ready_library: Path) -> Machine:
    preinstall_library(ready_library, fresh.home)
    return fresh


def folder(machine: Machine) -> Path:
    return machine.home / ".claude" / "skills" / "rewind"


def plugin_warnings(machine: Machine, project: Optional[Path] = None) -> list[str]:
    checks = machine.rewind("doctor", "--json", cwd=project or machine.top).data["checks"]
    return [one["message"] + one["fix"] for one in checks
            if one["name"] == "plugin" and one["status"] != "ok"]


def has_market_plugin(machine: Machine, name: str = "rewind@rewind") -> Path:
    """As `claude plugin install` leaves it."""
    cache = machine.home / ".claude" / "plugins" / "cache" / "rewind"
    (cache / "hooks").mkdir(parents=True)
    (cache / "hooks" / "smart-checkpoint").write_bytes((PLUGIN / "hooks" / "smart-checkpoint").read_bytes())
    (cache.parent.parent / "installed_plugins.json").write_text(json.dumps(
        {"version": 2, "plugins": {name: [{"scope": "user", "installPath": str(cache)}]}}))
    settings = machine.home / ".claude" / "settings.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "enabledPlugins": {name: True}}))
    return cache


# the copy of `rewind install`

def test_it_calls_the_installed_program_and_has_no_hooks_of_its_own(machine: Machine) -> None:
    said = machine.installed("--yes")
    assert "/goback" in said.out
    program = (folder(machine) / "hooks" / "program.ts").read_text()
    assert json.dumps(str(machine.system / "bin-rewind")) in program and f'"{__version__}"' in program
    hooks = json.loads((folder(machine) / "hooks" / "hooks.json").read_text())
    assert hooks == {"modules": ["./register.tsx"], "hooks": {}}
    manifest = json.loads((folder(machine) / ".claude-plugin" / "plugin.json").read_text())
    assert (manifest["name"], manifest["version"]) == ("rewind", __version__)
    assert {p.name for p in (PLUGIN / "hooks").glob("*.ts*")} <= {p.name for p in
                                                                  (folder(machine) / "hooks").iterdir()}


def test_settings_hold_hooks_and_nothing_about_the_plugin(machine: Machine) -> None:
    machine.installed("--yes")
    settings = (machine.home / ".claude" / "settings.json").read_text()
    assert "smart-checkpoint" in settings
    assert not any(word in settings for word in ("enabledPlugins", "extraKnownMarketplaces", "skills"))


def test_uninstalling_leaves_no_trace(fresh: Machine) -> None:
    before = everything(fresh.home)
    fresh.installed("--yes")
    assert fresh.rewind("uninstall", "--yes").code == 0
    assert everything(fresh.home) == before


def test_other_skills_stay(fresh: Machine) -> None:
    other = fresh.home / ".claude" / "skills" / "mine" / "SKILL.md"
    other.parent.mkdir(parents=True)
    other.write_text("mine\n")
    before = everything(fresh.home)
    fresh.installed("--yes")
    fresh.rewind("uninstall", "--yes")
    assert everything(fresh.home) == before


def test_a_skill_of_the_same_name_is_left_alone(machine: Machine) -> None:
    mine = folder(machine) / "SKILL.md"
    mine.parent.mkdir(parents=True)
    mine.write_text("my own skill\n")
    before = everything(folder(machine))
    assert "not Rewind's" in machine.installed("--yes").err
    assert everything(folder(machine)) == before
    assert any("not Rewind's" in text for text in plugin_warnings(machine))
    machine.rewind("uninstall", "--yes")
    assert everything(folder(machine)) == before


def test_an_upgrade_and_a_downgrade_replace_it(machine: Machine) -> None:
    machine.installed("--yes")
    (folder(machine) / "hooks" / "gone.ts").write_text("of an older version\n")
    for version in ("9.9.9", "0.0.1"):
        machine.other_version(version).installed("--yes")
        manifest = json.loads((folder(machine) / ".claude-plugin" / "plugin.json").read_text())
        assert manifest["version"] == version
        assert not (folder(machine) / "hooks" / "gone.ts").exists()
        assert [p.name for p in folder(machine).parent.iterdir()] == ["rewind"]


@pytest.mark.parametrize("options", [("--no-plugin",), ("--no-hooks",), ("--agents", "droid")])
def test_it_can_be_left_out(machine: Machine, options: tuple[str, ...]) -> None:
    machine.installed("--yes", *options)
    assert not folder(machine).parent.exists()
    assert plugin_warnings(machine) == []


# doctor

def test_doctor_says_that_all_is_well(machine: Machine) -> None:
    machine.installed("--yes")
    checks = machine.rewind("doctor", "--json").data["checks"]
    assert [one["status"] for one in checks if one["name"] == "plugin"] == ["ok"]


def test_doctor_sees_another_version(machine: Machine) -> None:
    machine.installed("--yes")
    manifest = folder(machine) / ".claude-plugin" / "plugin.json"
    manifest.write_text(manifest.read_text().replace(__version__, "0.0.9"))
    assert ["0.0.9" in text and "rewind install" in text for text in plugin_warnings(machine)] == [True]


def test_doctor_says_which_of_two_to_remove(machine: Machine) -> None:
    machine.installed("--yes")
    has_market_plugin(machine)
    assert ["claude plugin uninstall rewind@rewind" in text for text in plugin_warnings(machine)] == [True]


def test_the_plugin_alone_is_enough_for_doctor(machine: Machine) -> None:
    has_market_plugin(machine, "rewind@somewhere")
    project = machine.git_project()
    checks = machine.checkout_rewind("doctor", "--json", cwd=project).data["checks"]
    assert [one for one in checks if one["status"] == "problem"] == []
    assert any("rewind@somewhere" in one["message"] for one in checks)


def test_a_foreign_plugin_of_that_name_is_not_ours(machine: Machine) -> None:
    (has_market_plugin(machine) / "hooks" / "smart-checkpoint").unlink()
    checks = machine.checkout_rewind("doctor", "--json", cwd=machine.git_project()).data["checks"]
    assert any(one["status"] == "problem" and "does not call Rewind" in one["message"] for one in checks)


def test_doctor_knows_what_keeps_it_from_loading(machine: Machine) -> None:
    machine.installed("--yes")
    claude = machine.home / ".claude"
    (claude / "sessions").mkdir()
    (claude / "sessions" / "1.json").write_text('{"version": "2.1.197"}')
    (machine.home / ".claude.json").write_text(json.dumps(
        {"projects": {str(machine.top): {"hasTrustDialogAccepted": False}}}))
    settings = claude / "settings.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()),
                                    "enabledPlugins": {"rewind@skills-dir": False}}))
    told = " ".join(plugin_warnings(machine))
    assert "2.1.197 is too old" in told and "not to trust this directory" in told and "disabled" in told


def test_doctor_takes_the_version_from_the_latest_session_when_no_client_runs(machine: Machine) -> None:
    machine.installed("--yes")
    project = machine.git_project()
    folder = machine.home / ".claude" / "projects" / re.sub("[^A-Za-z0-9]", "-", str(project))
    folder.mkdir(parents=True)
    line = {"type": "user", "uuid": "1", "parentUuid": None, "sessionId": SESSION, "cwd": str(project),
            "version": "2.1.200", "message": {"role": "user", "content": "do it"}}
    (folder / f"{SESSION}.jsonl").write_text(json.dumps(line) + "\n")
    assert any("2.1.200 is too old for /goback" in text for text in plugin_warnings(machine, project))
    (folder / f"{SESSION}.jsonl").write_text(json.dumps({**line, "version": "2.1.325"}) + "\n")
    assert plugin_warnings(machine, project) == []


@pytest.mark.parametrize("where", ["home/.claude/settings.json", "project/.claude/settings.json",
                                   "project/.claude/settings.local.json"])
def test_doctor_says_that_nothing_loads_where_hooks_are_turned_off(machine: Machine, where: str) -> None:
    machine.installed("--yes")
    project = machine.git_project()
    file = machine.top / where
    file.parent.mkdir(exist_ok=True)
    settings = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps({**settings, "disableAllHooks": True}))
    told, = plugin_warnings(machine, project)
    assert "no /goback" in told and str(file) in told and "disableAllHooks" in told


# each with what 2.1.325 did: whether hooks ran
MANAGED: list[tuple[dict[str, Any], str]] = [
    ({"disableAllHooks": True}, "problem"), ({"allowManagedHooksOnly": True}, "problem"),
    ({"strictPluginOnlyCustomization": True}, "problem"),
    ({"strictPluginOnlyCustomization": ["hooks"]}, "problem"),
    ({"strictPluginOnlyCustomization": ["skills"]}, "warning"), ({"strictKnownMarketplaces": []}, "warning"),
    ({"enabledPlugins": {"rewind@skills-dir": False}}, "warning"),
    ({"pluginConfigs": {"a@builtin": {"options": {"allowManagedModsOnly": True}}}}, "warning")]
HARMLESS: list[Any] = [
    {}, [], {"disableAllHooks": False, "allowManagedHooksOnly": "yes"}, {"blockedMarketplaces": []},
    {"strictPluginOnlyCustomization": ["mcp"]}, {"enabledPlugins": {"other@market": False}},
    {"pluginConfigs": {"a": 1, "b": {"options": [1]}}, "enabledPlugins": [1]}]


def managed_findings(machine: Machine, monkeypatch: pytest.MonkeyPatch, name: str,
                     settings: Any) -> list[Finding]:
    monkeypatch.setenv("HOME", str(machine.home))
    file = machine.top / "managed" / name
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(settings))
    return list(check_plugins(System(str(machine.home / ".rewind")), None, str(machine.top / "managed")))


@pytest.mark.parametrize("name", ["managed-settings.json", "managed-settings.d/10-hooks.json"])
@pytest.mark.parametrize("settings, status", MANAGED)
def test_an_organisations_settings_are_named(
        machine: Machine, settings: dict[str, Any], status: str, name: str,
        monkeypatch: pytest.MonkeyPatch) -> None:
    put_plugin(str(folder(machine)), "/x/bin-rewind", __version__)
    found = managed_findings(machine, monkeypatch, name, settings)
    assert [one.status for one in found] == [status]
    key = "allowManagedModsOnly" if "pluginConfigs" in settings else next(iter(settings))
    assert f"({key})" in found[0].message and name in found[0].message and found[0].fix


@pytest.mark.parametrize("settings", HARMLESS)
def test_other_settings_of_an_organisation_are_not(machine: Machine, settings: Any,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    put_plugin(str(folder(machine)), "/x/bin-rewind", __version__)
    found = managed_findings(machine, monkeypatch, "managed-settings.json", settings)
    assert [one.status for one in found] == ["ok"]


# the same for the client's own copy alone, whose hooks are the only ones
@pytest.mark.parametrize("settings, status", [
    ({"allowManagedHooksOnly": True}, ["problem"]), ({"strictPluginOnlyCustomization": True}, []),
    ({"strictPluginOnlyCustomization": ["skills"]}, []), ({"strictKnownMarketplaces": []}, ["problem"]),
    ({"enabledPlugins": {"rewind@rewind": False}}, ["problem"]),
    ({"pluginConfigs": {"a@builtin": {"options": {"allowManagedModsOnly": True}}}}, ["warning"])])
def test_what_they_do_to_the_clients_own_copy(machine: Machine, settings: dict[str, Any], status: list[str],
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    has_market_plugin(machine)
    found = managed_findings(machine, monkeypatch, "managed-settings.json", settings)
    assert [one.status for one in found] == status


def test_what_forbids_a_plugin_that_is_not_there_is_not_told(machine: Machine,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"strictKnownMarketplaces": []}
    assert managed_findings(machine, monkeypatch, "managed-settings.json", settings) == []


# the plugin of this repository

def test_its_hooks_are_those_of_the_balanced_tier() -> None:
    wanted = json.dumps(entries_for(load_tier("balanced"), profile_named("claude"), "/X/smart-checkpoint"))
    wanted = wanted.replace("/X/smart-checkpoint", '\\"${CLAUDE_PLUGIN_ROOT}/hooks/smart-checkpoint\\"')
    found = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())
    assert found == {"modules": ["./register.tsx"], "hooks": json.loads(wanted)}


def test_every_version_is_the_same() -> None:
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())
    assert manifest["version"] == __version__
    assert f"VERSION = '{__version__}'" in (PLUGIN / "hooks" / "program.ts").read_text()
    market = json.loads((CHECKOUT / ".claude-plugin" / "marketplace.json").read_text())
    assert [(one["name"], one["source"]) for one in market["plugins"]] == [("rewind", "./plugin")]


# What Claude Code 2.1.287 has of the events that a module may want: with one more, it would not load there.
EVENTS_OF_THE_OLDEST = {"session.start", "session.end", "session.compact", "turn.start", "turn.complete",
                        "command.run", "ui.render", "prompt.submit", "tool.call"}


def test_it_wants_no_event_that_the_oldest_client_does_not_know() -> None:
    wanted = set(re.findall(r"\bon\('([^']+)'", (PLUGIN / "hooks" / "register.tsx").read_text()))
    assert {name for name in wanted if "*" not in name} <= EVENTS_OF_THE_OLDEST
    assert "prompt.*" in wanted, "prompt.change is younger, and a pattern may name nothing"


def test_its_hook_works_alone_and_keeps_still_beside_an_installation(machine: Machine) -> None:
    for tool in ("grep", "python3"):
        if not (machine.bin / tool).exists():
            machine.add_tool(tool)
    project = machine.git_project()
    payload = {"session_id": SESSION, "cwd": str(project), "prompt": "do it",
               "transcript_path": str(machine.home / ".claude" / "projects" / "-p" / "x.jsonl"),
               "hook_event_name": "UserPromptSubmit", "prompt_id": "1"}

    def prompt(number: int) -> int:
        done = machine.run(PLUGIN / "hooks" / "smart-checkpoint", "user-prompt-submit", cwd=project,
                           stdin=json.dumps({**payload, "prompt_id": str(number)}).encode(),
                           env={"CLAUDE_PROJECT_DIR": str(project), "CLAUDECODE": "1"})
        assert (done.code, done.out, done.err) == (0, "", "")
        return len(machine.checkpoints(project))

    alone = prompt(1)
    assert alone >= 1
    machine.installed("--yes")
    assert prompt(2) == alone
    machine.rewind("uninstall", "--yes")
    assert prompt(3) == alone + 1


