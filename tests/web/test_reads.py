"""What the page reads: sessions, turns, plans, comparisons, checkpoints."""

from __future__ import annotations

from typing import Any

import pytest

from chat_scene import client_is_running, droid
from make_transcripts import event_id, place
from web.scene import Shop
from web.site import Site

PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


def numbers(answer: dict[str, Any]) -> list[int]:
    return [turn["turn"] for turn in answer["turns"]]


def test_the_project_tells_who_it_is(site: Site, shop: Shop) -> None:
    found = site.get("/api/project")
    assert found["root"] == str(shop.cli.project.resolve()) and found["name"] == "project"
    assert found["storage"]["checkpoints"] == len(shop.records())
    assert 0 < found["storage"]["bytes"] < found["storage"]["maxBytes"]
    assert (found["interrupted"], found["turnRunning"], found["branchesMax"]) == (None, False, 50)


def test_a_session_has_every_field(site: Site) -> None:
    found = site.sessions()[site.session]
    assert found["agent"] == "claude" and found["agentTitle"] == "Claude Code"
    assert (found["turns"], found["parentSessionId"], found["rewindFromTurn"]) == (4, None, None)
    assert found["title"] == "one" and found["name"] is None
    assert found["resume"].endswith(f"claude --resume {site.session}")
    assert not any(found[key] for key in ("madeByRewind", "archived", "promoted", "running", "busy"))
    assert found["bytes"] == site.shop.path.stat().st_size and found["messageCount"] > 8
    assert found["created"] and found["modified"].endswith("Z")


def test_sessions_of_every_agent_are_there(site: Site, shop: Shop) -> None:
    talk = droid(shop.cli.project, event_id(0xD))
    talk.turn("to the droid")
    place(shop.cli.home, "droid", shop.cli.project, talk.bytes(), event_id(0xD))
    found = site.sessions()[event_id(0xD)]
    assert (found["agent"], found["turns"]) == ("droid", 1)
    said = site.of_session("turns", event_id(0xD))["turns"][0]
    assert said["prompt"] == "to the droid"
    assert [b["text"] for b in said["blocks"]] == ["Answer to to the droid"]


# turns

def test_a_turn_has_what_was_said_and_done(site: Site) -> None:
    turn = site.of_session("turns")["turns"][1]
    assert (turn["turn"], turn["prompt"]) == (2, "two")
    assert [b["kind"] for b in turn["blocks"]] == ["tool", "tool", "text"]
    tool = turn["blocks"][0]
    assert (tool["name"], tool["result"], tool["isError"]) == ("Write", "wrote a", False)
    assert tool["summary"].endswith("a.txt") and '"content": "2"' in tool["input"]
    assert turn["blocks"][2] == {"kind": "text", "text": "Answer to two"}
    assert turn["canRewind"] and turn["reason"] is None and not turn["truncated"]


def test_a_turn_has_the_checkpoint_of_what_comes_next_and_what_changed(site: Site, shop: Shop) -> None:
    turns = site.of_session("turns")["turns"]
    by_name = {record.name: record for record in shop.records()}
    for turn, following in zip(turns, turns[1:]):
        record = by_name[turn["checkpoint"]["name"]]
        assert turn["checkpoint"]["exact"]
        assert record.trigger == {"event": "UserPromptSubmit", "session": site.session,
                                  "promptId": f"p{following['turn']}", "promptText": following["prompt"]}
    assert by_name[turns[3]["checkpoint"]["name"]].trigger["event"] == "Stop"
    # What changed until the turn's own end: edits after that are not its work.
    following = turns[1]["checkpoint"]["name"]
    end = max(r.name for r in shop.records() if r.trigger.get("event") == "Stop" and r.name < following)
    between = {"from": turns[0]["checkpoint"]["name"], "to": end}
    figures = {"added": 2, "removed": 1, "deleted": 0, "more": 0, "counted": True}
    assert turns[1]["changes"] == {**figures, **between, "files": [
        {"path": "a.txt", "status": "modified", "added": 1, "removed": 1},
        {"path": "b.txt", "status": "added", "added": 1, "removed": 0}]}


def test_files_that_a_turn_touched_and_that_are_gone_are_named(site: Site, shop: Shop) -> None:
    (shop.cli.project / "b.txt").unlink()
    turns = site.of_session("turns")["turns"]
    assert [turn["missingFiles"] for turn in turns] == [[], ["b.txt"], [], []]


@pytest.mark.parametrize(("start", "count", "wanted"), [
    (1, 2, [1, 2]), (3, 100, [3, 4]), (-1, 1, [4]), (-3, 2, [2, 3]), (-99, 2, [1, 2]), (9, 5, []),
    (0, 1, [1]), (1, 100_000, [1, 2, 3, 4])])
def test_turns_come_in_pages(site: Site, start: int, count: int, wanted: list[int]) -> None:
    found = site.of_session("turns", **{"from": start, "count": count})
    assert numbers(found) == wanted and found["total"] == 4


@pytest.mark.parametrize("query", [{"from": "x"}, {"count": "-1"}, {"count": "0"}, {"from": "1e9"},
                                   {"from": "9" * 30}, {"count": "1.5"}])
def test_a_number_that_is_none_is_refused(site: Site, query: dict[str, str]) -> None:
    assert site.fails(400, f"/api/sessions/{site.session}/turns", **query)["code"] == "bad-request"


def test_a_long_text_is_cut_in_a_page_and_whole_by_itself(site: Site, shop: Shop) -> None:
    shop.talk.prompt("p" * 30_000)
    shop.talk.answer("a" * 100_000)
    shop.flush()
    cut = site.of_session("turns", **{"from": -1})["turns"][0]
    assert cut["truncated"] and len(cut["prompt"]) == len(cut["blocks"][0]["text"]) == 20_000
    whole = site.of_session("turns/5")["turn"]
    assert not whole["truncated"] and len(whole["blocks"][0]["text"]) == 100_000
    site.fails(404, f"/api/sessions/{site.session}/turns/6")


@pytest.mark.slow
def test_a_page_of_huge_turns_stays_small(site: Site, shop: Shop) -> None:
    for _ in range(40):
        shop.talk.prompt([{"type": "text", "text": "look"}, {**PICTURE, "source": {
            **PICTURE["source"], "data": "A" * 1_000_000}}])  # type: ignore[dict-item]
        for _ in range(20):
            shop.talk.answer("a" * 20_000)
    shop.flush()
    answer = site.ask(f"/api/sessions/{site.session}/turns", **{"from": 5, "count": 100})
    assert len(answer.content) < 14_000_000
    turns = answer.json()["turns"]
    assert len(turns) == 40 and turns[-1]["truncated"] and turns[-1]["blocks"][0]["omitted"]


def test_pictures_thoughts_and_notes_are_blocks(site: Site, shop: Shop) -> None:
    shop.talk.prompt([{"type": "text", "text": "see"}, PICTURE])
    shop.talk._assistant({"type": "thinking", "thinking": "hm", "signature": "s"})
    shop.talk.user([{"type": "text", "text": "[Request interrupted by user]"}])
    shop.flush()
    blocks = site.of_session("turns", **{"from": -1})["turns"][0]["blocks"]
    assert blocks == [{"kind": "image", "mediaType": "image/png", "data": "iVBORw0KGgo="},
                      {"kind": "thinking", "text": "hm"},
                      {"kind": "note", "text": "[Request interrupted by user]"}]


def test_a_compaction_is_marked(site: Site, shop: Shop) -> None:
    shop.talk.compaction()
    shop.work("five")
    assert [t["compactedBefore"] for t in site.of_session("turns")["turns"]] == [False] * 4 + [True]
    assert [t["compactedBefore"] for t in site.of_session("outline")["turns"]] == [False] * 4 + [True]
    assert all(t["canRewind"] for t in site.of_session("turns")["turns"])


def test_a_session_in_the_middle_of_a_turn_cannot_be_rewound(site: Site, shop: Shop) -> None:
    client_is_running(shop.cli.home, site.session, status="busy")
    found = site.sessions()[site.session]
    assert found["running"] and found["busy"]
    page = site.of_session("turns")
    turns = page["turns"]
    assert not any(turn["canRewind"] for turn in turns) and "middle of a turn" in turns[0]["reason"]
    assert page["busy"] and site.of_session("turns/1")["busy"]
    assert site.fails(409, f"/api/sessions/{site.session}/plan", turn=2)["code"] == "turn-running"


def test_the_outline_is_short_and_complete(site: Site, shop: Shop) -> None:
    shop.work("x " * 500)
    found = site.of_session("outline")
    assert found["total"] == 5 and numbers(found) == [1, 2, 3, 4, 5]
    assert [len(turn["prompt"]) <= 120 for turn in found["turns"]]
    assert numbers(site.of_session("outline", **{"from": 3, "count": 2})) == [3, 4]


# searching

@pytest.mark.parametrize(("text", "wanted"), [
    ("THREE", [(3, "prompt"), (3, "answer")]), ("wrote c", [(3, "tool")]), ("nowhere", []),
    ('"content": "3"', [(3, "tool")])])
def test_searching_finds_where_it_was_said(site: Site, text: str, wanted: list[tuple[int, str]]) -> None:
    found = site.of_session("search", q=text)
    assert [(m["turn"], m["where"]) for m in found["matches"]] == wanted and not found["more"]
    assert all(text.lower() in m["snippet"].lower() for m in found["matches"])


def test_searching_knows_letters_of_all_kinds(site: Site, shop: Shop) -> None:
    shop.work("GRÜSSE, 世界 \\ \"quoted\"")
    for text in ("grüsse", "世界", '\\ "quoted"'):
        assert site.of_session("search", q=text)["matches"], text


def test_searching_ends_at_two_hundred(site: Site, shop: Shop) -> None:
    for _ in range(120):
        shop.talk.turn("again")
    shop.flush()
    found = site.of_session("search", q="again")
    assert len(found["matches"]) == 200 and found["more"]


@pytest.mark.parametrize("text", ["", "   ", "x" * 201])
def test_searching_needs_a_sensible_text(site: Site, text: str) -> None:
    site.fails(400, f"/api/sessions/{site.session}/search", q=text)


# branches

def branch(site: Site, turn: int, mode: str = "chat", session: str = "", **more: Any) -> str:
    made = site.does("rewind_session", sessionId=session or site.session, rewindToTurn=turn, mode=mode,
                     **more)
    return str(made["session"]["sessionId"])


def test_the_future_of_a_branch_is_what_was_rewound_past(site: Site) -> None:
    found = site.of_session("future", branch(site, 1))
    assert (found["parentSessionId"], found["fromTurn"], found["total"]) == (site.session, 1, 3)
    assert numbers(found) == [2, 3, 4]
    assert numbers(site.of_session("future", branch(site, 1), **{"from": 2, "count": 1})) == [3]
    assert site.of_session("future")["turns"] == []


def test_two_branches_are_compared_from_where_they_part(site: Site, shop: Shop) -> None:
    made = branch(site, 2)
    found = site.get("/api/compare", a=site.session, b=made)
    assert found["common"] == 2
    assert numbers(found["a"]) == [3, 4] and numbers(found["b"]) == []
    assert found["a"]["session"]["sessionId"] == site.session


def test_the_code_of_two_branches_is_compared(site: Site, shop: Shop) -> None:
    made = branch(site, 2, "both")
    found = site.get("/api/compare", a=site.session, b=made)["code"]
    assert found["modified"] == ["a.txt"] and found["deleted"] == ["c.txt"] and found["added"] == []


# plans

def test_a_plan_says_what_happens_to_which_files(site: Site, shop: Shop) -> None:
    (shop.cli.project / "mine.txt").write_text("by hand")
    (shop.cli.project / "a.txt").write_text("by hand")
    found = site.of_session("plan", turn=2, mode="both")
    assert (found["keeps"], found["drops"], found["mode"]) == (2, 2, "both")
    assert found["code"]["exact"] and found["code"]["createdAt"]
    assert found["written"] == ["a.txt"] and found["writtenCount"] == 1
    assert found["deleted"] == ["c.txt", "mine.txt"]
    assert found["changedSince"] == ["a.txt", "mine.txt"]


def test_the_stamp_of_a_plan_changes_with_the_world_and_not_by_itself(site: Site, shop: Shop) -> None:
    def stamp(mode: str = "both", turn: int = 2) -> str:
        return str(site.of_session("plan", turn=turn, mode=mode)["stamp"])

    first, chat = stamp(), stamp("chat")
    assert first == stamp() and chat == stamp("chat") and len({first, chat, stamp(turn=3)}) == 3
    (shop.cli.project / "a.txt").write_text("by hand")
    assert stamp() != first and stamp("chat") == chat
    shop.work("five")
    assert stamp("chat") != chat


def test_a_plan_of_the_chat_leaves_the_files_alone(site: Site) -> None:
    found = site.of_session("plan", turn=1, mode="chat")
    assert found["code"] is None and found["written"] == found["deleted"] == found["kept"] == []


@pytest.mark.parametrize(("turn", "status"), [(5, 404), (0, 400), (-1, 400), ("x", 400)])
def test_there_is_no_plan_for_a_turn_that_is_not_there(site: Site, turn: object, status: int) -> None:
    site.fails(status, f"/api/sessions/{site.session}/plan", turn=turn)


def warnings(site: Site, turn: int, mode: str = "chat") -> set[str]:
    return {w["code"] for w in site.of_session("plan", turn=turn, mode=mode)["warnings"]}


def test_a_plan_warns_of_what_keeps_running(site: Site, shop: Shop) -> None:
    assert "processes-keep-running" not in warnings(site, 1)
    shop.talk.prompt("serve")
    shop.talk._assistant({"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "npm start &"}})
    shop.flush()
    assert "processes-keep-running" in warnings(site, 1)
    assert "processes-keep-running" not in warnings(site, 5)


def test_a_plan_warns_of_files_that_are_gone_and_of_a_compaction(site: Site, shop: Shop) -> None:
    (shop.cli.project / "b.txt").unlink()
    shop.talk.compaction()
    shop.work("five")
    assert {"missing-files", "compaction"} <= warnings(site, 2)
    assert "missing-files" not in warnings(site, 2, "both")  # they come back


def test_too_many_branches_are_mentioned(site: Site, shop: Shop) -> None:
    shop.cli.ok("config", "--set", "branches.max=1")
    branch(site, 1)
    assert site.get("/api/sessions")["warnings"] == []
    assert "too-many-branches" in warnings(site, 2)
    branch(site, 1)
    (warning,) = site.get("/api/sessions")["warnings"]
    assert warning["code"] == "too-many-branches" and warning["hint"]


# checkpoints

def test_checkpoints_come_in_pages_newest_first(site: Site) -> None:
    first = site.get("/api/checkpoints", count=3)
    assert first["total"] == 9 and len(first["checkpoints"]) == 3
    more = site.get("/api/checkpoints", count=100, before=first["checkpoints"][-1]["sequence"])
    sequences = [c["sequence"] for c in first["checkpoints"] + more["checkpoints"]]
    assert sequences == sorted(sequences, reverse=True) and len(sequences) == 9
    newest = first["checkpoints"][0]
    assert newest["kind"] == "auto" and newest["trigger"]["event"] == "Stop"
    assert newest["hasTranscript"] and newest["sessionId"] == site.session and newest["fileCount"] == 3


def of_turn(site: Site, turn: int) -> str:
    return str(site.of_session("turns")["turns"][turn - 1]["checkpoint"]["name"])


def test_a_checkpoint_is_compared_with_now_and_with_another(site: Site, shop: Shop) -> None:
    name = of_turn(site, 1)
    found = site.get(f"/api/checkpoints/{name}/diff", to="now")
    assert (found["from"], found["to"]) == (name, "now")
    assert found["added"] == ["b.txt", "c.txt"] and found["modified"] == ["a.txt"] and found["deleted"] == []
    assert "-1\n" in found["patch"] and "+4\n" in found["patch"]
    other = site.get(f"/api/checkpoints/{name}/diff", to=of_turn(site, 2), path="a.txt")
    assert other["modified"] == ["a.txt"] and other["added"] == [] and "+2" in other["patch"]


def test_a_patch_is_the_one_of_the_command_line(site: Site, shop: Shop) -> None:
    name = of_turn(site, 1)
    (shop.cli.project / "a.txt").write_text("without a newline")
    (shop.cli.project / "b c.txt").write_text("new\n")
    (shop.cli.project / "b c.txt").chmod(0o755)
    found = site.get(f"/api/checkpoints/{name}/diff", to="now")
    assert found["patch"] == shop.cli.ok("diff", name).out


def test_a_large_patch_is_left_out_and_binary_files_are_named(site: Site, shop: Shop) -> None:
    name = of_turn(site, 4)
    (shop.cli.project / "long.txt").write_text("a line of text\n" * 30_000)
    (shop.cli.project / "blob.bin").write_bytes(b"\0\1\2")
    found = site.get(f"/api/checkpoints/{name}/diff")
    assert found["patch"] is None and found["binary"] == ["blob.bin"]
    one = site.get(f"/api/checkpoints/{name}/diff", path="long.txt")
    assert one["patch"].endswith("left out …") and len(one["patch"]) < 210_000


def test_a_name_that_is_not_utf_8_finds_its_way_back(site: Site, shop: Shop) -> None:
    name = of_turn(site, 4)
    odd = bytes(shop.cli.project) + b"/caf\xe9"
    with open(odd, "w") as file:
        file.write("x")
    found = site.get(f"/api/checkpoints/{name}/plan")
    assert found["deleted"] == ["caf\\xe9"]
    assert site.get(f"/api/checkpoints/{name}/diff", path="caf\\xe9")["added"] == ["caf\\xe9"]
    done = site.does("restore_checkpoint", name=name, paths=["caf\\xe9"])
    assert done["deleted"] == ["caf\\xe9"]


def test_a_plan_of_a_checkpoint_may_be_about_some_files(site: Site) -> None:
    name = of_turn(site, 1)
    whole = site.get(f"/api/checkpoints/{name}/plan")
    assert whole["written"] == ["a.txt"] and whole["deleted"] == ["b.txt", "c.txt"]
    some = site.ask(f"/api/checkpoints/{name}/plan", path=["a.txt", "b.txt"]).json()
    assert some["written"] == ["a.txt"] and some["deleted"] == ["b.txt"] and some["stamp"] != whole["stamp"]
