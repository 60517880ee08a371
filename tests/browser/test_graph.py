"""Sessions and forks as lanes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from page_of import Rewind
from playwright.sync_api import Locator, expect
from shop import CART, Agent, forks_in
from test_keyboard import press

from make_transcripts import event_id
from rewind.controller import AtTurn, Controller

OLD = event_id(0x01D)


@pytest.fixture
def agent(agent: Agent, home: Path, project: Path) -> Agent:
    """A session that the agent itself went back in, two forks of it, and one that is older."""
    other = Agent(home, project, OLD, "Long ago", ago=90 * 86400)
    other.turn("Hello", hooks=False)
    at = agent.talk.here
    agent.turn("A thought that was taken back", hooks=False)
    agent.talk.here = at
    agent.turn("Another thought")
    controller = Controller(str(project))
    for turn, name in ((3, "Without the database"), (5, "With better tests")):
        controller.go(AtTurn(CART, turn, after=True), "conversation", name=name)
    controller.close()
    # The page tells apart what is a second apart, and a test may make its next fork within one.
    for minutes, path in enumerate((other.path, agent.path, *forks_in(home, project))):
        if minutes < 2 or path != other.path:
            os.utime(path, (time.time() - 3600 + 60 * minutes,) * 2)
    return agent


def lane(page: Rewind, name: str) -> Locator:
    return page.page.locator(".lane").filter(has=page.page.get_by_role("link", name=name))


def test_forks_native_rewinds_and_here_are_shown(page: Rewind) -> None:
    page.page.get_by_role("navigation", name="Views").get_by_role("link", name="Graph").click()
    expect(page.page.locator(".graph-root")).to_have_count(2)
    cart = page.page.locator(".graph-root").filter(has_text="Build the cart of the shop")
    names = cart.locator(".lane-name .clip")
    expect(names).to_have_text(["Build the cart of the shop", "With better tests", "Without the database"])
    expect(lane(page, "Without the database")).to_contain_text("from turn 3")
    expect(lane(page, "With better tests")).to_contain_text("from turn 5")
    main = lane(page, "Build the cart of the shop")
    expect(main).to_contain_text("1 native rewind")
    expect(main.locator(".mark.here")).to_have_attribute("title", "The files stand after turn 7")
    expect(cart.locator(".lane-line")).to_have_count(3)
    expect(cart.locator(".fork-dot")).to_have_count(2)
    expect(cart.locator(".left-line")).to_have_count(1)
    expect(cart.locator(".here-dot")).to_have_count(1)


def test_a_lane_leads_to_its_turns_and_its_fork_point(page: Rewind) -> None:
    page.go("graph")
    expect(page.page.locator(".lane-line").first).to_be_attached()
    lane(page, "Without the database").get_by_role("link", name="from turn 3").click()
    expect(page.title("Build the cart of the shop")).to_be_visible()
    expect(page.counter).to_have_text("Turn 3 of 7")
    page.page.go_back()
    track = lane(page, "Build the cart of the shop").locator(".lane-track")
    box = track.bounding_box()
    assert box
    track.click(position={"x": 2, "y": box["height"] / 2})
    expect(page.counter).to_have_text("Turn 1 of 7")


def test_it_is_walked_by_keyboard(page: Rewind) -> None:
    press(page, "g")
    expect(page.page.get_by_role("heading", level=1, name="Graph")).to_be_focused()
    expect(page.page.locator(".lane")).to_have_count(4)
    press(page, "j", "j")
    expect(page.page.locator(".lane-name:focus")).to_have_count(1)
    name = page.page.locator(".lane-name:focus .clip").inner_text()
    press(page, "Enter")
    expect(page.title(name)).to_be_visible()


def test_a_session_with_a_new_fork_comes_first_although_it_is_older(
        page: Rewind, project: Path) -> None:
    page.go("graph")
    first = page.page.locator(".graph-root").first
    expect(first).to_contain_text("Build the cart of the shop")
    controller = Controller(str(project))
    controller.go(AtTurn(OLD, 1, after=True), "conversation", name="Of the old one")
    controller.close()
    expect(first).to_contain_text("Long ago")
    expect(first).to_contain_text("Of the old one")
    rows = page.tree.locator(".row-name")
    page.go(f"session/{CART}")
    expect(rows.first).to_have_text("Long ago")
