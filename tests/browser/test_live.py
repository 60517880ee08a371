"""What happens elsewhere shows by itself: turns, running clients, a server that goes away."""

from __future__ import annotations

import json
from pathlib import Path

from page_of import Rewind
from playwright.sync_api import expect
from shop import CART, Agent, Server

from chat_scene import client_is_running

RUNNING = "A turn is running. Rewinding is possible again when it has ended."


def test_a_growing_transcript_shows_without_moving_what_is_read(page: Rewind, agent: Agent) -> None:
    page.go(f"session/{CART}/1")
    expect(page.turn(1)).to_be_in_viewport()
    page.page.locator(".turns").evaluate("n => n.scrollTop = 120")
    page.page.wait_for_timeout(300)
    before = page.turn(1).bounding_box()
    agent.turn("One more thing", {"more.py": "1\n"})
    expect(page.page.get_by_role("button", name="1 new turn below")).to_be_visible()
    after = page.turn(1).bounding_box()
    assert before and after and abs(before["y"] - after["y"]) < 2
    page.page.get_by_role("button", name="1 new turn below").click()
    expect(page.turn(7)).to_be_in_viewport()
    expect(page.counter).to_have_text("Turn 7 of 7")


def test_a_reader_at_the_end_stays_at_the_end(page: Rewind, agent: Agent) -> None:
    expect(page.turn(6)).to_be_in_viewport()
    agent.turn("One more thing", answer="A long answer.\n\n" * 30)
    expect(page.turn(7)).to_contain_text("One more thing")
    expect(page.turn(7).locator(".answer p").last).to_be_in_viewport()


def test_a_new_session_appears_in_the_tree(page: Rewind, agent: Agent) -> None:
    other = Agent(agent.home, agent.project, "0000beef-1111-4222-8333-444444444444", "Fresh talk")
    other.turn("Hello", hooks=False)
    expect(page.row("Fresh talk")).to_be_visible()


def test_a_running_turn_blocks_rewinding_and_says_why(page: Rewind, home: Path, server: Server) -> None:
    mark = client_is_running(home, CART, server.pid, status="busy")
    button = page.rewind_button(6)
    expect(button).to_have_attribute("aria-disabled", "true", timeout=20000)
    expect(button).to_have_attribute("title", RUNNING)
    expect(button).to_have_accessible_description(RUNNING)
    expect(page.row("Build the cart of the shop")).to_contain_text("running")
    expect(page.page.locator(".alerts")).to_contain_text(RUNNING)
    button.click(force=True)  # a person can press it, though it is no button for a program
    expect(page.dialog).to_have_count(0)
    expect(page.toast).to_contain_text(RUNNING)
    page.turn(6).focus()
    page.page.keyboard.press("r")
    expect(page.dialog).to_have_count(0)

    mark.write_text(json.dumps({**json.loads(mark.read_text()), "status": "idle"}))
    expect(button).not_to_have_attribute("aria-disabled", "true", timeout=20000)
    mark.unlink()


def test_turns_before_a_compaction_are_marked_and_can_be_rewound_to(page: Rewind, agent: Agent) -> None:
    agent.talk.compaction()
    agent.turn("After the summary", hooks=False)
    expect(page.turn(7).locator(".compaction")).to_contain_text("compacted")
    page.rewind_button(5).click()
    expect(page.dialog.locator(".notice.warning").filter(has_text="compacted")).to_be_visible()
    expect(page.dialog.get_by_role("button", name="Create Branch")).to_be_enabled()


def test_files_that_are_gone_are_named_at_their_turn(page: Rewind, project: Path) -> None:
    (project / "checkout.py").unlink()
    page.page.reload()
    expect(page.turn(6).locator(".missing")).to_contain_text("checkout.py")


def test_a_server_that_went_away_is_said_with_the_next_step(page: Rewind, server: Server) -> None:
    expect(page.page.locator(".status")).to_contain_text("Live")
    server.stop()
    expect(page.page.locator("#offline")).to_contain_text("rewind ui", timeout=20000)
    expect(page.page.locator(".status")).to_contain_text("Offline")
    page.rewind_button(5).click()
    expect(page.dialog).to_contain_text("cannot be reached")
    page.complaints.clear()  # the browser itself says that it cannot connect
    page.page.close()
