"""Before the first session, after the server was started again, and how much room a view has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_of import Rewind
from playwright.sync_api import Browser, expect
from shop import CART, Agent, Server

from rewind.controller import Controller
from rewind.web.server.key import new_key

SHARE = "s => document.querySelector(s).getBoundingClientRect().top / innerHeight"


class TestWithoutSessions:
    @pytest.fixture
    def empty(self, home: Path, project: Path, browser: Browser) -> Iterator[Rewind]:
        Controller.init(str(project), mode="project")[0].close()
        server = Server(project, home)
        context = browser.new_context()
        page = Rewind(context.new_page(), server)
        page.page.goto(server.address)
        yield page
        context.close()
        server.stop()
        assert not page.complaints, page.complaints

    def test_nobody_is_here_yet(self, empty: Rewind) -> None:
        expect(empty.page.locator(".empty")).to_contain_text("No agent has been used on this machine yet.")
        expect(empty.page.locator(".first-steps")).to_contain_text("claude")
        expect(empty.page.locator(".empty")).to_contain_text("1 checkpoint of the files so far.")

    def test_an_agent_that_does_not_call_rewind_is_named_with_the_command(
            self, empty: Rewind, home: Path) -> None:
        (home / ".claude").mkdir(exist_ok=True)
        empty.page.reload()
        expect(empty.page.locator(".agent")).to_have_text("Claude Code does not call Rewind yet")
        expect(empty.page.locator(".first-steps").first).to_contain_text("rewind config --register-hooks")

    def test_one_that_calls_rewind_needs_no_command(self, empty: Rewind, home: Path) -> None:
        (home / ".claude").mkdir(exist_ok=True)
        hook = {"type": "command", "command": "/opt/rewind/smart-checkpoint stop"}
        (home / ".claude" / "settings.json").write_text(json.dumps(
            {"hooks": {"Stop": [{"hooks": [hook]}]}}))
        empty.page.reload()
        expect(empty.page.locator(".agent")).to_have_text("Claude Code calls Rewind")
        expect(empty.page.locator(".empty")).not_to_contain_text("--register-hooks")

    def test_the_first_session_appears_by_itself(self, empty: Rewind, home: Path, project: Path) -> None:
        expect(empty.page.locator(".status")).to_contain_text("Live")
        Agent(home, project, CART, "The first").turn("Hello", hooks=False)
        expect(empty.row("The first")).to_be_visible()


def test_a_server_with_another_key_is_told_from_one_that_is_gone(
        page: Rewind, server: Server, home: Path, project: Path) -> None:
    expect(page.page.locator(".status")).to_contain_text("Live")
    server.stop()
    expect(page.page.locator("#offline")).to_contain_text("cannot be reached")
    kept = next((project / ".agent").rglob("ui.json"))
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "key": new_key()}))
    again = Server(project, home)
    try:
        page.page.get_by_role("button", name="Try now").click()
        expect(page.page.locator("#offline")).to_contain_text("restarted with another key")
        expect(page.page.locator("#offline")).to_contain_text("rewind ui")
        expect(page.page.get_by_role("button", name="Try now")).to_have_count(0)
    finally:
        page.complaints.clear()  # the browser itself says that it could not connect
        page.page.close()
        again.stop()


@pytest.mark.parametrize("width,height", [(1440, 900), (390, 844)])
def test_content_begins_in_the_first_fifth_of_the_screen(
        browser: Browser, server: Server, width: int, height: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": height})
    page = Rewind(context.new_page(), server)
    page.open()
    for place, sign in (("graph", ".lane"), ("checkpoints", ".timeline section"),
                        (f"review/{CART}/4", ".review-link")):
        page.go(place)
        expect(page.page.locator(sign).first).to_be_visible()
        assert page.page.evaluate(SHARE, sign) <= 0.2, place
    page.go(f"session/{CART}/1")
    expect(page.turn(1)).to_be_in_viewport()
    page.settled()
    page.page.locator(".turns").evaluate("n => n.scrollTop = 400")
    expect(page.page.locator(".session-head.compact")).to_be_visible()
    assert page.page.evaluate(SHARE, ".turns") <= 0.2
    page.page.locator(".turns").evaluate("n => n.scrollTop = 0")
    expect(page.page.locator(".session-head.compact")).to_have_count(0)
    context.close()
    assert not page.complaints
