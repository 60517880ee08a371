"""What the page does: rewind, go forward, care for branches, save and restore."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chat_scene import client_is_running, prompts_of
from rewind.snapshot.scan import scan as scanning
from web.scene import Shop
from web.site import Site
from web.test_reads import branch, of_turn


def path_of(shop: Shop, session: str) -> Path:
    return shop.folder / f"{session}.jsonl"


# rewinding

@pytest.mark.parametrize("turn", [1, 2, 3, 4])
def test_rewinding_the_chat_keeps_the_turns_up_to_there(site: Site, shop: Shop, turn: int) -> None:
    before, files = shop.path.read_bytes(), shop.files()
    answer = site.does("rewind_session", sessionId=site.session, rewindToTurn=turn, mode="chat", name="Mine")
    made = answer["session"]
    assert answer["event"] == "session_created" and answer["code"] is None
    assert (made["parentSessionId"], made["rewindFromTurn"], made["name"]) == (site.session, turn, "Mine")
    assert made["madeByRewind"] and made["turns"] == turn and made["rewindedAt"]
    assert made["resume"].endswith(made["sessionId"])
    assert prompts_of("claude", path_of(shop, made["sessionId"])) == ["one", "two", "three", "four"][:turn]
    assert shop.path.read_bytes() == before and shop.files() == files


@pytest.mark.parametrize(("turn", "files"), [
    (1, {"a": "1"}), (2, {"a": "2", "b": "2"}), (3, {"a": "2", "b": "2", "c": "3"}),
    (4, {"a": "4", "b": "2", "c": "3"})])
def test_rewinding_both_brings_the_code_before_the_next_prompt(site: Site, shop: Shop, turn: int,
                                                               files: dict[str, str]) -> None:
    shop.write(a="by hand")
    stamp = site.of_session("plan", turn=turn, mode="both")["stamp"]
    answer = site.does("rewind_session", sessionId=site.session, rewindToTurn=turn, mode="both", stamp=stamp)
    assert shop.files() == files
    assert answer["code"]["exact"] and answer["code"]["backup"] and answer["code"]["remaining"] == []
    assert answer["session"]["name"] == f"Branch from turn {turn}"
    site.does("undo_restore")
    assert shop.files()["a"] == "by hand"


def test_rewind_go_on_and_rewind_again_to_any_depth(site: Site, shop: Shop) -> None:
    session, depth = site.session, 4
    for depth in (3, 2, 1):
        session = branch(site, depth, session=session)
        assert prompts_of("claude", path_of(shop, session)) == ["one", "two", "three"][:depth]
    parents = {id: one["parentSessionId"] for id, one in site.sessions().items()}
    chain = []
    while session:
        chain.append(session)
        session = parents[session]
    assert len(chain) == 4 and chain[-1] == site.session


def test_a_changed_world_between_plan_and_confirmation_is_caught(site: Site, shop: Shop) -> None:
    stamp = site.of_session("plan", turn=2, mode="both")["stamp"]
    shop.write(c="changed meanwhile")
    files = shop.files()
    error = site.refuses("changed-since-plan", "rewind_session", sessionId=site.session, rewindToTurn=2,
                         mode="both", stamp=stamp)
    assert "plan" in error["hint"] and shop.files() == files and not shop.forks()
    stamp = site.of_session("plan", turn=4, mode="chat")["stamp"]
    shop.work("five")
    site.refuses("changed-since-plan", "rewind_session", sessionId=site.session, rewindToTurn=4, mode="chat",
                 stamp=stamp)
    assert not shop.forks()


def test_a_running_turn_is_not_cut_in_half(site: Site, shop: Shop) -> None:
    client_is_running(shop.cli.home, site.session, status="busy")
    site.refuses("turn-running", "rewind_session", sessionId=site.session, rewindToTurn=2, mode="chat")
    assert not shop.forks()


def test_an_open_session_that_rests_can_be_branched(site: Site, shop: Shop) -> None:
    client_is_running(shop.cli.home, site.session, status="idle")
    assert branch(site, 2)


@pytest.mark.parametrize("fields", [{"rewindToTurn": 0}, {"rewindToTurn": "2"}, {"rewindToTurn": True}, {},
                                    {"rewindToTurn": 2, "mode": "code"}, {"rewindToTurn": 2, "name": 3},
                                    {"rewindToTurn": 2, "name": "x" * 201}])
def test_a_rewind_that_makes_no_sense_is_refused(site: Site, shop: Shop, fields: dict[str, object]) -> None:
    site.refuses("bad-request", "rewind_session", **{"sessionId": site.session, "mode": "chat", **fields})
    site.refuses("turn-not-found", "rewind_session", sessionId=site.session, rewindToTurn=5, mode="chat")
    assert not shop.forks()


# forward

def test_fast_forward_leads_to_the_parent_and_its_code(site: Site, shop: Shop) -> None:
    files = shop.files()
    made = branch(site, 1, "both")
    assert shop.files() == {"a": "1"}
    answer = site.does("fast_forward", sessionId=made, code=True)
    assert (answer["sessionId"], answer["code"]) == (site.session, True)
    assert shop.files() == files
    assert path_of(shop, made).exists()  # the branch is not given up


def test_fast_forward_without_code_only_says_where(site: Site, shop: Shop) -> None:
    made = branch(site, 1, "both")
    assert site.does("fast_forward", sessionId=made, code=False)["sessionId"] == site.session
    assert shop.files() == {"a": "1"}
    chat_only = branch(site, 1)
    answer = site.does("fast_forward", sessionId=chat_only, code=True)
    assert not answer["code"] and answer["notes"]
    site.refuses("no-parent", "fast_forward", sessionId=site.session, code=False)


# branches

def test_a_branch_is_named_promoted_deleted_and_had_back(site: Site, shop: Shop) -> None:
    made = branch(site, 2)
    renamed = site.does("rename_branch", sessionId=made, name="  Better  name ")["session"]
    assert renamed["name"] == "Better name"
    promoted = site.does("promote_branch", sessionId=made)["session"]
    assert promoted["promoted"] and not promoted["archived"] and site.sessions()[site.session]["archived"]
    content = path_of(shop, made).read_bytes()
    assert site.does("delete_branches", sessionIds=[made])["sessionIds"] == [made]
    assert made not in site.sessions()
    assert site.get("/api/sessions")["trash"] == [{"sessionId": made, "title": "Better name"}]
    assert site.does("undelete_branch", sessionId=made)["session"]["name"] == "Better name"
    assert path_of(shop, made).read_bytes() == content and site.get("/api/sessions")["trash"] == []


def test_many_branches_are_deleted_at_once_or_none(site: Site, shop: Shop) -> None:
    made = [branch(site, turn) for turn in (1, 2, 3)]
    site.refuses("not-made-by-rewind", "delete_branches", sessionIds=[*made, site.session])
    assert len(shop.forks()) == 3
    assert site.does("delete_branches", sessionIds=made)["sessionIds"] == made
    assert not shop.forks() and shop.path.exists()


def test_a_branch_that_somebody_has_open_is_not_deleted(site: Site, shop: Shop) -> None:
    made = branch(site, 1)
    client_is_running(shop.cli.home, made)
    site.refuses("session-in-use", "delete_branches", sessionIds=[made])
    assert path_of(shop, made).exists()


@pytest.mark.parametrize("ids", [None, [], "x", [1], ["nobody"], ["x"] * 501])
def test_deleting_needs_a_list_of_sessions(site: Site, ids: object) -> None:
    assert site.do("delete_branches", sessionIds=ids)["code"] in ("bad-request", "session-not-found")


# checkpoints

def test_a_checkpoint_is_saved(site: Site, shop: Shop) -> None:
    made = site.does("save_checkpoint", description="before lunch")["checkpoint"]
    assert (made["kind"], made["description"]) == ("manual", "before lunch")
    assert site.get("/api/checkpoints")["checkpoints"][0]["name"] == made["name"]


def test_a_turn_is_marked_by_name_and_kept_from_then_on(site: Site, shop: Shop) -> None:
    wanted = of_turn(site, 2)
    made = site.does("mark_turn", sessionId=site.session, turn=2, name="Good state")["checkpoint"]
    assert (made["name"], made["description"], made["kind"]) == (wanted, "Good state", "manual")
    assert of_turn(site, 2) == wanted  # it is still known by its prompt
    shop.cli.ok("validate", "--deep")


def test_the_last_turn_is_marked_by_a_new_checkpoint(site: Site, shop: Shop) -> None:
    shop.write(d="by hand")
    made = site.does("mark_turn", sessionId=site.session, turn=4, name="Now")["checkpoint"]
    assert made["fileCount"] == 4 and made["sessionId"] == site.session
    assert of_turn(site, 4) == made["name"]


def test_a_turn_without_a_checkpoint_of_its_own_is_not_marked(site: Site, shop: Shop) -> None:
    shop.say("five", "six")
    site.refuses("no-checkpoint-of-turn", "mark_turn", sessionId=site.session, turn=5, name="x")
    site.refuses("turn-not-found", "mark_turn", sessionId=site.session, turn=7, name="x")
    site.refuses("rewind-error", "mark_turn", sessionId=site.session, turn=2, name="  ")


def test_chosen_files_are_restored_and_that_is_undone_and_redone(site: Site, shop: Shop) -> None:
    files, name = shop.files(), of_turn(site, 1)
    plan = site.get(f"/api/checkpoints/{name}/plan", path="a.txt")
    done = site.does("restore_checkpoint", name=name, paths=["a.txt"], stamp=plan["stamp"])
    assert done["event"] == "restored" and done["written"] == ["a.txt"]
    assert shop.files() == {**files, "a": "1"} and done["operation"] == site.get(
        "/api/operations")["operations"][0]["id"]
    site.does("undo_restore", stamp=site.get("/api/operations/undo")["stamp"])
    assert shop.files() == files
    site.does("redo", stamp=site.get("/api/operations/redo")["stamp"])
    assert shop.files() == {**files, "a": "1"}


@pytest.mark.parametrize("step", ["undo", "redo"])
def test_undo_and_redo_show_their_plan_first_and_refuse_when_it_changed(
        site: Site, shop: Shop, step: str) -> None:
    site.does("restore_checkpoint", name=of_turn(site, 1))
    if step == "redo":
        site.does("undo_restore")
    files = shop.files()
    plan = site.get(f"/api/operations/{step}")
    assert plan["operation"] and plan["text"] and plan["writtenCount"] + plan["deletedCount"] > 0
    assert shop.files() == files, "a plan touches nothing"
    shop.write(a="changed meanwhile")
    site.refuses("changed-since-plan", "undo_restore" if step == "undo" else "redo", stamp=plan["stamp"])
    assert shop.files() == {**files, "a": "changed meanwhile"}


def test_a_whole_checkpoint_is_restored(site: Site, shop: Shop) -> None:
    done = site.does("restore_checkpoint", name=of_turn(site, 1))
    assert shop.files() == {"a": "1"} and done["deleted"] == ["b.txt", "c.txt"] and not done["remaining"]
    assert not shop.forks()


def test_a_restore_is_refused_when_its_plan_is_old(site: Site, shop: Shop) -> None:
    name = of_turn(site, 1)
    stamp = site.get(f"/api/checkpoints/{name}/plan")["stamp"]
    shop.write(b="changed meanwhile")
    files = shop.files()
    site.refuses("changed-since-plan", "restore_checkpoint", name=name, stamp=stamp)
    assert shop.files() == files


def test_the_project_is_scanned_once_for_a_dialog_and_once_for_what_it_confirms(
        site: Site, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan that is carried out comes from the look that becomes the backup: no other one is made."""
    walks = []

    class Counted(scanning.Walker):
        def run(self, processes: int) -> Any:
            walks.append(self)
            return super().run(processes)

    monkeypatch.setattr(scanning, "Walker", Counted)
    name, session = of_turn(site, 1), f"/api/sessions/{site.session}"
    for read, query, action, fields in (
            (f"/api/checkpoints/{name}/plan", {}, "restore_checkpoint", {"name": name}),
            ("/api/operations/undo", {}, "undo_restore", {}), ("/api/operations/redo", {}, "redo", {}),
            ("/api/operations/undo", {}, "undo_restore", {}),
            (f"{session}/revert", {"turn": 3}, "revert_turn", {"sessionId": site.session, "turn": 3}),
            (f"{session}/plan", {"turn": 1, "mode": "both"}, "rewind_session",
             {"sessionId": site.session, "rewindToTurn": 1, "mode": "both"})):
        files = shop.files()
        stamp = site.get(read, **query)["stamp"]
        assert len(walks) == 1, read
        site.does(action, stamp=stamp, **fields)
        assert len(walks) == 2 and shop.files() != files, action
        site.get("/api/project")
        site.get("/api/history")
        assert len(walks) == 2
        walks.clear()


def test_nothing_to_undo_is_said(site: Site) -> None:
    site.refuses("no-restore-to-undo", "undo_restore")
    site.refuses("nothing-to-redo", "redo")


def test_requests_are_answered_in_their_order(site: Site) -> None:
    with site.connect() as socket:
        for number in range(20):
            socket.send_json({"event": "redo", "requestId": number})
        answers = []
        while len(answers) < 20:
            message = socket.receive_json()
            answers += [message["requestId"]] if message["event"] == "error" else []
    assert answers == list(range(20))
