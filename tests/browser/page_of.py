"""The page as a person uses it: by the names that are on it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Callable, Optional

if TYPE_CHECKING:
    from playwright.sync_api import Dialog, Locator, Page
    from shop import Server


# A scroll is answered in the next frame, and what that changes is drawn in the one after.
TWO_FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
SETTLED = """() => {
    const turns = document.querySelector('.turns'), rows = document.querySelector('.rows');
    if (!turns || turns.getAttribute('aria-busy') !== 'false' || !rows.firstChild) return false;
    const view = turns.getBoundingClientRect(), box = rows.getBoundingClientRect();
    return box.top <= view.bottom && box.bottom >= view.top;
}"""


class Rewind:
    """One window. What the browser complains about is kept, and makes the test fail at its end."""

    def __init__(self, page: Page, server: Server) -> None:
        self.page = page
        self.server = server
        self.complaints: list[str] = []
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda m: self.complaints.append(m.text) if m.type == "error" else None)
        page.on("dialog", self._dialog)

    def _dialog(self, dialog: Dialog) -> None:
        self.complaints.append(f"a dialog of the browser: {dialog.message}")
        dialog.dismiss()

    def open(self) -> None:
        self.page.goto(self.server.address)
        self.page.locator(".row-link").first.wait_for()
        self.page.locator("#main > *").first.wait_for(state="attached")  # the view, with its keys

    def go(self, place: str) -> None:
        self.page.goto(f"{self.server.base}#/{place}")

    def wait_until(self, happened: Callable[[], bool]) -> None:
        """While the browser goes on: what its routes do is done in this thread."""
        for _ in range(3000):
            if happened():
                return
            self.page.evaluate(TWO_FRAMES)
        raise AssertionError("it did not happen")

    # the tree

    @property
    def tree(self) -> Locator:
        return self.page.get_by_role("navigation", name="Sessions")

    def row(self, title: str) -> Locator:
        name = self.page.locator(".row-name", has_text=re.compile(f"^{re.escape(title)}$"))
        return self.tree.locator(".row").filter(has=name)

    def choose(self, title: str) -> None:
        self.row(title).get_by_role("link").click()
        self.title(title).wait_for()

    # a session

    def title(self, text: str) -> Locator:
        return self.page.get_by_role("heading", level=1, name=text, exact=True)

    def turn(self, number: int) -> Locator:
        return self.page.locator(f'.rows > .turn[data-turn="{number}"]')

    def settled(self) -> None:
        """The turns around what is in view are there, and nothing more is being read."""
        self.page.evaluate(TWO_FRAMES)
        self.page.wait_for_function(SETTLED)

    def numbers(self) -> list[int]:
        found: list[int] = self.page.evaluate(
            "[...document.querySelectorAll('.rows > .turn')].map(n => +n.dataset.turn)")
        return found

    @property
    def counter(self) -> Locator:
        return self.page.locator(".counter")

    def rewind_button(self, number: int) -> Locator:
        """It leads to before the turn."""
        return self.turn(number).get_by_role("button", name="Rewind to before this")

    def ask_after(self, number: int) -> None:
        """The dialog that leads to after a turn."""
        self.page.get_by_role("button", name=f"More for turn {number}", exact=True).click()
        self.page.get_by_role("menuitem", name="Rewind to after this").click()

    @property
    def panel(self) -> Locator:
        return self.page.locator("#panel")

    @property
    def dialog(self) -> Locator:
        return self.page.get_by_role("dialog")

    @property
    def toast(self) -> Locator:
        return self.page.locator(".toast:not(.quiet)").last

    def rewind_to(self, number: int, *, code: bool = False, name: Optional[str] = None) -> None:
        self.ask_after(number)
        if code:
            self.dialog.get_by_role("radio", name="Code + conversation").check()
        if name:
            self.dialog.get_by_label("Branch name").fill(name)
        self.create()

    def create(self) -> None:
        self.dialog.get_by_role("button", name="Create Branch").click()
        self.dialog.wait_for(state="detached")

    def branch_menu(self, item: str) -> None:
        self.page.get_by_role("button", name="Branch actions").click()
        self.page.get_by_role("menuitem", name=item).click()
