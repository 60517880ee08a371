"""A fork appears complete or not at all, beside the original, which is only ever read."""

from __future__ import annotations

import errno
import json
import os
import uuid
from pathlib import Path
from typing import Any

import pytest

from make_transcripts import ClaudeTalk, DroidTalk, Talk, resumed
from rewind.agents.profile import Profile, pick
from rewind.agents.registry import profile_named
from rewind.errors import NothingBeforeCut, RewindError
from rewind.transcript.kinds import jsonl_tree
from rewind.transcript.place.cut import Cut
from rewind.transcript.write import content, fork, sidecars
from rewind.transcript.write.content import new_session_id
from rewind.transcript.write.fork import Fork, write_fork

pytestmark = pytest.mark.usefixtures("home")


class Desk:
    def __init__(self, folder: Path, talk: Talk) -> None:
        self.agent = "droid" if isinstance(talk, DroidTalk) else "claude"
        self.talk = talk
        folder = folder / "sessions"
        folder.mkdir()
        self.path = folder / f"{talk.session}.jsonl"
        self.path.write_bytes(talk.bytes())

    def fork(self, offset: int, leaf: Any = None, agent: str = "") -> Fork:
        before = self.path.read_bytes(), os.stat(self.path).st_mtime_ns
        made = write_fork(str(self.path), profile_named(agent or self.agent), Cut(offset, leaf),
                          original=str(self.path))
        assert (self.path.read_bytes(), os.stat(self.path).st_mtime_ns) == before
        return made

    def lines(self, made: Fork) -> list[dict[str, Any]]:
        data = Path(made.path).read_bytes()
        assert data.endswith(b"\n") and made.size == len(data)
        return [json.loads(line) for line in data.splitlines()]

    @property
    def names(self) -> list[str]:
        return sorted(os.listdir(self.path.parent))


@pytest.fixture
def claude(tmp_path: Path) -> Desk:
    talk = ClaudeTalk()
    for text in ("one", "two", "three"):
        talk.turn(text)
    return Desk(tmp_path, talk)


@pytest.fixture
def droid(tmp_path: Path) -> Desk:
    talk = DroidTalk("A talk", sessionTitle="A talk")
    for text in ("one", "two"):
        talk.turn(text)
    return Desk(tmp_path, talk)


def test_a_fork_is_a_private_file_with_a_uuid_beside_the_original(claude: Desk) -> None:
    made = claude.fork(claude.talk.offset(3))
    assert uuid.UUID(made.session_id).version == 4 and made.session_id == new_uuid(made.session_id)
    assert Path(made.path) == claude.path.with_name(f"{made.session_id}.jsonl")
    assert os.stat(made.path).st_mode & 0o777 == 0o600 and len(claude.names) == 2


def new_uuid(text: str) -> str:
    return str(uuid.UUID(text))


def test_ids_are_random_uuids_of_version_4() -> None:
    made = {new_session_id() for _ in range(100)}
    assert len(made) == 100 and all(uuid.UUID(one).version == 4 for one in made)
    assert all(str(uuid.UUID(one)) == one for one in made)


def test_claudes_lines_stay_as_they_are_and_the_title_is_appended(claude: Desk) -> None:
    made = claude.fork(claude.talk.offset(3))
    data = Path(made.path).read_bytes()
    assert data.startswith(claude.talk.bytes()[:claude.talk.offset(3)])
    added = claude.lines(made)[3:]
    assert added == [
        {"type": "custom-title", "customTitle": "[Fork] one", "sessionId": made.session_id},
        {"type": "agent-name", "agentName": "[Fork] one", "sessionId": made.session_id}]
    assert made.title == "[Fork] one"


def test_a_fork_of_a_fork_says_so_twice(claude: Desk, tmp_path: Path) -> None:
    first = claude.fork(claude.talk.offset(6))
    claude.path = Path(first.path)
    second = claude.fork(claude.talk.offset(3))
    assert second.title == "[Fork] [Fork] one"


@pytest.mark.parametrize("title", ["{session}", "{0}", "a\nb", "é😀", "\ud800", '"quoted"', "x" * 5000])
def test_whatever_the_title_is_the_lines_are_valid(claude: Desk, title: str) -> None:
    claude.talk.add({"type": "custom-title", "customTitle": title} if title != "\ud800" else
                    {"type": "custom-title", "customTitle": "x"})
    if title == "\ud800":
        claude.talk.raw(b'{"type":"custom-title","customTitle":"\\ud800"}')
    claude.path.write_bytes(claude.talk.bytes())
    made = claude.fork(claude.talk.offset(3))
    assert claude.lines(made)[3]["customTitle"] == "[Fork] " + title.strip()


def test_a_source_without_its_last_newline_gets_one_in_the_fork(claude: Desk) -> None:
    data = claude.talk.bytes()[:-1]
    claude.path.write_bytes(data)
    made = claude.fork(len(data))
    assert Path(made.path).read_bytes().startswith(data + b"\n")
    assert len(claude.lines(made)) == len(claude.talk.lines) + 2


def test_a_cut_before_anything_was_said_is_refused_for_claude(claude: Desk) -> None:
    with pytest.raises(NothingBeforeCut, match="Claude Code") as caught:
        claude.fork(0)
    assert "Start a new session" in caught.value.hint and len(claude.names) == 1


def test_an_abandoned_branch_is_not_resumed_by_a_client_that_is_told_the_leaf(claude: Desk) -> None:
    talk = claude.talk
    one = resumed("claude", talk.bytes()[:talk.offset(3)])[-1]
    made = claude.fork(talk.offset(6), one)
    data = Path(made.path).read_bytes()
    assert data.startswith(talk.bytes()[:talk.offset(6)])
    assert resumed("claude", data)[-1] == one


def test_nor_by_an_old_client_which_gets_a_copy_without_it(tmp_path: Path) -> None:
    talk = ClaudeTalk(version="2.1.30")
    talk.turn("one")
    one = talk.here
    talk.turn("two")
    desk = Desk(tmp_path, talk)
    made = desk.fork(talk.offset(6), one)
    data = Path(made.path).read_bytes()
    assert resumed("claude", data, explicit=False)[-1] == one and b"two" not in data
    assert b"last-prompt" not in data


# Droid

def test_droids_first_line_gets_the_new_id_and_all_else_stays(droid: Desk) -> None:
    at = droid.talk.offset(6)
    made = droid.fork(at)
    first, *others = Path(made.path).read_bytes().splitlines(keepends=True)
    assert b"".join(others) == droid.talk.bytes()[droid.talk.offset(1):at]
    head = json.loads(first)
    assert head["id"] == made.session_id and head["parent"] == droid.talk.session
    assert head["title"] == head["sessionTitle"] == "[Fork] A talk"
    assert head["isSessionTitleManuallySet"] is False and head["cwd"] == "/home/dev/proj"
    assert made.header == len(first)


@pytest.mark.parametrize("field", ["cwd", "where.cwd"])
def test_a_fork_for_another_directory_names_it_in_its_first_line(tmp_path: Path, field: str) -> None:
    talk = DroidTalk(where={"cwd": "/home/dev/proj", "branch": "main"})
    talk.turn("one")
    desk, known = Desk(tmp_path, talk), profile_named("droid").data
    profile = Profile({**known, "lines": {**known["lines"], "cwd": field}})
    made = write_fork(str(desk.path), profile, Cut(len(talk.bytes()), None), original=str(desk.path),
                      cwd="/other")
    head = desk.lines(made)[0]
    assert pick(head, field) == "/other" and head["where"]["branch"] == "main"


def test_droids_settings_come_along(droid: Desk) -> None:
    droid.path.with_suffix(".settings.json").write_text('{"model": "m", "tokenUsage": {}}')
    made = droid.fork(droid.talk.offset(6))
    assert json.loads(Path(made.path[:-6] + ".settings.json").read_text()) == {"model": "m"}


def test_settings_that_cannot_be_written_do_not_cost_the_fork(droid: Desk, monkeypatch: Any) -> None:
    """Best effort: the agent can resume without them."""
    droid.path.with_suffix(".settings.json").write_text('{"model": "m"}')
    monkeypatch.setattr(sidecars, "write_atomic", full_disk)
    made = droid.fork(droid.talk.offset(6))
    assert Path(made.path).exists()


# an agent that nobody knows

def test_an_unknown_agents_title_is_prefixed_near_the_top(tmp_path: Path) -> None:
    talk = ClaudeTalk()
    talk.lines = [b'{"a": 1}', b'{"title": "T",  "b": 2}', b'{"role":"user","content":"hi"}',
                  b'{"title": "later"}']
    desk = Desk(tmp_path, talk)
    made = desk.fork(len(talk.bytes()), agent="unknown")
    lines = desk.lines(made)
    assert lines[1] == {"title": "[Fork] T", "b": 2} and lines[3] == {"title": "later"}
    data = Path(made.path).read_bytes().splitlines()
    assert [data[0], data[2], data[3]] == [talk.lines[0], talk.lines[2], talk.lines[3]]


# nothing half done

def full_disk(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("what", ["copy_range", "write_all", "move_into_place"])
def test_a_failure_leaves_nothing_behind(claude: Desk, monkeypatch: Any, what: str) -> None:
    monkeypatch.setattr(fork if what == "move_into_place" else content, what, full_disk)
    with pytest.raises(OSError):
        claude.fork(claude.talk.offset(3))
    assert claude.names == [claude.path.name]


def test_a_fork_never_overwrites_a_file(claude: Desk, monkeypatch: Any) -> None:
    there = claude.path.with_name("11111111-1111-4111-8111-111111111111.jsonl")
    there.write_bytes(b"precious\n")
    monkeypatch.setattr(jsonl_tree, "new_session_id", lambda: there.stem)
    with pytest.raises(RewindError):
        claude.fork(claude.talk.offset(3))
    assert there.read_bytes() == b"precious\n" and len(claude.names) == 2


@pytest.mark.parametrize("link", [True, False])
def test_nor_where_the_file_system_has_no_hard_links(claude: Desk, monkeypatch: Any, link: bool) -> None:
    there = claude.path.with_name("11111111-1111-4111-8111-111111111111.jsonl")
    if link:
        there.symlink_to("nowhere")
    else:
        there.write_bytes(b"precious\n")
    monkeypatch.setattr(jsonl_tree, "new_session_id", lambda: there.stem)

    def no_links(*_: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    with pytest.raises(RewindError):
        claude.fork(claude.talk.offset(3))
    assert there.is_symlink() if link else there.read_bytes() == b"precious\n"
    assert len(claude.names) == 2


def test_without_hard_links_a_fork_appears_all_the_same(claude: Desk, monkeypatch: Any) -> None:
    monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError(errno.EPERM, "no")))
    made = claude.fork(claude.talk.offset(3))
    assert len(claude.names) == 2 and len(claude.lines(made)) == 5


def test_without_the_kernels_help_the_bytes_are_the_same(claude: Desk, monkeypatch: Any) -> None:
    def cannot(*_: Any, **__: Any) -> int:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "copy_file_range", cannot, raising=False)
    made = claude.fork(claude.talk.offset(3))
    assert Path(made.path).read_bytes().startswith(claude.talk.bytes()[:claude.talk.offset(3)])


def test_a_source_that_shrinks_while_it_is_copied_makes_no_fork(claude: Desk, monkeypatch: Any) -> None:
    plan = content.plan_content

    def and_it_is_truncated(*args: Any) -> Any:
        found = plan(*args)
        os.truncate(claude.path, 100)
        return found

    monkeypatch.setattr(fork, "plan_content", and_it_is_truncated)
    with pytest.raises(OSError):
        write_fork(str(claude.path), profile_named("claude"), Cut(claude.talk.offset(6)),
                   original=str(claude.path))
    assert claude.names == [claude.path.name]
