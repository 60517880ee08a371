"""The history: a row for each turn, or every checkpoint; differences, and restoring all or some of one."""

from __future__ import annotations

from pathlib import Path

from page_of import Rewind
from playwright.sync_api import Locator, expect
from shop import NASTY_NAME

FIRST_CART = "class Cart:\n    items = []\n"


def history(page: Rewind, show: str = "Everything") -> Locator:
    page.page.get_by_role("navigation", name="Views").get_by_role("link", name="History").click()
    expect(page.page.locator(".point").first).to_be_visible()
    page.page.get_by_label("Show", exact=True).select_option(label=show)
    return page.page.locator(".point")


def open_point(page: Rewind, description: str, compare: str = "") -> Locator:
    history(page, "Every checkpoint").filter(has_text=description).click()
    expect(page.page.locator(".detail h2")).to_contain_text(description)
    detail = page.page.locator(".detail")
    if compare:
        detail.get_by_role("combobox").select_option(label=compare)
    return detail


class TestHistory:
    def test_a_turn_is_one_row_with_what_it_changed(self, page: Rewind) -> None:
        rows = history(page)
        expect(rows.filter(has_text="Now rewrite it all with a database")).to_have_count(1)
        row = rows.filter(has_text="Now rewrite it all with a database")
        expect(row).to_contain_text("Turn 4")
        expect(row).to_contain_text("+2 −3")
        expect(rows.first).to_contain_text("you are here")
        expect(rows.filter(has_text="After:")).to_have_count(0)
        row.click()
        detail = page.page.locator(".detail")
        expect(detail).to_contain_text("3 files changed")
        detail.get_by_role("button", name="modified cart.py").click()
        expect(detail.locator(".line.add")).to_contain_text("import sqlite3")
        expect(detail.locator(".line.del").first).to_contain_text("class Cart:")

    def test_it_is_restored_to_before_or_after_a_turn(self, page: Rewind, project: Path) -> None:
        history(page).filter(has_text="Now rewrite it all with a database").click()
        page.page.get_by_role("button", name="to after it…").click()
        page.dialog.get_by_role("button", name="Restore", exact=True).click()
        expect(page.panel).to_contain_text("written")
        assert (project / "cart.py").read_text() == "import sqlite3\n"
        assert not (project / "checkout.py").exists()
        expect(page.page.locator(".point").first).to_contain_text("Rewind")
        page.page.get_by_role("button", name="Restore to before it…").click()
        page.dialog.get_by_role("button", name="Restore", exact=True).click()
        expect(page.dialog).to_have_count(0)
        assert (project / "cart.py").read_text() == FIRST_CART and (project / "cart.css").exists()

    def test_it_is_filtered_by_words_files_and_kind(self, page: Rewind, project: Path) -> None:
        (project / "mine.txt").write_text("mine\n")
        rows = history(page)
        page.page.get_by_role("button", name="Save checkpoint").click()
        page.dialog.get_by_label("What is it?").fill("Before lunch")
        page.dialog.get_by_role("button", name="Save").click()
        expect(rows.first).to_contain_text("Before lunch")
        field = page.page.get_by_role("searchbox", name="Filter the history")
        field.fill("checkout")
        expect(rows).to_have_count(1)
        expect(rows).to_contain_text("Go on with the checkout")
        field.fill("cart.css")
        expect(rows).to_have_count(2)
        expect(rows.first).to_contain_text("Now rewrite it all with a database")
        field.fill("nothing like it")
        expect(page.page.locator(".timeline")).to_contain_text("Nothing in the history matches.")
        field.fill("")
        page.page.get_by_label("Show", exact=True).select_option(label="Saved by hand")
        expect(rows.first).to_contain_text("Before lunch")
        expect(rows.filter(has_text="checkout")).to_have_count(0)


def test_the_timeline_shows_kind_trigger_and_sizes_and_the_budget(page: Rewind) -> None:
    detail = open_point(page, "After: Style the cart")
    expect(detail.locator(".facts")).to_contain_text("Automatic")
    expect(detail.locator(".facts")).to_contain_text("the end of a turn")
    expect(page.page.get_by_role("img", name="of the budget is used")).to_be_visible()
    expect(page.page.get_by_role("img", name="New bytes of the latest")).to_be_visible()
    detail.locator(".facts").get_by_role("link", name="Build the cart of the shop").click()
    expect(page.title("Build the cart of the shop")).to_be_visible()


def test_chosen_files_are_restored_and_the_restore_is_undone(page: Rewind, project: Path) -> None:
    detail = open_point(page, "After: Style the cart", "the files now")
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
    history(page)
    page.page.get_by_role("button", name="Save checkpoint").click()
    page.dialog.get_by_label("What is it?").fill("Before <b>lunch</b>")
    page.dialog.get_by_role("button", name="Save").click()
    expect(page.page.locator(".point", has_text="Before <b>lunch</b>")).to_be_visible()
    detail = open_point(page, "After: Go on with the checkout", "the files now")
    detail.get_by_role("button", name=NASTY_NAME).click()
    expect(detail.locator(".patch")).to_contain_text("<script>window.hurt='file'</script>")
    assert page.page.evaluate("window.hurt") is None
