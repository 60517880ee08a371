"""Rewinding on the page: the fork and the files that come of it, and the way forward again."""

from __future__ import annotations

from pathlib import Path

from page_of import Rewind
from playwright.sync_api import expect
from shop import Agent, forks_in

from chat_scene import prompts_of

PROMPTS = ["Add a shopping cart with add and remove", "Write tests for it", "Style the cart",
           "Now rewrite it all with a database", "The tests fail, fix them", "Go on with the checkout"]


def test_the_newest_session_opens_at_its_end(page: Rewind) -> None:
    expect(page.title("Build the cart of the shop")).to_be_visible()
    expect(page.counter).to_have_text("Turn 6 of 6")
    expect(page.turn(6)).to_be_in_viewport()


def test_a_turn_shows_prompt_answer_thinking_tools_and_checkpoint(page: Rewind) -> None:
    page.go(f"session/{'0000ca27-1111-4222-8333-444444444444'}/1")
    turn = page.turn(1)
    expect(turn).to_contain_text("Add a shopping cart with add and remove")
    expect(turn.locator("strong", has_text="cart")).to_be_visible()
    expect(turn.locator("td", has_text="cart.py")).to_be_visible()
    expect(turn.locator(".hl-word", has_text="def")).to_be_visible()
    turn.locator("summary", has_text="Thinking").click()
    expect(turn.locator(".thought")).to_contain_text("A list will do for now")
    turn.locator("summary", has_text="Write").click()
    expect(turn.locator(".result")).to_contain_text("File written")
    turn.locator("summary", has_text="Checkpoint").click()
    turn.get_by_role("button", name="cart.py").click()
    expect(page.dialog).to_contain_text("class Cart:")
    page.page.keyboard.press("Escape")
    expect(turn.get_by_role("button", name="cart.py")).to_be_focused()


def test_rewinding_the_chat_makes_a_branch_and_leaves_files_and_session_alone(
        page: Rewind, agent: Agent, home: Path, project: Path) -> None:
    before = agent.path.read_bytes()
    page.ask_after(4)
    expect(page.dialog).to_contain_text("Rewind to after turn 4?")
    expect(page.dialog).to_contain_text(
        "This creates a new branch from turn 4. Your current session will remain unchanged.")
    expect(page.dialog.get_by_label("Branch name")).to_have_value("Branch from turn 4")
    expect(page.dialog).to_contain_text("keeps 4 turns; 2 later turns stay")
    page.create()

    expect(page.title("Branch from turn 4")).to_be_visible()
    expect(page.counter).to_have_text("Turn 4 of 4")
    expect(page.page.locator(".badge")).to_have_text("Branch · turn 4")
    expect(page.page.locator(".origin")).to_contain_text("Rewound from turn 4 of Build the cart of the shop")
    (fork,) = forks_in(home, project)
    assert prompts_of("claude", fork) == PROMPTS[:4]
    expect(page.page.locator(".continue code")).to_contain_text(f"claude --resume {fork.stem}")
    assert agent.path.read_bytes() == before
    assert (project / "checkout.py").exists()


def test_rewinding_code_and_chat_brings_the_files_back_and_fast_forward_undoes_it(
        page: Rewind, home: Path, project: Path) -> None:
    page.ask_after(3)
    page.dialog.get_by_role("radio", name="Code + conversation").check()
    expect(page.dialog).to_contain_text("files are written")
    expect(page.dialog).to_contain_text("checkout.py")
    page.create()
    expect(page.title("Branch from turn 3")).to_be_visible()
    assert (project / "cart.py").read_text() == "class Cart:\n    items = []\n"
    assert (project / "cart.css").read_text() == ".cart { color: #333 }\n"
    assert not (project / "checkout.py").exists() and not (project / "db").exists()
    (fork,) = forks_in(home, project)
    assert prompts_of("claude", fork) == PROMPTS[:3]

    page.page.get_by_role("button", name="View future turns").click()
    future = page.page.locator(".turn.future")
    expect(future).to_have_count(3)
    expect(future.first).to_contain_text("Now rewrite it all with a database")
    expect(future.first.get_by_role("button", name="Rewind to before this")).to_have_count(0)

    page.page.reload()  # it is not the page that remembers whether there is code to bring back
    page.page.get_by_role("button", name="Fast-forward").click()
    expect(page.dialog.get_by_role("checkbox")).to_be_checked()
    page.dialog.get_by_role("button", name="Fast-forward").click()
    expect(page.title("Build the cart of the shop")).to_be_visible()
    expect(page.toast).to_contain_text("with its code")
    assert (project / "cart.py").read_text() == "import sqlite3\n"
    assert (project / "checkout.py").exists()
    page.page.reload()
    page.row("Build the cart of the shop").get_by_role("button", name="1 branch").click()
    page.choose("Branch from turn 3")
    page.page.get_by_role("button", name="Fast-forward").click()
    expect(page.dialog).to_contain_text("This branch stays.")
    expect(page.dialog.get_by_role("checkbox")).to_have_count(0)  # it is back already
    page.dialog.get_by_role("button", name="Cancel").click()


def test_a_branch_of_the_chat_alone_offers_no_code_on_the_way_forward(page: Rewind) -> None:
    page.rewind_to(3)
    page.page.get_by_role("button", name="Fast-forward").click()
    expect(page.dialog).to_contain_text("This branch stays.")
    expect(page.dialog.get_by_role("checkbox")).to_have_count(0)
    page.dialog.get_by_role("button", name="Fast-forward").click()
    expect(page.title("Build the cart of the shop")).to_be_visible()


def test_a_branch_is_continued_and_rewound_again(page: Rewind, home: Path, project: Path) -> None:
    page.rewind_to(4, name="Second thoughts")
    expect(page.title("Second thoughts")).to_be_visible()
    (fork,) = forks_in(home, project)
    other = Agent(home, project, fork.stem, ago=60)
    other.turn("Keep the list instead", {"list.py": "items = []\n"})
    expect(page.turn(5)).to_contain_text("Keep the list instead")
    expect(page.turn(5)).to_be_in_viewport()

    page.rewind_to(2)
    expect(page.title("Branch from turn 2")).to_be_visible()
    crumbs = page.page.get_by_role("navigation", name="Breadcrumb")
    expect(crumbs.get_by_role("link", name="Second thoughts")).to_be_visible()
    expect(crumbs.get_by_role("link", name="Build the cart of the shop")).to_be_visible()
    newest = forks_in(home, project)[-1]
    assert prompts_of("claude", newest) == PROMPTS[:2]
    crumbs.get_by_role("link", name="Second thoughts").click()
    expect(page.title("Second thoughts")).to_be_visible()


def test_what_changed_between_dialog_and_confirm_is_said_before_anything_is_done(
        page: Rewind, home: Path, project: Path) -> None:
    page.ask_after(3)
    page.dialog.get_by_role("radio", name="Code + conversation").check()
    expect(page.dialog.get_by_role("button", name="Create Branch")).to_be_enabled()
    (project / "cart.py").write_text("mine\n")
    page.dialog.get_by_role("button", name="Create Branch").click()
    expect(page.dialog.get_by_role("alert")).to_contain_text("Something changed since this plan was made")
    assert (project / "cart.py").read_text() == "mine\n"
    assert forks_in(home, project) == []
    expect(page.dialog).to_contain_text("changed since by someone else")
    page.create()
    assert (project / "cart.py").read_text() == "class Cart:\n    items = []\n"


def test_the_turn_menu_and_the_copy_button_work(page: Rewind) -> None:
    page.turn(5).locator(".prompt").click(button="right")
    page.page.get_by_role("menuitem", name="Rewind to before this").click()
    expect(page.dialog).to_contain_text("Rewind to before turn 5?")
    page.dialog.get_by_role("button", name="Cancel").click()
    page.page.locator(".turns").evaluate("n => n.scrollTop = 0")  # where the header is whole
    page.page.get_by_role("button", name="Copy the command").click()
    copied = page.page.evaluate("navigator.clipboard.readText()")
    assert "claude --resume 0000ca27" in copied


def test_a_turn_is_marked_as_a_named_checkpoint(page: Rewind) -> None:
    page.turn(2).get_by_role("button", name="More for turn 2").click()
    page.page.get_by_role("menuitem", name="Mark as checkpoint").click()
    page.dialog.get_by_label("Name").fill("Tests are green")
    page.dialog.get_by_role("button", name="Mark").click()
    expect(page.toast).to_contain_text("Tests are green")
    page.go("checkpoints")
    expect(page.page.locator(".point", has_text="Tests are green")).to_be_visible()


def test_the_back_button_closes_a_dialog_with_the_view_that_it_is_about(page: Rewind) -> None:
    page.go("graph")
    expect(page.page.get_by_role("heading", name="Graph")).to_be_visible()
    page.go(f"session/{'0000ca27-1111-4222-8333-444444444444'}/4")
    page.ask_after(4)
    expect(page.dialog).to_contain_text("Rewind to after turn 4?")
    page.page.go_back()
    expect(page.page.get_by_role("heading", name="Graph")).to_be_visible()
    expect(page.dialog).to_have_count(0)
