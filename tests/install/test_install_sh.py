"""`install.sh`, as a person runs it: in a home that has nothing, on a machine that may lack things."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from install_scene import FOREIGN, Machine, everything
from rewind import __version__
from rewind_cli import CHECKOUT

pytestmark = pytest.mark.slow


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("home", ["home", "my 'own' \"home\" $HOME `x` \\ é"])
def test_install_hook_and_uninstall_in_any_home(tmp_path: Path, home: str) -> None:
    machine = Machine(tmp_path, home)
    settings, project = machine.has_claude(), machine.git_project()
    before = everything(machine.home)
    said = machine.installed("--yes", "--tier", "aggressive", "--agents", "claude")
    assert f"Installed Rewind {__version__}" in said.out and "Claude Code" in said.out
    assert json.loads((machine.home / ".rewind" / "config.json").read_text()) == {"tier": "aggressive"}

    machine.prompt(project)
    (found,) = machine.checkpoints(project)
    assert found["trigger"]["event"] == "UserPromptSubmit"
    assert machine.rewind("--version").out == f"rewind {__version__}\n"
    assert machine.rewind("doctor", cwd=project).code == 0

    gone = machine.install_sh("--uninstall", "--yes")
    assert gone.code == 0 and str(project) in gone.out, "it says where the checkpoints are"
    assert settings.read_text() == before[".claude/settings.json"].decode()
    after = everything(machine.home)
    own = {path for path in after if path.split("/")[0] == ".rewind"}
    assert {path: after[path] for path in after if path not in own} == before
    assert {path.split("/")[1] for path in own if "/" in path} == {"known-stores.json", "storage"}
    assert len(machine.checkpoints(project)) == 1, "the checkpoints stay"


@pytest.mark.skipif(sys.platform != "linux", reason="file names are UTF-8 there")
def test_a_home_whose_path_is_not_utf_8_is_told_and_another_place_does(tmp_path: Path) -> None:
    machine = Machine(tmp_path, os.fsdecode(b"caf\xe9"))
    settings, project = machine.has_claude(), machine.git_project()
    said = machine.install_sh("--yes")
    assert said.code == 3 and "REWIND_HOME" in said.out
    assert "settings files are UTF-8, and this path is not" in said.out
    assert "need nothing more" not in said.out
    assert settings.read_text() == FOREIGN
    checks = json.loads(machine.rewind("doctor", "--json", cwd=project).out)["checks"]
    (shim,) = [one for one in checks if one["name"] == "shim"]
    assert shim["status"] == "problem" and "UTF-8" in shim["message"] and "REWIND_HOME" in shim["fix"]
    machine.env["REWIND_HOME"] = str(tmp_path / "elsewhere")
    machine.installed("--yes")
    machine.prompt(project)
    assert len(machine.checkpoints(project)) == 1


def test_without_checkpoints_nothing_at_all_is_left(machine: Machine) -> None:
    machine.has_claude()
    machine.has_droid()
    before = everything(machine.home)
    machine.installed("--yes")
    machine.install_sh("--uninstall", "--yes")
    assert everything(machine.home) == before


def test_the_scripts_are_executable_and_name_the_real_interpreter(machine: Machine) -> None:
    machine.installed()
    for script in (machine.shim, machine.system / "bin-rewind"):
        assert stat.S_IMODE(script.stat().st_mode) == 0o755
        line = next(line for line in script.read_text().splitlines() if line.startswith("python="))
        python = line[len("python="):].strip("'")
        assert os.path.realpath(python) == python and os.access(python, os.X_OK)
        assert "shims" not in python and str(machine.bin) not in python
    assert os.readlink(machine.link) == str(machine.system / "bin-rewind")


def test_the_library_is_whole_and_compiled(machine: Machine) -> None:
    machine.installed()
    library = machine.system / f"lib-{__version__}" / "rewind"
    wanted = {str(path.relative_to(CHECKOUT / "src" / "rewind")) for path in
              (CHECKOUT / "src" / "rewind").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    there = {str(path.relative_to(library)) for path in library.rglob("*") if path.is_file()}
    assert wanted <= there
    assert any(name.startswith("hooks/__pycache__/handle.") for name in there)


def test_there_is_a_sentence_when_no_python_is_found(machine: Machine) -> None:
    (machine.bin / "python3").unlink()
    done = machine.run("/bin/sh", machine.checkout / "install.sh", "--yes", env={"PATH": str(machine.bin)})
    assert done.code == 1 and done.out == ""
    assert done.err.startswith("error: Rewind needs Python 3.9 or newer") and "hint: " in done.err
    assert not (machine.home / ".rewind").exists()


def test_a_python_that_is_too_old_is_passed_over(machine: Machine) -> None:
    (machine.bin / "python3").unlink()
    (machine.bin / "python3").symlink_to(machine.bin / "false")
    machine.add_python("python3.12")
    machine.installed("--yes")
    assert machine.rewind("--version").code == 0


def test_without_git_it_warns_and_goes_on(machine: Machine) -> None:
    (machine.bin / "git").unlink()
    machine.has_claude()
    said = machine.installed("--yes")
    assert "warning: git was not found" in said.err
    assert machine.commands_for(machine.home / ".claude" / "settings.json", "Stop")


def test_an_option_that_does_not_exist_is_refused(machine: Machine) -> None:
    done = machine.install_sh("--frobnicate")
    assert done.code == 2 and "--frobnicate" in done.err
    assert machine.install_sh("--tier").code == 2
    assert machine.install_sh("--tier", "extreme").code == 2
    assert machine.install_sh("--agents", "nobody").code == 2
    assert everything(machine.home) == {}, "nothing was done"


def test_the_help_names_every_option(machine: Machine) -> None:
    done = machine.install_sh("--help")
    for option in ("--yes", "--tier", "--agents", "--no-hooks", "--with-ui", "--no-ui", "--uninstall"):
        assert option in done.out
    assert done.code == 0 and everything(machine.home) == {}


def test_it_works_from_any_directory_and_through_a_relative_path(machine: Machine) -> None:
    done = machine.run("/bin/sh", os.path.relpath(machine.checkout / "install.sh", machine.home), "--yes",
                       cwd=machine.home)
    assert done.code == 0 and machine.link.exists()


def test_a_script_without_its_checkout_says_so(machine: Machine, tmp_path: Path) -> None:
    alone = tmp_path / "alone" / "install.sh"
    alone.parent.mkdir()
    alone.write_bytes((machine.checkout / "install.sh").read_bytes())
    done = machine.run("/bin/sh", alone)
    assert done.code == 1 and "checkout" in done.err


def test_the_terminal_is_asked_and_its_answers_count(machine: Machine) -> None:
    machine.has_claude()
    machine.has_droid()
    done = machine.answering("/bin/sh", machine.checkout / "install.sh", "--no-ui",
                             answers=["extreme", "min", "", "n"])
    assert done.code == 0, done
    assert "Please answer minimal, balanced or aggressive." in done.out
    assert json.loads((machine.home / ".rewind" / "config.json").read_text()) == {"tier": "minimal"}
    settings = machine.home / ".claude" / "settings.json"
    assert machine.commands_for(settings, "SessionStart") and not machine.commands_for(settings, "Stop")
    assert not (machine.home / ".factory" / "settings.json").exists()


def test_a_terminal_that_says_nothing_gets_the_defaults(machine: Machine) -> None:
    settings = machine.has_claude()
    done = machine.answering("/bin/sh", machine.checkout / "install.sh", "--no-ui", answers=["", ""])
    assert done.code == 0, done
    assert json.loads((machine.home / ".rewind" / "config.json").read_text()) == {"tier": "balanced"}
    assert machine.commands_for(settings, "Stop")


def test_uninstall_asks_on_a_terminal(machine: Machine) -> None:
    machine.installed("--yes")
    before = everything(machine.home)
    done = machine.answering(machine.link, "uninstall", answers=["n"])
    assert done.code == 1 and "Nothing was removed" in done.out
    assert everything(machine.home) == before
    done = machine.answering(machine.link, "uninstall", answers=["y"])
    assert done.code == 0 and "Removed Rewind." in done.out
    assert everything(machine.home) == {}
