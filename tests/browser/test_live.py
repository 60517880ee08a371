"""What happens elsewhere shows by itself: turns, running clients, a server that goes away."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Union

from page_of import Rewind
from playwright.sync_api import APIResponse, Route, WebSocketRoute, expect
from shop import CART, Agent, Server

from chat_scene import client_is_running

OTHER = "0000beef-1111-4222-8333-444444444444"
RUNNING = "A turn is running. Rewinding is possible again when it has ended."


def test_a_growing_transcript_shows_without_moving_what_is_read(page: Rewind, agent: Agent) -> None:
    page.go(f"session/{CART}/1")
    expect(page.turn(1)).to_be_in_viewport()
    page.page.locator(".turns").evaluate("n => n.scrollTop = 120")
    page.settled()
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


def test_turns_that_were_told_late_show_although_the_page_has_read_since(page: Rewind, agent: Agent) -> None:
    late: list[Union[str, bytes]] = []
    sockets: list[WebSocketRoute] = []

    def between(socket: WebSocketRoute) -> None:
        sockets.append(socket)
        server = socket.connect_to_server()
        server.on_message(lambda text: (late.append if "turns_added" in str(text) else socket.send)(text))

    page.page.route_web_socket("**/ws", between)
    page.page.reload()
    expect(page.page.locator(".status")).to_contain_text("Live")
    agent.turn("One more thing")
    expect(page.turn(7)).to_contain_text("One more thing")  # told with its checkpoints
    page.wait_until(lambda: bool(late))
    for text in late:
        sockets[-1].send(text)
    page.settled()
    expect(page.turn(7)).to_contain_text("One more thing")
    assert page.numbers() == [1, 2, 3, 4, 5, 6, 7]


def test_a_new_session_appears_in_the_tree(page: Rewind, agent: Agent) -> None:
    other = Agent(agent.home, agent.project, OTHER, "Fresh talk")
    other.turn("Hello", hooks=False)
    expect(page.row("Fresh talk")).to_be_visible()


def test_a_running_turn_blocks_rewinding_and_says_why(page: Rewind, home: Path, server: Server) -> None:
    mark = client_is_running(home, CART, server.pid, status="busy")
    button = page.rewind_button(6)
    expect(button).to_have_attribute("aria-disabled", "true")
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
    expect(button).not_to_have_attribute("aria-disabled", "true")
    expect(button).to_have_accessible_description("")
    expect(page.page.locator(".alerts")).to_be_empty()
    mark.unlink()


def test_a_turn_that_begins_or_ends_leaves_the_button_and_the_focus_where_they_are(
        page: Rewind, home: Path, server: Server) -> None:
    button = page.rewind_button(6)
    button.focus()
    mark = client_is_running(home, CART, server.pid, status="busy")
    expect(button).to_have_attribute("aria-disabled", "true")
    expect(button).to_be_focused()
    mark.unlink()
    expect(button).not_to_have_attribute("aria-disabled", "true")
    expect(button).to_be_focused()
    page.page.keyboard.press("Enter")
    expect(page.dialog).to_contain_text("Rewind to before turn 6?")


def test_turns_that_were_read_while_one_ran_can_be_rewound_to_once_it_ended(
        page: Rewind, agent: Agent, home: Path, server: Server) -> None:
    Agent(home, agent.project, OTHER, "Fresh talk").turn("Hello", hooks=False)
    page.choose("Fresh talk")

    def read_while_running(route: Route) -> None:
        mark = client_is_running(home, CART, server.pid, status="busy")
        answer = route.fetch()
        mark.unlink()
        assert not any(turn["canRewind"] for turn in answer.json()["turns"])
        route.fulfill(response=answer)

    page.page.route(f"**/api/sessions/{CART}/turns*", read_while_running)
    page.choose("Build the cart of the shop")
    expect(page.turn(6)).to_be_visible()
    page.page.unroute_all(behavior="wait")
    expect(page.rewind_button(6)).not_to_have_attribute("aria-disabled", "true")


def test_an_answer_that_comes_late_does_not_undo_what_was_pushed_since(
        page: Rewind, agent: Agent, home: Path, server: Server) -> None:
    expect(page.page.locator(".status")).to_contain_text("Live")
    held: list[tuple[Route, APIResponse]] = []

    def hold_the_first(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append((route, route.fetch()))

    page.page.route("**/api/sessions", hold_the_first)
    Agent(home, agent.project, OTHER, "Fresh talk").turn("Hello", hooks=False)
    page.wait_until(lambda: bool(held))
    client_is_running(home, CART, server.pid, status="busy")
    button = page.rewind_button(6)
    expect(button).to_have_attribute("aria-disabled", "true")
    assert all(not s["busy"] for s in held[0][1].json()["sessions"])
    held[0][0].fulfill(response=held[0][1])
    expect(page.row("Fresh talk")).to_be_visible()
    expect(button).to_have_attribute("title", RUNNING)
    expect(page.row("Build the cart of the shop")).to_contain_text("running")


def test_what_happens_while_the_page_connects_is_not_missed(page: Rewind, agent: Agent) -> None:
    """The turns are read, then another comes, and only then the page hears of changes."""
    def while_connecting(socket: WebSocketRoute) -> None:
        agent.turn("Between the two", hooks=False)
        socket.connect_to_server()

    page.page.route_web_socket("**/ws", while_connecting)
    page.page.reload()
    expect(page.turn(7)).to_contain_text("Between the two")


def test_a_press_is_not_lost_when_the_page_changes_under_it(page: Rewind, agent: Agent) -> None:
    other = Agent(agent.home, agent.project, OTHER, "Older talk")
    other.turn("Hello", hooks=False)
    os.utime(other.path, (1, 1))  # its row stays below the one that changes
    expect(page.row("Older talk")).to_be_visible()
    page.page.get_by_role("button", name="Branch actions").hover()
    page.page.mouse.down()
    agent.turn("One more thing", hooks=False)
    expect(page.page.locator(".meta")).to_contain_text("7 turns")
    page.page.mouse.up()
    expect(page.page.get_by_role("menu", name="Branch actions")).to_be_visible()
    page.page.keyboard.press("Escape")

    page.row("Older talk").get_by_role("link").hover()
    page.page.mouse.down()
    agent.turn("And another", hooks=False)
    expect(page.row("Build the cart of the shop")).to_contain_text("8 turns")
    page.page.mouse.up()
    expect(page.title("Older talk")).to_be_visible()


def test_turns_before_a_compaction_are_marked_and_can_be_rewound_to(page: Rewind, agent: Agent) -> None:
    agent.talk.compaction()
    agent.turn("After the summary", hooks=False)
    expect(page.turn(7).locator(".compaction")).to_contain_text("compacted")
    page.ask_after(5)
    expect(page.dialog.locator(".notice.warning").filter(has_text="compacted")).to_be_visible()
    expect(page.dialog.get_by_role("button", name="Create Branch")).to_be_enabled()


def test_files_that_are_gone_are_named_at_their_turn(page: Rewind, project: Path) -> None:
    (project / "checkout.py").unlink()
    page.page.reload()
    expect(page.turn(6).locator(".missing")).to_contain_text("checkout.py")


def test_a_server_that_went_away_is_said_with_the_next_step(page: Rewind, server: Server) -> None:
    expect(page.page.locator(".status")).to_contain_text("Live")
    server.stop()
    expect(page.page.locator("#offline")).to_contain_text("rewind ui")
    expect(page.page.locator(".status")).to_contain_text("Offline")
    page.ask_after(5)
    expect(page.dialog).to_contain_text("cannot be reached")
    page.complaints.clear()  # the browser itself says that it cannot connect
    page.page.close()
