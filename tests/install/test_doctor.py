"""Each reason why a project might not be protected, made real, and what `doctor` says about it."""

from __future__ import annotations

import compileall
import json
import os
import re
import shutil
import time
from pathlib import Path
from typing import Any, Optional

import pytest

from compiled_once import compile_dir
from install_scene import FOREIGN
from rewind.controller import Controller
from rewind.install.doctor.doctor import examine
from rewind.install.doctor.finding import OK, PROBLEM, WARNING, Finding
from rewind.install.machine.installer import Plan, agents_named, install
from rewind_cli import Rewind, chown_all, git, state_of

pytestmark = pytest.mark.slow

SESSION = "0b7c1c52-5d0e-4a63-9b8a-2f1d3a6c9e41"


class Patient:
    """A home with Rewind and Claude Code, and a project."""

    def __init__(self, home: Path, project: Path) -> None:
        self.home = home
        self.project = project
        self.rewind_home = home / ".rewind"
        self.shim = self.rewind_home / "system" / "smart-checkpoint"
        self.settings = home / ".claude" / "settings.json"
        self.settings.parent.mkdir()
        self.settings.write_text(FOREIGN)
        self.env = {**os.environ, "PATH": f"{home}/.local/bin:{os.environ['PATH']}"}
        git(project, "init", "-q", home=home)

    def install(self) -> Patient:
        plan = Plan(str(self.rewind_home))
        plan.agents = agents_named("claude", str(self.rewind_home))
        assert install(plan).is_complete
        return self

    def protect(self) -> Patient:
        controller, _ = Controller.init(str(self.project), home=str(self.rewind_home))
        controller.close()
        return self

    @property
    def state(self) -> Path:
        return state_of(self.project, self.rewind_home.parent)

    def findings(self, start: Optional[Path] = None, **env: str) -> list[Finding]:
        return examine(str(self.rewind_home), str(start or self.project), {**self.env, **env})

    def found(self, name: str, start: Optional[Path] = None, **env: str) -> Finding:
        """The worst that is said under this name."""
        named = [one for one in self.findings(start, **env) if one.name == name]
        assert named, self.findings(start, **env)
        return max(named, key=lambda one: (OK, WARNING, PROBLEM).index(one.status))

    def edit_settings(self, **values: Any) -> None:
        self.settings.write_text(json.dumps({**json.loads(self.settings.read_text()), **values}))

    def talk(self, **line: Any) -> Path:
        """A transcript of a session in the project."""
        from rewind.agents.registry import profile_named
        from rewind.transcript.find import folder_name

        folder = self.home / ".claude" / "projects" / folder_name(profile_named("claude"), str(self.project))
        folder.mkdir(parents=True)
        file = folder / f"{SESSION}.jsonl"
        entry = {"type": "user", "uuid": SESSION, "parentUuid": None, "sessionId": SESSION,
                 "cwd": str(self.project), "message": {"role": "user", "content": "hello"}, **line}
        file.write_text(json.dumps(entry) + "\n")
        return file


@pytest.fixture(autouse=True)
def compiled_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compileall, "compile_dir", compile_dir)


@pytest.fixture
def patient(home: Path, project: Path) -> Patient:
    return Patient(home, project)


@pytest.fixture
def well(patient: Patient) -> Patient:
    return patient.install().protect()


def test_a_protected_project_has_nothing_to_mend(well: Patient) -> None:
    assert [one for one in well.findings() if one.status != OK] == []


def test_every_complaint_has_a_fix(patient: Patient) -> None:
    for one in patient.findings():
        assert one.status == OK or one.fix, one


# the installation

def test_it_is_said_that_rewind_is_not_installed(patient: Patient) -> None:
    found = patient.protect().found("installed")
    assert found.status == PROBLEM and "rewind install" in found.fix


def test_a_shim_that_is_missing_or_not_executable_is_found(well: Patient) -> None:
    well.shim.chmod(0o644)
    assert well.found("shim").status == PROBLEM and "executable" in well.found("shim").message
    assert well.found("hooks of claude").status == PROBLEM
    well.shim.unlink()
    assert well.found("shim").status == PROBLEM and "missing" in well.found("shim").message
    well.shim.write_text("#!/bin/sh\n")
    well.shim.chmod(0o755)
    assert well.found("shim").status == PROBLEM


def bake(patient: Patient, python: str) -> None:
    text = re.sub(r"(?m)^python=.*$", f"python='{python}'", patient.shim.read_text(), count=1)
    patient.shim.write_text(text)


def test_an_interpreter_that_is_gone_is_a_warning_or_a_problem(well: Patient, tmp_path: Path) -> None:
    bake(well, "/gone/python3")
    assert well.found("interpreter").status == WARNING, "python3 on PATH does it"
    assert well.found("library").status == OK
    assert well.found("interpreter", PATH=str(tmp_path)).status == PROBLEM


def test_an_interpreter_that_does_not_run_is_a_problem(well: Patient, tmp_path: Path) -> None:
    bake(well, "/bin/false")
    assert well.found("interpreter").status == PROBLEM
    old = tmp_path / "old"
    old.write_text("#!/bin/sh\nprintf 3.8\n")
    old.chmod(0o755)
    bake(well, str(old))
    assert well.found("interpreter").status == PROBLEM and "3.8" in well.found("interpreter").message


def test_a_library_that_is_missing_broken_or_of_another_version_is_found(well: Patient) -> None:
    (library,) = (well.rewind_home / "system").glob("lib-*")
    init = library / "rewind" / "__init__.py"
    init.write_text('__version__ = "0.0.1"\n')
    found = well.found("library")
    assert found.status == WARNING and "0.0.1" in found.message
    (library / "rewind" / "hooks" / "handle.py").write_text("def (\n")
    assert well.found("library").status == PROBLEM
    (library / "rewind" / "hooks" / "start.py").unlink()
    assert well.found("library").status == PROBLEM and "missing" in well.found("library").message


def test_a_path_without_the_command_or_with_another_first_is_a_warning(well: Patient, tmp_path: Path) -> None:
    assert well.found("command").status == OK
    bare = well.found("command", PATH="/usr/bin:/bin")
    assert bare.status == WARNING and ".local/bin" in bare.fix
    other = tmp_path / "other" / "rewind"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    first = well.found("command", PATH=f"{other.parent}:{well.env['PATH']}")
    assert first.status == WARNING and str(other) in first.message


def test_a_missing_git_is_a_warning(well: Patient, tmp_path: Path) -> None:
    assert well.found("git", PATH=str(tmp_path)).status == WARNING


def test_interface_packages_of_another_python_are_a_warning(well: Patient) -> None:
    (well.rewind_home / "system" / "venv" / "lib" / "python3.1").mkdir(parents=True)
    assert well.found("ui").status == WARNING


# hooks

def test_hooks_that_are_not_registered_are_a_problem(well: Patient) -> None:
    well.settings.write_text(FOREIGN)
    found = well.found("hooks of claude")
    assert found.status == PROBLEM and "--register-hooks" in found.fix


def test_one_agent_of_two_without_hooks_is_a_warning(well: Patient) -> None:
    (well.home / ".factory").mkdir()
    assert well.found("hooks of droid").status == WARNING
    assert well.found("hooks of claude").status == OK


def test_hooks_in_the_project_do_as_well(well: Patient) -> None:
    (well.project / ".claude").mkdir()
    well.settings.rename(well.project / ".claude" / "settings.json")
    assert well.found("hooks of claude").status == OK


def test_no_agent_at_all_is_a_warning(well: Patient) -> None:
    shutil.rmtree(well.settings.parent)
    assert well.found("hooks").status == WARNING


def test_hooks_that_are_turned_off_are_a_problem(well: Patient) -> None:
    well.edit_settings(disableAllHooks=True)
    found = well.found("hooks of claude")
    assert found.status == PROBLEM and "disableAllHooks" in found.fix


def test_hooks_that_another_file_shadows_are_a_problem(well: Patient) -> None:
    folder = well.home / ".factory"
    folder.mkdir()
    plan = Plan(str(well.rewind_home))
    plan.agents = agents_named("droid", str(well.rewind_home))
    assert install(plan).is_complete
    assert well.found("hooks of droid").status == OK
    (folder / "hooks.json").write_text('{"Stop": []}')
    found = well.found("hooks of droid")
    assert found.status == PROBLEM and "Stop" in found.message


def test_settings_that_cannot_be_read_are_a_problem(well: Patient) -> None:
    well.settings.write_text("{ smart-checkpoint")
    found = well.found("hooks of claude")
    assert found.status == PROBLEM and str(well.settings) in found.message


def test_the_fix_for_settings_fits_what_is_wrong_with_them(well: Patient, user: Rewind) -> None:
    well.settings.write_text("{ smart-checkpoint")
    assert "plain JSON" in well.found("hooks of claude").fix
    well.settings.unlink()
    well.settings.mkdir()
    found = well.found("hooks of claude")
    assert "it is a directory" in found.message and "Move it away" in found.fix
    folder = user.home / ".claude"
    folder.mkdir()
    (folder / "settings.json").write_text("{}")
    chown_all(user.home)
    (folder / "settings.json").chmod(0)
    said = next(one for one in user.run("doctor", "--json").data["checks"]
                if one["name"] == "hooks of claude")
    assert "Permission denied" in said["message"]
    assert "permissions" in said["fix"] and "JSON" not in said["fix"]


def test_hooks_that_no_client_can_call_are_a_problem(well: Patient) -> None:
    """As they were registered once in a home whose path is not UTF-8."""
    text = well.settings.read_text().replace(str(well.shim), "/caf\\udce9/smart-checkpoint")
    well.settings.write_text(text)
    found = well.found("hooks of claude")
    assert found.status == PROBLEM and "this path is not" in found.message and "REWIND_HOME" in found.fix


def test_hooks_of_another_tier_or_another_place_are_a_warning(well: Patient) -> None:
    (well.rewind_home / "config.json").write_text('{"tier": "aggressive"}')
    found = well.found("hooks of claude")
    assert found.status == WARNING and "aggressive" in found.message
    (well.rewind_home / "config.json").write_text('{"tier": "balanced"}')
    other = well.home / "smart-checkpoint"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    well.settings.write_text(well.settings.read_text().replace(str(well.shim), str(other)))
    assert well.found("hooks of claude").status == WARNING
    other.unlink()
    assert well.found("hooks of claude").status == PROBLEM


# settings

def test_a_profile_that_is_wrong_is_a_problem(well: Patient, tmp_path: Path) -> None:
    agents = well.rewind_home / "agents"
    agents.mkdir()
    (agents / "mine.json").write_text("{}")
    from rewind.agents import registry

    registry._loaded.clear()
    found = well.found("profile")
    assert found.status == PROBLEM and str(agents / "mine.json") in found.message


def test_a_configuration_that_is_wrong_is_a_problem(well: Patient) -> None:
    (well.rewind_home / "config.json").write_text('{"tyer": "balanced"}')
    assert well.found("configuration").status == PROBLEM
    (well.rewind_home / "config.json").write_text("{}")
    (well.state / "config.json").write_text("{")
    assert well.found("configuration").status == PROBLEM


def test_a_guard_that_is_switched_off_is_a_warning(well: Patient) -> None:
    (well.rewind_home / "config.json").write_text('{"protect": false}')
    assert well.found("guard").status == WARNING


# the project

def test_a_project_that_is_not_initialised_is_judged_by_what_hooks_would_do(patient: Patient) -> None:
    patient.install()
    assert patient.found("project").status == WARNING, "the next session does it"
    plain = patient.home / "plain"
    plain.mkdir()
    assert patient.found("project", plain).status == PROBLEM
    (patient.rewind_home / "config.json").write_text('{"init": {"auto": "always"}}')
    assert patient.found("project", plain).status == WARNING
    (patient.rewind_home / "config.json").write_text('{"init": {"auto": "never"}}')
    assert patient.found("project").status == PROBLEM
    assert "rewind init" in patient.found("project").fix


def test_outside_of_any_project_it_works_and_finds_no_problem(patient: Patient) -> None:
    patient.install()
    assert patient.found("project", patient.home).status == WARNING
    assert patient.found("project", Path("/")).status == WARNING
    assert all(one.status != PROBLEM for one in patient.findings(patient.home))


def test_a_store_that_is_not_trusted_is_a_problem(well: Patient) -> None:
    (well.rewind_home / "known-stores.json").unlink()
    found = well.found("project")
    assert found.status == PROBLEM and "init --trust" in found.fix


def test_a_store_that_is_damaged_is_a_problem(well: Patient) -> None:
    (well.state / "store.json").write_text("{")
    assert well.found("project").status == PROBLEM
    well.state.joinpath("operations.jsonl").write_text("nothing of ours\n")


def test_a_history_that_is_damaged_is_a_problem(well: Patient) -> None:
    well.state.joinpath("operations.jsonl").write_text("nothing of ours\n")
    assert well.found("store").status == PROBLEM


def test_a_read_only_state_is_a_problem(user: Rewind) -> None:
    user.ok("init")
    user.state.chmod(0o500)
    chown_all(user.project)
    try:
        done = user.run("doctor", "--json")
    finally:
        user.state.chmod(0o700)
    (found,) = [one for one in done.data["checks"] if one["name"] == "project"]
    assert done.code == 1 and found["status"] == PROBLEM and "write" in found["message"]


def test_errors_of_hooks_are_told(well: Patient) -> None:
    def note(failures: int) -> None:
        errors = [{"at": "2026-11-15T10:00:00Z", "action": "Stop", "message": "OSError: disk full"}]
        (well.state / "hook-state.json").write_text(json.dumps({"format": 1, "failures": failures,
                                                                "errors": errors}))
    note(1)
    assert well.found("hook errors").status == WARNING and "disk full" in well.found("hook errors").message
    note(3)
    assert well.found("hook errors").status == PROBLEM
    note(0)
    assert "hook errors" not in {one.name for one in well.findings()}, "the last one went well"
    (well.state / "hook-state.json").write_text("[")
    assert "hook errors" not in {one.name for one in well.findings()}


def test_what_the_logs_say_of_the_last_day_is_a_warning(well: Patient) -> None:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    for log in (well.state / "rewind.log", well.rewind_home / "rewind.log"):
        log.write_text("2020-01-01T00:00:00Z 1 long ago\n")
        assert "hook errors" not in {one.name for one in well.findings()}
        log.write_text(f"2020-01-01T00:00:00Z 1 long ago\n{now} 7 stop: a strange thing\n")
        assert well.found("hook errors").status == WARNING
        assert "a strange thing" in well.found("hook errors").message
        log.write_bytes(b"\xff garbage\n")
        assert "hook errors" not in {one.name for one in well.findings()}


def test_a_session_that_no_hook_saw_is_a_warning(well: Patient) -> None:
    transcript = well.talk()
    assert well.found("checkpoints").status == OK, "just begun"
    later = time.time() + 3600
    os.utime(transcript, (later, later))
    found = well.found("checkpoints")
    assert found.status == WARNING and SESSION in found.message


def test_an_old_client_is_a_warning(well: Patient) -> None:
    well.talk(version="2.1.30")
    found = well.found("client")
    assert found.status == WARNING and "2.1.30" in found.message


def test_a_new_client_is_not_mentioned(well: Patient) -> None:
    well.talk(version="2.1.325")
    assert "client" not in {one.name for one in well.findings()}


def test_an_interrupted_restore_is_a_problem(well: Patient) -> None:
    controller = Controller(str(well.project), home=str(well.rewind_home))
    name = controller.list_checkpoints()[0].name
    controller.state.operations().begin("restore", before=name, checkpoint=name)
    controller.close()
    found = well.found("restore")
    assert found.status == PROBLEM and name in found.fix


def test_a_store_over_its_budget_is_a_warning(well: Patient) -> None:
    (well.state / "config.json").write_text('{"storage": {"maxSizeMb": 1}}')
    controller = Controller(str(well.project), home=str(well.rewind_home))
    (well.project / "large").write_bytes(os.urandom(2 << 20))
    controller.save("large")
    controller.close()
    found = well.found("disk")
    assert found.status == WARNING and "rewind gc" in found.fix


def test_doctor_changes_nothing(well: Patient) -> None:
    well.talk()
    before = {path: path.stat().st_mtime_ns for path in well.home.rglob("*") if path.is_file()}
    well.findings()
    assert {path: path.stat().st_mtime_ns for path in well.home.rglob("*") if path.is_file()} == before
