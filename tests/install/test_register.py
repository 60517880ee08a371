"""Which files of an agent get our hooks, and how carefully they are written."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any, Optional

import pytest

from rewind.agents.profile import Profile
from rewind.agents.registry import profile_named
from rewind.config.load import load_tier
from rewind.errors import (
    AgentMissing,
    NoHooks,
    RewindError,
    SettingsBusy,
    SettingsUnreadable,
    SettingsUnwritable,
)
from rewind.install.agent_settings import register as registering
from rewind.install.agent_settings.merger import EVENTS, entries_for, merge
from rewind.install.agent_settings.register import is_disabled, register, registered, shadowed, unregister
from rewind_cli import Rewind, chown_all

SHIM = "/home/dev/.rewind/system/smart-checkpoint"
FOREIGN_GROUP = {"hooks": [{"type": "command", "command": "mine", "timeout": 5}]}
FOREIGN = json.dumps({"model": "opus", "hooks": {"Stop": [FOREIGN_GROUP]}}, indent=4) + "\n"


@pytest.fixture
def claude(home: Path) -> Profile:
    (home / ".claude" / "projects").mkdir(parents=True)
    return profile_named("claude")


@pytest.fixture
def droid(home: Path) -> Profile:
    (home / ".factory" / "sessions").mkdir(parents=True)
    return profile_named("droid")


def put(profile: Profile, tier: str = "balanced", **options: Any) -> list[str]:
    return register(profile, load_tier(tier), SHIM, **options)


def wanted(profile: Profile, tier: str = "balanced") -> dict[str, list[dict[str, Any]]]:
    return entries_for(load_tier(tier), profile, SHIM)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def everything(folder: Path) -> dict[str, Any]:
    """Every file with its bytes and mode, every link with its target, every directory."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        found[name] = os.readlink(path) if path.is_symlink() else None
        if path.is_file():
            found[name] = (found[name], path.read_bytes(), mode(path))
    return found


# which files

def test_claudes_hooks_go_into_its_settings(claude: Profile, home: Path) -> None:
    file = home / ".claude" / "settings.json"
    assert put(claude) == [str(file)]
    assert json.loads(file.read_text()) == {"hooks": wanted(claude)}
    assert mode(file) == 0o600
    assert put(claude) == []


def test_a_moved_configuration_is_honoured(claude: Profile, tmp_path: Path, home: Path,
                                           monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "elsewhere"))
    assert put(claude) == [str(tmp_path / "elsewhere" / "settings.json")]
    assert not (home / ".claude" / "settings.json").exists()


@pytest.mark.parametrize(("agent", "folder"), [("claude", ".claude"), ("droid", ".factory")])
def test_a_projects_hooks_go_into_the_project(agent: str, folder: str, claude: Profile, droid: Profile,
                                              home: Path, project: Path) -> None:
    profile = profile_named(agent)
    before = everything(home)
    assert put(profile, project=str(project)) == [str(project / folder / "settings.json")]
    assert everything(home) == before
    assert registered(profile) == [] and registered(profile, project=str(project))
    assert unregister(profile, project=str(project)) == [str(project / folder / "settings.json")]
    assert everything(project) == {}


def test_an_agent_without_registration_has_no_hooks(home: Path) -> None:
    unknown = profile_named("unknown")
    with pytest.raises(NoHooks):
        put(unknown)
    assert unregister(unknown) == [] and registered(unknown) == [] and shadowed(unknown) == []
    assert is_disabled(unknown) is None


def test_an_agent_that_was_never_used_is_named_and_nothing_is_made(home: Path, project: Path) -> None:
    for where in (None, str(project)):
        with pytest.raises(AgentMissing) as caught:
            put(profile_named("claude"), project=where)
        assert str(home / ".claude") in caught.value.message
    assert not (home / ".claude").exists() and everything(project) == {}


def test_the_directory_is_made_when_asked_for_and_goes_again(home: Path) -> None:
    put(profile_named("claude"), create=True)
    assert mode(home / ".claude") == 0o700
    unregister(profile_named("claude"))
    assert everything(home) == {}


@pytest.mark.parametrize("agent", ["claude", "droid"])
@pytest.mark.parametrize("in_project", [False, True])
def test_an_empty_directory_that_was_there_stays(home: Path, project: Path, agent: str,
                                                 in_project: bool) -> None:
    for top in (home, project):
        (top / ".claude").mkdir()
        (top / ".factory").mkdir()
    before = everything(home), everything(project)
    where = str(project) if in_project else None
    for tiers in (["balanced"], ["minimal", "aggressive"]):
        for tier in tiers:
            put(profile_named(agent), tier, project=where, create=True)
        unregister(profile_named(agent), project=where)
        assert (everything(home), everything(project)) == before


def test_a_directory_that_was_made_goes_after_another_tier_and_a_client_that_wrote_the_file_anew(
        claude: Profile, project: Path) -> None:
    for tier in ("balanced", "minimal", "aggressive"):
        put(claude, tier, project=str(project))
        file = project / ".claude" / "settings.json"
        file.write_text(json.dumps(json.loads(file.read_text())))
    unregister(claude, project=str(project))
    assert everything(project) == {}


def test_a_directory_that_was_made_stays_with_what_came_into_it(claude: Profile, project: Path) -> None:
    put(claude, project=str(project))
    (project / ".claude" / "mine").write_text("x")
    unregister(claude, project=str(project))
    assert list(everything(project)) == [".claude", ".claude/mine"]


# Droid's two files

def flat(home: Path, content: Any) -> Path:
    file = home / ".factory" / "hooks.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
    return file


def events_in(file: Path, wrapped: bool = True) -> set[str]:
    found = json.loads(file.read_text()) if file.exists() else {}
    found = found.get("hooks", {}) if wrapped else found
    return {event for event in found if SHIM in json.dumps(found[event])}


def test_without_hooks_json_all_go_into_settings_json(droid: Profile, home: Path) -> None:
    put(droid)
    assert events_in(home / ".factory" / "settings.json") == set(EVENTS)
    assert not (home / ".factory" / "hooks.json").exists()


@pytest.mark.parametrize("content", [
    {"Stop": [FOREIGN_GROUP]}, {"Stop": []}, {"Stop": [{"hooks": []}], "$schema": "x"},
    {"Notification": [], "Stop": [FOREIGN_GROUP, FOREIGN_GROUP]}])
def test_an_event_in_hooks_json_gets_ours_there_and_only_there(
        droid: Profile, home: Path, content: dict[str, Any]) -> None:
    settings = home / ".factory" / "settings.json"
    settings.write_text(FOREIGN)
    file = flat(home, content)
    before = everything(home)
    assert put(droid) == [str(file), str(settings)]
    assert events_in(file, wrapped=False) == {"Stop"}
    assert events_in(settings) == set(EVENTS) - {"Stop"}
    assert json.loads(file.read_text())["Stop"][:-1] == content["Stop"]
    assert shadowed(droid) == []
    assert put(droid) == []
    assert unregister(droid) == [str(file), str(settings)]
    assert everything(home) == before


@pytest.mark.parametrize("content", [
    "", "{}", "{", "[]", '{"Stop": [],}', '{"hooks": {"Stop": []}}', '{"Stop": null}',
    '{"Stop": [], "SessionStart": 5}', '\ufeff{"Stop": []}', '{"Notification": []}', "// nothing\n{}"])
def test_a_hooks_json_that_droid_does_not_use_is_left_alone(
        droid: Profile, home: Path, content: str) -> None:
    file = flat(home, content)
    put(droid)
    assert file.read_text() == content
    assert events_in(home / ".factory" / "settings.json") == set(EVENTS)
    assert shadowed(droid) == []
    unregister(droid)
    assert file.read_text() == content and not (home / ".factory" / "settings.json").exists()


def test_a_hooks_json_with_comments_is_used_by_droid_so_it_is_named(droid: Profile, home: Path) -> None:
    file = flat(home, '{\n  // mine\n  "Stop": []\n}')
    before = everything(home)
    with pytest.raises(SettingsUnreadable, match="comments") as caught:
        put(droid)
    assert str(file) in caught.value.message and everything(home) == before
    put(droid, "minimal")
    assert events_in(home / ".factory" / "settings.json") == {"SessionStart"}


def test_ours_move_when_hooks_json_comes_and_goes(droid: Profile, home: Path) -> None:
    settings = home / ".factory" / "settings.json"
    put(droid)
    file = flat(home, {"Stop": [FOREIGN_GROUP], "SessionEnd": []})
    assert {(found.file, found.event) for found in shadowed(droid)} == {
        (str(settings), "Stop"), (str(settings), "SessionEnd")}
    put(droid)
    assert shadowed(droid) == [] and events_in(file, wrapped=False) == {"Stop", "SessionEnd"}
    found = json.loads(file.read_text())
    found["Stop"].pop(0)
    del found["SessionEnd"]
    file.write_text(json.dumps(found))
    put(droid)
    assert not file.exists() and events_in(settings) == set(EVENTS)


def test_what_is_wrong_with_the_second_file_shows_before_the_first_is_written(
        droid: Profile, home: Path) -> None:
    flat(home, {"Stop": []})
    (home / ".factory" / "settings.json").write_text("{")
    before = everything(home)
    with pytest.raises(SettingsUnreadable):
        put(droid)
    assert everything(home) == before


def test_unregistering_goes_on_after_a_file_that_cannot_be_read(droid: Profile, home: Path) -> None:
    settings = home / ".factory" / "settings.json"
    put(droid)
    file = flat(home, '{"Stop": [ "smart-checkpoint"')
    with pytest.raises(SettingsUnreadable) as caught:
        unregister(droid)
    assert str(file) in caught.value.message
    assert file.exists() and not settings.exists()


def test_a_projects_hooks_json_counts_in_the_project(droid: Profile, project: Path) -> None:
    (project / ".factory").mkdir()
    (project / ".factory" / "hooks.json").write_text('{"Stop": []}')
    before = everything(project)
    put(droid, project=str(project))
    assert events_in(project / ".factory" / "hooks.json", wrapped=False) == {"Stop"}
    unregister(droid, project=str(project))
    assert everything(project) == before


# what there is

def test_what_is_registered_is_listed(claude: Profile, home: Path) -> None:
    (home / ".claude" / "settings.json").write_text(FOREIGN)
    assert registered(claude) == []
    put(claude)
    found = registered(claude)
    assert {one.file for one in found} == {str(home / ".claude" / "settings.json")}
    assert ("PreToolUse", f"{SHIM} pre-tool-use", "Bash") in [one[1:] for one in found]
    assert ("Stop", f"{SHIM} stop", "") in [one[1:] for one in found]
    assert len(found) == 7


@pytest.mark.parametrize(("agent", "folder", "key"), [
    ("claude", ".claude", "disableAllHooks"), ("droid", ".factory", "hooksDisabled")])
def test_hooks_that_are_turned_off_are_noticed(agent: str, folder: str, key: str, home: Path) -> None:
    profile, file = profile_named(agent), home / folder / "settings.json"
    assert is_disabled(profile) is None
    put(profile, create=True)
    assert is_disabled(profile) is None
    for value, off in ((True, True), (False, False), ("true", False), (1, False)):
        file.write_text(json.dumps({key: value}))
        assert is_disabled(profile) == (str(file) if off else None)


def test_claudes_hooks_can_be_turned_off_in_the_projects_local_file(claude: Profile, project: Path) -> None:
    put(claude, project=str(project))
    local = project / ".claude" / "settings.local.json"
    local.write_text('{"disableAllHooks": true}')
    assert is_disabled(claude, project=str(project)) == str(local)
    assert is_disabled(claude) is None


# how they are written

def test_a_file_comes_back_byte_for_byte_with_its_mode(claude: Profile, home: Path) -> None:
    file = home / ".claude" / "settings.json"
    file.write_bytes(b"\xef\xbb\xbf" + FOREIGN.replace("\n", "\r\n").encode())
    file.chmod(0o664)
    before = everything(home)
    for tier in ("minimal", "balanced", "aggressive"):
        assert put(claude, tier) == [str(file)]
        assert mode(file) == 0o664
    assert unregister(claude) == [str(file)]
    assert everything(home) == before
    assert unregister(claude) == []


def test_killed_right_after_the_exchange_others_may_still_read_it(
        claude: Profile, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = home / ".claude" / "settings.json"
    file.write_text(FOREIGN)
    file.chmod(0o644)
    # It does not get there.
    monkeypatch.setattr(registering, "_keep_owner_and_mode", lambda target, before: None)
    put(claude, "balanced")
    assert mode(file) == 0o644


def test_a_linked_file_is_written_at_its_target(claude: Profile, home: Path) -> None:
    (home / "dotfiles").mkdir()
    target = home / "dotfiles" / "claude.json"
    target.write_text(FOREIGN)
    (home / "dotfiles" / "link.json").symlink_to("claude.json")
    link = home / ".claude" / "settings.json"
    link.symlink_to("../dotfiles/link.json")
    before = everything(home)
    assert put(claude) == [str(link)]
    assert link.is_symlink() and SHIM in target.read_text()
    unregister(claude)
    assert everything(home) == before


def test_a_link_that_leads_nowhere_does_so_again(claude: Profile, home: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / ".claude" / "settings.json").symlink_to("../dotfiles/claude.json")
    before = everything(home)
    put(claude)
    assert (home / "dotfiles" / "claude.json").is_file()
    unregister(claude)
    assert everything(home) == before


def test_a_linked_directory_is_used_as_one(home: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / ".claude").symlink_to("dotfiles")
    before = everything(home)
    put(profile_named("claude"))
    unregister(profile_named("claude"))
    assert everything(home) == before


@pytest.mark.parametrize("content", [
    b"", b"{", b"[]", b'{"hooks": []}', b'{"hooks": {"Stop": {}}}', b'{"a": 1, "a": 2}', b"// x\n{}",
    b'{"a": "\xff"}', b"\xff\xfe{\0}\0"])
def test_a_file_that_cannot_be_understood_is_left_alone_and_named(
        claude: Profile, home: Path, content: bytes) -> None:
    file = home / ".claude" / "settings.json"
    file.write_bytes(content)
    before = everything(home)
    with pytest.raises(SettingsUnreadable) as caught:
        put(claude)
    assert str(file) in caught.value.message and caught.value.hint
    assert everything(home) == before


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_file_is_named(claude: Profile, home: Path, make: Any) -> None:
    make(home / ".claude" / "settings.json")
    for act in (put, unregister, registered):
        with pytest.raises(RewindError) as caught:
            act(claude)
        assert "settings.json" in caught.value.message


def test_what_is_no_file_does_not_hide_what_is_wrong_with_the_other(droid: Profile, home: Path) -> None:
    os.mkdir(home / ".factory" / "hooks.json")
    (home / ".factory" / "settings.json").write_text('{ "smart-checkpoint"')
    with pytest.raises(SettingsUnreadable, match=r"settings\.json is left as it is: it is not valid JSON"):
        unregister(droid)


def test_a_file_that_is_too_long_is_named(claude: Profile, home: Path) -> None:
    file = home / ".claude" / "settings.json"
    file.touch()
    os.truncate(file, registering.SIZE_LIMIT + 1)
    with pytest.raises(SettingsUnreadable, match="longer than settings can be") as caught:
        put(claude)
    assert "plain JSON" not in caught.value.hint


def test_a_read_only_file_is_not_replaced(claude: Profile, home: Path) -> None:
    file = home / ".claude" / "settings.json"
    file.write_text(FOREIGN)
    file.chmod(0o444)
    before = everything(home)
    with pytest.raises(SettingsUnwritable) as caught:
        put(claude)
    assert "read-only" in caught.value.message and caught.value.hint
    assert everything(home) == before


REGISTER = """
import sys
sys.path.insert(0, sys.argv[1])
from rewind.agents.registry import profile_named
from rewind.config.load import load_tier
from rewind.install.agent_settings.register import SettingsUnwritable, register
try:
    register(profile_named("claude"), load_tier("minimal"), "/x/smart-checkpoint")
except SettingsUnwritable as error:
    print(error.message, error.hint)
"""


def register_as(user: Rewind) -> str:
    *python, program = user.command
    source = Path(program).parent.parent / "src"
    done = subprocess.run([*python, "-c", REGISTER, str(source)], cwd=user.project, env=user.env,
                          capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("content", [None, FOREIGN])
def test_a_directory_that_cannot_be_written_is_an_error_with_a_hint(
        user: Rewind, content: Optional[str]) -> None:
    config = user.home / ".claude"
    config.mkdir()
    if content:
        (config / "settings.json").write_text(content)
    chown_all(user.home)
    config.chmod(0o555)
    before = everything(user.home)
    assert "settings.json cannot be written: Permission denied. Make it writable." in register_as(user)
    assert everything(user.home) == before


def test_a_link_into_a_directory_that_is_gone_is_an_error_with_a_hint(claude: Profile, home: Path) -> None:
    (home / ".claude" / "settings.json").symlink_to("../gone/claude.json")
    with pytest.raises(SettingsUnwritable, match="No such file"):
        put(claude)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_stays_its_owners_when_root_registers(claude: Profile, home: Path) -> None:
    file = home / ".claude" / "settings.json"
    file.write_text(FOREIGN)
    os.chown(file, 12345, 23456)
    put(claude)
    assert (file.stat().st_uid, file.stat().st_gid) == (12345, 23456)


def test_a_full_disk_leaves_the_file_as_it_was(claude: Profile, home: Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    (home / ".claude" / "settings.json").write_text(FOREIGN)
    before = everything(home)

    def full(fd: int, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rewind.files.write_all", full)
    with pytest.raises(SettingsUnwritable, match="No space left"):
        put(claude)
    assert everything(home) == before


def meddling(monkeypatch: pytest.MonkeyPatch, file: Path, times: int) -> None:
    """The client writes its settings between our look at them and our writing, so many times."""
    left = iter(range(times))

    def merge_late(text: Optional[str], hooks: Any, **options: Any) -> str:
        if next(left, None) is not None:
            found = json.loads(file.read_text()) if file.exists() else {}
            file.write_text(json.dumps({**found, "written": found.get("written", 0) + 1}))
        return merge(text, hooks, **options)

    monkeypatch.setattr(registering, "merge", merge_late)


@pytest.mark.parametrize("exists", [True, False])
def test_what_the_client_writes_meanwhile_is_not_lost(claude: Profile, home: Path, exists: bool,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    file = home / ".claude" / "settings.json"
    if exists:
        file.write_text(FOREIGN)
    meddling(monkeypatch, file, 3)
    put(claude)
    found = json.loads(file.read_text())
    assert found["written"] == 3 and events_in(file) == set(EVENTS)


def test_a_file_that_never_rests_is_left_to_the_client(claude: Profile, home: Path,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    file = home / ".claude" / "settings.json"
    file.write_text(FOREIGN)
    meddling(monkeypatch, file, 100)
    with pytest.raises(SettingsBusy):
        put(claude)
    assert events_in(file) == set()
