"""Futures from the page: read, compared, brought home, taken away and brought back; never a command run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rewind_cli import tree_state
from web.scene import Shop
from web.site import Site


@pytest.fixture
def forked(shop: Shop) -> Shop:
    made = shop.cli.json("fork", "t2", "-n", "2")["forks"]
    Path(made[0]["dir"], "b.txt").write_text("mine")
    Path(made[1]["dir"], "d.txt").write_text("new")
    return shop


def folder(shop: Shop, name: str) -> Path:
    return Path(f"{os.path.realpath(shop.cli.project)}-{name}")


def test_lanes_have_the_shape_of_the_command(site: Site, forked: Shop) -> None:
    told = site.get("/api/lanes")
    assert [lane["name"] for lane in told["lanes"]] == ["fork-1", "fork-2"] and told["removed"] == []
    ours = forked.cli.json("forks")["lanes"]
    assert [{key: lane[key] for key in ours[0]} for lane in told["lanes"]] == ours
    lane = told["lanes"][0]
    assert (lane["parentSessionId"], lane["fromTurn"], lane["turns"]) == (site.session, 1, 0)
    assert lane["resume"].startswith(f"cd {folder(forked, 'fork-1')} && claude --resume")


def test_two_are_compared_with_what_was_not_saved_yet(site: Site, forked: Shop) -> None:
    found = site.does("compare_lanes", names=["fork-1", "fork-2"])
    changes = {row["path"]: row["changes"] for row in found["files"]}
    assert changes["b.txt"]["fork-1"]["status"] == "added" and changes["b.txt"]["fork-2"] is None
    assert changes["d.txt"]["fork-2"]["status"] == "added" and found["more"] == 0
    assert [lane["files"] for lane in found["lanes"]] == [1, 1]


def test_no_command_is_run_whatever_is_asked_for(site: Site, forked: Shop) -> None:
    site.does("compare_lanes", names=["fork-1", "fork-2"], run="touch ran", command="touch ran")
    assert not (folder(forked, "fork-1") / "ran").exists()
    assert [lane["lastRun"] for lane in site.get("/api/lanes")["lanes"]] == [None, None]


def test_adopting_shows_its_plan_first_and_can_be_undone(site: Site, forked: Shop) -> None:
    before = tree_state(forked.cli.project)
    plan = site.does("plan_adopt", name="fork-2")
    assert (plan["written"], plan["conflicts"]) == (["d.txt"], []) and "fork-2" in plan["about"]
    assert tree_state(forked.cli.project) == before
    done = site.does("adopt_lane", name="fork-2", stamp=plan["stamp"])
    assert forked.files()["d"] == "new" and done["operation"] and done["sessionId"] in site.sessions()
    site.does("undo_restore")
    assert tree_state(forked.cli.project) == before


def test_a_conflict_is_settled_as_the_person_says(site: Site, forked: Shop) -> None:
    plan = site.does("plan_adopt", name="fork-1")
    assert [one["path"] for one in plan["conflicts"]] == ["b.txt"]
    plan = site.does("plan_adopt", name="fork-1", how="theirs")
    assert plan["conflicts"] == [] and [one["path"] for one in plan["settled"]] == ["b.txt"]
    site.does("adopt_lane", name="fork-1", how="theirs", stamp=plan["stamp"])
    assert forked.files()["b"] == "mine"


def test_a_plan_that_is_no_longer_true_is_refused(site: Site, forked: Shop) -> None:
    plan = site.does("plan_adopt", name="fork-2")
    (folder(forked, "fork-2") / "d.txt").write_text("newer")
    forked.cli.run("save", "there", cwd=folder(forked, "fork-2"))
    site.refuses("changed-since-plan", "adopt_lane", name="fork-2", stamp=plan["stamp"])
    assert "d" not in forked.files()


def test_one_is_removed_and_brought_back(site: Site, forked: Shop) -> None:
    site.does("remove_lane", name="fork-2")
    assert not folder(forked, "fork-2").exists()
    told = site.get("/api/lanes")
    assert [lane["name"] for lane in told["removed"]] == ["fork-2"] and len(told["lanes"]) == 1
    site.does("undelete_lane", name="fork-2")
    assert (folder(forked, "fork-2") / "d.txt").read_text() == "new"


def test_work_that_nothing_holds_is_not_removed_from_the_page(site: Site, forked: Shop) -> None:
    forked.cli.ok("config", "--set", "maxFileSizeMb=1")
    (folder(forked, "fork-1") / "big").write_bytes(b"x" * (2 << 20))
    site.refuses("work-not-saved", "remove_lane", name="fork-1", force=True)
    assert (folder(forked, "fork-1") / "big").exists()


@pytest.mark.parametrize(("event", "fields", "code"), [
    ("compare_lanes", {"names": ["fork-1"]}, "bad-request"),
    ("compare_lanes", {"names": ["fork-1", "fork-1"]}, "bad-request"),
    ("compare_lanes", {"names": ["fork-1", "fork-2", "a", "b"]}, "bad-request"),
    ("compare_lanes", {"names": "fork-1"}, "bad-request"),
    ("plan_adopt", {"name": "nope"}, "future-not-found"),
    ("plan_adopt", {"name": "fork-1", "how": "both"}, "bad-request"),
    ("remove_lane", {"name": "../project"}, "future-not-found"),
    ("remove_lane", {"name": 5}, "bad-request"),
    ("undelete_lane", {"name": "fork-1"}, "future-not-found"),
])
def test_what_makes_no_sense_is_refused(site: Site, forked: Shop, event: str, fields: dict[str, object],
                                        code: str) -> None:
    site.refuses(code, event, **fields)
    assert folder(forked, "fork-1").is_dir()
