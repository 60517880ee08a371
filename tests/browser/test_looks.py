"""Both themes, both widths: nothing runs out of the window, and axe-core finds nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any, Literal

import pytest
from page_of import TWO_FRAMES, Rewind
from playwright.sync_api import expect
from shop import CART, Agent

from rewind.controller import AtTurn, Controller
from rewind_cli import CHECKOUT

AXE_VERSION = "4.10.3"
AXE = CHECKOUT / ".e2e" / f"axe-core-{AXE_VERSION}"
# Read now: the tests' own environment has no home in which npm would find its settings.
ENVIRONMENT = dict(os.environ)
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
OVERFLOW = """() => [...document.querySelectorAll('body *')].filter(n => {
    const box = n.getBoundingClientRect();
    if (!box.width || !box.height || box.right <= innerWidth + 1) return false;
    for (let up = n.parentElement; up !== document.body; up = up.parentElement) {
        const inside = up.getBoundingClientRect().right <= innerWidth + 1;
        if (inside && getComputedStyle(up).overflowX !== 'visible') return false;
    }
    return true;
}).map(n => n.tagName + '.' + n.className)"""


@pytest.fixture(scope="session")
def axe() -> str:
    """The text of axe-core, fetched once by npm."""
    script = AXE / "package" / "axe.min.js"
    if not script.exists():
        if not shutil.which("npm"):
            pytest.skip("SKIPPED, accessibility was not checked: there is no npm here to fetch axe-core")
        AXE.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["npm", "pack", "--silent", f"axe-core@{AXE_VERSION}"], cwd=AXE,
                              env=ENVIRONMENT, capture_output=True, text=True, timeout=180)
        if done.returncode:
            pytest.skip(f"SKIPPED, accessibility was not checked: no axe-core: {done.stderr[-200:]}")
        with tarfile.open(AXE / done.stdout.strip().splitlines()[-1]) as file:
            file.extractall(AXE)
    return str(script.read_text())


@pytest.fixture
def agent(agent: Agent, project: Path) -> Agent:
    controller = Controller(str(project))
    controller.go(AtTurn(CART, 3, after=True), "conversation", name="Without the database")
    controller.close()
    return agent


def branch_of(page: Rewind) -> str:
    sessions = page.page.evaluate("fetch('/api/sessions').then(r => r.json())")["sessions"]
    return next(str(s["sessionId"]) for s in sessions if s["parentSessionId"])


def states(page: Rewind) -> Any:
    """Every kind of view, one after the other."""
    branch = branch_of(page)
    page.go(f"session/{CART}/1")
    expect(page.turn(1)).to_be_visible()
    for summary in page.turn(1).locator("summary").all():
        summary.click()
    yield "session"
    page.ask_after(1)
    expect(page.dialog.get_by_role("button", name="Create Branch")).to_be_enabled()
    page.dialog.get_by_role("radio", name="Code + conversation").check()
    expect(page.dialog.get_by_role("button", name="Create Branch")).to_be_enabled()
    yield "dialog"
    page.page.keyboard.press("Escape")
    page.go(f"session/{branch}")
    page.page.get_by_role("button", name="View future turns").click()
    expect(page.page.locator(".turn.future")).to_have_count(3)
    yield "rewound"
    page.go(f"compare/{CART}/{branch}")
    expect(page.page.get_by_text("They part after turn 3")).to_be_visible()
    yield "compare"
    page.go("checkpoints")
    page.page.locator(".point").nth(4).click()
    expect(page.page.locator(".diff-files .file").first).to_be_visible()
    page.page.locator(".diff-files .file").first.click()
    expect(page.page.locator(".patch")).to_be_visible()
    yield "checkpoints"
    page.go("graph")
    expect(page.page.locator(".lane-line").first).to_be_attached()
    yield "graph"
    page.go(f"review/{CART}/4")
    expect(page.page.locator(".patch")).to_have_count(3)
    yield "review"
    page.page.locator(".hunk-back").first.click()
    expect(page.dialog.locator(".patch")).to_be_visible()
    yield "hunk"
    page.page.keyboard.press("Escape")
    page.go("find/cart")
    expect(page.page.locator("a.result-row").first).to_be_visible()
    yield "find"
    page.go("")
    expect(page.page.locator(".row-link").first).to_be_visible()
    yield "home"
    page.go("session/nothing-like-it")
    expect(page.page.get_by_text("This session is not here")).to_be_visible()
    yield "not there"
    page.page.keyboard.press("?")
    expect(page.dialog).to_contain_text("Keyboard")
    yield "help"
    page.page.keyboard.press("Escape")


def check_themes(page: Rewind, axe: str, state: str) -> None:
    """Nothing is wrong in either theme, and nothing runs out of the window."""
    for theme in THEMES:
        page.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        page.page.evaluate(TWO_FRAMES)
        check(page, axe, f"{state}, {theme}")
        assert page.page.evaluate(OVERFLOW) == [], (state, theme)


def check(page: Rewind, axe: str, state: str) -> None:
    # Evaluated, not added as a script: the page's own policy would refuse that.
    if not page.page.evaluate("'axe' in window"):
        page.page.evaluate(axe)
    found = page.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    bad = [(v["id"], [n["html"][:160] + " | " + n.get("failureSummary", "")[:200] for n in v["nodes"][:4]])
           for v in found["violations"]]
    assert not bad, (state, bad)


def test_no_violation_on_a_wide_screen(page: Rewind, axe: str) -> None:
    page.page.emulate_media(reduced_motion="reduce")
    for state in states(page):
        check_themes(page, axe, state)


def test_no_violation_on_a_phone(phone: Rewind, axe: str) -> None:
    phone.page.emulate_media(reduced_motion="reduce")
    for state in states(phone):
        check_themes(phone, axe, state)


def test_what_opens_over_the_page_fits_on_a_phone(phone: Rewind) -> None:
    page = phone.page
    phone.go(f"session/{CART}")
    phone.settled()

    def fits(place: str) -> None:
        box = page.locator(place).bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= 390, (place, box)
        wide = page.locator(place).evaluate_all(
            "all => all.flatMap(n => [n, ...n.querySelectorAll('ul, ol, div, button')])"
            ".filter(n => n.scrollWidth > n.clientWidth + 1 && n.clientWidth).map(n => n.className)")
        assert wide == [] and page.evaluate("scrollX") == 0, (place, wide)
        page.keyboard.press("Escape")

    phone.counter.click()
    expect(page.locator(".outline-turn").first).to_be_visible()
    fits(".outline")
    page.get_by_role("searchbox", name="Search this session").fill("cart")
    expect(page.locator(".result-row").first).to_be_visible()
    fits(".results")
    page.get_by_role("button", name="Branch actions").click()
    fits(".menu")
    page.get_by_role("button", name="More for turn 6").click()
    fits(".menu")
    page.get_by_role("button", name="Compare", exact=True).click()
    fits("dialog")
    page.get_by_role("button", name="Help").click()
    fits("dialog")


PARTS = ".turn-head > :not(.grow), .turn-bar > *"
CUT = """parts => [...document.querySelectorAll(parts)].filter(n => {
    const box = n.getBoundingClientRect(), room = n.closest('.column, main').getBoundingClientRect();
    return box.width && box.right > room.right + 1;
}).map(n => n.className + ': ' + n.innerText)"""


@pytest.mark.parametrize("width", [768, 1000, 1120, 1280])
def test_nothing_is_cut_beside_the_tree(page: Rewind, width: int) -> None:
    page.page.set_viewport_size({"width": width, "height": 800})
    page.go(f"session/{CART}/4")
    expect(page.turn(4).locator(".failures")).to_be_visible()
    places = (f"session/{CART}/4", f"compare/{CART}/{branch_of(page)}", f"review/{CART}/4")
    for place, sign in zip(places, (".turn-head", ".column .turn-head", ".review-file .counts")):
        page.go(place)
        expect(page.page.locator(sign).first).to_be_visible()
        assert page.page.evaluate(CUT, f"{PARTS}, .review-file > header *") == []
        assert page.page.evaluate(OVERFLOW) == [], place


def test_the_chosen_theme_is_remembered(page: Rewind) -> None:
    def paper() -> str:
        return str(page.page.evaluate("getComputedStyle(document.body).backgroundColor"))

    light = paper()
    page.page.get_by_role("button", name="Theme: as the system").click()
    page.page.get_by_role("button", name="Theme: light").click()
    expect(page.page.get_by_role("button", name="Theme: dark")).to_be_visible()
    dark = paper()
    assert dark != light
    page.page.reload()
    expect(page.page.get_by_role("button", name="Theme: dark")).to_be_visible()
    assert paper() == dark


def test_the_theme_follows_the_system_until_one_is_chosen(page: Rewind) -> None:
    def theme() -> tuple[str, str]:
        return tuple(page.page.evaluate(
            "[getComputedStyle(document.body).backgroundColor,"
            " getComputedStyle(document.documentElement).colorScheme]"))

    root = page.page.locator("html")
    expect(root).to_have_attribute("data-theme", "light")
    light = theme()
    page.page.emulate_media(color_scheme="dark")
    expect(root).to_have_attribute("data-theme", "dark")
    dark = theme()
    assert (light[1], dark[1]) == ("light", "dark") and light[0] != dark[0]
    page.page.get_by_role("button", name="Theme: as the system").click()
    expect(page.page.get_by_role("button", name="Theme: light")).to_be_visible()
    assert theme() == light
    page.page.reload()
    expect(page.page.get_by_role("button", name="Theme: light")).to_be_visible()
    assert theme() == light


def test_a_phone_shows_the_tree_first_and_comes_back_to_it(phone: Rewind) -> None:
    expect(phone.row("Build the cart of the shop")).to_be_visible()
    phone.row("Build the cart of the shop").get_by_role("link").click()
    expect(phone.title("Build the cart of the shop")).to_be_visible()
    expect(phone.tree).not_to_be_visible()
    # Its last turns are shown, so the head is a single line, which leads back all the same.
    expect(phone.page.locator(".session-head.compact")).to_be_visible()
    phone.page.get_by_role("link", name="All sessions").click()
    expect(phone.row("Build the cart of the shop")).to_be_visible()
