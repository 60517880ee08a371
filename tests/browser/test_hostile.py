"""Text that would be a script if anything on the page read it as HTML."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_of import Rewind
from playwright.sync_api import expect
from shop import HTML, NASTY_NAME, Agent

from rewind.controller import AtTurn, Controller

SESSION = "00bad000-1111-4222-8333-444444444444"


def html(where: str) -> str:
    return HTML % (where, where)


@pytest.fixture
def agent(agent: Agent, home: Path, project: Path) -> Agent:
    hostile = Agent(home, project, SESSION, html("title"), ago=60)
    hostile.turn(html("prompt"), {NASTY_NAME: html("content") + "\n"}, ANSWER, thinking=html("thinking"),
                 run=(f"echo {html('command')}", html("result")))
    hostile.turn("And again", {NASTY_NAME: html("changed") + "\n"})
    controller = Controller(str(project))
    controller.go(AtTurn(SESSION, 1, after=True), "conversation", name=html("branch"))
    controller.close()
    return agent


ANSWER = f"""{html('answer')} [click](javascript:window.hurt='link')
[data](data:text/html,<script>alert(1)</script>)
![picture](http://example.invalid/track.png) [![nested](x)](javascript:alert(1))

# {html('heading')}
- {html('item')}

| {html('cell')} |
|---|
| `{html('code')}` |

```"><img src=x onerror=alert(1)>
{html('block')}
```
> {html('quote')}
<svg onload=alert(1)> **{html('bold')}** <https://example.com"onmouseover=alert(1)>
"""


def test_nothing_of_a_conversation_becomes_markup(page: Rewind, project: Path) -> None:
    page.go(f"session/{SESSION}")
    expect(page.turn(2)).to_be_visible()
    for kind in (".run", ".folded", ".raw-part"):
        for summary in page.page.locator(f".turn {kind} > summary").all():
            summary.click()
        page.settled()
    expect(page.turn(1)).to_contain_text("window.hurt='answer'")
    expect(page.turn(1).locator(".thought")).to_contain_text("window.hurt='thinking'")
    page.turn(2).get_by_role("button", name=NASTY_NAME).click()
    expect(page.dialog.locator(".patch")).to_contain_text("window.hurt='changed'")
    page.page.keyboard.press("Escape")
    page.tree.get_by_role("button", name="1 branch").click()
    page.page.get_by_role("searchbox", name="Search this session").fill("hurt")
    expect(page.page.locator(".result-row").first).to_be_visible()
    page.page.keyboard.press("Escape")
    page.ask_after(1)
    page.dialog.get_by_role("radio", name="Code + conversation").check()
    expect(page.dialog).to_contain_text(NASTY_NAME)
    page.create()
    page.page.get_by_role("button", name="View future turns").click()
    expect(page.page.locator(".turn.future")).to_have_count(1)

    assert page.page.evaluate("window.hurt") is None
    assert page.page.locator("main script, nav script, main iframe, main object, main img").count() == 0
    assert page.page.locator("[onerror], [onload], [onmouseover]").count() == 0
    links = page.page.locator("main a, nav a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert all(link.startswith(("#", "https://", "http://", "mailto:")) for link in links), links


def test_nothing_is_fetched_from_elsewhere(page: Rewind) -> None:
    asked: list[str] = []
    page.page.on("request", lambda request: asked.append(request.url))
    page.go(f"session/{SESSION}")
    page.page.reload()
    expect(page.turn(1)).to_be_visible()
    assert asked and all(url.startswith((page.server.base, "data:")) for url in asked), asked
