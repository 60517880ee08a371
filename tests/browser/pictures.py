"""Takes pictures of every state of the page, at four widths, light and dark, to be looked at.

They go to build/pictures, which is not kept; the few that the docs show are copied to docs/images. Run it in
a checkout with what the browser tests need; words choose states, a number a width:
`PYTHONPATH=src:tests python tests/browser/pictures.py` or `… pictures.py graph review 320`
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Literal, Optional
from urllib.parse import quote

from file_scene import furnish_files
from page_of import Rewind
from paint import picture, png
from playwright.sync_api import Browser, Page, Route, expect, sync_playwright
from shop import CART, Agent, Server, interrupt_restore, open_shop
from which_chromium import CHROMIUM

from chat_scene import client_is_running
from make_transcripts import event_id, session_folder
from rewind.controller import AtTurn, Controller
from rewind_cli import CHECKOUT, clean_env

IMAGES = CHECKOUT / "build" / "pictures"
SHOWN = CHECKOUT / "docs" / "images"
KEPT = ("session-1440-light", "graph-1440-light", "review-1440-light", "dialog-1440-light",
        "rewound-1440-light", "checkpoints-1440-light", "session-390-dark", "dialog-390-light",
        "empty-1440-light", "files-1440-light")
WIDTHS = {1440: 900, 1024: 768, 390: 844, 320: 640}
RUNNING = event_id(0x5EED)
SETTINGS = '{"branches": {"max": 3, "archiveAfterDays": 30}}'
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
CHOSEN = {word for word in sys.argv[1:] if not word.isdigit()}
NUMBERS = {int(word) for word in sys.argv[1:] if word.isdigit()}
Step = Callable[[Rewind], None]


@contextmanager
def stage(name: str) -> Iterator[tuple[Path, Path]]:
    """A home and a project that are gone afterwards; the project has a name that is worth showing."""
    top = Path(tempfile.mkdtemp(prefix="rewind-pictures-")).resolve()
    home, project = top / "home", top / name
    home.mkdir()
    project.mkdir()
    was, clean = dict(os.environ), clean_env(home)
    os.environ.clear()
    os.environ.update(clean)
    try:
        yield home, project
    finally:
        os.environ.clear()
        os.environ.update(was)
        shutil.rmtree(top)


def furnish(home: Path, project: Path) -> str:
    """Sessions and branches as a few days of work leave them; returns the branch to show."""
    open_shop(home, project)
    controller = Controller(str(project))
    made = controller.go(AtTurn(CART, 3, after=True), "conversation", name="A list will do")
    assert made.conversation and made.conversation.fork
    branch = str(made.conversation.fork["session_id"])
    controller.go(AtTurn(CART, 2, after=True), "conversation", name="Tests first")
    controller.close()
    other = Agent(home, project, branch, ago=900)
    other.turn("Keep the list and add a total",
               {"cart.py": "class Cart:\n    def total(self):\n        return 0\n"},
               "The total is in `cart.py`, in cents. No database is needed for it.")
    other.turn("Format it as money", {"money.py": "def money(cents):\n    return f'{cents / 100:.2f}'\n"},
               "Done: `money(1250)` gives **12.50**.")
    for number, title in ((0xA1, "Find out why the upload test is flaky"),
                          (0xA2, "Move the settings page to the new forms")):
        Agent(home, project, event_id(number), title, ago=90000).turn(f"{title}, please", hooks=False)
    running = Agent(home, project, RUNNING, "Translate the error messages", ago=300)
    running.turn("List every message a customer can see", answer="There are 48, in 11 files.", hooks=False)
    running.turn("Translate them to Dutch", answer="I begin with `checkout.py`.", hooks=False)
    now = time.time()
    for session, minutes in ((CART, 25), (branch, 11), (event_id(0xA1), 190), (event_id(0xA2), 2900)):
        path = session_folder(home, "claude", project) / f"{session}.jsonl"
        os.utime(path, (now, now - 60 * minutes))
    return branch


def states(branch: str) -> dict[str, Step]:
    def at(place: str, sign: Callable[[Rewind], Any]) -> Step:
        def step(page: Rewind) -> None:
            page.go(place)
            expect(sign(page)).to_be_visible()
        return step

    def dialog(page: Rewind) -> None:
        at(f"session/{CART}/3", lambda p: p.turn(3))(page)
        page.ask_after(3)
        page.dialog.get_by_role("radio", name="Code + conversation").check()
        expect(page.dialog.get_by_role("button", name="Create Branch")).to_be_enabled()

    def future(page: Rewind) -> None:
        at(f"session/{branch}", lambda p: p.turn(5))(page)
        page.page.get_by_role("button", name="View future turns").click()
        expect(page.page.locator(".turn.future").first).to_be_visible()

    def checkpoints(page: Rewind) -> None:
        at("checkpoints", lambda p: p.page.locator(".point").first)(page)
        page.page.locator(".point.kind-turn", has_text="Now rewrite it all").click()
        page.page.get_by_role("button", name="modified cart.py").click()
        expect(page.page.locator(".patch")).to_be_visible()

    def panel(page: Rewind) -> None:
        at(f"session/{CART}/4", lambda p: p.turn(4))(page)
        page.rewind_button(4).click()
        page.dialog.get_by_role("radio", name="Code + conversation").check()
        page.create()
        expect(page.panel).to_be_visible()

    def undo(page: Rewind) -> None:
        page.page.keyboard.press("u")
        act = page.dialog.get_by_role("button", name="Undo", exact=True)
        expect(act).to_be_enabled()

    def undone(page: Rewind) -> None:
        page.page.keyboard.press("u")
        page.dialog.get_by_role("button", name="Undo", exact=True).click()
        expect(page.panel).to_contain_text("Undone")

    def hunk(page: Rewind) -> None:
        at(f"review/{CART}/4", lambda p: p.page.locator(".hunk-back").first)(page)
        page.page.locator(".hunk-back").first.click()
        expect(page.dialog.locator(".patch")).to_be_visible()

    def search(page: Rewind) -> None:
        at(f"session/{CART}/4", lambda p: p.turn(4))(page)
        page.page.get_by_role("searchbox", name="Search this session").fill("database")
        expect(page.page.locator(".result-row").first).to_be_visible()

    def help_(page: Rewind) -> None:
        page.page.keyboard.press("?")
        expect(page.dialog).to_contain_text("Keyboard")

    return {
        "session": at(f"session/{CART}/1", lambda p: p.turn(1)),
        "turn": at(f"session/{CART}/4", lambda p: p.turn(4)),
        "search": search,
        "graph": at("graph", lambda p: p.page.locator(".lane").first),
        "review": at(f"review/{CART}/4", lambda p: p.page.locator(".patch").first),
        "hunk": hunk,
        "find": at("find/cart", lambda p: p.page.locator("a.result-row").first),
        "help": help_,
        "dialog": dialog,
        "rewound": at(f"session/{branch}", lambda p: p.turn(5)),
        "future": future,
        "comparing": at(f"compare/{CART}/{branch}", lambda p: p.page.get_by_text("They part after turn 3")),
        "checkpoints": checkpoints,
        "running": at(f"session/{RUNNING}", lambda p: p.page.locator(".alerts .notice")),
        "tree": at("", lambda p: p.page.locator(".brand")),
        "panel": panel,
        "undo": undo,
        "undone": undone,
    }


def furnish_oddly(home: Path, project: Path) -> str:
    """What is not there every day: a picture, too many branches, an old one, and a restore cut off."""
    agent = open_shop(home, project)
    agent.turn([{"type": "text", "text": "Make the start page look like this"}, picture(png(640, 360))],
               answer="I took the colours from it: green for the shop, yellow for what is on sale.",
               hooks=False)
    (project / ".agent" / "rewind" / "config.json").write_text(SETTINGS)
    controller = Controller(str(project))
    for turn, name in ((2, "Tests first"), (3, "A list will do"), (4, "Another database"), (5, "Old try")):
        made = controller.go(AtTurn(CART, turn, after=True), "conversation", name=name)
    controller.close()
    assert made.conversation and made.conversation.fork
    old = session_folder(home, "claude", project) / f"{made.conversation.fork['session_id']}.jsonl"
    os.utime(old, (time.time() - 400 * 86400,) * 2)
    return interrupt_restore(project, home)


def odd_states() -> dict[str, Step]:
    def crowded(page: Rewind) -> None:
        page.go("")
        page.page.locator(".brand").click()
        page.page.get_by_role("button", name="Archived (1)").click()
        fold = page.tree.get_by_role("button", name="3 branches")
        if fold.get_attribute("aria-expanded") == "false":
            fold.click()
        page.tree.get_by_role("button", name="Select").click()
        page.row("A list will do").get_by_role("checkbox").check()

    def at(turn: int, text: str) -> Step:
        def step(page: Rewind) -> None:
            page.go(f"session/{CART}/{turn}")
            expect(page.turn(turn)).to_contain_text(text)
            page.settled()
        return step

    return {"interrupted": at(7, "Make the start page"), "crowded": crowded}


def file_states() -> dict[str, Step]:
    def file(page: Rewind) -> None:
        page.go(f"files/now/{quote('src/shop/cart.py', safe='')}")
        expect(page.page.locator(".blame-run").first).to_be_visible()
        expect(page.page.locator(".version").first).to_be_attached()

    def revert(page: Rewind) -> None:
        page.go(f"session/{CART}/9")
        expect(page.turn(9)).to_be_visible()
        page.page.get_by_role("button", name="More for turn 9", exact=True).click()
        page.page.get_by_role("menuitem", name="Take back only this turn").click()
        expect(page.dialog.locator(".clash").first).to_be_visible()

    return {"files": file, "revert": revert}


def at_home(route: Route, project: Path) -> None:
    """Pictures do not show where they were taken."""
    answer = route.fetch()
    route.fulfill(response=answer, body=answer.text().replace(str(project), "/home/ada/web-shop"))


def shoot(browser: Browser, server: Server, project: Path, steps: dict[str, Step],
          hinder: Optional[Callable[[Page], None]] = None) -> None:
    wanted = {name: step for name, step in steps.items() if not CHOSEN or name in CHOSEN}
    for width, height in WIDTHS.items() if wanted else ():
        if NUMBERS and width not in NUMBERS:
            continue
        for theme in THEMES:
            context = browser.new_context(viewport={"width": width, "height": height},
                                          reduced_motion="reduce", color_scheme=theme)
            page = Rewind(context.new_page(), server)
            page.page.route("**/api/**", lambda route: at_home(route, project))
            if hinder:
                hinder(page.page)
            page.page.goto(server.address)
            page.page.locator(".tabs").wait_for()
            for name, step in wanted.items():
                if name == "tree" and width > 760:
                    continue
                step(page)
                page.page.wait_for_timeout(700)
                take(page.page, f"{name}-{width}-{theme}")
                page.page.keyboard.press("Escape")
            page.page.unroute_all(behavior="ignoreErrors")
            context.close()


def take(page: Page, name: str) -> None:
    path = IMAGES / f"web-{name}.png"
    page.screenshot(path=path)
    if name in KEPT:
        shutil.copy(path, SHOWN)


def seen(text: str, place: str = "") -> Step:
    def step(page: Rewind) -> None:
        if place:
            page.go(place)
        expect(page.page.get_by_text(text).locator("visible=true").first).to_be_visible()
    return step


def locked(page: Rewind) -> None:
    page.page.context.clear_cookies()
    page.page.goto(f"{page.server.base}?token=wrong")


def slow(page: Page) -> None:
    page.route("**/api/sessions/*/turns*", lambda route: None)  # never answered, until the window is closed


def broken(page: Page) -> None:
    answer = {"error": {"code": "store-unreadable", "message": "The store of this project cannot be read.",
                        "hint": "Run rewind doctor to see what is wrong with it."}}
    page.route("**/api/sessions", lambda route: route.fulfill(status=500, json=answer))


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=15000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        with stage("web-shop") as (home, project):
            branch = furnish(home, project)
            server = Server(project, home)
            client_is_running(home, RUNNING, server.pid, status="busy")
            shoot(browser, server, project, states(branch))
            loading = seen("Reading the conversation", f"session/{CART}")
            shoot(browser, server, project, {"loading": loading}, slow)
            failed = seen("The store of this project cannot be read.")
            shoot(browser, server, project, {"error": failed}, broken)
            server.stop()
        with stage("web-shop") as (home, project):
            furnish_oddly(home, project)
            server = Server(project, home)
            shoot(browser, server, project, odd_states())
            server.stop()
        with stage("web-shop") as (home, project):
            furnish_files(home, project)
            server = Server(project, home)
            shoot(browser, server, project, file_states())
            server.stop()
        with stage("web-shop") as (home, project):
            Controller.init(str(project), mode="project")[0].close()
            server = Server(project, home)
            time.sleep(0.2)
            (home / ".claude").mkdir()
            shoot(browser, server, project, {"empty": seen("does not call Rewind yet")})
            shoot(browser, server, project, {"locked": locked})
            server.stop()
        browser.close()


if __name__ == "__main__":
    main()
