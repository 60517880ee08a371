"""The tree and what can be done to branches: rename, promote, compare, delete and take that back."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from page_of import Rewind
from playwright.sync_api import expect
from shop import CART, Agent, forks_in, wait_for

from make_transcripts import event_id
from rewind.controller import AtTurn, Controller

ROOT = "Build the cart of the shop"


@pytest.fixture
def agent(agent: Agent, project: Path) -> Agent:
    """Two branches of the session, and another session beside it."""
    controller = Controller(str(project))
    controller.go(AtTurn(CART, 2, after=True), "conversation", name="From the tests")
    controller.go(AtTurn(CART, 4, after=True), "conversation", name="Without the database")
    controller.close()
    Agent(agent.home, project, event_id(0xB2), "Another talk", ago=86400).turn("What is this?", hooks=False)
    return agent


def unfold(page: Rewind) -> None:
    button = page.row(ROOT).get_by_role("button", name="2 branches")
    expect(button).to_be_visible()
    if button.get_attribute("aria-expanded") == "false":
        button.click()
    expect(page.row("From the tests")).to_be_visible()


def test_the_tree_counts_and_unfolds_branches_and_is_filtered(page: Rewind) -> None:
    page.choose("Another talk")
    expect(page.row("From the tests")).to_have_count(0)
    unfold(page)
    expect(page.row("Without the database")).to_contain_text("4 turns")
    page.page.get_by_role("searchbox", name="Filter sessions").fill("tests")
    expect(page.row("Another talk")).to_have_count(0)
    expect(page.row("From the tests")).to_be_visible()
    page.page.get_by_role("searchbox", name="Filter sessions").fill("nothing like it")
    page.page.get_by_role("button", name="Clear the filter").click()
    expect(page.row("Another talk")).to_be_visible()


def test_a_branch_is_renamed_and_promoted(page: Rewind) -> None:
    page.choose(ROOT)
    unfold(page)
    page.choose("From the tests")
    page.branch_menu("Rename")
    page.dialog.get_by_label("Name").fill("Tests first")
    page.dialog.get_by_role("button", name="Rename").click()
    expect(page.title("Tests first")).to_be_visible()
    expect(page.row("Tests first")).to_be_visible()
    page.branch_menu("Promote")
    page.dialog.get_by_role("button", name="Promote").click()
    expect(page.page.locator(".title-row .mark")).to_have_text("main")


def test_a_session_of_the_agent_cannot_be_deleted_and_says_why(page: Rewind) -> None:
    page.choose("Another talk")
    page.page.get_by_role("button", name="Branch actions").click()
    item = page.page.get_by_role("menuitem", name="Delete")
    expect(item).to_have_attribute("aria-disabled", "true")
    expect(item).to_have_accessible_description("Rewind did not make this session, so it leaves it alone.")


READS = """async ([id, leaving]) => {
    const {state} = await import('/static/core/state.js');
    const {Shape} = await import('/static/turns/shape.js');
    if (leaving) state.beingDeleted.add(id); else state.beingDeleted.delete(id);
    const shape = new Shape(id);
    await shape.load();
    shape.end();
}"""


def test_a_branch_that_is_being_deleted_is_not_read(page: Rewind) -> None:
    """The page may hear of a change between the deletion and its answer."""
    asked: list[str] = []
    wanted = f"/{CART}/shape"  # another session is shown
    page.page.on("request", lambda request: asked.append(request.url) if wanted in request.url else None)
    page.page.evaluate(READS, [CART, True])
    assert asked == []
    page.page.evaluate(READS, [CART, False])
    assert len(asked) == 1


def test_branches_are_deleted_together_and_brought_back(page: Rewind, home: Path, project: Path) -> None:
    page.choose(ROOT)
    page.tree.get_by_role("button", name="Select").click()  # which shows the branches
    expect(page.row(ROOT).get_by_role("checkbox")).to_be_disabled()
    for name in ("From the tests", "Without the database"):
        page.row(name).get_by_role("checkbox").check()
    page.tree.get_by_role("button", name="Delete").click()
    expect(page.dialog).to_contain_text("Delete 2 branches?")
    kept = {p.name for p in forks_in(home, project)}
    page.dialog.get_by_role("button", name="Delete 2 branches").click()
    expect(page.row("From the tests")).to_have_count(0)
    assert [p for p in forks_in(home, project) if p.stem != event_id(0xB2)] == []
    page.toast.get_by_role("button", name="Undo").click()
    expect(page.row(ROOT).get_by_role("button", name="2 branches")).to_be_visible()
    wait_for(lambda: {p.name for p in forks_in(home, project)} == kept)


def test_a_deleted_branch_waits_in_the_list_of_deleted_ones(page: Rewind) -> None:
    page.choose(ROOT)
    unfold(page)
    page.choose("From the tests")
    page.branch_menu("Delete")
    page.dialog.get_by_role("button", name="Delete branch").click()
    expect(page.title(ROOT)).to_be_visible()
    page.page.get_by_role("button", name="Recently deleted (1)").click()
    page.page.get_by_role("button", name="Bring back").click()
    unfold(page)


def test_what_nobody_touched_for_long_is_folded_away_and_comes_back_when_it_is_continued(
        page: Rewind, agent: Agent, project: Path) -> None:
    path = agent.path.with_name(f"{session_named(page, 'From the tests')}.jsonl")
    long_ago = time.time() - 8 * 86400
    os.utime(path, (long_ago, long_ago))
    (project / ".agent" / "rewind" / "config.json").write_text('{"branches": {"archiveAfterDays": 7}}')
    page.choose(ROOT)
    page.row(ROOT).get_by_role("button", name="1 branch").click()
    expect(page.row("Without the database")).to_be_visible()
    expect(page.row("From the tests")).to_have_count(0)
    page.tree.get_by_role("button", name="Archived (1)").click()
    page.choose("From the tests")
    Agent(agent.home, project, path.stem, ago=60).turn("Go on here", hooks=False)
    expect(page.tree.get_by_role("button", name="Archived (1)")).to_have_count(0)
    expect(page.row(ROOT).get_by_role("button", name="2 branches")).to_be_visible()
    expect(page.row("From the tests")).to_contain_text("3 turns")


def test_a_promoted_branch_takes_the_place_of_its_archived_parent(page: Rewind) -> None:
    page.choose(ROOT)
    unfold(page)
    page.choose("From the tests")
    page.branch_menu("Promote")
    page.dialog.get_by_role("button", name="Promote").click()
    expect(page.tree.get_by_role("button", name="Archived (1)")).to_be_visible()
    expect(page.row(ROOT)).to_have_count(0)
    expect(page.row("From the tests")).to_be_visible()
    expect(page.row("Without the database")).to_be_visible()
    page.tree.get_by_role("button", name="Archived (1)").click()
    expect(page.row(ROOT)).to_be_visible()


def session_named(page: Rewind, name: str) -> str:
    sessions = page.page.evaluate("fetch('/api/sessions').then(r => r.json())")["sessions"]
    return str(next(s["sessionId"] for s in sessions if s["name"] == name))


def compare(page: Rewind, name: str) -> None:
    page.choose(ROOT)
    page.page.get_by_role("button", name="Compare", exact=True).click()
    page.dialog.get_by_role("button", name=name).click()


def test_two_branches_are_compared_side_by_side(page: Rewind, agent: Agent, project: Path) -> None:
    fork = session_named(page, "Without the database")
    Agent(agent.home, project, fork, ago=60).turn("Keep the list", {"cart.py": "items = ()\n"})
    compare(page, "Without the database")
    expect(page.page.get_by_text("4 turns in common")).to_be_visible()
    expect(page.page.get_by_text("They part after turn 4")).to_be_visible()
    left = page.page.get_by_role("region", name=ROOT)
    right = page.page.get_by_role("region", name="Without the database")
    expect(left).to_contain_text("The tests fail, fix them")
    expect(right).to_contain_text("Keep the list")
    page.page.get_by_text("4 turns in common").click()
    expect(page.page.locator(".common-list")).to_contain_text("Style the cart")
    code = page.page.locator(".code-diff")
    expect(code).to_contain_text("1 file differs in code")
    file = code.get_by_role("button", name="modified cart.py")
    file.click()
    expect(code.locator(".line.del")).to_contain_text("import sqlite3")
    expect(code.locator(".line.add")).to_contain_text("items = ()")
    file.click()
    expect(code.locator(".patch")).to_have_count(0)


def test_a_branch_without_a_checkpoint_says_that_its_code_cannot_be_compared(page: Rewind) -> None:
    compare(page, "From the tests")
    expect(page.page.get_by_text("The code cannot be compared: “From the tests” has no checkpoint yet.")
           ).to_be_visible()
    expect(page.page.locator(".code-diff")).to_have_count(0)
