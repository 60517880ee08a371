"""Five thousand turns: a short DOM, and every turn within reach."""

from __future__ import annotations

import pytest
from page_of import Rewind
from playwright.sync_api import expect
from shop import Agent

from chat_scene import Claude
from transcript.make_transcripts import place

LONG = "00015000-1111-4222-8333-444444444444"
TURNS = 5000
ROWS = "document.querySelectorAll('.turn').length"


@pytest.fixture
def agent(agent: Agent) -> Agent:
    talk = Claude(agent.project, LONG)
    talk._count = 50_000_000
    talk._time = agent._time  # type: ignore[method-assign]
    talk.title("A very long talk", "ai-title")
    for number in range(1, TURNS + 1):
        talk.prompt(f"Question {number}")
        talk.answer(f"Answer {number}. " + "word " * (number % 60))
    place(agent.home, "claude", agent.project, talk.bytes(), LONG)
    return agent


def test_at_most_200_turns_are_in_the_page_wherever_one_is(page: Rewind) -> None:
    page.go(f"session/{LONG}")
    expect(page.counter).to_have_text("Turn 5,000 of 5,000")
    expect(page.turn(TURNS)).to_be_in_viewport()
    page.page.mouse.move(900, 600)
    for _ in range(60):
        page.page.mouse.wheel(0, -900)
        page.page.wait_for_timeout(20)
        assert page.page.evaluate(ROWS) <= 200
    page.page.wait_for_timeout(500)
    numbers = page.page.evaluate("[...document.querySelectorAll('.rows > .turn')].map(n => +n.dataset.turn)")
    assert numbers == list(range(numbers[0], numbers[-1] + 1)) and numbers[0] < TURNS - 60

    page.page.locator(".turns").evaluate("n => n.scrollTop = n.scrollHeight / 2")
    expect(page.page.locator(".rows > .turn").first).to_be_attached()
    page.page.wait_for_timeout(1500)
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
        page.counter.click()
        page.page.get_by_role("textbox", name="Jump to turn").fill(str(number))
        page.page.keyboard.press("Enter")
        expect(page.turn(number)).to_be_in_viewport()
        expect(page.turn(number)).to_contain_text(f"Question {number}")
        assert page.page.evaluate(ROWS) <= 200
    page.page.keyboard.press("k")
    expect(page.turn(4998)).to_be_focused()


def test_scrolling_up_does_not_jump(page: Rewind) -> None:
    page.go(f"session/{LONG}/2500")
    expect(page.turn(2500)).to_be_in_viewport()
    page.page.wait_for_timeout(500)
    before = page.turn(2500).bounding_box()
    page.page.locator(".turns").evaluate("n => n.scrollBy(0, -200)")
    page.page.wait_for_timeout(600)
    after = page.turn(2500).bounding_box()
    assert before and after and abs(after["y"] - before["y"] - 200) < 3
