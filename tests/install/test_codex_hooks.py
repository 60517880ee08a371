"""Rewind's hooks in Codex's hooks.json: behind those of others, named, and out again to the byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compiled_once import preinstall_library
from install_scene import Machine
from rewind.agents.app_server import NoAnswer, hooks_of, name_session
from rewind.agents.registry import profile_named
from rewind.config.load import load_tier
from rewind.install.agent_settings.register import register, registered, unregister
from rewind.install.machine.system import script_in
from rollouts import RECORDED

SHIM = "/home/dev/my rewind/system/smart-checkpoint"
FOREIGN = [RECORDED.joinpath("hooks.json").read_text(),
           '{"description": "x", "hooks": {"Stop": [{"hooks": [{"command": "say", "type": "command"}]}]}}',
           '{"hooks": {}}\n', '{}', '{\r\n\t"hooks": {"Stop": [ ] }\r\n}']


@pytest.fixture
def hooks(home: Path) -> Path:
    (home / ".codex").mkdir()
    return home / ".codex" / "hooks.json"


@pytest.mark.parametrize("text", FOREIGN)
@pytest.mark.parametrize("tier", ["minimal", "balanced", "aggressive"])
def test_others_keep_their_places_and_the_file_comes_back_to_the_byte(
        hooks: Path, text: str, tier: str) -> None:
    hooks.write_bytes(text.encode())
    codex = profile_named("codex")
    assert register(codex, load_tier(tier), SHIM) == [str(hooks)]
    before, now = json.loads(text).get("hooks", {}), json.loads(hooks.read_text())
    for event, groups in before.items():
        # A hook's place is part of what the person trusts.
        assert now["hooks"][event][:len(groups)] == groups
    assert set(now) == {*json.loads(text), "hooks"}, "any other key, and Codex reads none of it"
    assert not register(codex, load_tier(tier), SHIM)
    assert unregister(codex) == [str(hooks)]
    assert hooks.read_bytes() == text.encode()


def test_a_file_that_registering_made_goes_again(hooks: Path) -> None:
    codex = profile_named("codex")
    register(codex, load_tier("balanced"), SHIM)
    assert unregister(codex) == [str(hooks)] and not hooks.exists()


def test_the_command_names_the_agent_and_the_script_is_found_in_it(hooks: Path) -> None:
    codex = profile_named("codex")
    register(codex, load_tier("balanced"), SHIM)
    found = registered(codex)
    assert {one.command for one in found if one.event == "Stop"} == {
        f"env REWIND_AGENT=codex '{SHIM}' stop"}
    assert {script_in(one.command) for one in found} == {SHIM}
    assert {one.matcher for one in found if one.event == "PreToolUse"} == {"apply_patch", "Bash|exec_command"}


def fake_codex(folder: Path, *answers: str) -> None:
    """A program that speaks as `codex app-server` does, as far as these answers go."""
    lines = "".join(f"read line; echo '{answer}'\n" for answer in answers)
    program = folder / "codex"
    program.write_text(f"#!/bin/sh\n{lines}")
    program.chmod(0o755)


HELLO = '{"id":1,"result":{}}'


def test_an_agent_that_is_not_there_gives_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoAnswer, match="codex is not on PATH"):
        hooks_of(profile_named("codex"), str(tmp_path))


@pytest.mark.parametrize("answers", [[], ["nonsense"], [HELLO], [HELLO, '{"x":1}', '{"id":2,"error":{}}'],
                                     [HELLO, "", '{"id":2,"result":[]}']])
def test_an_answer_that_is_none_is_survived(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: list[str]) -> None:
    fake_codex(tmp_path, *answers)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(NoAnswer):
        name_session(profile_named("codex"), "id", "name", str(tmp_path))


def trust(*kinds: str) -> str:
    ours = "env REWIND_AGENT=codex /x/smart-checkpoint stop"
    hooks = [{"command": ours, "trustStatus": kind} for kind in kinds]
    hooks.append({"command": "mine", "trustStatus": "untrusted"})
    return json.dumps({"id": 2, "result": {"data": [{"hooks": hooks}]}})


@pytest.mark.slow
@pytest.mark.parametrize("kinds, told", [
    (("trusted", "managed"), "Codex calls Rewind"),
    (("trusted", "untrusted"), "Codex runs 1 of 2 hooks of Rewind"),
    (("modified",), "Codex runs 0 of 1 hooks of Rewind"),
    ((), "Codex does not read Rewind")])
def test_install_and_doctor_say_that_trust_is_needed(
        tmp_path: Path, ready_library: Path, kinds: tuple[str, ...], told: str) -> None:
    machine = Machine(tmp_path)
    preinstall_library(ready_library, machine.home)
    (machine.home / ".codex").mkdir()
    done = machine.installed("--yes")
    assert "Trust all and continue" in done.err
    assert "could not be asked whether you trust" in machine.rewind("doctor").out
    fake_codex(machine.bin, HELLO, "", trust(*kinds))
    assert told in machine.rewind("doctor").out
    assert "Trust all and continue" not in machine.installed("--yes").err, "nothing has changed"
    assert not (machine.home / ".codex" / "config.toml").exists()
