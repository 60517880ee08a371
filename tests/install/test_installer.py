"""Upgrades, the library's place, the link, and what an uninstallation leaves. Real processes throughout."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chat_scene import a_dead_pid
from compiled_once import preinstall_library
from install_scene import FOREIGN, Machine, everything
from rewind import __version__
from rewind.install.machine.library import is_same
from rewind.install.machine.system import Notes, System, read_script_paths, script_in
from rewind.install.machine.ui_packages import PACKAGES
from rewind_cli import CHECKOUT

pytestmark = pytest.mark.slow

NEWER, NEWEST = "9.8.0", "9.9.0"


@pytest.fixture
def fresh(tmp_path: Path) -> Machine:
    """Where nothing of Rewind has ever been; `test_install_sh.py` has more of these."""
    machine = Machine(tmp_path)
    machine.has_claude()
    return machine


@pytest.fixture
def machine(fresh: Machine, ready_library: Path) -> Machine:
    """Where the library of this version is already."""
    preinstall_library(ready_library, fresh.home)
    return fresh


def libraries(machine: Machine) -> list[str]:
    return sorted(name for name in os.listdir(machine.system) if name.startswith("lib-"))


def baked(machine: Machine) -> str:
    found = read_script_paths(str(machine.shim))
    assert found and read_script_paths(str(machine.system / "bin-rewind"))
    return os.path.basename(found.library)


def settings(machine: Machine) -> Path:
    return machine.home / ".claude" / "settings.json"


# upgrades

def test_an_upgrade_keeps_settings_and_hooks_and_the_library_before(machine: Machine) -> None:
    machine.installed("--yes", "--tier", "minimal")
    machine.rewind("config", "--global", "--set", "maxFileSizeMb=250")
    config = (machine.home / ".rewind" / "config.json").read_bytes()
    registered = settings(machine).read_bytes()
    said = machine.other_version(NEWER).installed()
    assert f"Installed Rewind {NEWER}" in said.out and __version__ in said.out
    assert machine.rewind("--version").out == f"rewind {NEWER}\n"
    assert baked(machine) == f"lib-{NEWER}" and libraries(machine) == [f"lib-{__version__}", f"lib-{NEWER}"]
    assert (machine.home / ".rewind" / "config.json").read_bytes() == config
    assert settings(machine).read_bytes() == registered

    machine.other_version(NEWEST).installed("--yes")
    assert libraries(machine) == [f"lib-{NEWER}", f"lib-{NEWEST}"], "one before, no more"


def test_hooks_work_through_an_upgrade(machine: Machine) -> None:
    project = machine.git_project()
    machine.installed("--yes")
    machine.prompt(project, "one")
    machine.other_version(NEWER).installed("--yes")
    machine.prompt(project, "two")
    assert len(machine.checkpoints(project)) == 2


def test_an_upgrade_registers_again_only_on_a_yes(machine: Machine) -> None:
    machine.installed("--yes")
    settings(machine).write_text(FOREIGN)
    machine.installed()
    assert settings(machine).read_text() == FOREIGN, "nobody said yes"
    machine.answering("/bin/sh", machine.checkout / "install.sh", "--no-ui", answers=[""])
    assert settings(machine).read_text() == FOREIGN, "nor did an empty answer"
    machine.answering("/bin/sh", machine.checkout / "install.sh", "--no-ui", answers=["y"])
    assert machine.commands_for(settings(machine), "Stop")


def test_an_upgrade_with_another_tier_brings_its_hooks(machine: Machine) -> None:
    machine.installed("--yes", "--tier", "minimal")
    assert not machine.commands_for(settings(machine), "Stop")
    machine.installed("--tier", "aggressive")
    assert machine.commands_for(settings(machine), "Stop")


def test_the_same_version_again_changes_nothing(machine: Machine) -> None:
    machine.installed("--yes")
    library = machine.system / f"lib-{__version__}"
    before = library.stat().st_ino, everything(library)
    machine.installed("--yes")
    assert (library.stat().st_ino, everything(library)) == before and libraries(machine) == [library.name]


def test_the_same_version_with_other_content_is_replaced_while_the_old_stays(machine: Machine) -> None:
    machine.installed("--yes")
    library = machine.system / f"lib-{__version__}"
    (library / "rewind" / "paths.py").write_text("raise SystemExit(1)\n")
    machine.installed("--yes")
    assert is_same(str(library / "rewind"), str(CHECKOUT / "src" / "rewind"))
    assert baked(machine) == library.name
    previous = machine.system / f"lib-{__version__}-previous"
    assert (previous / "rewind" / "paths.py").read_text() == "raise SystemExit(1)\n"
    assert not [name for name in os.listdir(machine.system) if name.startswith(".")], "no drafts are left"


def test_what_a_killed_installation_left_is_swept(machine: Machine) -> None:
    machine.installed("--yes")
    (machine.system / ".lib-1.0.1.tmp" / "rewind").mkdir(parents=True)
    machine.other_version(NEWER).installed("--yes")
    assert not (machine.system / ".lib-1.0.1.tmp").exists()


def test_drafts_of_its_scripts_and_notes_are_swept_too(machine: Machine) -> None:
    machine.installed("--yes")
    for path in (machine.shim, machine.system / "bin-rewind", machine.system / "install.json"):
        assert path.exists()
        path.with_name(f".{path.name}.{a_dead_pid()}.tmp").write_bytes(b"half")
    machine.installed("--yes")
    assert [name for name in os.listdir(machine.system) if name.startswith(".")] == []


def test_the_installed_command_can_install_again(machine: Machine) -> None:
    machine.installed("--yes")
    machine.shim.unlink()
    assert machine.rewind("install").code == 0
    assert machine.shim.exists() and libraries(machine) == [f"lib-{__version__}"]


@pytest.mark.longest
@pytest.mark.slow
def test_hooks_never_meet_a_library_that_is_not_there(machine: Machine) -> None:
    """While libraries of the same version replace one another, a hook that begins works each time. The first
    replacement has no `…-previous` to put away, the second one has."""
    project = machine.git_project()
    machine.installed("--yes")
    machine.other_version(__version__)
    marker = machine.checkout / "src" / "rewind" / "only_here.py"
    for number in range(2):
        marker.write_text(f'"""Nothing."""\n\nNUMBER = {number}\n')
        process = subprocess.Popen(["/bin/sh", str(machine.checkout / "install.sh"), "--yes"],
                                   env=machine.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None:
            machine.prompt(project, f"prompt {number}")
        assert process.returncode == 0
    log = machine.home / ".rewind" / "rewind.log"
    assert not log.exists() or "exit status" not in log.read_text(), log.read_text()


# the link

def test_a_foreign_command_of_that_name_is_left_alone(machine: Machine) -> None:
    machine.link.parent.mkdir(parents=True)
    machine.link.write_text("#!/bin/sh\necho mine\n")
    said = machine.installed("--yes")
    assert str(machine.link) in said.err and "left alone" in said.err
    assert machine.link.read_text() == "#!/bin/sh\necho mine\n"
    assert machine.run(machine.system / "bin-rewind", "uninstall", "--yes").code == 0
    assert machine.link.read_text() == "#!/bin/sh\necho mine\n"


def test_a_link_of_ours_that_leads_nowhere_is_replaced(machine: Machine) -> None:
    machine.link.parent.mkdir(parents=True)
    machine.link.symlink_to("/nowhere/.rewind/system/bin-rewind")
    machine.installed("--yes")
    assert machine.rewind("--version").code == 0


def test_a_link_to_another_installation_survives_our_removal(machine: Machine) -> None:
    machine.installed("--yes")
    machine.link.unlink()
    machine.link.symlink_to("/elsewhere/system/bin-rewind")
    machine.run(machine.system / "bin-rewind", "uninstall", "--yes")
    assert os.readlink(machine.link) == "/elsewhere/system/bin-rewind"


def test_directories_that_were_there_before_stay(machine: Machine) -> None:
    folders = [machine.link.parent, machine.home / ".claude", machine.home / ".factory"]
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    machine.installed("--yes")
    machine.rewind("uninstall", "--yes")
    assert all(folder.is_dir() and not os.listdir(folder) for folder in folders)


# where it runs from

def test_a_package_installs_itself_from_where_it_was_imported(fresh: Machine, tmp_path: Path) -> None:
    place = tmp_path / "site packages"
    shutil.copytree(CHECKOUT / "src", place, ignore=shutil.ignore_patterns("__pycache__"))
    start = "import sys; sys.path.insert(0, sys.argv.pop(1)); from rewind.cli.main import run; run()"
    done = fresh.run(sys.executable, "-I", "-S", "-c", start, place, "install", "--yes")
    assert done.code == 0, done
    shutil.rmtree(place)
    assert fresh.rewind("--version").code == 0
    assert fresh.rewind("doctor").code == 0


@pytest.mark.parametrize("how", ["--symlinks", "--copies"])
def test_a_virtual_environment_is_not_baked_in(machine: Machine, tmp_path: Path, how: str) -> None:
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", how, str(venv)], check=True,
                   capture_output=True)
    done = machine.run(venv / "bin" / "python", machine.checkout / "bin" / "rewind", "install", "--yes")
    assert done.code == 0, done
    found = read_script_paths(str(machine.shim))
    assert found and not found.python.startswith(str(venv))
    shutil.rmtree(venv)
    assert machine.rewind("--version").code == 0


def test_an_interpreter_that_is_gone_is_replaced_by_the_one_on_the_path(machine: Machine) -> None:
    project = machine.git_project()
    machine.installed("--yes")
    for script in (machine.shim, machine.system / "bin-rewind"):
        script.write_text(re.sub(r"(?m)^python=.*$", "python='/gone/python3'", script.read_text(), count=1))
    assert machine.rewind("--version").code == 0
    machine.prompt(project)
    assert len(machine.checkpoints(project)) == 1


# hooks

def test_hooks_that_cannot_be_registered_do_not_stop_the_rest(machine: Machine) -> None:
    settings(machine).write_text("{ not json")
    machine.has_droid()
    done = machine.install_sh("--yes")
    assert done.code == 3, "done in part"
    assert str(settings(machine)) in done.out and "Factory Droid" in done.out
    assert settings(machine).read_text() == "{ not json"
    assert machine.commands_for(machine.home / ".factory" / "settings.json", "Stop")
    assert machine.rewind("--version").code == 0


NO_FILES = {"a directory": os.mkdir, "a fifo": os.mkfifo, "a loop": lambda path: os.symlink(path.name, path)}


@pytest.mark.parametrize("make", NO_FILES.values(), ids=NO_FILES)
def test_what_is_said_of_settings_that_are_no_file_is_true(machine: Machine, make: Any) -> None:
    settings(machine).unlink()
    make(settings(machine))
    done = machine.install_sh("--yes")
    assert done.code == 3 and f"{settings(machine)} is left as it is" in done.out
    assert "Move it away" in done.out and "plain JSON" not in done.out
    assert "To register the hooks" not in done.out and "need nothing more" not in done.out
    assert "No agent calls Rewind yet. Fix the problem above" in done.out
    taken = machine.rewind("config", "--unregister-hooks")
    assert taken.code == 0 and "Claude Code has no hooks of Rewind" in taken.out
    gone = machine.rewind("uninstall", "--yes")
    assert gone.code == 0 and "still" not in gone.out + gone.err
    assert os.path.lexists(settings(machine)) and not machine.system.exists()


def test_after_one_agent_failed_it_is_not_said_that_nothing_is_left_to_do(machine: Machine) -> None:
    settings(machine).write_text("{ not json")
    machine.has_droid()
    done = machine.install_sh("--yes")
    assert "need nothing more" not in done.out and "No agent calls" not in done.out
    assert "Fix the problem above" in done.out


def test_an_agent_that_is_named_gets_its_directory(machine: Machine) -> None:
    shutil.rmtree(machine.home / ".claude")
    machine.installed("--yes")
    assert not (machine.home / ".claude").exists()
    machine.installed("--yes", "--agents", "claude,opencode")
    assert machine.commands_for(settings(machine), "Stop")
    assert (machine.home / ".config" / "opencode" / "plugins" / "rewind.js").is_file()
    machine.rewind("uninstall", "--yes")
    assert everything(machine.home) == {}


def test_no_hooks_registers_none(machine: Machine) -> None:
    said = machine.installed("--yes", "--no-hooks")
    assert settings(machine).read_text() == FOREIGN
    assert "rewind config --register-hooks" in said.out


def test_a_broken_configuration_is_left_alone_and_named(fresh: Machine) -> None:
    config = fresh.home / ".rewind" / "config.json"
    config.parent.mkdir()
    config.write_text("{ nonsense")
    done = fresh.install_sh("--yes")
    assert done.code == 0 and str(config) in done.err
    assert config.read_text() == "{ nonsense"


# the packages of the user interfaces

def test_the_packages_are_those_of_the_extra() -> None:
    text = (CHECKOUT / "pyproject.toml").read_text()
    found = re.search(r"^ui = \[(.*)\]$", text, re.M)
    assert found and re.findall(r'"([^"]+)"', found[1]) == list(PACKAGES)


@pytest.mark.slow
def test_packages_that_cannot_be_had_are_a_warning(machine: Machine) -> None:
    done = machine.run("/bin/sh", machine.checkout / "install.sh", "--yes", "--with-ui",
                       env={"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "0",
                            "PIP_NO_CACHE_DIR": "1", "PIP_CONFIG_FILE": os.devnull, "PIP_TIMEOUT": "1"})
    assert done.code == 0, done
    assert "could not be installed" in done.err
    assert machine.rewind("--version").code == 0


# leaving

def test_uninstall_keeps_what_is_not_ours(machine: Machine) -> None:
    machine.installed("--yes")
    mine = machine.home / ".rewind" / "my-notes.txt"
    mine.write_text("mine")
    machine.rewind("uninstall", "--yes")
    assert os.listdir(machine.home / ".rewind") == ["my-notes.txt"]


def test_uninstall_names_checkpoints_in_global_storage_and_keeps_them(machine: Machine) -> None:
    project, other = machine.git_project(), machine.git_project("other")
    machine.installed("--yes")
    for folder in (project, other):
        assert machine.rewind("init", "--mode", "global", cwd=folder).code == 0
    said = machine.rewind("uninstall", "--yes")
    assert said.code == 0 and str(project) in said.out and str(other) in said.out
    storage = machine.home / ".rewind" / "storage"
    command = re.search("rm -rf (.*)", said.out)
    assert command and set(command[1].split()) == {str(path) for path in storage.iterdir()}, "all of them"
    assert sorted(os.listdir(machine.home / ".rewind")) == ["known-stores.json", "storage"]
    assert len(machine.checkpoints(project)) == 1


def test_uninstall_takes_hooks_out_of_projects_too(machine: Machine) -> None:
    here, there = machine.git_project("here"), machine.git_project("there")
    shared = json.dumps({"hooks": {"Stop": [{"hooks": [{
        "type": "command", "command": "/home/somebody/.rewind/system/smart-checkpoint stop"}]}]}})
    machine.installed("--yes")
    for project in (here, there):
        machine.rewind("init", cwd=project)
        assert machine.rewind("config", "--register-hooks", "--in-project", cwd=project).code == 0
        assert machine.commands_for(project / ".claude" / "settings.json", "Stop")
    other = machine.git_project("other")
    machine.rewind("init", cwd=other)
    (other / ".claude").mkdir()
    (other / ".claude" / "settings.json").write_text(shared)
    assert machine.rewind("uninstall", "--yes", cwd=here).code == 0
    assert not (here / ".claude").exists() and not (there / ".claude").exists()
    assert (other / ".claude" / "settings.json").read_text() == shared, "another member of the team"


def test_uninstall_goes_on_where_a_file_cannot_be_read(machine: Machine) -> None:
    machine.installed("--yes")
    settings(machine).write_text(settings(machine).read_text() + "oops smart-checkpoint")
    done = machine.rewind("uninstall", "--yes")
    assert done.code == 3 and str(settings(machine)) in done.err
    assert "Any hooks of Rewind in it are still there." in done.err
    assert not machine.system.exists()


def test_a_broken_profile_does_not_keep_rewind_here(machine: Machine) -> None:
    machine.installed("--yes")
    (machine.home / ".rewind" / "agents").mkdir()
    (machine.home / ".rewind" / "agents" / "mine.json").write_text("{}")
    assert machine.rewind("uninstall", "--yes").code == 0
    assert settings(machine).read_text() == FOREIGN


def test_uninstall_without_an_installation_says_so(fresh: Machine) -> None:
    done = fresh.install_sh("--uninstall", "--yes")
    assert done.code == 0 and "not installed" in done.out


# small things

@pytest.mark.parametrize("path", ["/a/b", "/with space/x", "/it's/x", '/"q"/$x/`y`/\\z'])
def test_a_script_tells_what_is_baked_into_it(tmp_path: Path, path: str) -> None:
    from rewind.install.machine.scripts import program_text, shim_text

    entry = path + "/lib-1/rewind/hooks/start.py"
    for number, text in enumerate((program_text(path, entry), shim_text(path, entry, "/log"))):
        file = tmp_path / str(number)
        file.write_text(text)
        found = read_script_paths(str(file))
        assert found and found.python == path and found.entry == entry and found.library == path + "/lib-1"
    assert read_script_paths(str(tmp_path / "none")) is None


def test_the_script_of_a_command_is_its_first_word() -> None:
    assert script_in("'/my home/smart-checkpoint' stop") == "/my home/smart-checkpoint"
    assert script_in("'unfinished") == "" and script_in("") == ""


def test_notes_that_cannot_be_read_count_as_none(tmp_path: Path) -> None:
    system = System(str(tmp_path))
    assert system.notes() == Notes()
    (tmp_path / "system").mkdir()
    (tmp_path / "system" / "install.json").write_text("[")
    assert system.notes() == Notes()
