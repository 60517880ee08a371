"""The files at any point: the tree, who wrote each line, every version, and the way back to one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from page_of import Rewind
from playwright.sync_api import Locator, expect
from shop import NASTY_NAME, Agent
from test_keyboard import press, tab_to
from test_looks import OVERFLOW, THEMES, axe, check_themes  # noqa: F401 - the fixture

FIRST = "class Cart:\n    def __init__(self):\n        self.items = []\n"
SECOND = FIRST + "\n    def add(self, item):\n        self.items.append(item)\n"
NARROW = {"width": 320, "height": 700}


@pytest.fixture
def agent(agent: Agent) -> Agent:
    """Two more turns, and a line by hand that no checkpoint has yet."""
    agent.turn("Begin again with a plain list", {"src/shop/cart.py": FIRST})
    agent.turn("Add a way to add", {"src/shop/cart.py": SECOND})
    (agent.project / "src/shop/cart.py").write_text(SECOND + "# by hand\n")
    return agent


def row(page: Rewind, path: str) -> Locator:
    return page.page.locator(f'.tree-row[data-key="{path}"]')


def open_file(page: Rewind, *paths: str) -> None:
    page.page.get_by_role("link", name="Files", exact=True).click()
    for path in paths:
        row(page, path).click()
    expect(page.page.locator(".file-head")).to_contain_text(paths[-1].rsplit("/", 1)[-1])


def test_each_line_tells_the_prompt_that_wrote_it_and_leads_to_the_turn(page: Rewind) -> None:
    open_file(page, "src", "src/shop", "src/shop/cart.py")
    runs = page.page.locator(".blame-run")
    expect(runs).to_have_count(3)
    expect(runs.nth(0)).to_contain_text("Turn 7")
    expect(runs.nth(0)).to_contain_text("Begin again with a plain list")
    expect(runs.nth(0).locator(".blame-text")).to_have_text(FIRST.rstrip("\n"))
    expect(runs.nth(1)).to_contain_text("Add a way to add")
    expect(runs.nth(2)).to_contain_text("not in a checkpoint yet")
    runs.nth(1).get_by_role("link").click()
    expect(page.turn(8)).to_be_in_viewport()
    expect(page.counter).to_have_text("Turn 8 of 8")


def test_the_tree_shows_what_changes_most(page: Rewind) -> None:
    page.go("files")
    expect(row(page, "tests").locator(".heat-4")).to_have_text(", changed 2 times")
    expect(row(page, "checkout.py").locator(".heat-1")).to_have_text(", changed 1 time")
    page.page.get_by_label("Find a file").fill("CHECK")
    expect(page.page.locator(".tree-row")).to_have_count(1)
    page.page.get_by_label("Find a file").fill("nothing like it")
    expect(page.page.locator(".files-tree")).to_contain_text("No path contains")


def test_an_older_point_has_the_files_of_then_and_brings_one_back(page: Rewind, project: Path) -> None:
    page.go("files")
    choice = page.page.get_by_label("Point in time")
    then = choice.locator("option", has_text="After: Style the cart").get_attribute("value")
    choice.select_option(then)
    expect(page.page.locator(".point-words")).to_contain_text("after turn 3")
    expect(row(page, "cart.css")).to_be_visible()
    expect(row(page, "checkout.py")).to_have_count(0)
    row(page, "cart.py").click()
    expect(page.page.locator(".blame-text")).to_have_text("class Cart:\n    items = []")
    page.page.get_by_role("button", name="Bring back this file").click()
    expect(page.dialog).to_contain_text("1 file is written")
    assert (project / "cart.py").read_text() == "import sqlite3\n", "a plan touches nothing"
    page.dialog.get_by_role("button", name="Restore", exact=True).click()
    expect(page.panel).to_contain_text("1 file written")
    assert (project / "cart.py").read_text() == "class Cart:\n    items = []\n"
    assert (project / "checkout.py").exists() and not (project / "cart.css").exists()
    expect(page.page.locator(".version").first).to_contain_text("Rewind restored")
    page.panel.get_by_role("button", name="Undo").click()
    page.dialog.get_by_role("button", name="Undo", exact=True).click()
    expect(page.panel).to_contain_text("Undone")
    assert (project / "cart.py").read_text() == "import sqlite3\n"


def test_one_steps_through_time_and_the_browser_goes_back(page: Rewind) -> None:
    open_file(page, "cart.py")
    expect(page.page.locator(".blame-text")).to_have_text("import sqlite3")
    expect(page.page.get_by_role("button", name="Newer point")).to_be_disabled()
    page.page.get_by_role("button", name="Older point").click()
    expect(page.page.locator(".point-words")).to_contain_text("after turn 8")
    page.page.get_by_role("button", name="Older point").click()
    expect(page.page.locator(".point-words")).to_contain_text("before turn 8")
    page.page.go_back()
    expect(page.page.locator(".point-words")).to_contain_text("after turn 8")
    page.page.keyboard.press("]")
    expect(page.page.locator(".point-words")).to_have_text("as they are now")


def test_a_files_history_leads_to_its_versions_and_its_turns(page: Rewind) -> None:
    open_file(page, "tests", "tests/test_cart.py")
    versions = page.page.locator(".version")
    expect(versions).to_have_count(2)
    expect(versions.nth(0)).to_contain_text("After turn 5 The tests fail, fix them")
    versions.nth(1).get_by_title("The files at this point").click()
    expect(page.page.locator(".blame-text")).to_contain_text("def test_add()")
    expect(page.page.locator(".point-words")).to_contain_text("after turn 2")
    expect(versions.nth(1).locator("[aria-current]")).to_be_visible()
    versions.nth(0).get_by_role("link", name="Turn 5").click()
    expect(page.turn(5)).to_be_in_viewport()


def test_a_deleted_file_is_found_and_brought_back(page: Rewind, project: Path) -> None:
    page.go("files")
    page.page.get_by_label("Show deleted files (1)").check()
    row(page, "cart.css").click()
    expect(page.page.locator(".file-lines")).to_contain_text("no such file now")
    versions = page.page.locator(".version")
    expect(versions.nth(0)).to_contain_text("After turn 4")
    expect(versions.nth(0).get_by_role("button")).to_have_count(0)
    versions.nth(1).get_by_role("button", name="Bring back the version").click()
    expect(page.dialog).to_contain_text("As it was after turn 3: Style the cart")
    page.dialog.get_by_role("button", name="Restore", exact=True).click()
    expect(page.panel).to_contain_text("1 file written")
    assert (project / "cart.css").read_text() == ".cart { color: #333 }\n"
    expect(page.page.locator(".blame-text")).to_have_text(".cart { color: #333 }")


def test_a_turn_leads_to_the_files_that_it_left(page: Rewind) -> None:
    page.page.get_by_role("button", name="More for turn 8", exact=True).click()
    page.page.get_by_role("menuitem", name="Files after this turn").click()
    expect(page.page.locator(".point-words")).to_contain_text("after turn 8")


def test_what_is_saved_meanwhile_appears_by_itself(page: Rewind, agent: Agent) -> None:
    open_file(page, "src", "src/shop", "src/shop/cart.py")
    expect(page.page.locator(".blame-run")).to_have_count(3)
    agent.turn("Forget the comment", {"src/shop/cart.py": SECOND, "src/shop/new.py": "x = 1\n"})
    expect(page.page.locator(".blame-run")).to_have_count(2)
    expect(row(page, "src/shop/new.py")).to_be_visible()


def test_what_has_no_lines_says_so(page: Rewind, project: Path) -> None:
    (project / "logo.png").write_bytes(b"\x89PNG\0\0\0")
    (project / "empty.txt").write_bytes(b"")
    open_file(page, "logo.png")
    expect(page.page.locator(".file-lines")).to_contain_text("A binary file has no lines")
    row(page, "empty.txt").click()
    expect(page.page.locator(".file-lines")).to_contain_text("This file is empty")


def test_names_and_lines_are_text(page: Rewind, project: Path, agent: Agent) -> None:
    agent.turn("<img src=x onerror=\"window.hurt='prompt'\">", {
        NASTY_NAME: "<script>window.hurt='line'</script>\n",
        "x.html": "<b onclick=\"window.hurt='b'\">b</b>\n"})
    open_file(page, "x.html")
    expect(page.page.locator(".blame-text")).to_contain_text("<b onclick=")
    page.page.locator(".tree-row", has_text=NASTY_NAME).click()
    expect(page.page.locator(".blame-text")).to_contain_text("<script>window.hurt='line'</script>")
    assert page.page.evaluate("window.hurt") is None
    assert page.page.locator(".blame-text b, .blame-text script, .blame-run img").count() == 0


def test_by_keyboard_alone(page: Rewind, project: Path) -> None:
    tab_to(page, "Files")
    press(page, "Enter")
    expect(page.page.get_by_role("heading", level=1, name="Files")).to_be_focused()
    press(page, "[")
    expect(page.page.locator(".point-words")).to_contain_text("after turn 8")
    tab_to(page, "src")
    press(page, "ArrowRight")
    expect(row(page, "src/shop")).to_be_visible()
    press(page, "ArrowDown", "ArrowRight")
    expect(row(page, "src/shop/cart.py")).to_be_visible()
    press(page, "ArrowDown", "Enter")
    expect(page.page.locator(".blame-run")).to_have_count(2)
    expect(row(page, "src/shop/cart.py")).to_be_focused()
    press(page, "r")
    expect(page.dialog.get_by_role("button", name="Restore", exact=True)).to_be_focused()
    press(page, "Enter")
    expect(page.panel).to_contain_text("1 file written")
    assert (project / "src/shop/cart.py").read_text() == SECOND
    press(page, "/")
    expect(page.page.get_by_label("Find a file")).to_be_focused()


def states(page: Rewind) -> Any:
    page.go("files")
    expect(row(page, "src")).to_be_visible()
    page.page.get_by_label("Show deleted files").check()
    expect(row(page, "cart.css")).to_be_visible()
    yield "the tree"
    page.go("files/now/src%2Fshop%2Fcart.py")
    expect(page.page.locator(".blame-run")).to_have_count(3)
    history = page.page.locator(".file-history")
    if history.get_attribute("open") is None:
        history.locator("summary").click()
    expect(page.page.locator(".version")).to_have_count(2)
    yield "a file"
    page.page.get_by_label("Point in time").select_option(index=1)
    expect(page.page.get_by_role("button", name="Bring back this file")).to_be_visible()
    yield "an older point"


def test_no_serious_violation_and_nothing_runs_out_of_the_window(page: Rewind, axe: str) -> None:  # noqa: F811
    page.page.emulate_media(reduced_motion="reduce")
    for state in states(page):
        check_themes(page, axe, state)


def test_the_same_on_a_phone(phone: Rewind, axe: str) -> None:  # noqa: F811
    phone.page.emulate_media(reduced_motion="reduce")
    for state in states(phone):
        check_themes(phone, axe, state)
    phone.page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    for theme in THEMES:
        phone.page.emulate_media(color_scheme=theme)
        assert phone.page.evaluate(OVERFLOW) == [], theme


def test_a_phone_shows_the_tree_then_the_file_and_comes_back(phone: Rewind) -> None:
    phone.go("files")
    row(phone, "cart.py").click()
    expect(phone.page.locator(".blame-text")).to_have_text("import sqlite3")
    expect(phone.page.locator(".files-tree")).not_to_be_visible()
    phone.page.get_by_role("link", name="All files").click()
    expect(row(phone, "cart.py")).to_be_visible()
