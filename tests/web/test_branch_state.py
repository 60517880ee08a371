"""What the page is told of branches: whether there is code to bring back, and which are folded away."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from chat_scene import client_is_running
from rewind.controller import BeforeFork
from web.scene import Shop
from web.site import Site
from web.test_reads import branch
from web.test_watch import Eyes


def of(site: Site, session: str) -> dict[str, Any]:
    return site.sessions()[session]


# code to bring back

@pytest.mark.parametrize(("mode", "restored"), [("chat", False), ("both", True)])
def test_a_branch_says_whether_it_took_the_code_along(site: Site, mode: str, restored: bool) -> None:
    made = site.does("rewind_session", sessionId=site.session, rewindToTurn=1, mode=mode)["session"]
    assert made["codeRestored"] is restored
    assert of(site, made["sessionId"])["codeRestored"] is restored  # as a page that is loaded later sees it
    assert of(site, site.session)["codeRestored"] is False


def test_once_it_is_back_it_is_offered_no_more(site: Site, shop: Shop) -> None:
    made = branch(site, 1, "both")
    site.does("fast_forward", sessionId=made, code=True)
    assert of(site, made)["codeRestored"] is False
    shop.write(a="worked on")
    answer = site.does("fast_forward", sessionId=made, code=True)
    assert not answer["code"] and "stays as it is" in answer["notes"][0] and shop.files()["a"] == "worked on"
    site.does("undo_restore")
    assert of(site, made)["codeRestored"] is True and shop.files() == {"a": "1"}


def test_the_way_back_by_the_timeline_counts_too(site: Site, shop: Shop) -> None:
    made = branch(site, 1, "both")
    left = site.get("/api/operations")["operations"][0]
    assert left["command"] == "back" and left["canUndo"]
    site.does("restore_checkpoint", name=shop.log()[-2]["before"])
    assert shop.files()["a"] == "4" and of(site, made)["codeRestored"] is False


def test_open_pages_hear_when_that_changes(shop: Shop) -> None:
    made = shop.to_turn(1, both=True).conversation
    assert made and made.fork
    eyes = Eyes(shop)
    shop.controller().go(BeforeFork(made.fork["session_id"]), "code")
    assert "sessions_changed" in eyes.names()


# comparing

def test_the_difference_of_two_branches_can_be_read_line_by_line(site: Site, shop: Shop) -> None:
    made = branch(site, 2, "both")
    code = site.get("/api/compare", a=site.session, b=made)["code"]
    assert (code["addedCount"], code["modifiedCount"], code["deletedCount"]) == (0, 1, 1)
    for path, wanted in (("a.txt", ["-4", "+2"]), ("c.txt", ["-3"])):
        diff = site.get(f"/api/checkpoints/{code['a']}/diff", to=code["b"], path=path)
        assert [line for line in diff["patch"].splitlines() if line in ("-4", "+2", "-3")] == wanted


@pytest.mark.parametrize("swapped", [False, True])
def test_a_side_without_a_checkpoint_is_named(site: Site, swapped: bool) -> None:
    sides = [site.session, branch(site, 2)]
    a, b = reversed(sides) if swapped else sides
    code = site.get("/api/compare", a=a, b=b)["code"]
    assert (code["a"] is None, code["b"] is None) == (swapped, not swapped)
    assert code["added"] is code["modified"] is code["deleted"] is code["addedCount"] is None


def test_a_branch_whose_checkpoint_was_collected_has_none(site: Site, shop: Shop) -> None:
    made = branch(site, 2, "both")
    shop.controller().state.files.delete(shop.log()[-2]["checkpoint"])
    assert site.get("/api/compare", a=site.session, b=made)["code"]["b"] is None


# folded away

def rest(shop: Shop, session: str, days: float) -> None:
    then = time.time() - days * 86400
    os.utime(shop.folder / f"{session}.jsonl", (then, then))


@pytest.fixture
def weekly(shop: Shop) -> None:
    shop.cli.ok("config", "--set", "branches.archiveAfterDays=7")


def test_without_the_setting_nothing_is_archived_by_its_age(site: Site, shop: Shop) -> None:
    made = branch(site, 2)
    rest(shop, made, 1000)
    assert not of(site, made)["archived"]


@pytest.mark.parametrize(("days", "archived"), [(6.9, False), (7.1, True)])
def test_a_branch_that_nobody_touched_is_archived(site: Site, shop: Shop, weekly: None, days: float,
                                                  archived: bool) -> None:
    made = branch(site, 2)
    rest(shop, made, days)
    content = (shop.folder / f"{made}.jsonl").read_bytes()
    assert of(site, made)["archived"] is archived
    listed = shop.cli.ok("forks", "list").out
    assert made[:8] in listed and ("archived" in listed) is archived
    (fork,) = shop.cli.json("forks", "list")["forks"]
    assert fork["archived"] is archived
    assert (shop.folder / f"{made}.jsonl").read_bytes() == content, "nothing is deleted"


def test_sessions_that_rewind_did_not_make_are_left_alone(site: Site, shop: Shop, weekly: None) -> None:
    rest(shop, shop.session, 1000)
    assert not of(site, shop.session)["archived"]


def test_going_on_with_it_brings_it_back(site: Site, shop: Shop, weekly: None) -> None:
    made = branch(site, 2)
    rest(shop, made, 30)
    assert of(site, made)["archived"]
    with open(shop.folder / f"{made}.jsonl", "ab") as file:
        file.write(b"{}\n")
    assert not of(site, made)["archived"]


def test_one_that_somebody_has_open_is_not_archived(site: Site, shop: Shop, weekly: None) -> None:
    made = branch(site, 2)
    rest(shop, made, 30)
    client_is_running(shop.cli.home, made, status="idle")
    assert not of(site, made)["archived"]


def test_promoting_it_brings_it_back_for_good(site: Site, shop: Shop, weekly: None) -> None:
    made = branch(site, 2)
    rest(shop, made, 30)
    assert not site.does("promote_branch", sessionId=made)["session"]["archived"]
    assert of(site, shop.session)["archived"], "as always when a branch is promoted"
