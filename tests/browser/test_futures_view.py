"""Forks with directories of their own on the page: lanes, side by side, adopted, removed and brought back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_of import Rewind
from playwright.sync_api import Locator, expect
from shop import CART, Agent
from test_looks import THEMES, axe, check_themes  # noqa: F401 - a fixture

from rewind.controller import AtTurn, Controller

PICTURES = os.environ.get("REWIND_PICTURES")  # now: a test has another environment
WIDTHS = {1440: 900, 1024: 768, 390: 844, 320: 640}


@pytest.fixture
def agent(agent: Agent, project: Path) -> Agent:
    controller = Controller(str(project))
    controller.fork(AtTurn(CART, 3), count=2)
    controller.close()
    (folder(project, "fork-1") / "mine.txt").write_text("mine\n")
    (folder(project, "fork-2") / "other.txt").write_text("other\n")
    return agent


def folder(project: Path, name: str) -> Path:
    return Path(f"{os.path.realpath(project)}-{name}")


def future(page: Rewind, name: str) -> Locator:
    return page.page.locator(".future").filter(has=page.page.get_by_text(name, exact=True))


def open_graph(page: Rewind) -> None:
    page.go("graph")
    expect(page.page.locator(".future")).to_have_count(2)


def test_each_future_is_a_lane_from_where_it_parted(page: Rewind) -> None:
    open_graph(page)
    lanes = page.page.locator(".future-lane")
    expect(lanes).to_have_count(2)
    expect(lanes.first).to_contain_text("from turn 2")
    expect(page.page.locator(".lane-line")).to_have_count(3)
    lanes.first.get_by_role("button", name="fork-1").click()
    expect(page.page.get_by_role("checkbox", name="fork-1")).to_be_focused()


def test_two_are_compared_by_keys_alone(page: Rewind) -> None:
    open_graph(page)
    page.page.get_by_role("checkbox", name="fork-1").focus()
    page.page.keyboard.press("Space")
    page.page.get_by_role("checkbox", name="fork-2").focus()
    page.page.keyboard.press("Space")
    page.page.get_by_role("button", name="Compare", exact=True).focus()
    page.page.keyboard.press("Enter")
    expect(page.dialog.get_by_role("row").filter(has_text="mine.txt")).to_contain_text("new, +1 −0")
    expect(page.dialog.get_by_role("row").filter(has_text="other.txt")).to_contain_text("unchanged")
    expect(page.dialog).to_contain_text("rewind forks compare fork-1 fork-2 --run")
    page.page.keyboard.press("Escape")
    expect(page.page.get_by_role("button", name="Compare", exact=True)).to_be_focused()


def test_one_is_adopted_after_its_plan(page: Rewind, project: Path) -> None:
    open_graph(page)
    future(page, "fork-1").get_by_role("button", name="Adopt fork-1").click()
    expect(page.dialog).to_contain_text("mine.txt")
    assert not (project / "mine.txt").exists()
    page.dialog.get_by_role("button", name="Adopt fork").click()
    expect(page.page.get_by_role("heading", name="Adopted fork-1")).to_be_visible()
    assert (project / "mine.txt").read_text() == "mine\n"


def test_one_is_removed_and_undone(page: Rewind, project: Path) -> None:
    open_graph(page)
    future(page, "fork-2").get_by_role("button", name="Remove fork-2").click()
    page.dialog.get_by_role("button", name="Remove fork").click()
    expect(page.page.locator(".future")).to_have_count(1)
    assert not folder(project, "fork-2").exists()
    page.page.get_by_role("button", name="Bring back fork-2").click()
    expect(page.page.locator(".future")).to_have_count(2)
    assert (folder(project, "fork-2") / "other.txt").read_text() == "other\n"


def test_it_fits_and_axe_finds_nothing(page: Rewind, axe: str) -> None:  # noqa: F811
    page.page.emulate_media(reduced_motion="reduce")
    for width, height in WIDTHS.items():
        page.page.set_viewport_size({"width": width, "height": height})
        open_graph(page)
        for state in states(page):
            check_themes(page, axe, f"{state} at {width}")
            for theme in THEMES if PICTURES else ():
                page.page.emulate_media(color_scheme=theme)
                page.page.screenshot(path=f"{PICTURES}/{state}-{width}-{theme}.png")
        page.go("files")  # and back, so that it is drawn for the next width
        expect(page.page.locator(".future")).to_have_count(0)


def states(page: Rewind) -> Iterator[str]:
    yield "futures"
    page.page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.dialog.get_by_role("table")).to_be_visible()
    yield "compare"
    page.page.keyboard.press("Escape")
    future(page, "fork-1").get_by_role("button", name="Adopt fork-1").click()
    expect(page.dialog.get_by_role("button", name="Adopt fork")).to_be_enabled()
    yield "adopt"
    page.page.keyboard.press("Escape")
    expect(page.dialog).to_have_count(0)
