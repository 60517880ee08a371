"""One turn is taken back from the page: the plan, its conflicts, one file of it, and the act."""

from __future__ import annotations

import pytest

from web.scene import Shop
from web.site import Site

BASE = "".join(f"line {n}\n" for n in range(1, 21))


@pytest.fixture
def long(shop: Shop) -> Shop:
    """Turn 5 makes a file, 6 changes line 3 and adds one, 7 changes line 18."""
    shop.work("make it", long=BASE)
    shop.work("change the top", long=BASE.replace("line 3\n", "line three\n"), fresh="new\n")
    text = BASE.replace("line 3\n", "line three\n").replace("line 18\n", "line eighteen\n")
    shop.work("change the end", long=text)
    return shop


def test_the_plan_and_the_act(site: Site, long: Shop) -> None:
    before = long.files()
    plan = site.of_session("revert", turn=6)
    assert (plan["written"], plan["deleted"], plan["conflicts"]) == (["long.txt"], ["fresh.txt"], [])
    assert plan["about"].startswith("turn 6") and "change the top" in plan["about"]
    assert long.files() == before, "a plan touches nothing"
    one = site.of_session("revert/file", turn=6, path="long.txt")
    assert [(row[0], row[3]) for row in one["rows"] if row[0] != "same"] == [
        ("del", 'line <span class="word">three</span>'), ("add", 'line <span class="word">3</span>')]
    assert site.of_session("revert/file", turn=6, path="fresh.txt")["status"] == "deleted"

    done = site.does("revert_turn", sessionId=site.session, turn=6, stamp=plan["stamp"])
    assert done["event"] == "reverted" and done["operation"]
    assert long.files()["long"] == BASE.replace("line 18\n", "line eighteen\n")
    assert "fresh" not in long.files() and long.files()["a"] == before["a"]
    assert done["note"].startswith("I reverted your change to long.txt")
    site.does("undo_restore")
    assert long.files() == before


def test_one_file_of_a_turn(site: Site, long: Shop) -> None:
    plan = site.of_session("revert", turn=6, path="fresh.txt")
    assert (plan["written"], plan["deleted"]) == ([], ["fresh.txt"])
    site.does("revert_turn", sessionId=site.session, turn=6, paths=["fresh.txt"], stamp=plan["stamp"])
    assert "fresh" not in long.files() and "line three" in long.files()["long"]


def test_conflicts_are_shown_with_their_lines_and_who_wrote_them(site: Site, long: Shop) -> None:
    long.work("change the top again", long=long.files()["long"].replace("line three", "line III"))
    before = long.files()
    plan = site.of_session("revert", turn=6)
    (clash,) = plan["conflicts"]
    (place,) = clash["places"]
    assert clash["path"] == "long.txt" and clash["text"]
    assert (place["from"], place["count"], place["lines"]) == (3, 1, ["line III"])
    assert [(one["turn"], one["prompt"]) for one in place["by"]] == [(8, "change the top again")]
    assert plan["kept"] == [] and plan["keptCount"] == 0

    done = site.does("revert_turn", sessionId=site.session, turn=6)
    assert done["operation"] is None and [one["path"] for one in done["conflicts"]] == ["long.txt"]
    assert long.files() == before, "nothing is written where there is a conflict"
    settled = site.of_session("revert", turn=6, how="theirs")
    assert settled["conflicts"] == [] and [one["path"] for one in settled["settled"]] == ["long.txt"]
    site.does("revert_turn", sessionId=site.session, turn=6, how="theirs", stamp=settled["stamp"])
    assert "line 3\n" in long.files()["long"] and "line eighteen" in long.files()["long"]


def test_markers_are_labelled_with_the_prompt(site: Site, long: Shop) -> None:
    long.work("change the top again", long=long.files()["long"].replace("line three", "line III"))
    rows = site.of_session("revert/file", turn=6, how="markers", path="long.txt")["rows"]
    assert any("change the top" in row[3] for row in rows if row[0] == "add")
    site.does("revert_turn", sessionId=site.session, turn=6, how="markers")
    assert "<<<<<<< now\nline III\n=======\nline 3\n>>>>>>> before turn 6" in long.files()["long"]


def test_a_plan_that_is_no_longer_true_is_refused(site: Site, long: Shop) -> None:
    stamp = site.of_session("revert", turn=6)["stamp"]
    (long.cli.project / "long.txt").write_text(long.files()["long"] + "more\n")
    before = long.files()
    site.refuses("changed-since-plan", "revert_turn", sessionId=site.session, turn=6, stamp=stamp)
    assert long.files() == before


def test_what_makes_no_sense_is_refused(site: Site, long: Shop) -> None:
    path = f"/api/sessions/{site.session}/revert"
    site.fails(404, path, turn=99)
    site.fails(400, path, turn=0)
    site.fails(400, path, turn=6, how="somehow")
    site.fails(404, path, turn=6, path="a.txt")
    site.fails(404, f"{path}/file", turn=6, path="a.txt")
    site.fails(400, f"{path}/file", turn=6, path="../a.txt")
    site.refuses("bad-request", "revert_turn", sessionId=site.session, turn=6, how=["x"])
    site.refuses("bad-request", "revert_turn", sessionId=site.session, turn=6, how="somehow")
    site.refuses("session-not-found", "revert_turn", sessionId="nobody", turn=6)
    assert site.do("revert_turn", sessionId=site.session)["event"] == "error"
