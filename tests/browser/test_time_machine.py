"""The shape of a session, the plan before anything is done, and what stays on the screen after it."""

from __future__ import annotations

import re
from pathlib import Path

from page_of import Rewind
from playwright.sync_api import expect
from shop import CART, Agent, Server
from test_keyboard import press


def track(page: Rewind) -> tuple[float, float, float]:
    """x, y and the width of a turn."""
    expect(page.page.locator(".track")).to_be_visible()
    box = page.page.locator(".track").bounding_box()
    assert box
    return box["x"], box["y"] + box["height"] / 2, box["width"] / 6


def test_the_head_of_a_turn_tells_and_stays(page: Rewind) -> None:
    page.go(f"session/{CART}/1")
    head = page.turn(1).locator(".turn-head")
    expect(head).to_contain_text("+2 −0 in 1 file")
    today = head.locator("time").evaluate(
        "node => new Date(node.dateTime).toDateString() === new Date().toDateString()")
    expect(head).to_contain_text("Today" if today else re.compile(r"[A-Z][a-z]+ \d+, \d\d:\d\d"))
    expect(page.turn(4).locator(".failures")).to_have_text("1 failed")
    page.settled()
    page.page.locator(".turns").evaluate("n => n.scrollTop = 120")
    expect(page.turn(1)).to_have_class(re.compile(r"\bstuck\b"))
    expect(head.locator(".turn-first")).to_be_visible()
    expect(head).to_contain_text("Add a shopping cart")
    top = page.page.locator(".turns").bounding_box()
    box = head.bounding_box()
    assert top and box and abs(box["y"] - top["y"]) < 3


def test_the_list_of_turns_has_the_same_figures(page: Rewind) -> None:
    expect(page.page.locator(".track")).to_be_visible()
    page.counter.click()
    row = page.page.locator(".outline-turn").nth(3)
    expect(row).to_contain_text("Now rewrite it all with a database")
    expect(row).to_contain_text("+2 −3 in 3 files")
    expect(row).to_contain_text("1 failed")


def test_the_scrubber_tells_goes_previews_and_opens_the_plan(page: Rewind, project: Path) -> None:
    x, y, width = track(page)
    before = {p: p.read_bytes() for p in project.rglob("*.*") if p.is_file() and ".agent" not in p.parts}
    page.page.mouse.move(x + 3.5 * width, y)
    expect(page.page.locator(".scrub-tip")).to_contain_text("Now rewrite it all with a database")
    expect(page.page.locator(".scrub-tip")).to_contain_text("+2 −3 in 3 files, 1 failure")
    page.page.mouse.click(x + 1.5 * width, y)
    expect(page.counter).to_have_text("Turn 2 of 6")
    page.page.mouse.move(x + 5.5 * width, y)
    page.page.mouse.down()
    page.page.mouse.move(x + 4.5 * width, y)
    page.page.mouse.move(x + 3.5 * width, y)
    expect(page.page.locator(".tip-plan")).to_contain_text("writes 3 files and deletes")
    expect(page.page.locator(".tip-plan")).to_contain_text("cart.css")
    page.page.mouse.up()
    expect(page.dialog).to_contain_text("Rewind to before turn 4?")
    expect(page.dialog.get_by_role("radio", name="Code + conversation")).to_be_checked()
    press(page, "Escape")
    assert {p: p.read_bytes() for p in project.rglob("*.*")
            if p.is_file() and ".agent" not in p.parts} == before, "a preview touches nothing"


def test_the_scrubber_by_keyboard(page: Rewind) -> None:
    track(page)
    slider = page.page.get_by_role("slider", name="Turns of this session")
    slider.focus()
    press(page, "Home")
    expect(slider).to_have_attribute("aria-valuenow", "1")
    press(page, "End", "ArrowLeft", "ArrowLeft")
    expect(slider).to_have_attribute("aria-valuenow", "4")
    words = "Turn 4: Now rewrite it all with a database. +2 −3 in 3 files, 1 failure, 6 min 9 s"
    expect(slider).to_have_attribute("aria-valuetext", words)
    press(page, "Enter")
    expect(page.dialog).to_contain_text("Rewind to before turn 4?")


def test_steps_fold_into_a_line_and_tools_show_what_they_did(page: Rewind) -> None:
    page.go(f"session/{CART}/4")
    turn = page.turn(4)
    expect(turn.locator(".run > summary")).to_contain_text("4 steps: 2 edits, 2 commands, 1 failed")
    turn.locator(".run > summary").click()
    turn.locator("summary", has_text="cart.py").click()
    expect(turn.locator(".patch .line.add")).to_contain_text("import sqlite3")
    turn.locator("summary", has_text="pytest -q").click()
    expect(turn.locator(".terminal").last).to_contain_text("1 failed")
    expect(turn.locator(".terminal .exit.bad")).to_be_visible()
    turn.locator(".raw-part > summary").last.click()
    expect(turn.locator(".raw").last).to_contain_text('"command": "pytest -q"')


def test_filters_leave_the_heads_of_other_turns(page: Rewind, agent: Agent) -> None:
    agent.turn("Just talk", answer="Nothing to do here.", thinking="Hm.")
    expect(page.turn(7)).to_contain_text("Nothing to do here.")
    page.page.get_by_role("button", name="Filter turns").click()
    page.page.get_by_role("menuitemcheckbox", name="Only turns with failures").click()
    expect(page.turn(4).locator(".prompt")).to_be_visible()
    expect(page.turn(5).locator(".prompt")).not_to_be_visible()
    expect(page.turn(5).locator(".turn-head")).to_be_visible()
    press(page, "k")
    expect(page.counter).to_have_text("Turn 4 of 7")
    page.page.get_by_role("button", name="Filter turns").click()
    page.page.get_by_role("menuitemcheckbox", name="Only turns with failures").click()
    page.page.get_by_role("button", name="Filter turns").click()
    page.page.get_by_role("menuitemcheckbox", name="Only turns that changed files").click()
    expect(page.turn(5).locator(".prompt")).to_be_visible()
    expect(page.turn(7).locator(".prompt")).not_to_be_visible()


def test_thinking_is_hidden_when_asked(page: Rewind) -> None:
    page.go(f"session/{CART}/1")
    thinking = page.turn(1).locator("summary", has_text="Thinking")
    expect(thinking).to_be_visible()
    page.page.get_by_role("button", name="Filter turns").click()
    page.page.get_by_role("menuitemcheckbox", name="Hide thinking").click()
    expect(thinking).not_to_be_visible()
    expect(page.page.get_by_role("button", name="Filter turns")).to_have_attribute("aria-pressed", "true")


class TestReview:
    def test_all_that_a_turn_changed_from_its_head(self, page: Rewind) -> None:
        page.turn(4).get_by_role("button", name="review turn 4").click()
        expect(page.title("Turn 4")).to_be_visible()
        expect(page.page.locator(".review-ends")).to_have_text("before turn 4 → after")
        links = page.page.locator(".review-link")
        expect(links).to_have_count(3)
        expect(page.page.locator(".review-file")).to_have_count(3)
        cart = page.page.locator('.review-file[data-path="cart.py"]')
        expect(cart.locator(".line.del")).to_have_count(2)
        expect(cart.locator(".line.del .text").last).to_have_text("    items = []")
        expect(cart.locator(".line.add .hl-word")).to_have_text("import")
        page.page.get_by_role("button", name="Side by side").click()
        expect(cart.locator(".pair")).to_have_count(2)

    def test_keys_move_between_files_and_changes(self, page: Rewind) -> None:
        page.go(f"review/{CART}/4")
        expect(page.page.locator(".patch")).to_have_count(3)
        press(page, "]")
        expect(page.page.locator(".review-file:focus")).to_have_count(1)
        press(page, "n")
        expect(page.page.locator(".at-change")).to_have_count(1)
        press(page, "r")
        expect(page.dialog).to_contain_text("Rewind to before turn 4?")

    def test_a_file_is_brought_back(self, page: Rewind, project: Path) -> None:
        page.go(f"review/{CART}/4")
        page.page.locator('.review-file[data-path="cart.css"]').get_by_role(
            "button", name="Bring back this file…").click()
        page.dialog.get_by_role("button", name="Restore", exact=True).click()
        expect(page.panel).to_contain_text("1 file written")
        assert (project / "cart.css").read_text() == ".cart { color: #333 }\n"

    def test_a_hunk_is_brought_back_and_the_rest_of_the_file_stays(
            self, page: Rewind, agent: Agent, project: Path) -> None:
        lines = [f"line {n}\n" for n in range(40)]
        agent.turn("Write it", {"long.py": "".join(lines)})
        lines[2], lines[30] = "second changed\n", "thirtieth changed\n"
        agent.turn("Change it", {"long.py": "".join(lines)})
        (project / "long.py").write_text("".join([*lines, "mine\n"]))
        page.go(f"review/{CART}/8")
        hunks = page.page.get_by_role("button", name="Bring back this hunk…")
        expect(hunks).to_have_count(2)
        hunks.nth(1).click()
        expect(page.dialog.locator(".line.add")).to_contain_text("line 30")
        expect(page.dialog.locator(".line.del")).to_contain_text("thirtieth changed")
        expect(page.dialog.locator(".line")).to_have_count(8)
        page.dialog.get_by_role("button", name="Bring back", exact=True).click()
        expect(page.panel).to_contain_text("1 file written")
        lines[30] = "line 30\n"
        assert (project / "long.py").read_text() == "".join([*lines, "mine\n"])
        expect(page.panel).to_contain_text("hunk")
        press(page, "u")
        expect(page.dialog).to_contain_text("1 hunk in long.py (turn 8)")

    def test_a_hunk_that_changed_again_asks_what_to_write(
            self, page: Rewind, agent: Agent, project: Path) -> None:
        agent.turn("Write it", {"long.py": "one\ntwo\n"})
        agent.turn("Change it", {"long.py": "one\nTWO\n"})
        (project / "long.py").write_text("one\nmy two\n")
        page.go(f"review/{CART}/8")
        expect(page.page.locator(".hunk-back")).to_have_count(1)
        press(page, "n", "b")
        act = page.dialog.get_by_role("button", name="Bring back", exact=True)
        expect(page.dialog).to_contain_text("These lines changed again since.")
        expect(act).to_be_disabled()
        page.dialog.get_by_role("radio", name="Take the old lines").check()
        act.click()
        expect(page.panel).to_be_visible()
        assert (project / "long.py").read_text() == "one\ntwo\n"

    def test_two_points(self, page: Rewind) -> None:
        page.go(f"review/{CART}/1-3")
        expect(page.page.locator(".review-ends")).to_have_text("before turn 1 → after turn 3")
        expect(page.page.locator(".review-link")).to_have_count(3)


def test_every_path_of_a_plan_can_be_looked_at_before_it_is_confirmed(page: Rewind, project: Path) -> None:
    page.rewind_button(4).click()
    page.dialog.get_by_role("radio", name="Code + conversation").check()
    page.dialog.get_by_role("button", name="cart.py", exact=True).click()
    inner = page.page.locator("dialog.diff-dialog")
    expect(inner.locator(".line.del")).to_contain_text("import sqlite3")
    expect(inner.locator(".line.add").first).to_contain_text("class Cart:")
    press(page, "Escape")
    expect(inner).to_have_count(0)
    expect(page.dialog).to_contain_text("Rewind to before turn 4?")
    assert (project / "cart.py").read_text() == "import sqlite3\n"


def test_a_panel_stays_with_files_command_prompt_and_a_named_undo(page: Rewind, project: Path) -> None:
    page.rewind_button(4).click()
    page.dialog.get_by_role("radio", name="Code + conversation").check()
    page.create()
    expect(page.panel).to_contain_text("Rewound to before turn 4")
    expect(page.panel).to_contain_text("3 files written")
    expect(page.panel).to_contain_text("Now rewrite it all with a database")
    expect(page.panel).to_contain_text("claude --resume")
    page.page.wait_for_timeout(6000)  # a toast would be gone by now
    expect(page.panel).to_be_visible()
    press(page, "y")
    expect(page.toast).to_contain_text("The command is copied.")
    assert "claude --resume" in page.page.evaluate("navigator.clipboard.readText()")
    undo = page.page.get_by_role("button", name="Undo", exact=True)
    expect(undo).to_have_attribute("title", 'Undo: went back to before "Now rewrite it all with a database"')
    press(page, "u")
    expect(page.dialog).to_contain_text("Undo this?")
    page.dialog.get_by_role("button", name="Undo", exact=True).click()
    expect(page.panel).to_contain_text("Undone")
    assert (project / "cart.py").read_text() == "import sqlite3\n" and not (project / "cart.css").exists()


def test_who_deleted_a_file_is_found_seen_and_undone_in_six_actions(page: Rewind, project: Path) -> None:
    page.page.get_by_role("searchbox", name="Filter sessions").fill("cart.css")  # 1
    press(page, "Enter")  # 2
    page.page.get_by_role("link", name="cart.css deleted").click()  # 3
    expect(page.title("Turn 4")).to_be_visible()
    expect(page.page.locator(".review-link")).to_have_count(3)
    page.page.get_by_role("button", name="Rewind to before this").click()  # 4
    page.create()  # 5
    expect(page.panel).to_contain_text("Rewound to before turn 4")
    assert (project / "cart.css").read_text() == ".cart { color: #333 }\n"


def test_a_search_in_all_sessions_opens_at_the_match(page: Rewind) -> None:
    page.go("find/sqlite3")
    page.page.locator("a.result-row", has_text="tool").first.click()
    expect(page.counter).to_have_text("Turn 4 of 6")
    page.page.wait_for_function("() => CSS.highlights.get('here')?.size === 1")
    expect(page.turn(4).locator(".patch")).to_be_in_viewport()


class TestAfterARestart:
    def test_a_page_goes_on(self, page: Rewind, server: Server, home: Path, project: Path) -> None:
        expect(page.page.locator(".status")).to_contain_text("Live")
        server.stop()
        again = Server(project, home)
        try:
            assert again.address == server.address
            page.page.reload()
            expect(page.turn(6)).to_be_visible()
            expect(page.page.locator(".status")).to_contain_text("Live")
        finally:
            page.complaints.clear()  # the browser itself says that it could not connect
            page.page.close()
            again.stop()

    def test_a_wrong_key_is_a_page_with_the_command(self, page: Rewind) -> None:
        page.page.context.clear_cookies()
        page.page.goto(f"{page.server.base}?token=wrong")
        expect(page.page.get_by_role("heading")).to_have_text("This address has no valid key.")
        expect(page.page.locator("pre")).to_have_text("rewind ui")
        page.complaints.clear()
