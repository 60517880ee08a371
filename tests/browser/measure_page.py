"""Measures the page at a session of 300 MB and 5,000 turns against one of 1 MB: the time until the tree and
the last turn are there, rows in the DOM, and the server's memory while one browses, searches and jumps.

Run it in a checkout with what the browser tests need; arguments are the opens of each and the size in MB:
`PYTHONPATH=src:tests python tests/browser/measure_page.py 9 300`
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

from page_of import Rewind
from pictures import stage
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright
from shop import Agent, Server
from which_chromium import CHROMIUM

from make_transcripts import event_id, session_folder
from rewind.controller import Controller

TURNS = 5000
MOST_ROWS, MOST_MB, MOST_TIMES = 200, 200, 2.0
SMALL, BIG = event_id(0x51), event_id(0xB16)
WIDE: Any = {"width": 1440, "height": 900}
# The page's own clock begins with the navigation. What is there in one frame is seen in the next.
WATCH = """last => {
    const seen = () => {
        const row = document.querySelector(`.rows > .turn[data-turn="${last}"]`)?.getBoundingClientRect();
        const there = row && row.bottom > 0 && row.top < innerHeight;
        if (there && document.querySelector('.tree-list .row'))
            requestAnimationFrame(() => { window.seenAfter = performance.now(); });
        else requestAnimationFrame(seen);
    };
    seen();
}"""
ROWS = "document.querySelectorAll('.turn').length"


def talk(home: Path, project: Path, session: str, title: str, turns: int, turn_bytes: int) -> None:
    """Turns as an agent makes them: most of each is what its tools said."""
    agent = Agent(home, project, session, title, ago=41 * 8 * turns)
    line = "    return sum(item.price for item in self.items)  # in cents, number %d\n"
    for number in range(1, turns + 1):
        said = "".join(line % n for n in range(turn_bytes // 2 // len(line)))
        answer = f"Part {number % 97} is **done**.\n\n- see `cart.py`\n- its tests\n\n" + "More words. " * 40
        agent.turn(f"Question {number}: what about part {number % 97}?", answer=answer,
                   run=(f"sed -n 1,400p part{number}.py", said), hooks=False)
        agent.talk.lines.clear()
        agent._written = 0


def megabytes(home: Path, project: Path, session: str) -> float:
    return (session_folder(home, "claude", project) / f"{session}.jsonl").stat().st_size / (1 << 20)


def peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def open_once(context: BrowserContext, server: Server, session: str, last: int) -> float:
    page = context.new_page()
    page.add_init_script(f"({WATCH})({last})")
    page.goto(f"{server.base}#/session/{session}")
    page.wait_for_function("() => window.seenAfter")
    found = float(page.evaluate("window.seenAfter"))
    page.close()
    return found


def browse(page: Rewind, turns: int) -> dict[str, Any]:
    """Through the session by wheel, scroll bar, jumps and search; returns the most rows there were."""
    most = 0

    def look() -> None:
        nonlocal most
        page.settled()
        most = max(most, int(page.page.evaluate(ROWS)))

    page.go(f"session/{BIG}")
    expect(page.turn(turns)).to_be_in_viewport()
    page.page.mouse.move(900, 600)
    for _ in range(150):
        page.page.mouse.wheel(0, -1500)
        look()
    for part in range(20):
        page.page.locator(".turns").evaluate("(n, at) => { n.scrollTop = n.scrollHeight * at / 20; }", part)
        look()
    for number in (1, turns // 2, turns - 1, 77, turns // 3):
        page.counter.click()
        page.page.get_by_role("textbox", name="Jump to turn").fill(str(number))
        page.page.keyboard.press("Enter")
        expect(page.turn(number)).to_be_in_viewport()
        look()
    field = page.page.get_by_role("searchbox", name="Search this session")
    for words in ("part 96", "number 99", "in cents", "nothing like it"):
        field.fill(words)
        expect(page.page.locator(".results")).to_contain_text("contains" if words[0:2] == "no" else words,
                                                              timeout=120_000)
    return {"most rows": most}


def measure(browser: Browser, server: Server, opens: int, small: int) -> dict[str, Any]:
    context = browser.new_context(viewport=WIDE)
    context.new_page().goto(server.address)
    times: dict[str, list[float]] = {SMALL: [], BIG: []}
    for session, last in ((SMALL, small), (BIG, TURNS)):  # the index is made here
        open_once(context, server, session, last)
    for _ in range(opens):
        for session, last in ((SMALL, small), (BIG, TURNS)):
            times[session].append(open_once(context, server, session, last))
    found: dict[str, Any] = {"small ms": round(statistics.median(times[SMALL])),
                             "big ms": round(statistics.median(times[BIG]))}
    found["times"] = round(statistics.median(times[BIG]) / statistics.median(times[SMALL]), 2)
    page = Rewind(context.new_page(), server)
    found.update(browse(page, TURNS))
    found["server MB"] = round(peak_mb(server.pid))
    context.close()
    return found


def main() -> int:
    opens = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    turn_bytes = (int(sys.argv[2]) if len(sys.argv) > 2 else 300) * (1 << 20) // TURNS
    small = max(2, (1 << 20) // turn_bytes)
    with sync_playwright() as playwright, stage("web-shop") as (home, project):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        Controller.init(str(project))[0].close()
        talk(home, project, SMALL, "A short talk", small, turn_bytes)
        talk(home, project, BIG, "A very long talk", TURNS, turn_bytes)
        server = Server(project, home)
        found = {"MB": [round(megabytes(home, project, session), 1) for session in (SMALL, BIG)],
                 **measure(browser, server, opens, small)}
        server.stop()
        browser.close()
    print(json.dumps(found))
    kept = found["times"] <= MOST_TIMES and found["most rows"] <= MOST_ROWS and found["server MB"] <= MOST_MB
    print("within the bounds" if kept else "NOT within the bounds")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
