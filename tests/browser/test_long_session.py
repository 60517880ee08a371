"""Five thousand turns: a short DOM, and every turn within reach."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest
from page_of import Rewind
from playwright.sync_api import Route, expect
from shop import Agent

from chat_scene import Claude
from make_transcripts import place

LONG = "00015000-1111-4222-8333-444444444444"
TURNS = 5000
SOMEWHERE = Path("/some/where/shop")
ROWS = "document.querySelectorAll('.turn').length"


@functools.lru_cache(maxsize=1)
def long_talk() -> bytes:
    talk = Claude(SOMEWHERE, LONG)
    talk._count = 50_000_000
    talk.title("A very long talk", "ai-title")
    for number in range(1, TURNS + 1):
        talk.prompt(f"Question {number}")
        talk.answer(f"Answer {number}. " + "word " * (number % 60))
    return talk.bytes()


@pytest.fixture
def agent(agent: Agent) -> Agent:
    here = str(agent.project).encode()
    place(agent.home, "claude", agent.project, long_talk().replace(str(SOMEWHERE).encode(), here), LONG)
    return agent


def jump(page: Rewind, number: int) -> None:
    page.counter.click()
    page.page.get_by_role("textbox", name="Jump to turn").fill(str(number))
    page.page.keyboard.press("Enter")


def test_at_most_200_turns_are_in_the_page_wherever_one_is(page: Rewind) -> None:
    page.go(f"session/{LONG}")
    expect(page.counter).to_have_text("Turn 5,000 of 5,000")
    expect(page.turn(TURNS)).to_be_in_viewport()
    page.page.mouse.move(900, 600)
    for _ in range(60):
        page.page.mouse.wheel(0, -900)
        page.settled()
        assert page.page.evaluate(ROWS) <= 200
    numbers = page.numbers()
    assert numbers == list(range(numbers[0], numbers[-1] + 1)) and numbers[0] < TURNS - 60

    page.page.locator(".turns").evaluate("n => n.scrollTop = n.scrollHeight / 2")
    page.settled()
    shown = page.page.evaluate("""() => { const v = document.querySelector('.turns').getBoundingClientRect();
        return [...document.querySelectorAll('.rows > .turn')].filter(n => {
            const r = n.getBoundingClientRect();
            return r.bottom > v.top && r.top < v.bottom;
        }).map(n => +n.dataset.turn); }""")
    assert shown and 1500 < shown[0] < 3500, shown
    assert page.page.evaluate(ROWS) <= 200


def test_a_jump_lands_on_its_turn(page: Rewind) -> None:
    page.go(f"session/{LONG}")
    expect(page.turn(TURNS)).to_be_in_viewport()
    for number in (1, 2500, 4999):
        jump(page, number)
        expect(page.turn(number)).to_be_in_viewport()
        expect(page.turn(number)).to_contain_text(f"Question {number}")
        assert page.page.evaluate(ROWS) <= 200
    page.page.keyboard.press("k")
    expect(page.turn(4998)).to_be_focused()


def test_scrolling_up_does_not_jump(page: Rewind) -> None:
    page.go(f"session/{LONG}/2500")
    expect(page.turn(2500)).to_be_in_viewport()
    page.settled()
    before = page.turn(2500).bounding_box()
    page.page.locator(".turns").evaluate("n => n.scrollBy(0, -200)")
    page.settled()
    after = page.turn(2500).bounding_box()
    assert before and after and abs(after["y"] - before["y"] - 200) < 3


def test_a_page_that_comes_after_a_jump_is_not_put_into_the_wrong_place(page: Rewind) -> None:
    page.go(f"session/{LONG}/2500")
    expect(page.turn(2500)).to_be_in_viewport()
    page.settled()
    first = page.numbers()[0]
    held: list[Route] = []
    page.page.route(re.compile(rf"/turns\?from={first - 25}&"), lambda route: held.append(route))
    page.turn(first).scroll_into_view_if_needed()
    page.wait_until(lambda: bool(held))
    jump(page, 4900)
    expect(page.turn(4900)).to_be_in_viewport()
    with page.page.expect_response(held[0].request.url):
        held[0].continue_()
    page.settled()
    numbers = page.numbers()
    assert 4900 in numbers and numbers == list(range(numbers[0], numbers[-1] + 1))
    expect(page.turn(4900)).to_be_in_viewport()
