"""Which agent made a file or runs a process: by its place, its lines, its own marks, never by a guess."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import rewind.agents
from cli import conftest as in_process
from cli.conftest import InProcess
from make_transcripts import ClaudeTalk, DroidTalk, place
from rewind.agents.registry import (
    is_under_root,
    profile_for,
    profile_named,
    profile_of_environment,
    profiles,
    session_home,
    session_root,
)
from rewind.errors import ProfileInvalid
from rewind_cli import Rewind

cli = in_process.cli  # the fixture
PROFILES = Path(rewind.agents.__file__).parent / "profiles"


def own(home: Path, based_on: str = "claude", file: str = "mine.json", **changes: Any) -> Path:
    """A profile of the user's own, made from a shipped one."""
    data = {**json.loads((PROFILES / f"{based_on}.json").read_text("utf-8")), **changes}
    folder = home / ".rewind" / "agents"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text(json.dumps(data))
    return folder / file


def name_of(environ: dict[str, str]) -> Any:
    found = profile_of_environment(environ)
    return found and found.name


# the user's own

def test_an_agent_of_the_users_own_is_recognised_by_where_its_sessions_lie(home: Path) -> None:
    own(home, "droid", name="mine", title="My agent",
        sessions={"home": "~/.mine", "homeVariable": "MINE_HOME", "homeBelow": "", "root": "talks",
                  "folders": "slashes", "flat": True})
    path = home / ".mine" / "talks" / "x.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("{}\n")
    assert [p.name for p in profiles()] == ["mine", "claude", "droid", "codex", "gemini", "opencode"]
    assert profile_for(str(path)).name == "mine"
    assert session_root(profile_named("mine"), {"MINE_HOME": "/else"}) == "/else/talks"


def test_an_agent_of_the_users_own_replaces_a_shipped_one_of_that_name(home: Path) -> None:
    own(home, "claude", title="Claude, changed")
    assert [p.title for p in profiles() if p.name == "claude"] == ["Claude, changed"]
    assert len(profiles()) == len({p.name for p in profiles()})


def test_the_users_own_unknown_agent_replaces_the_shipped_one(home: Path) -> None:
    own(home, "unknown", title="whoever it was")
    assert profile_named("no-such-agent").title == "whoever it was"


def test_the_home_that_is_asked_for_is_the_one_whose_profiles_count(tmp_path: Path, home: Path) -> None:
    other = tmp_path / "other"
    own(other, "unknown", title="of the other home")
    assert profile_named("no-such-agent", str(other / ".rewind")).title == "of the other home"


def test_only_json_files_are_profiles(home: Path) -> None:
    own(home, name="mine").with_suffix(".md").write_text("notes")
    assert "mine" in [p.name for p in profiles()]


@pytest.mark.parametrize(("text", "words"), [
    ("{", "not valid JSON"), ("", "not valid JSON"), ("[" * 100_000, "not valid JSON"),
    ("[]", "must be an object"), ('{"format": 1}', "name is missing"),
    ('{"format": 2}', "format must be 1"), ("\x00", "not valid JSON"),
    (" " * (1 << 20) + "{}", "")])
def test_a_broken_one_is_an_error_that_names_the_file(home: Path, text: str, words: str) -> None:
    path = own(home)
    path.write_text(text)
    with pytest.raises(ProfileInvalid) as caught:
        profiles()
    assert str(path) in caught.value.message and words in caught.value.message and caught.value.hint


def test_bytes_that_are_no_text_are_an_error_that_names_the_file(home: Path) -> None:
    path = own(home)
    path.write_bytes(b'{"format": "\xff\xfe"}')
    with pytest.raises(ProfileInvalid, match=r"mine\.json"):
        profiles()


def test_a_directory_in_its_place_is_an_error_that_names_it(home: Path) -> None:
    (home / ".rewind" / "agents" / "mine.json").mkdir(parents=True)
    with pytest.raises(ProfileInvalid, match=r"mine\.json"):
        profiles()


def test_a_broken_one_is_told_and_does_not_cost_the_checkpoint_of_the_code(rewind: Rewind) -> None:
    """By processes of their own, each of which reads the profiles anew."""
    rewind.init()
    own(rewind.home).write_text('{"format": 1, "name": "x y"}')
    for command in (["back"], ["sessions", "list"], ["forks"]):
        assert "mine.json" in rewind.fails(1, *command, hint="docs/agents.md")
    (rewind.project / "new.txt").write_text("new")
    assert "mine.json" in rewind.ok("save").err
    rewind.ok("restore", "prev")
    assert not (rewind.project / "new.txt").exists()


# where sessions live

def test_sessions_lie_in_the_home_of_the_agent(home: Path) -> None:
    assert session_root(profile_named("claude"), {}) == str(home / ".claude/projects")
    assert session_root(profile_named("droid"), {}) == str(home / ".factory/sessions")
    assert session_root(profile_named("unknown"), {}) is None


def test_a_home_that_was_moved_is_honoured(home: Path) -> None:
    claude, droid = profile_named("claude"), profile_named("droid")
    assert session_home(claude, {"CLAUDE_CONFIG_DIR": "/cfg"}) == "/cfg"
    assert session_root(claude, {"CLAUDE_CONFIG_DIR": "/cfg/"}) == "/cfg/projects"
    assert session_root(droid, {"FACTORY_HOME_OVERRIDE": "/f"}) == "/f/.factory/sessions"
    assert session_root(claude, {"CLAUDE_CONFIG_DIR": ""}) == str(home / ".claude/projects")


def test_each_agent_has_a_variable_of_its_own(home: Path) -> None:
    moved = {"FACTORY_HOME_OVERRIDE": "/f"}
    assert session_root(profile_named("claude"), moved) == str(home / ".claude/projects")


def test_a_path_is_under_a_root_only_when_it_really_is(home: Path) -> None:
    claude = profile_named("claude")
    root = home / ".claude/projects"
    (root / "p").mkdir(parents=True)
    outside = home / "elsewhere"
    outside.mkdir()
    (root / "link").symlink_to(outside)
    assert is_under_root(claude, str(root / "p/x.jsonl"))
    for path in (outside / "x.jsonl", root / "link/x.jsonl", root / "p/../../x.jsonl",
                 home / ".claude/projects-2/x.jsonl", root):
        assert not is_under_root(claude, str(path)), path


def test_a_path_that_cannot_exist_is_not_under_a_root(home: Path) -> None:
    root = home / ".claude/projects"
    for name in ("a\0b/x.jsonl", "a" * 5000 + "/x.jsonl"):
        is_under_root(profile_named("claude"), f"{root}/{name}")  # whatever it says, it does not crash
    assert not is_under_root(profile_named("claude"), "/\0/x.jsonl")


def test_a_root_that_is_itself_a_link_is_followed(home: Path) -> None:
    real = home / "disk"
    (real / "projects/p").mkdir(parents=True)
    (home / ".claude").symlink_to(real)
    assert is_under_root(profile_named("claude"), str(home / ".claude/projects/p/x.jsonl"))


def test_a_session_in_a_moved_home_is_found_and_forked_there(cli: InProcess, tmp_path: Path,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    from chat_scene import Claude, droid

    claude, factory = tmp_path / "claude-home", tmp_path / "factory-home"
    cli.init()
    talk = Claude(cli.project)
    talk.turn("one")
    talk.turn("two")
    at = place(claude, "claude", cli.project, talk.bytes(), talk.session)
    moved = claude / ".claude"
    other = droid(cli.project, "d0000000-0000-4000-8000-000000000000")
    other.turn("three")
    there = place(factory, "droid", cli.project, other.bytes(), other.session)
    env = {"CLAUDE_CONFIG_DIR": str(moved), "FACTORY_HOME_OVERRIDE": str(factory)}
    listed = json.loads(cli.run("sessions", "list", "--json", env=env).out)["sessions"]
    assert {s["path"] for s in listed} == {str(at), str(there)}
    back = json.loads(cli.run("back", "--json", "--session", talk.session, env=env).out)
    assert os.path.dirname(back["fork"]["path"]) == str(at.parent)
    assert cli.json("sessions", "list")["sessions"] == []


# which agent runs this process

def test_claude_is_known_by_variables_of_its_own(home: Path) -> None:
    assert name_of({"CLAUDECODE": "1"}) == "claude"
    assert name_of({"CLAUDE_CODE_SESSION_ID": "x"}) == "claude"


@pytest.mark.parametrize("shared", ["CLAUDE_PROJECT_DIR", "CLAUDE_ENV_FILE", "CLAUDE_PLUGIN_ROOT"])
def test_no_agent_is_known_by_a_variable_that_both_set(home: Path, shared: str) -> None:
    assert name_of({shared: "/p"}) is None


def test_droid_is_known_although_it_sets_variables_of_claude(home: Path) -> None:
    both = {"CLAUDE_PROJECT_DIR": "/p", "CLAUDE_ENV_FILE": "/e", "FACTORY_PROJECT_DIR": "/p",
            "DROID_PROJECT_DIR": "/p"}
    assert name_of(both) == "droid"
    assert name_of({**both, "CLAUDECODE": "1"}) == "droid"  # started from a shell inside Claude Code


def test_rewinds_own_word_comes_first(home: Path) -> None:
    assert name_of({"REWIND_AGENT": "droid", "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "x"}) == "droid"
    assert name_of({"REWIND_AGENT": "nobody", "CLAUDECODE": "1"}) == "claude"


def test_no_variable_means_no_agent(home: Path) -> None:
    assert name_of({}) is None and name_of({"REWIND_AGENT": "nobody"}) is None


# which agent made a file

def test_a_transcript_is_known_by_where_it_lies_whatever_its_lines_say(home: Path, tmp_path: Path) -> None:
    talk = ClaudeTalk()
    talk.turn("one")
    path = place(home, "droid", tmp_path, talk.bytes(), "x")
    assert profile_for(str(path)).name == "droid"


@pytest.mark.parametrize(("talk", "name"), [(ClaudeTalk(), "claude"), (DroidTalk(), "droid")])
def test_a_transcript_that_lies_elsewhere_is_known_by_its_lines(tmp_path: Path, home: Path, talk: Any,
                                                                name: str) -> None:
    talk.turn("one")
    path = tmp_path / "somewhere.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + talk.bytes())
    assert profile_for(str(path)).name == name


@pytest.mark.parametrize("data", [b"", b"\n", b"\x00\xff\n", b'{"role":"user","content":"hi"}\n', b"[]\n"])
def test_a_transcript_of_nobody_known_is_the_unknown_agents(tmp_path: Path, home: Path, data: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    assert profile_for(str(path)).name == "unknown"
    assert profile_for(str(tmp_path / "absent.jsonl")).name == "unknown"
