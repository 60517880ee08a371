"""The shape of a session, the review of turns, blocks by themselves, and a search in everything."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from rewind.web.server.key import new_key, remember, remembered
from web.scene import Shop
from web.site import Site


def test_the_shape_tells_every_turn(site: Site) -> None:
    found = site.of_session("shape")
    assert (found["total"], found["complete"]) == (4, True)
    turns = found["turns"]
    assert [one["turn"] for one in turns] == [1, 2, 3, 4]
    assert [one["files"] for one in turns] == [1, 2, 1, 1]
    assert [(one["added"], one["removed"]) for one in turns] == [(1, 0), (2, 1), (1, 0), (1, 1)]
    assert [one["failures"] for one in turns] == [0, 0, 0, 0] and found["here"] == 4
    assert not any(one["edited"] for one in turns)
    assert [one["turn"] for one in site.of_session("shape", **{"from": 3})["turns"]] == [3, 4]


def test_the_shape_grows_and_marks_what_a_person_did(site: Site, shop: Shop) -> None:
    site.of_session("shape")
    site.does("save_checkpoint", description="by hand")
    (shop.cli.project / "a.txt").write_text("by hand")
    shop.talk._assistant({"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "false"}})
    shop.work("five", a="5")
    shop.talk.user([{"type": "tool_result", "tool_use_id": "t", "content": '"is_error":true',
                     "is_error": True}])
    shop.flush()
    turns = site.of_session("shape")["turns"]
    assert len(turns) == 5 and turns[3]["edited"] and len(turns[3]["saved"]) == 1
    assert turns[4]["failures"] == 1 and turns[4]["files"] == 1


def test_where_the_files_stand_moves_with_a_restore(site: Site) -> None:
    turns = site.of_session("shape")["turns"]
    site.does("restore_checkpoint", name=turns[2]["from"])
    assert site.of_session("shape")["here"] == 2


def test_a_review_of_very_many_files_says_that_it_has_not_counted_all(
        site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = site.get("/api/review", session=site.session, turn=1, last=3)
    monkeypatch.setattr("rewind.web.reads.review._COUNTED", 1)
    found = site.get("/api/review", session=site.session, turn=1, last=3)
    assert (whole["counted"], found["counted"]) == (True, False) and len(found["files"]) > 1
    assert found["added"] < whole["added"]


def test_a_turn_is_reviewed(site: Site) -> None:
    found = site.get("/api/review", session=site.session, turn=2)
    assert found["words"] == {"from": "before turn 2", "to": "after"}
    assert [(one["path"], one["status"], one["added"]) for one in found["files"]] == [
        ("a.txt", "modified", 1), ("b.txt", "added", 1)]
    both = site.get("/api/review", session=site.session, turn=1, last=3)
    assert both["words"]["to"] == "after turn 3" and len(both["files"]) == 3
    one = site.get("/api/review/file", **{"from": found["from"], "to": found["to"], "path": "a.txt"})
    assert [row[0] for row in one["rows"]] == ["del", "add"] and one["verdict"] == "text"


def test_a_plan_is_reviewed_from_now_to_then(site: Site) -> None:
    then = site.of_session("shape")["turns"][0]["to"]
    found = site.get("/api/review", **{"from": "now", "to": then})
    assert {one["path"]: one["status"] for one in found["files"]} == {
        "a.txt": "modified", "b.txt": "deleted", "c.txt": "deleted"}
    one = site.get("/api/review/file", **{"from": "now", "to": then, "path": "a.txt"})
    assert [(row[0], row[3]) for row in one["rows"]] == [("del", "4"), ("add", "1")]
    site.fails(404, "/api/review/file", **{"from": "now", "to": then, "path": "nothing.txt"})
    site.fails(400, "/api/review/file", **{"from": "now", "to": then, "path": "../x"})
    site.fails(404, "/api/review", **{"from": "last", "to": "now"})


def test_a_page_is_lighter_and_a_block_has_it_all(site: Site) -> None:
    turn = site.of_session("turns", render="html")["turns"][0]
    tool, answer = turn["blocks"]
    assert tool["about"] == "edit" and "input" not in tool and "result" not in tool
    assert answer == {"kind": "text", "html": "<p>Answer to one</p>\n"}
    block = site.of_session("turns/1/blocks/0")["block"]
    assert block["view"] == "diff" and block["result"] == "wrote a"
    plain = site.of_session("turns")["turns"][0]["blocks"]
    assert plain[0]["input"] and plain[1] == {"kind": "text", "text": "Answer to one"}
    site.fails(404, f"/api/sessions/{site.session}/turns/1/blocks/9")


def test_everything_is_searched(site: Site, shop: Shop, tmp_path: Path) -> None:
    other = shop.other_project(tmp_path)
    found = site.get("/api/find", q="c.txt")["found"]
    assert [one["sessionId"] for one in found] == [site.session]
    first = found[0]["matches"][0]
    assert (first["turn"], first["where"], first["snippet"], first["status"]) == (3, "file", "c.txt", "added")
    assert site.get("/api/find", q="a secret of another project")["found"] == [] and other
    site.fails(400, "/api/find", q=" ")


def test_missing_and_late_checkpoints_are_told(site: Site) -> None:
    found = site.get("/api/project")
    assert found["late"] == [] and found["missed"]["count"] == 0


def test_an_old_checkpoint_is_listed_when_it_is_named(site: Site) -> None:
    oldest = site.get("/api/checkpoints", count=500)["checkpoints"][-1]["name"]
    assert oldest not in [one["name"] for one in site.get("/api/checkpoints", count=2)["checkpoints"]]
    found = site.get("/api/checkpoints", count=2, upto=oldest, changes="yes")["checkpoints"]
    assert oldest in [one["name"] for one in found]
    assert any(one.get("changes", {}).get("added") for one in found)


class TestKey:
    def test_it_is_kept_for_its_owner_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "ui.json"
        key, port = remembered(str(path))
        assert port == 0 and len(key) == 43
        remember(str(path), key, 4711)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert remembered(str(path)) == (key, 4711)

    def test_one_that_others_could_read_is_not_used(self, tmp_path: Path) -> None:
        path = tmp_path / "ui.json"
        key = new_key()
        remember(str(path), key, 4711)
        path.chmod(0o644)
        assert remembered(str(path))[0] != key
        path.unlink()
        path.symlink_to("/dev/zero")
        assert remembered(str(path))[1] == 0

    def test_a_spoiled_file_is_none(self, tmp_path: Path) -> None:
        path = tmp_path / "ui.json"
        for text in ("", "[]", "{", '{"key": 3}', '{"key": "short", "port": 80}', '{"key": null}'):
            path.write_text(text)
            path.chmod(0o600)
            assert remembered(str(path))[1] == 0


class TestHunks:
    def changed_twice(self, shop: Shop) -> None:
        lines = [f"line {n}" for n in range(30)]
        shop.work("five", long="\n".join(lines))
        shop.work("six", long="\n".join(["first", *lines[1:20], "twentieth", *lines[21:]]))

    def test_each_begins_at_its_row_and_comes_back_alone(self, site: Site, shop: Shop) -> None:
        self.changed_twice(shop)
        found = site.get("/api/review", session=site.session, turn=6)
        ends = {"from": found["from"], "to": found["to"], "path": "long.txt"}
        one = site.get("/api/review/file", **ends)
        assert [one["rows"][hunk["row"]][:2] for hunk in one["hunks"]] == [["del", 1], ["del", 21]]
        second = one["hunks"][1]["id"]
        plan = site.get("/api/review/hunks", hunk=second, **ends)
        assert plan["written"] == ["long.txt"] and not plan["conflicts"]
        done = site.does("bring_back", hunks=[second], label="turn 6", stamp=plan["stamp"], **ends)
        assert done["written"] == ["long.txt"] and done["operation"]
        text = (shop.cli.project / "long.txt").read_text()
        assert text.startswith("first\n") and "line 20\n" in text

    def test_a_plan_that_is_no_longer_true_is_refused(self, site: Site, shop: Shop) -> None:
        self.changed_twice(shop)
        found = site.get("/api/review", session=site.session, turn=6)
        ends = {"from": found["from"], "to": found["to"], "path": "long.txt"}
        ids = [hunk["id"] for hunk in site.get("/api/review/file", **ends)["hunks"]]
        stamp = site.get("/api/review/hunks", hunk=ids[0], **ends)["stamp"]
        site.refuses("changed-since-plan", "bring_back", hunks=[ids[1]], stamp=stamp, **ends)
        site.refuses("hunk-changed", "bring_back", hunks=["0" * 16], **ends)
        site.refuses("bad-request", "bring_back", hunks=[], **ends)
        site.refuses("checkpoint-not-found", "bring_back", hunks=ids, **{**ends, "from": "last"})
        site.fails(400, "/api/review/hunks", hunk=ids[0], how="mine", **ends)

    def test_lines_that_changed_again_are_settled_by_a_person(self, site: Site, shop: Shop) -> None:
        self.changed_twice(shop)
        found = site.get("/api/review", session=site.session, turn=6)
        ends = {"from": found["from"], "to": found["to"], "path": "long.txt"}
        first = site.get("/api/review/file", **ends)["hunks"][0]["id"]
        path = shop.cli.project / "long.txt"
        path.write_text(path.read_text().replace("first", "mine"))
        assert site.get("/api/review/hunks", hunk=first, **ends)["conflicts"]
        plan = site.get("/api/review/hunks", hunk=first, how="theirs", **ends)
        assert not plan["conflicts"]
        site.does("bring_back", hunks=[first], how="theirs", stamp=plan["stamp"], **ends)
        assert path.read_text().startswith("line 0\n")
