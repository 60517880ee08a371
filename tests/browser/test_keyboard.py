"""Everything by keyboard alone."""

from __future__ import annotations

from pathlib import Path

from page_of import Rewind
from playwright.sync_api import Route, expect
from shop import CART

FOCUSED = """(() => { const at = document.activeElement;
    return at?.matches('a, button, input') ? at.getAttribute('aria-label') || at.textContent : ''; })()"""


def press(page: Rewind, *keys: str) -> None:
    for key in keys:
        page.page.keyboard.press(key)


def tab_to(page: Rewind, name: str, key: str = "Tab") -> None:
    for _ in range(80):
        if name in page.page.evaluate(FOCUSED):
            return
        press(page, key)
    raise AssertionError(f"{name} cannot be reached by {key}")


def test_a_session_is_read_rewound_compared_and_deleted_without_a_pointer(page: Rewind) -> None:
    expect(page.turn(6)).to_be_in_viewport()
    press(page, "k", "k")
    expect(page.counter).to_have_text("Turn 4 of 6")
    expect(page.turn(4)).to_be_focused()
    press(page, "j", "r")
    expect(page.dialog).to_contain_text("Rewind to before turn 5?")
    expect(page.dialog.get_by_role("radio", name="Conversation", exact=False).first).to_be_focused()
    press(page, "Escape")
    expect(page.dialog).to_have_count(0)
    expect(page.turn(5)).to_be_focused()

    press(page, "Control+Shift+Z")
    expect(page.dialog.get_by_role("button", name="Create Branch")).to_be_enabled()
    tab_to(page, "Create Branch")
    press(page, "Enter")
    expect(page.title("Branch from turn 4")).to_be_visible()
    expect(page.title("Branch from turn 4")).to_be_focused()

    press(page, "f")
    expect(page.page.locator(".turn.future")).to_have_count(2)
    press(page, "c")
    expect(page.dialog).to_contain_text("Compare with")
    press(page, "Enter")
    expect(page.page.get_by_text("turns in common")).to_be_visible()

    press(page, "s")
    expect(page.tree.locator(":focus")).to_have_count(1)
    press(page, "ArrowDown", "ArrowUp", "ArrowDown", "Enter")
    expect(page.title("Branch from turn 4")).to_be_visible()
    page.settled()
    # All of it is read: what is asked for just before may be answered when the branch is gone.
    expect(page.page.locator(".scrubber")).to_be_visible()
    tab_to(page, "Branch actions")
    press(page, "Enter", "ArrowUp", "Enter")
    expect(page.dialog).to_contain_text("Delete this branch?")
    press(page, "Enter")
    expect(page.title("Build the cart of the shop")).to_be_visible()
    page.page.locator("body").evaluate("n => n.focus()")
    tab_to(page, "Close this panel", "Shift+Tab")
    press(page, "Enter")
    page.toast.get_by_role("button", name="Dismiss").focus()
    tab_to(page, "Undo", "Shift+Tab")
    press(page, "Enter")
    expect(page.toast).to_contain_text("1 branch is back")


def test_the_history_is_walked_restored_and_filtered_without_a_pointer(page: Rewind, project: Path) -> None:
    tab_to(page, "History")
    press(page, "Enter")
    expect(page.page.locator(".point.current")).to_contain_text("Go on with the checkout")
    press(page, "j", "j")
    expect(page.page.locator(".point:focus")).to_contain_text("Now rewrite it all with a database")
    press(page, "r")
    expect(page.dialog.get_by_role("button", name="Restore", exact=True)).to_be_focused()
    press(page, "Enter")
    expect(page.panel).to_contain_text("written")
    assert (project / "cart.css").exists()
    press(page, "/")
    page.page.keyboard.type("cart.css")
    expect(page.page.locator(".point")).to_have_count(2)


def test_a_hunk_comes_back_without_a_pointer(page: Rewind, project: Path) -> None:
    expect(page.counter).to_have_text("Turn 6 of 6")
    press(page, "k", "v")
    expect(page.title("Turn 5")).to_be_visible()
    expect(page.page.locator(".hunk-back")).to_have_count(1)
    press(page, "]", "n", "b")
    expect(page.dialog.get_by_role("button", name="Bring back", exact=True)).to_be_focused()
    press(page, "Enter")
    expect(page.panel).to_contain_text("1 file written")
    assert (project / "tests/test_cart.py").read_text() == "def test_add():\n    assert True\n"


def test_the_focus_stays_in_a_dialog_and_returns_from_it(page: Rewind) -> None:
    button = page.rewind_button(6)
    button.focus()
    press(page, "Enter")
    expect(page.dialog.get_by_role("button", name="Create Branch")).to_be_enabled()
    for key in ["Tab"] * 12 + ["Shift+Tab"] * 12:
        press(page, key)
        assert page.page.evaluate("document.activeElement.closest('dialog') !== null"), key
    press(page, "Escape")
    expect(button).to_be_focused()


def test_search_jumps_to_matches(page: Rewind) -> None:
    press(page, "/")
    page.page.keyboard.type("database")
    expect(page.page.locator(".result-row").first).to_contain_text("Now rewrite it all with a database")
    press(page, "Enter")
    expect(page.counter).to_have_text("Turn 4 of 6")
    expect(page.turn(4)).to_be_in_viewport()
    press(page, "Escape")
    expect(page.turn(4)).to_be_focused()


class TestKeysThatArePressedTooEarly:
    def late(self, page: Rewind, what: str) -> list[Route]:
        held: list[Route] = []
        page.page.route(what, lambda route: held.append(route))
        page.page.reload()
        page.wait_until(lambda: bool(held))
        return held

    def test_words_for_the_search_before_there_is_a_view(self, page: Rewind) -> None:
        held = self.late(page, "**/api/project")
        expect(page.page.locator(".row-link").first).to_be_visible()
        expect(page.page.locator("#main > *")).to_have_count(0)
        press(page, "/")
        page.page.keyboard.type("database")
        held[0].continue_()
        expect(page.page.get_by_role("searchbox", name="Search this session")).to_have_value("database")
        expect(page.page.locator(".result-row").first).to_contain_text("Now rewrite it all with a database")

    def test_turns_that_are_not_read_yet(self, page: Rewind) -> None:
        held = self.late(page, "**/turns?*")
        press(page, "k", "k", "r")
        held[0].continue_()
        expect(page.counter).to_have_text("Turn 4 of 6")
        expect(page.dialog).to_contain_text("Rewind to before turn 4?")

    def test_a_search_that_is_answered_before_the_turns(self, page: Rewind) -> None:
        held = self.late(page, "**/turns?*")
        press(page, "/")
        page.page.keyboard.type("database")
        expect(page.page.locator(".result-row").first).to_be_visible()
        press(page, "Enter")
        held[0].continue_()
        expect(page.counter).to_have_text("Turn 4 of 6")
        expect(page.turn(4)).to_be_in_viewport()
        expect(page.page.get_by_role("searchbox", name="Search this session")).to_be_focused()

    def test_a_click_forgets_them(self, page: Rewind) -> None:
        held = self.late(page, "**/turns?*")
        press(page, "k", "r")
        page.page.locator(".meta").click()
        held[0].continue_()
        expect(page.turn(6)).to_be_visible()
        page.settled()
        expect(page.counter).to_have_text("Turn 6 of 6")
        expect(page.dialog).to_have_count(0)

    def test_changes_that_are_still_compared(self, page: Rewind) -> None:
        held: list[Route] = []
        page.page.route("**/api/review?*", lambda route: held.append(route))
        page.go(f"review/{CART}/4")
        page.wait_until(lambda: bool(held))
        press(page, "r")
        held[0].continue_()
        expect(page.dialog).to_contain_text("Rewind to before turn 4?")


def test_the_list_of_turns_jumps(page: Rewind) -> None:
    expect(page.counter).to_have_text("Turn 6 of 6")
    page.counter.focus()
    press(page, "Enter")
    page.page.keyboard.type("2")
    press(page, "Enter")
    expect(page.counter).to_have_text("Turn 2 of 6")
    expect(page.turn(2)).to_be_focused()


def test_help_names_the_keys(page: Rewind) -> None:
    press(page, "?")
    expect(page.dialog).to_contain_text("Rewind to the selected turn")
    press(page, "Escape")
    expect(page.dialog).to_have_count(0)


def test_letters_typed_into_a_field_do_nothing_else(page: Rewind) -> None:
    page.page.get_by_role("searchbox", name="Filter sessions").focus()
    page.page.keyboard.type("jkrc?")
    expect(page.dialog).to_have_count(0)
    expect(page.counter).to_have_text("Turn 6 of 6")
