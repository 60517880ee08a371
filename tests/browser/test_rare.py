"""What one meets now and then: too many branches, pictures, long turns, a restore that was cut off, redo."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from page_of import Rewind
from paint import picture, png
from playwright.sync_api import expect
from shop import CART, Agent, interrupt_restore

from rewind.controller import AtTurn, Controller

FIRST_CART = "class Cart:\n    items = []\n"


class TestTooManyBranches:
    @pytest.fixture
    def agent(self, agent: Agent, project: Path) -> Agent:
        config = project / ".agent" / "rewind" / "config.json"
        config.write_text(json.dumps({"branches": {"max": 3}}))
        controller = Controller(str(project))
        for number in range(1, 5):
            controller.go(AtTurn(CART, number, after=True), "conversation", name=f"Try {number}")
        controller.close()
        return agent

    def test_they_are_said_with_the_way_to_clean_up_until_there_are_fewer(self, page: Rewind) -> None:
        page.choose("Build the cart of the shop")
        warning = page.tree.locator(".side-warnings")
        expect(warning).to_contain_text("There are 4 branches, more than 3.")
        expect(warning).to_contain_text("delete them")
        page.ask_after(5)
        expect(page.dialog.locator(".notice.warning")).to_contain_text("There are 4 branches already")
        page.page.keyboard.press("Escape")

        page.row("Build the cart of the shop").get_by_role("button", name="4 branches").click()
        page.tree.get_by_role("button", name="Select").click()
        page.row("Try 1").get_by_role("checkbox").check()
        page.tree.get_by_role("button", name="Delete").click()
        page.dialog.get_by_role("button", name="Delete branch").click()
        expect(warning).to_be_empty()


class TestPictures:
    @pytest.fixture
    def agent(self, agent: Agent) -> Agent:
        agent.turn([{"type": "text", "text": "Make it look like this"}, picture(png(640, 360))], hooks=False)
        agent.turn([{"type": "text", "text": "Or like this"}, picture("PHN2Zy8+", "image/svg+xml"),
                    picture("A" * (3 << 20))], hooks=False)
        return agent

    def test_they_are_shown_and_what_is_not_shown_says_why(self, page: Rewind) -> None:
        image = page.turn(7).get_by_role("img", name="Image in the conversation")
        expect(image).to_be_visible()
        page.page.wait_for_function("() => document.querySelector('.picture').naturalWidth === 640")
        expect(page.turn(8)).to_contain_text("An image of a kind that is not shown (image/svg+xml).")
        expect(page.turn(8)).to_contain_text("An image that is too large to show here.")
        expect(page.turn(8).get_by_role("img", name="Image")).to_have_count(0)

    def test_they_fit_on_a_phone(self, phone: Rewind) -> None:
        phone.go(f"session/{CART}/7")
        image = phone.turn(7).get_by_role("img", name="Image in the conversation")
        expect(image).to_be_visible()
        box = image.bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= 390
        assert 0.5 < box["height"] / box["width"] < 0.6


class TestLongTurns:
    @pytest.fixture
    def agent(self, agent: Agent) -> Agent:
        agent.turn("Tell me everything", answer="So it begins. " + "And it goes on. " * 3000 + "So it ends.",
                   run=("cat log.txt", "line\n" * 9000 + "the last line"))
        return agent

    def test_a_long_turn_is_shown_whole_when_asked_for_and_stays_so(self, page: Rewind, agent: Agent) -> None:
        turn = page.turn(7)
        expect(turn).to_contain_text("So it begins.")
        expect(turn).not_to_contain_text("So it ends.")
        turn.get_by_role("button", name="Show the whole turn").click()
        expect(turn).to_contain_text("So it ends.")
        expect(turn.get_by_role("button", name="Show the whole turn")).to_have_count(0)
        turn.locator("summary", has_text="cat log.txt").click()
        expect(turn.locator(".result")).to_contain_text("the last line")
        # With a checkpoint the page is told its last turns again, and those are cut. Then it reads the shape.
        with page.page.expect_response(lambda answer: "/shape" in answer.url):
            Controller(str(agent.project)).save("by hand")
        page.settled()
        expect(turn).to_contain_text("So it ends.")
        expect(turn.locator(".result")).to_contain_text("the last line")


class TestInterruptedRestore:
    def banner(self, page: Rewind, project: Path, home: Path) -> str:
        expect(page.page.locator(".status")).to_contain_text("Live")
        name = interrupt_restore(project, home)
        banner = page.page.locator(".interrupted")
        expect(banner).to_contain_text("A restore was interrupted.")
        expect(banner).to_contain_text(name)
        return name

    def test_it_is_said_while_the_page_is_open_and_undone(
            self, page: Rewind, project: Path, home: Path) -> None:
        self.banner(page, project, home)
        page.page.get_by_role("button", name="Undo it").click()
        page.dialog.get_by_role("button", name="Undo", exact=True).click()
        expect(page.panel).to_be_visible()
        expect(page.panel.get_by_role("button", name="Redo")).to_have_count(0)
        expect(page.page.locator(".interrupted")).to_have_count(0)
        assert {p.read_text() for p in project.glob("page*.txt")} == {"now\n"}

    def test_it_is_finished(self, page: Rewind, project: Path, home: Path) -> None:
        name = self.banner(page, project, home)
        page.page.get_by_role("button", name="Finish it").click()
        expect(page.dialog).to_contain_text(name)
        page.dialog.get_by_role("button", name="Restore", exact=True).click()
        expect(page.panel).to_contain_text("written")
        expect(page.page.locator(".interrupted")).to_have_count(0)
        assert {p.read_text() for p in project.glob("page*.txt")} == {"before\n"}


def test_a_restore_is_undone_and_done_again(page: Rewind, project: Path) -> None:
    page.page.get_by_role("link", name="History").click()
    undo, redo = (page.page.locator(f"[data-step={step}]") for step in ("canUndo", "canRedo"))
    expect(undo).to_be_disabled()
    expect(redo).to_be_disabled()
    page.page.locator(".point", has_text="Style the cart").click()
    page.page.get_by_role("button", name="to after it…").click()
    page.dialog.get_by_role("button", name="Restore", exact=True).click()
    expect(page.panel).to_contain_text("written")
    undo.click()
    expect(page.dialog).to_contain_text("Rewind restored")
    assert (project / "cart.py").read_text() == FIRST_CART, "a plan touches nothing"
    page.dialog.get_by_role("button", name="Undo", exact=True).click()
    expect(redo).to_be_enabled()
    assert (project / "cart.py").read_text() == "import sqlite3\n"
    redo.click()
    page.dialog.get_by_role("button", name="Redo", exact=True).click()
    expect(redo).to_be_disabled()
    assert (project / "cart.py").read_text() == FIRST_CART and not (project / "checkout.py").exists()
