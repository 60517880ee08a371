"""The timeline of checkpoints: differences, and restoring all or some of one."""

from __future__ import annotations

from pathlib import Path

from page_of import Rewind
from playwright.sync_api import Locator, expect
from shop import NASTY_NAME

FIRST_CART = "class Cart:\n    items = []\n"


def open_point(page: Rewind, description: str) -> Locator:
    page.page.get_by_role("link", name="Checkpoints").click()
    point = page.page.locator(".point", has_text=description)
    point.click()
    expect(page.page.locator(".detail h2")).to_contain_text(description)
    return page.page.locator(".detail")


def test_the_timeline_shows_kind_trigger_and_sizes_and_the_budget(page: Rewind) -> None:
    detail = open_point(page, "After: Style the cart")
    expect(detail.locator(".facts")).to_contain_text("Automatic")
    expect(detail.locator(".facts")).to_contain_text("the end of a turn")
    expect(page.page.get_by_role("img", name="of the budget is used")).to_be_visible()
    expect(page.page.get_by_role("img", name="New bytes of the latest")).to_be_visible()
    detail.locator(".facts").get_by_role("link", name="Build the cart of the shop").click()
    expect(page.title("Build the cart of the shop")).to_be_visible()


def test_chosen_files_are_restored_and_the_restore_is_undone(page: Rewind, project: Path) -> None:
    detail = open_point(page, "After: Style the cart")
    detail.get_by_role("button", name="modified cart.py").click()
    expect(detail.locator(".patch")).to_contain_text("class Cart:")
    detail.get_by_role("checkbox", name="Restore cart.py").check()
    detail.get_by_role("button", name="Restore 1 file…").click()
    expect(page.dialog).to_contain_text("1 file is written")
    page.dialog.get_by_role("button", name="Restore", exact=True).click()
    expect(page.panel).to_contain_text("1 file written")
    assert (project / "cart.py").read_text() == FIRST_CART
    assert (project / "checkout.py").exists() and not (project / "cart.css").exists()
    page.panel.get_by_role("button", name="Undo").click()
    expect(page.dialog).to_contain_text("1 file is written")
    assert (project / "cart.py").read_text() == FIRST_CART, "a plan touches nothing"
    page.dialog.get_by_role("button", name="Undo", exact=True).click()
    expect(page.panel).to_contain_text("Undone")
    expect(page.panel).to_contain_text("1 file written")
    assert (project / "cart.py").read_text() == "import sqlite3\n"


def test_a_whole_checkpoint_is_restored(page: Rewind, project: Path) -> None:
    detail = open_point(page, "After: Style the cart")
    detail.get_by_role("button", name="Restore…").click()
    page.dialog.get_by_role("button", name="Restore", exact=True).click()
    expect(page.panel).to_contain_text("written")
    assert (project / "cart.py").read_text() == FIRST_CART
    assert not (project / "checkout.py").exists() and (project / "cart.css").exists()


def test_two_checkpoints_are_compared(page: Rewind) -> None:
    detail = open_point(page, "After: Style the cart")
    choice = detail.get_by_role("combobox")
    other = choice.locator("option", has_text="After: Go on with the checkout").get_attribute("value")
    choice.select_option(other)
    expect(detail.get_by_role("button", name="checkout.py")).to_be_visible()
    expect(detail.get_by_role("checkbox")).to_have_count(0)


def test_a_checkpoint_is_saved_from_the_page(page: Rewind, project: Path) -> None:
    (project / NASTY_NAME).write_text("<script>window.hurt='file'</script>\n")
    page.page.get_by_role("link", name="Checkpoints").click()
    page.page.get_by_role("button", name="Save checkpoint").click()
    page.dialog.get_by_label("What is it?").fill("Before <b>lunch</b>")
    page.dialog.get_by_role("button", name="Save").click()
    expect(page.page.locator(".point", has_text="Before <b>lunch</b>")).to_be_visible()
    detail = open_point(page, "After: Go on with the checkout")
    detail.get_by_role("button", name=NASTY_NAME).click()
    expect(detail.locator(".patch")).to_contain_text("<script>window.hurt='file'</script>")
    assert page.page.evaluate("window.hurt") is None
