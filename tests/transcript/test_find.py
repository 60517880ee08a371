"""The sessions of a project: those that began in it, wherever the agents have put them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chat_scene import LONG_AGO, Claude, droid
from make_transcripts import place, session_folder
from rewind.agents.registry import profile_named
from rewind.errors import SessionAmbiguous, UsageError
from rewind.transcript.find import (
    SessionNotFound,
    find_session,
    folder_name,
    project_sessions,
    session_anywhere,
    session_with_id,
)
from rewind.transcript.names import is_session_id, session_id_of

pytestmark = pytest.mark.usefixtures("home")


def put(home: Path, project: Path, session: str, *, at: Path, agent: str = "claude", age: int = 0) -> Path:
    """A session that began in `project`, in the folder that belongs to `at`."""
    talk = Claude(project, session) if agent == "claude" else droid(project, session)
    talk.turn("hello")
    path = place(home, agent, at, talk.bytes(), session)
    os.utime(path, (LONG_AGO - age, LONG_AGO - age))
    return path


def ids(project: Path) -> list[str]:
    return [s.session_id for s in project_sessions(str(project))]


def test_sessions_of_every_agent_are_found_latest_first(home: Path, project: Path) -> None:
    put(home, project, "s-old", at=project, age=20)
    put(home, project, "s-droid", at=project, agent="droid", age=10)
    put(home, project, "s-new", at=project)
    assert ids(project) == ["s-new", "s-droid", "s-old"]


def test_a_session_that_began_in_a_directory_of_the_project_belongs_to_it(home: Path, project: Path) -> None:
    below = project / "sub"
    below.mkdir()
    put(home, below, "s-below", at=below)
    assert ids(project) == ["s-below"] and ids(below) == ["s-below"]


def test_a_neighbour_whose_folder_has_the_same_beginning_does_not(home: Path, project: Path) -> None:
    neighbour = project.with_name("project-2")
    neighbour.mkdir()
    put(home, neighbour, "s-next", at=neighbour)
    assert ids(project) == [] and ids(neighbour) == ["s-next"]


def test_a_session_whose_folder_name_collides_is_told_apart_by_where_it_began(home: Path,
                                                                              project: Path) -> None:
    twin = project.with_name("pro.ject")
    other = project.with_name("pro_ject")
    put(home, twin, "s-twin", at=twin)
    put(home, other, "s-other", at=other)
    assert ids(twin) == ["s-twin"] and ids(other) == ["s-other"]


def test_a_session_that_does_not_say_where_it_began_belongs_to_its_folder(home: Path, project: Path) -> None:
    place(home, "claude", project, b'{"type":"mode"}\n', "s-mute")
    place(home, "claude", project / "x", b'{"type":"mode"}\n', "s-below")
    assert ids(project) == ["s-mute"]


def test_droids_flat_sessions_are_found_by_where_they_began(home: Path, project: Path) -> None:
    path = put(home, project, "s-flat", at=project, agent="droid")
    path.rename(home / ".factory/sessions" / path.name)
    assert ids(project) == ["s-flat"]


def test_a_project_reached_by_a_link_is_the_same_project(home: Path, project: Path, tmp_path: Path) -> None:
    put(home, project, "s-real", at=project)
    link = tmp_path / "link"
    link.symlink_to(project)
    assert ids(link) == ["s-real"]


def test_folder_names_are_made_as_the_agents_make_them(tmp_path: Path) -> None:
    claude, factory = profile_named("claude"), profile_named("droid")
    assert folder_name(claude, "/home/dev/slug/My Project_v1.2") == "-home-dev-slug-My-Project-v1-2"
    assert folder_name(claude, "/é/😀") == "-----"
    assert folder_name(factory, "/home/dev/My Project_v1.2") == "-home-dev-My Project_v1.2"


def test_a_folder_name_that_claude_shortened_is_found(home: Path, project: Path, tmp_path: Path) -> None:
    deep = tmp_path / ("y" * 200) / ("z" * 200)
    deep.mkdir(parents=True)
    name = session_folder(home, "claude", deep).name
    assert len(name) > 255  # no directory can be called so
    path = put(home, deep, "s-long", at=project)
    path.parent.rename(path.parent.with_name(name[:200] + "-olvocz"))
    assert ids(deep) == ["s-long"] and ids(project) == []


def test_what_is_no_session_is_passed_over(home: Path, project: Path) -> None:
    folder = put(home, project, "s-1", at=project).parent
    (folder / ".hidden.jsonl").write_text("{}\n")
    (folder / "notes.txt").write_text("{}\n")
    (folder / "folder.jsonl").mkdir()
    (folder / "link.jsonl").symlink_to(folder / "s-1.jsonl")
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "s-1").mkdir()
    (folder / "s-1" / "agent-x.jsonl").write_text("{}\n")
    assert ids(project) == ["s-1"]


def test_no_agents_home_means_no_sessions(project: Path) -> None:
    assert ids(project) == []


# by name

def test_a_session_is_found_by_its_id_or_the_beginning_of_it(home: Path, project: Path) -> None:
    for name in ("abcdef01-1", "abcdef02-2", "abcdef01-1-more"):
        put(home, project, name, at=project)
    sessions = project_sessions(str(project))
    assert find_session(sessions, "abcdef02").session_id == "abcdef02-2"
    assert find_session(sessions, "abcdef01-1").session_id == "abcdef01-1"
    with pytest.raises(SessionAmbiguous) as caught:
        find_session(sessions, "abcdef0")
    assert caught.value.exit_code == 12 and caught.value.hint
    with pytest.raises(SessionNotFound):
        find_session(sessions, "zzzzzzzz")
    with pytest.raises((UsageError, SessionNotFound)):
        find_session(sessions, "abcde")


@pytest.mark.parametrize("text", ["../../x", "a/b", "", ".", "..", ".hidden", "a\0b", "a b", "x" * 201,
                                  "x" * 100_000, "é", "a\nb", "~", "*", "-" * 300])
def test_what_is_no_id_never_becomes_part_of_a_path(text: str) -> None:
    assert not is_session_id(text)
    with pytest.raises(UsageError):
        find_session([], text)


def test_the_id_is_the_stem_of_the_files_name() -> None:
    assert session_id_of("/a/b/c.d.jsonl") == "c.d" and session_id_of("/a/x") == "x"
    assert is_session_id("0123abcd-0000-4000-8000-000000000000") and is_session_id("a_b.c")


# Transcripts that their agent has moved

def test_a_session_is_found_by_its_id_in_the_folder_of_another_directory(
        home: Path, project: Path, tmp_path: Path) -> None:
    moved = put(home, project, "s-moved", at=tmp_path / "elsewhere")
    assert ids(project) == []
    found = session_with_id(str(project), "s-moved")
    assert found and found.path == str(moved)


def test_one_that_began_elsewhere_is_not_ours_though_it_is_found(
        home: Path, project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    theirs = put(home, other, "s-theirs", at=other)
    assert session_with_id(str(project), "s-theirs") is None
    found = session_anywhere(profile_named("claude"), "s-theirs")
    assert found and found.path == str(theirs)


def test_of_two_files_with_one_id_the_near_one_counts_else_the_latest(
        home: Path, project: Path, tmp_path: Path) -> None:
    old = put(home, project, "s-twice", at=project, age=50)
    new = put(home, project, "s-twice", at=tmp_path / "elsewhere")
    claude = profile_named("claude")
    for near, wanted in ((str(old), old), (str(new), new), ("", new), ("/nowhere/x.jsonl", new)):
        found = session_anywhere(claude, "s-twice", near=near)
        assert found and found.path == str(wanted), near


@pytest.mark.parametrize("name", ["", "../../x", "..", "a/b", "x" * 300, "a\0b"])
def test_what_is_no_id_is_not_looked_for(home: Path, project: Path, name: str) -> None:
    put(home, project, "s-one", at=project)
    assert session_anywhere(profile_named("claude"), name) is None
    assert session_with_id(str(project), name) is None


def test_a_link_that_leads_out_of_the_session_root_is_no_session(
        home: Path, project: Path, tmp_path: Path) -> None:
    inside = put(home, project, "s-real", at=project)
    outside = tmp_path / "s-out.jsonl"
    outside.write_bytes(inside.read_bytes())
    (inside.parent / "s-out.jsonl").symlink_to(outside)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "s-far.jsonl").write_bytes(inside.read_bytes())
    (inside.parent.parent / "linked").symlink_to(tmp_path / "folder")
    for name in ("s-out", "s-far"):
        assert session_anywhere(profile_named("claude"), name) is None, name


def test_droids_are_found_by_id_as_well(home: Path, project: Path, tmp_path: Path) -> None:
    put(home, project, "s-droid", at=tmp_path / "elsewhere", agent="droid")
    found = session_with_id(str(project), "s-droid")
    assert found and found.profile.name == "droid"
