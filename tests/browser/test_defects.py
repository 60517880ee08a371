"""What people ran into, each once more."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from page_of import TWO_FRAMES, Rewind
from playwright.sync_api import Browser, Page, Request, expect
from shop import CART, Agent, Server
from test_keyboard import press
from test_looks import OVERFLOW

from make_transcripts import event_id, session_folder
from rewind.controller import AtCheckpoint, AtTurn, Controller

FRESH = event_id(0xF4E5)


def asked_for(page: Page) -> list[str]:
    """Every address that is asked for from now on."""
    found: list[str] = []

    def note(request: Request) -> None:
        if "/api/" in request.url:
            found.append(request.url.split("/api/", 1)[1])

    page.on("request", note)
    return found


def append(home: Path, project: Path, session: str, *lines: dict[str, Any]) -> None:
    path = session_folder(home, "claude", project) / f"{session}.jsonl"
    with open(path, "a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def test_a_session_that_ends_in_progress_lines_has_its_turns(
        page: Rewind, agent: Agent, home: Path, project: Path) -> None:
    other = Agent(home, project, FRESH, "With progress")
    other.turn("Hello", hooks=False)
    for number in range(3):
        other.talk.entry("progress", data={"type": "hook_progress", "at": number})
    other.flush()
    page.choose("With progress")
    expect(page.page.locator(".meta")).to_contain_text("1 turn")
    expect(page.turn(1)).to_contain_text("Hello")


def test_a_title_is_not_taken_from_another_conversation(
        page: Rewind, agent: Agent, home: Path, project: Path) -> None:
    other = Agent(home, project, FRESH)
    append(home, project, FRESH, {"type": "summary", "summary": "Of somebody else", "leafUuid": event_id(1)})
    other.turn("Say hello", hooks=False)
    expect(page.row("Say hello")).to_be_visible()
    expect(page.row("Of somebody else")).to_have_count(0)
    controller = Controller(str(project))
    controller.go(AtTurn(FRESH, 1, after=True), "conversation")  # as `rewind back` does it
    controller.close()
    page.tree.get_by_role("button", name="1 branch of Say hello").click()
    expect(page.tree.locator(".row-name", has_text="Say hello")).to_have_count(2)
    expect(page.tree.locator(".row-name", has_text="Of somebody else")).to_have_count(0)


class TestFollowingALiveSession:
    def test_the_last_turn_is_the_current_one(self, page: Rewind, home: Path, project: Path) -> None:
        live = Agent(home, project, FRESH, "Live")
        live.turn("First", hooks=False)
        page.choose("Live")
        expect(page.counter).to_have_text("Turn 1 of 1")
        for number, prompt in enumerate(("Second", "Third"), 2):
            live.turn(prompt, hooks=False)
            expect(page.counter).to_have_text(f"Turn {number} of {number}")
        press(page, "r")
        expect(page.dialog).to_contain_text("turn 3")

    def test_the_number_of_turns_grows_far_from_the_end(
            self, page: Rewind, home: Path, project: Path) -> None:
        long = Agent(home, project, FRESH, "Long")
        for number in range(1, 121):
            long.talk.prompt(f"Question {number}")
            long.talk.answer(f"Answer {number}")
        long.flush()
        page.go(f"session/{FRESH}/5")
        expect(page.counter).to_have_text("Turn 5 of 120")
        page.settled()
        long.turn("And another", hooks=False)
        expect(page.page.get_by_role("button", name="1 new turn below")).to_be_visible()
        expect(page.counter).to_have_text("Turn 5 of 121")

    def test_a_turn_asks_for_little(self, page: Rewind, agent: Agent) -> None:
        expect(page.page.locator(".status")).to_contain_text("Live")
        page.settled()
        asked = asked_for(page.page)
        agent.turn("One more thing", {"more.py": "1\n"}, thinking="So be it")
        expect(page.turn(7)).to_contain_text("+1")
        expect(page.page.locator(".meta")).to_contain_text("7 turns")
        again = Counter(path.split("?")[0] for path in asked)
        assert again["project"] == 0, asked
        assert not any("/turns" in path for path in asked), "what was added is pushed"
        assert len(asked) <= 4, asked


def test_starting_reads_everything_once(page: Rewind) -> None:
    expect(page.page.locator(".status")).to_contain_text("Live")
    page.settled()
    asked = asked_for(page.page)
    page.page.reload()
    expect(page.page.locator(".status")).to_contain_text("Live")
    expect(page.turn(6)).to_be_visible()
    page.settled()
    page.page.wait_for_timeout(600)  # in which it would read again
    assert {path: n for path, n in Counter(asked).items() if n > 1} == {}
    assert sum("/turns?" in path for path in asked) == 1, asked


def test_every_press_of_a_key_that_is_held_counts_at_the_edge_of_a_page(
        page: Rewind, home: Path, project: Path) -> None:
    long = Agent(home, project, FRESH, "Long")
    for number in range(1, 121):
        long.talk.prompt(f"Question {number}")
        long.talk.answer(f"Answer {number}")
    long.flush()
    page.go(f"session/{FRESH}/60")
    expect(page.turn(60)).to_be_in_viewport()
    page.settled()
    page.page.route("**/turns?*", lambda route: (page.page.wait_for_timeout(300), route.continue_()))
    for _ in range(40):
        page.page.keyboard.down("j")
    page.page.keyboard.up("j")
    expect(page.counter).to_have_text("Turn 100 of 120")
    expect(page.turn(100)).to_be_in_viewport()
    page.page.unroute_all(behavior="ignoreErrors")  # one that is held back may still be under way


def test_a_page_of_turns_is_asked_for_once(page: Rewind, home: Path, project: Path) -> None:
    long = Agent(home, project, FRESH, "Long")
    for number in range(1, 121):
        long.talk.prompt(f"Question {number}")
        long.talk.answer(f"Answer {number}\n\n" + "More words. " * 60)
    long.flush()
    expect(page.row("Long")).to_be_visible()
    asked = asked_for(page.page)
    page.go(f"session/{FRESH}")
    expect(page.turn(120)).to_be_in_viewport()
    page.page.mouse.move(900, 600)
    while page.page.locator(".turns").evaluate("n => n.scrollTop") > 0:
        page.page.mouse.wheel(0, -1500)
        page.settled()
    expect(page.turn(1)).to_be_in_viewport()
    pages = Counter(path for path in asked if "/turns?" in path)
    assert len(pages) >= 4 and max(pages.values()) == 1, pages


IN_VIEW = """() => { const [range] = CSS.highlights.get('here'), turns = document.querySelector('.turns');
    const box = range.getBoundingClientRect(), view = turns.getBoundingClientRect();
    return box.height > 0 && box.top >= view.top && box.bottom <= view.bottom && range.toString(); }"""


@pytest.mark.parametrize("words", ["needle in the answer", "needle in a tool", "needle in the thought"])
def test_a_match_is_on_the_screen_unfolded(page: Rewind, agent: Agent, words: str) -> None:
    agent.turn("Look everywhere", answer="line\n\n" * 60 + "a needle in the answer" + "\n\nmore" * 60,
               thinking="word\n\n" * 40 + "needle in the thought",
               run=("cat hay", "hay\n" * 60 + "needle in a tool"), hooks=False)
    agent.turn("And on", hooks=False)
    expect(page.counter).to_have_text("Turn 8 of 8")
    page.page.get_by_role("searchbox", name="Search this session").fill(words)
    expect(page.page.locator(".result-row").first).to_be_visible()
    press(page, "Enter")
    expect(page.counter).to_have_text("Turn 7 of 8")
    page.page.wait_for_function("() => CSS.highlights.get('here')?.size === 1")
    page.page.evaluate(TWO_FRAMES)
    assert page.page.evaluate(IN_VIEW) == words


class TestManyCheckpoints:
    @pytest.fixture
    def agent(self, agent: Agent, project: Path) -> Agent:
        controller = Controller(str(project))
        for number in range(70):
            (project / "count.txt").write_text(f"{number}\n")
            controller.save(f"Number {number}")
        controller.close()
        return agent

    def test_an_old_one_can_be_linked(self, page: Rewind, project: Path) -> None:
        controller = Controller(str(project))
        old = next(r for r in controller.list_checkpoints() if r.description == "After: Style the cart")
        controller.close()
        page.go(f"checkpoints/{old.name}")
        expect(page.page.locator(".detail h2")).to_contain_text("Style the cart")
        expect(page.page.locator(".point.current")).to_be_in_viewport()

    def test_one_that_belongs_to_no_turn_can_be_linked_and_those_before_it_load(
            self, page: Rewind, project: Path) -> None:
        controller = Controller(str(project))
        turns = controller.turn_map()
        (project / "count.txt").write_text("of now\n")
        done = controller.go(AtCheckpoint(turns[-1].checkpoints[0].name), "code")
        controller.close()
        assert done.backup
        page.go(f"checkpoints/{done.backup.name}")
        expect(page.page.get_by_label("Show", exact=True)).to_have_value("every")
        expect(page.page.locator(".point.current")).to_be_in_viewport()
        more = page.page.get_by_role("button", name="Show earlier")
        shown = page.page.locator(".point").count()
        more.click()
        page.wait_until(lambda: page.page.locator(".point").count() > shown)


def test_what_is_written_from_right_to_left_begins_at_the_right(
        page: Rewind, home: Path, project: Path) -> None:
    other = Agent(home, project, FRESH, "Arabic")
    other.turn("أضف سلة تسوق، ثم اكتب الاختبارات please", hooks=False,
               answer="تمت إضافة السلة: `cart.py`.\n\n1. أولاً")
    page.choose("Arabic")
    expect(page.turn(1).locator("ol")).to_be_visible()
    ends = page.page.evaluate("""[...document.querySelectorAll('.prompt, .answer p, .answer li')].map(n => {
        const range = document.createRange(), box = n.getBoundingClientRect();
        range.selectNodeContents(n);
        return box.right - range.getBoundingClientRect().right < 40;
    })""")
    assert ends == [True, True, True]
    assert page.turn(1).locator("ol").evaluate("n => getComputedStyle(n).direction") == "rtl"


def test_fast_forward_with_the_code_leaves_nothing_behind(page: Rewind, project: Path) -> None:
    before = {p: p.read_bytes() for p in project.rglob("*") if p.is_file() and ".agent" not in p.parts}
    page.rewind_to(3, code=True)
    expect(page.title("Branch from turn 3")).to_be_visible()
    assert (project / "cart.css").exists()
    page.page.get_by_role("button", name="Fast-forward").click()
    page.dialog.get_by_role("button", name="Fast-forward").click()
    expect(page.title("Build the cart of the shop")).to_be_visible()
    assert {p: p.read_bytes() for p in project.rglob("*")
            if p.is_file() and ".agent" not in p.parts} == before


def test_the_first_tab_is_the_skip_link(page: Rewind) -> None:
    expect(page.turn(6)).to_be_visible()
    page.page.reload()
    expect(page.turn(6)).to_be_visible()
    page.settled()
    press(page, "Tab")
    expect(page.page.get_by_role("link", name="Skip to the content")).to_be_focused()
    press(page, "Enter")
    expect(page.page.locator("#main")).to_be_focused()
    expect(page.title("Build the cart of the shop")).to_be_visible()


@pytest.mark.parametrize("width", [390, 320])
def test_nothing_is_cut_on_a_narrow_screen(
        browser: Browser, server: Server, agent: Agent, width: int) -> None:
    agent.turn("Deep down", {"src/components/checkout/payment_methods.py": "x = 1\n" * 120})
    context = browser.new_context(viewport={"width": width, "height": 844}, has_touch=True, is_mobile=True)
    narrow = Rewind(context.new_page(), server)
    narrow.open()
    for place, sign in ((f"session/{CART}", ".turn"), ("checkpoints", ".point"), ("", ".row-link")):
        narrow.go(place)
        expect(narrow.page.locator(sign).first).to_be_visible()
        assert narrow.page.evaluate(OVERFLOW) == [], place
    narrow.go(f"session/{CART}/7")
    figures = narrow.turn(7).locator(".figures")
    expect(figures).to_contain_text("+120")
    box = figures.bounding_box()
    assert box and box["x"] >= 0 and box["x"] + box["width"] <= width
    narrow.turn(7).locator("summary", has_text="Checkpoint").click()
    name = narrow.turn(7).locator(".file .path-name")
    assert name.evaluate("n => n.scrollWidth <= n.clientWidth + 1"), "the name of a file is cut"
    counts = narrow.turn(7).locator(".file .counts").bounding_box()
    assert counts and counts["x"] + counts["width"] <= width
    context.close()
    assert not narrow.complaints


def test_rows_tell_the_date_and_roots_are_ordered_by_their_newest_branch(
        page: Rewind, agent: Agent, home: Path, project: Path) -> None:
    old = time.time() - 40 * 86400
    other = Agent(home, project, FRESH, "Long ago", ago=40 * 86400)
    other.turn("Hello", hooks=False)
    expect(page.row("Long ago")).to_be_visible()
    page.choose("Long ago")
    day = time.strftime("%d", time.localtime(old)).lstrip("0")
    expect(page.turn(1).locator("time")).to_contain_text(day)
