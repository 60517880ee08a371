"""Which session is a fork of which: by Rewind's word, by the agents' own fields, or by the ids they share."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Optional

import pytest

from chat_scene import LONG_AGO, Claude, Scene, droid
from cli import conftest as in_process
from cli.conftest import InProcess
from make_transcripts import Talk, place
from rewind.checkpoint.conversations.session_tree import SessionInfo, as_tree

cli = in_process.cli  # the fixture


def sid(letter: str) -> str:
    return f"{letter * 8}-0000-4000-8000-000000000000"


class Family:
    """Sessions put where the clients would, and the tree that Rewind sees in them."""

    def __init__(self, cli: InProcess) -> None:
        self.cli = cli
        self.scene = Scene(cli)
        self.scene.path.unlink()

    def put(self, letter: str, talk: Talk, *, age: int = 0) -> Path:
        agent = "claude" if isinstance(talk, Claude) else "droid"
        path = place(self.cli.home, agent, self.cli.project, talk.bytes(), sid(letter))
        os.utime(path, (LONG_AGO - age, LONG_AGO - age))
        return path

    def claude(self, letter: str = "a", *texts: str) -> Claude:
        talk = Claude(self.cli.project, sid(letter))
        for text in texts:
            talk.turn(text)
        return talk

    def infos(self) -> dict[str, SessionInfo]:
        controller = self.scene.controller()
        return {info.session_id: info for info in controller.sessions()}

    def parents(self) -> dict[str, Optional[str]]:
        """By the letters of their ids."""
        return {key[0]: info.parent[0] if info.parent else None for key, info in self.infos().items()}


@pytest.fixture
def family(cli: InProcess) -> Family:
    return Family(cli)


def test_a_fork_made_by_rewind_has_its_parent_and_turn(family: Family) -> None:
    family.put("a", family.claude("a", "one", "two", "three"))
    fork = family.cli.json("back", "2")["fork"]["session_id"]
    info = family.infos()[fork]
    assert (info.parent, info.rewind_from_turn, info.made_by_rewind) == (sid("a"), 1, True)
    assert info.own_title == "[Fork] one" and info.title == "one" and len(info.turns) == 1
    parent = family.infos()[sid("a")]
    assert (parent.parent, parent.made_by_rewind, len(parent.turns)) == (None, False, 3)


def test_a_fork_that_claude_made_itself_is_recognised_by_its_fields(family: Family) -> None:
    talk = family.claude("a", "one", "two")
    family.put("a", talk)
    other = Claude(family.cli.project, sid("b"))
    for line in talk.lines[:3]:
        data = json.loads(line)
        other.add({**data, "sessionId": sid("b"), "uuid": "new-" + data["uuid"],
                   "forkedFrom": {"sessionId": sid("a"), "messageUuid": data["uuid"]}})
    family.put("b", other)
    info = family.infos()[sid("b")]
    assert (info.parent, info.made_by_rewind) == (sid("a"), False)


def test_a_fork_that_droid_made_itself_is_recognised_by_its_fields(family: Family) -> None:
    talk = droid(family.cli.project, sid("a"))
    talk.turn("one")
    talk.turn("two")
    family.put("a", talk)
    other = droid(family.cli.project, sid("b"), parent=sid("a"), forkedAtMessageId="x")
    for line in talk.lines[1:6]:
        other.raw(line)
    family.put("b", other)
    info = family.infos()[sid("b")]
    assert (info.parent, info.rewind_from_turn, info.made_by_rewind) == (sid("a"), 1, False)


def test_a_copy_by_fork_session_is_recognised_by_the_ids_it_shares(family: Family) -> None:
    """The client copies the lines as they are and says nothing of where they came from."""
    talk = family.claude("a", "one", "two")
    copied = list(talk.lines)
    talk.turn("three")
    family.put("a", talk, age=50)
    other = Claude(family.cli.project, sid("b"))
    other.lines, other.here, other._count = copied, json.loads(copied[-1])["uuid"], 500
    other.turn("another three")
    family.put("b", other, age=10)
    info = family.infos()[sid("b")]
    assert (info.parent, info.rewind_from_turn) == (sid("a"), 2) and family.parents()["a"] is None


def test_a_copy_that_nobody_continued_is_the_child_of_the_older_file(family: Family) -> None:
    talk = family.claude("a", "one", "two")
    family.put("b", talk, age=50)
    family.put("a", talk, age=10)
    assert family.parents() == {"a": "b", "b": None}


def test_of_several_relatives_the_nearest_is_the_parent(family: Family) -> None:
    talk = family.claude("a", "one", "two")
    first = list(talk.lines)
    talk.turn("three")
    family.put("a", talk, age=90)
    second = Claude(family.cli.project, sid("b"))
    second.lines, second.here, second._count = list(first), json.loads(first[-1])["uuid"], 500
    second.turn("b three")
    second.turn("b four")
    family.put("b", second, age=60)
    third = Claude(family.cli.project, sid("c"))
    third.lines = second.lines[:9]
    third.here, third._count = json.loads(third.lines[-1])["uuid"], 900
    third.turn("c four")
    family.put("c", third, age=30)
    assert family.parents() == {"a": None, "b": "a", "c": "b"}


def test_sessions_that_share_nothing_are_no_relatives(family: Family) -> None:
    family.put("a", family.claude("a", "one"))
    other = family.claude("b")
    other._count = 700
    other.turn("one")
    family.put("b", other)
    assert family.parents() == {"a": None, "b": None}


@pytest.mark.parametrize("ring", ["ab", "abc", "a"])
def test_a_ring_of_parents_is_broken(family: Family, ring: str) -> None:
    for number, letter in enumerate(ring):
        parent = ring[(number + 1) % len(ring)]
        talk = droid(family.cli.project, sid(letter), parent=sid(parent), forkedAtMessageId="x")
        talk._count = 100 * number
        talk.turn(letter)
        family.put(letter, talk)
    infos = list(family.infos().values())
    rows = as_tree(infos)
    assert sorted(info.session_id[0] for _, info in rows) == sorted(ring)
    assert [depth for depth, _ in rows] == list(range(len(ring)))
    assert family.cli.ok("sessions", "list").out.count("\n") == len(ring)


def test_a_branch_that_hangs_off_a_ring_is_shown_too(family: Family) -> None:
    for letter, parent in (("a", "b"), ("b", "a"), ("c", "a")):
        talk = droid(family.cli.project, sid(letter), parent=sid(parent), forkedAtMessageId="x")
        talk._count = ord(letter) * 100
        talk.turn(letter)
        family.put(letter, talk)
    assert len(as_tree(list(family.infos().values()))) == 3


def test_a_session_whose_parent_is_gone_stands_at_the_top_and_says_whose_it_was(family: Family) -> None:
    path = family.put("a", family.claude("a", "one", "two"))
    fork = family.cli.json("back")["fork"]["session_id"]
    path.unlink()
    infos = list(family.infos().values())
    assert as_tree(infos) == [(0, infos[0])]
    assert (infos[0].session_id, infos[0].parent) == (fork, sid("a"))
    assert family.cli.json("forks", "list")["forks"][0]["parentSessionId"] == sid("a")


def test_a_session_is_no_fork_of_what_was_forked_from_a_fork_of_it_that_is_deleted(family: Family) -> None:
    original = family.put("a", family.claude("a", "one", "two", "three", "four")).stem
    middle = family.cli.json("back", "1", "--session", original)["fork"]["session_id"]
    last = family.cli.json("back", "1", "--session", middle)["fork"]["session_id"]
    family.cli.ok("forks", "delete", middle)
    infos = family.infos()
    assert infos[original].parent is None and infos[last].parent == middle


def test_a_fork_of_a_fork_is_shown_below_it(family: Family) -> None:
    family.put("a", family.claude("a", "one", "two", "three"))
    first = family.cli.json("back")["fork"]["session_id"]
    second = family.cli.json("back", "--session", first)["fork"]["session_id"]
    rows = [(depth, info.session_id) for depth, info in as_tree(list(family.infos().values()))]
    assert rows == [(0, sid("a")), (1, first), (2, second)]


def test_what_was_read_once_is_read_again_when_the_file_changed(family: Family) -> None:
    talk = family.claude("a", "one")
    path = family.put("a", talk)
    assert len(family.infos()[sid("a")].turns) == 1
    talk.turn("two")
    talk.title("A title")
    path.write_bytes(talk.bytes())
    info = family.infos()[sid("a")]
    assert len(info.turns) == 2 and info.title == "A title"


def test_what_was_read_once_is_not_read_again(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    from rewind.checkpoint.conversations import session_tree

    family.put("a", family.claude("a", "one"))
    family.infos()
    monkeypatch.setattr(session_tree, "open_turns", lambda *_: 1 / 0)
    assert family.infos()[sid("a")].title == "one"


def test_a_session_that_cannot_be_read_does_not_hide_the_others(family: Family) -> None:
    family.put("a", family.claude("a", "one"))
    broken = family.put("b", family.claude("b", "two"))
    broken.unlink()
    broken.symlink_to("nowhere")
    assert list(family.infos()) == [sid("a")]


def test_no_sessions_no_tree(family: Family) -> None:
    assert family.infos() == {} and as_tree([]) == []
