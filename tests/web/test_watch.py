"""Open pages hear of what happens on the disk, whoever does it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from chat_scene import client_is_running
from rewind.controller import Controller
from rewind.web.reads import sessions
from rewind.web.reads.query import Query
from rewind.web.server.watch import Watch
from web.scene import Shop
from web.site import Site


class Eyes:
    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.watch = Watch()
        assert self.look() == []

    def look(self) -> list[dict[str, Any]]:
        controller = Controller(str(self.shop.cli.project))
        try:
            return self.watch.look(controller)
        finally:
            controller.close()

    def names(self) -> set[str]:
        return {event["event"] for event in self.look()}


@pytest.fixture
def eyes(shop: Shop) -> Eyes:
    return Eyes(shop)


def test_nothing_is_said_when_nothing_happened(eyes: Eyes) -> None:
    assert eyes.look() == eyes.look() == []


def test_a_transcript_that_grows_is_told_with_its_turns(eyes: Eyes, shop: Shop) -> None:
    shop.say("five")
    events = eyes.look()
    assert {"event": "turns_added", "sessionId": shop.session, "total": 5} in events
    (updated,) = [e["session"] for e in events if e["event"] == "session_updated"]
    assert updated["turns"] == 5
    shop.talk.answer("and more")  # of the same turn
    shop.flush()
    assert {"event": "turns_added", "sessionId": shop.session, "total": 5} in eyes.look()


def test_new_sessions_branches_and_names_are_told(eyes: Eyes, shop: Shop) -> None:
    made = shop.to_turn(2).conversation
    assert made and made.fork
    assert "sessions_changed" in eyes.names()
    shop.controller().rename_fork(made.fork["session_id"], "another")
    assert "sessions_changed" in eyes.names()
    shop.controller().delete_forks([made.fork["session_id"]])
    assert "sessions_changed" in eyes.names()


def test_checkpoints_and_restores_are_told(eyes: Eyes, shop: Shop) -> None:
    saved = shop.controller().save("by hand").record.name
    assert {"event": "checkpoints_changed", "newest": saved} in eyes.look()
    shop.write(a="other")
    shop.controller().restore(saved, mode="code")
    assert {"checkpoints_changed", "project_changed"} <= eyes.names()


def test_a_client_that_begins_and_ends_a_turn_is_told(eyes: Eyes, shop: Shop) -> None:
    entry = client_is_running(shop.cli.home, shop.session, status="busy")
    (event,) = eyes.look()
    assert event["event"] == "session_updated" and event["session"]["busy"] and event["session"]["running"]
    entry.unlink()
    (event,) = eyes.look()
    assert not event["session"]["running"]


def test_every_open_page_hears_of_it(site: Site, shop: Shop) -> None:
    with site.connect() as one, site.connect() as other:
        one.send_json({"event": "save_checkpoint", "description": "x", "requestId": "r"})
        for socket in (one, other):
            heard = []
            while "checkpoints_changed" not in heard:
                message = socket.receive_json()
                heard += [message["event"]] if "requestId" not in message else []


def test_a_page_is_connected_only_when_the_first_look_was_taken(
        site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it reads once it is connected is then not older than what the pushes begin with."""
    looks: list[int] = []
    look = Watch.look

    def slowly(watch: Watch, controller: Controller) -> list[dict[str, Any]]:
        time.sleep(0.3)
        events = look(watch, controller)
        looks.append(1)
        return events

    monkeypatch.setattr(Watch, "look", slowly)
    with site.connect():
        assert looks


def test_what_a_failed_look_did_not_tell_the_next_one_does(
        eyes: Eyes, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.say("five")
    with monkeypatch.context() as patch:
        patch.setattr(Controller, "sessions", lambda controller: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            eyes.look()
    assert "turns_added" in eyes.names()


def test_what_a_page_has_read_and_is_over_before_the_next_look_is_told(eyes: Eyes, shop: Shop) -> None:
    entry = client_is_running(shop.cli.home, shop.session, status="busy")
    controller = Controller(str(shop.cli.project))
    eyes.watch.note_sent(sessions.sessions(controller, Query({}, {}))["sessions"])
    controller.close()
    entry.unlink()
    (event,) = eyes.look()
    assert event["event"] == "session_updated" and not event["session"]["busy"]
    assert eyes.look() == []


def test_what_was_pushed_and_is_over_before_the_next_look_is_told(
        eyes: Eyes, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = Controller.sessions

    def while_running(controller: Controller) -> Any:
        entry = client_is_running(shop.cli.home, shop.session, status="busy")
        found = sessions(controller)
        entry.unlink()
        return found

    shop.say("five")
    with monkeypatch.context() as patch:
        patch.setattr(Controller, "sessions", while_running)
        assert [e["session"]["busy"] for e in eyes.look() if e["event"] == "session_updated"] == [True]
    assert [e["session"]["busy"] for e in eyes.look()] == [False]


def test_the_server_tells_what_changed_since_a_page_has_read_it(site: Site, shop: Shop) -> None:
    with site.connect() as socket:
        entry = client_is_running(shop.cli.home, shop.session, status="busy")
        assert site.sessions()[site.session]["busy"]
        entry.unlink()
        message = {"event": ""}
        while message["event"] != "session_updated" or message["session"]["busy"]:
            message = socket.receive_json()


def test_a_page_that_follows_a_session_is_told_what_was_added(site: Site, shop: Shop) -> None:
    with site.connect() as follower, site.connect() as other:
        follower.send_json({"event": "follow", "requestId": "f", "sessionId": site.session})
        assert follower.receive_json() == {"event": "following", "sessionId": site.session, "requestId": "f"}
        shop.work("five", a="5")
        told, turns = _until_turn(follower, 5)
        plain = _until(other, "turns_added")
        assert "page" not in plain and told["total"] == 5
        wanted = site.of_session("turns", **{"from": -2, "count": 2, "render": "html"})
        assert {**told["page"], "turns": 0} == {**wanted, "turns": 0}
        assert [turn["prompt"] for turn in turns if "prompt" in turn and turn["turn"] > 3] == ["four", "five"]


def test_what_was_told_before_is_not_told_again(site: Site, shop: Shop) -> None:
    with site.connect() as follower:
        follower.send_json({"event": "follow", "requestId": "f", "sessionId": site.session})
        shop.work("five", a="5")
        before = _until_turn(follower, 5)[1]
        five = next(turn for turn in before if turn["turn"] == 5)
        assert [turn["prompt"] for turn in before if turn["turn"] == 4 and "prompt" in turn] == ["four"]
        shop.work("six", a="6")
        told = _until_turn(follower, 6)[1]
        six = next(turn for turn in told if turn["turn"] == 6)
        assert six["prompt"] == "six" and "blocksFrom" not in six
        again = [turn for turn in told if turn["turn"] == 5]
        assert again and all(turn.get("same") or "blocksFrom" in turn for turn in again)
        assert not any(five["blocks"][0] in turn.get("blocks", []) for turn in again)


def test_only_sessions_of_this_project_are_followed(site: Site) -> None:
    site.refuses("session-not-found", "follow", sessionId="../../etc/passwd")


def _until_turn(socket: Any, number: int) -> tuple[Any, list[Any]]:
    """The message that added this turn, and every turn that was told up to it: a look may come between a new
    checkpoint and the new lines, and tell of the turns before."""
    turns: list[Any] = []
    while True:
        message = socket.receive_json()
        turns += message.get("page", {}).get("turns", [])
        if message["event"] == "turns_added" and turns and turns[-1]["turn"] == number:
            return message, turns


def _until(socket: Any, event: str) -> Any:
    while True:
        message = socket.receive_json()
        if message["event"] == event:
            return message
