"""One turn is taken back on the page: the plan, conflicts with their lines, and the note for the agent."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_of import Rewind
from playwright.sync_api import expect
from shop import CART, Agent
from test_keyboard import press
from test_looks import axe, check_themes  # noqa: F401 - the fixture

LINES = "".join(f"line {n}\n" for n in range(1, 13))


@pytest.fixture
def agent(agent: Agent) -> Agent:
    """Turn 7 makes a file, 8 changes its top, 9 its end, and 10 the top once more."""
    top = LINES.replace("line 2\n", "line two\n")
    end = top.replace("line 11\n", "line eleven\n")
    agent.turn("Make a list", {"list.txt": LINES})
    agent.turn("Write the second line out", {"list.txt": top, "notes/extra.txt": "x\n"})
    agent.turn("Write the eleventh out", {"list.txt": end})
    return agent


def ask(page: Rewind, turn: int) -> None:
    """By a key: the header that folds away while the page scrolls moves what a pointer would hit."""
    page.page.get_by_role("button", name=f"More for turn {turn}", exact=True).press("Enter")
    page.page.get_by_role("menuitem", name="Take back only this turn").click()
    expect(page.dialog).to_contain_text(f"Take back only turn {turn}?")


def test_a_turn_is_taken_back_and_everything_later_stays(page: Rewind, project: Path) -> None:
    before = (project / "list.txt").read_text()
    ask(page, 8)
    expect(page.dialog).to_contain_text("1 file is written")
    expect(page.dialog).to_contain_text("notes/extra.txt")
    page.dialog.get_by_role("button", name="list.txt").click()
    lines = page.page.get_by_role("dialog", name="list.txt")
    expect(lines.locator(".line.del")).to_contain_text("line two")
    expect(lines.locator(".line.add")).to_contain_text("line 2")
    lines.get_by_role("button", name="Close", exact=True).last.click()
    assert (project / "list.txt").read_text() == before, "a plan touches nothing"
    page.dialog.get_by_role("button", name="Take it back").click()
    expect(page.panel).to_contain_text("Took back turn 8")
    assert (project / "list.txt").read_text() == LINES.replace("line 11\n", "line eleven\n")
    assert not (project / "notes").exists()
    expect(page.panel).to_contain_text("I reverted your change to list.txt")
    page.panel.get_by_role("button", name="Copy the note").click()
    page.wait_until(lambda: str(page.page.evaluate("navigator.clipboard.readText()")).startswith(
        "I reverted your change to list.txt"))
    expect(page.counter).to_contain_text("of 9")
    page.panel.get_by_role("button", name="Undo").click()
    page.dialog.get_by_role("button", name="Undo", exact=True).click()
    expect(page.panel).to_contain_text("Undone")
    assert (project / "list.txt").read_text() == before and (project / "notes/extra.txt").exists()


def clash(agent: Agent) -> None:
    text = (agent.project / "list.txt").read_text()
    agent.turn("Shout the second line", {"list.txt": text.replace("line two", "LINE TWO")})


def test_a_conflict_names_its_lines_and_waits_for_a_decision(page: Rewind, agent: Agent,
                                                             project: Path) -> None:
    clash(agent)
    before = (project / "list.txt").read_text()
    expect(page.counter).to_contain_text("of 10")
    ask(page, 8)
    expect(page.dialog).to_contain_text("1 file is in conflict, so nothing is written yet")
    expect(page.dialog.locator(".clash")).to_contain_text(
        "line 2, written by Turn 10 (Shout the second line)")
    expect(page.dialog.locator(".clash pre")).to_have_text("LINE TWO")
    act = page.dialog.get_by_role("button", name="Take it back")
    expect(act).to_be_disabled()
    page.dialog.get_by_role("radio", name="Take what was there before the turn").check()
    expect(page.dialog).to_contain_text("conflict: as before the turn")
    expect(act).to_be_enabled()
    assert (project / "list.txt").read_text() == before
    act.click()
    expect(page.panel).to_contain_text("Took back turn 8")
    assert (project / "list.txt").read_text() == LINES.replace("line 11\n", "line eleven\n")


def test_a_plan_that_changed_is_shown_again(page: Rewind, project: Path) -> None:
    ask(page, 8)
    expect(page.dialog.get_by_role("button", name="Take it back")).to_be_enabled()
    (project / "list.txt").write_text((project / "list.txt").read_text() + "by hand\n")
    page.dialog.get_by_role("button", name="Take it back").click()
    expect(page.dialog).to_contain_text("Something changed since this plan was made")
    page.dialog.get_by_role("button", name="Take it back").click()
    expect(page.panel).to_contain_text("Took back turn 8")
    assert (project / "list.txt").read_text().endswith("by hand\n")


def test_a_turn_without_changes_says_why_not(page: Rewind, agent: Agent) -> None:
    agent.turn("Only talk")
    expect(page.counter).to_contain_text("of 10")
    page.page.get_by_role("button", name="More for turn 10", exact=True).click()
    expect(page.page.get_by_role("menuitem", name="Take back only this turn")).to_contain_text(
        "This turn changed no files.")


def test_by_keyboard_alone(page: Rewind, project: Path) -> None:
    expect(page.turn(9)).to_be_in_viewport()
    page.page.get_by_role("button", name="More for turn 8", exact=True).focus()
    press(page, "Enter", "ArrowDown", "ArrowDown", "Enter")
    expect(page.dialog.get_by_role("button", name="Take it back")).to_be_focused()
    press(page, "Enter")
    expect(page.panel).to_contain_text("Took back turn 8")
    assert "line two" not in (project / "list.txt").read_text()


def test_the_dialog_is_accessible_and_fits_on_a_phone(phone: Rewind, agent: Agent,
                                                      axe: str) -> None:  # noqa: F811
    phone.page.emulate_media(reduced_motion="reduce")
    clash(agent)
    phone.go(f"session/{CART}/8")
    expect(phone.counter).to_contain_text("of 10")
    phone.settled()
    ask(phone, 8)
    expect(phone.dialog.locator(".clash pre")).to_be_visible()
    check_themes(phone, axe, "conflict")
    phone.dialog.get_by_role("radio", name="Write conflict markers").check()
    phone.dialog.get_by_role("button", name="Take it back").click()
    expect(phone.panel).to_contain_text("Copy")
    check_themes(phone, axe, "panel")
