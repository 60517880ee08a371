"""Rewind's plugin in opencode's directory: a file of its own beside those of others, and out again."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from compiled_once import preinstall_library
from install_scene import Machine
from rewind.agents.registry import hooks_home, profile_named
from rewind.config.load import load_tier
from rewind.errors import RewindError
from rewind.install.agent_settings.merger import entries_for
from rewind.install.agent_settings.register import register, registered, unregister
from rewind.install.machine.system import script_in

SHIM = "/home/dev/my rewind/system/smart-checkpoint"
OPENCODE = "opencode"
MINE = "export const Mine = async () => ({})\n"


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"/"
            for path in folder.rglob("*")}


@pytest.fixture
def config(home: Path) -> Path:
    found = home / ".config" / "opencode"
    found.mkdir(parents=True)
    (found / "opencode.jsonc").write_text('{\n  // mine\n  "username": "me",\n}\n')
    return found


@pytest.mark.parametrize("tier", ["minimal", "balanced", "aggressive"])
@pytest.mark.parametrize("there", ["nothing", "plugins", "plugins/mine.js", "plugin/mine.js"])
def test_registering_adds_one_file_and_unregistering_leaves_no_trace(
        config: Path, there: str, tier: str) -> None:
    if there.endswith(".js"):
        (config / there).parent.mkdir()
        (config / there).write_text(MINE)
    elif there != "nothing":
        (config / there).mkdir()
    before, opencode = tree(config), profile_named(OPENCODE)
    file = config / "plugins" / "rewind.js"
    assert register(opencode, load_tier(tier), SHIM) == [str(file)]
    assert set(tree(config)) - set(before) <= {"plugins", "plugins/rewind.js"}
    assert {**tree(config), **before} == tree(config), "everything else is as it was"
    assert not register(opencode, load_tier(tier), SHIM), "nothing to change"
    assert unregister(opencode) == [str(file)]
    assert tree(config) == before
    assert unregister(opencode) == []


def test_another_tier_takes_the_files_place_and_it_still_goes_without_a_trace(config: Path) -> None:
    before, opencode = tree(config), profile_named(OPENCODE)
    for tier in ("balanced", "minimal", "aggressive"):
        assert register(opencode, load_tier(tier), SHIM)
        wanted = entries_for(load_tier(tier), opencode, SHIM)
        assert {one.event for one in registered(opencode)} == set(wanted)
    unregister(opencode)
    assert tree(config) == before


def test_the_file_says_which_hooks_it_runs(config: Path) -> None:
    opencode = profile_named(OPENCODE)
    register(opencode, load_tier("balanced"), SHIM)
    found = registered(opencode)
    assert {one.command for one in found if one.event == "Stop"} == {
        f"env REWIND_AGENT=opencode '{SHIM}' stop"}
    assert {script_in(one.command) for one in found} == {SHIM}
    assert {one.matcher for one in found if one.event == "PreToolUse"} == {
        "write|edit|multiedit|patch|apply_patch", "bash"}
    text = (config / "plugins" / "rewind.js").read_text()
    line = next(line for line in text.splitlines() if line.startswith("const HOOKS = "))
    assert json.loads(line[len("const HOOKS = "):]) == entries_for(load_tier("balanced"), opencode, SHIM)
    exports = [line for line in text.splitlines() if line.startswith("export ")]
    assert exports == ["export const Rewind = async ({ client, directory }) => {"], \
        "opencode passes over a file that exports anything but plugins"


def test_a_file_of_that_name_by_somebody_else_stays(config: Path) -> None:
    (config / "plugins").mkdir()
    (config / "plugins" / "rewind.js").write_text(MINE)
    before, opencode = tree(config), profile_named(OPENCODE)
    with pytest.raises(RewindError, match="is not Rewind's, so it was left alone"):
        register(opencode, load_tier("balanced"), SHIM)
    assert registered(opencode) == [] and unregister(opencode) == []
    assert tree(config) == before


def test_ours_that_somebody_has_changed_is_not_called_complete(config: Path) -> None:
    opencode = profile_named(OPENCODE)
    register(opencode, load_tier("balanced"), SHIM)
    file = config / "plugins" / "rewind.js"
    for text in ("const HOOKS = {", "const HOOKS = []", 'const HOOKS = {"Stop": [{"hooks": [7]}]}', ""):
        lines = file.read_text().splitlines()
        file.write_text("\n".join([*lines[:2], text, *lines[3:]]))
        assert registered(opencode) == []
    register(opencode, load_tier("balanced"), SHIM)
    assert registered(opencode)


def test_its_directory_may_be_elsewhere(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "conf"))
    assert hooks_home(profile_named(OPENCODE)) == str(home / "conf" / "opencode")
    assert register(profile_named(OPENCODE), load_tier("minimal"), SHIM, create=True) == [
        str(home / "conf" / "opencode" / "plugins" / "rewind.js")]
    unregister(profile_named(OPENCODE))
    assert not (home / "conf" / "opencode").exists(), "it was made for the plugin"


def test_a_project_may_have_a_plugin_of_its_own(config: Path, project: Path) -> None:
    opencode = profile_named(OPENCODE)
    file = project / ".opencode" / "plugins" / "rewind.js"
    assert register(opencode, load_tier("minimal"), SHIM, project=str(project)) == [str(file)]
    assert unregister(opencode, project=str(project)) == [str(file)]
    assert os.listdir(project) == []


@pytest.mark.slow
def test_install_finds_opencode_and_doctor_says_what_it_waits_for(
        tmp_path: Path, ready_library: Path) -> None:
    machine = Machine(tmp_path)
    preinstall_library(ready_library, machine.home)
    config = machine.home / ".config" / "opencode"
    config.mkdir(parents=True)
    (config / "plugins").mkdir()
    (config / "plugins" / "mine.js").write_text(MINE)
    before = tree(config)
    done = machine.installed("--yes")
    assert "opencode: ~/.config/opencode/plugins/rewind.js" in done.out
    assert "restart it" in done.err and "about 75 seconds" in done.err
    assert "restart it" not in machine.installed("--yes").err, "nothing has changed"
    told = machine.rewind("doctor").out
    assert "opencode has not fetched @opencode-ai/plugin yet" in told
    (config / "node_modules" / "@opencode-ai" / "plugin").mkdir(parents=True)
    assert "opencode calls Rewind, tier balanced" in machine.rewind("doctor").out
    assert machine.rewind("uninstall", "--yes").code == 0
    kept = {name: data for name, data in tree(config).items() if not name.startswith("node_modules")}
    assert kept == before and not (machine.home / ".rewind").exists()
