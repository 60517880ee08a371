"""Measures the page in a real browser: a session of 57 MB and one of 1 MB, scrolling, a live turn, memory.

Run it on a quiet machine, in a checkout with the requirements of the browser tests. The argument says how
often each session is opened:
`PYTHONPATH=src:tests:tests/browser python bench/page.py 7`
It prints JSON, and then the table of docs/benchmarks.md.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from measure_page import BIG, SMALL, megabytes, open_once, peak_mb, talk
from page_of import TWO_FRAMES, Rewind
from pictures import stage
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from shop import Agent, Server

from rewind.controller import Controller

MB, TURNS = 57, 600
STEPS, PAUSE = 13, 2.0  # the live turn takes about 27 seconds
FIRST_MEASURED = 15  # requests of such a turn when this was first measured
WIDE: Any = {"width": 1440, "height": 900}
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
FRAMES = """() => { window.gaps = []; let last = performance.now();
    const next = now => { window.gaps.push(now - last); last = now; requestAnimationFrame(next); };
    requestAnimationFrame(next); }"""


def transcript_caches(home: Path, project: Path) -> list[Path]:
    """The files that remember what was read from transcripts. Without them, transcripts are read again."""
    return [path for top in (home, project) for path in top.rglob("scan-cache.db*")]


def time_to_open(browser: Browser, home: Path, project: Path, session: str, last: int, cold: bool) -> float:
    """Milliseconds until the turns are on the screen, with a new server and a new window."""
    if cold:
        for path in transcript_caches(home, project):
            path.unlink()
    server = Server(project, home)
    try:
        context = browser.new_context(viewport=WIDE)
        # Get the cookie without loading the page, so that the server is ready but has read nothing.
        context.request.get(server.address, max_redirects=0)
        turns = open_once(context, server, session, last)
        context.close()
    finally:
        server.stop()
    return turns


def ratio_of(browser: Browser, home: Path, project: Path, small: int, rounds: int,
             cold: bool) -> dict[str, Any]:
    times: dict[str, list[float]] = {SMALL: [], BIG: []}
    for _ in range(rounds):
        for session, last in ((SMALL, small), (BIG, TURNS)):
            times[session].append(time_to_open(browser, home, project, session, last, cold))
    middle = {session: statistics.median(found) for session, found in times.items()}
    return {"small ms": round(middle[SMALL]), "big ms": round(middle[BIG]),
            "ratio": round(middle[BIG] / middle[SMALL], 2)}


def frame_times(page: Page) -> dict[str, float]:
    """How long frames take while a person scrolls through the long session."""
    page.mouse.move(900, 600)
    page.evaluate(FRAMES)
    for _ in range(200):
        page.mouse.wheel(0, -400)
        page.evaluate(TWO_FRAMES)
    gaps = sorted(page.evaluate("window.gaps"))
    return {"p50 ms": round(gaps[len(gaps) // 2], 1), "p95 ms": round(gaps[int(len(gaps) * 0.95)], 1)}


def live_turn(page: Page, agent: Agent) -> dict[str, int]:
    """The cost of one turn that an agent writes while the page shows it: requests, and bytes of answers and
    pushes."""
    count = {"requests": 0, "bytes": 0, "pushed": 0}

    def answered(response: Any) -> None:
        if "/api/" in response.url:
            count["requests"] += 1
            count["bytes"] += int(response.headers.get("content-length", 0))

    page.on("response", answered)
    page.on("websocket", lambda socket: socket.on(
        "framereceived", lambda data: count.__setitem__("pushed", count["pushed"] + len(data))))
    page.reload()
    page.locator(".status.up").wait_for()
    page.wait_for_timeout(3000)
    count.update(dict.fromkeys(count, 0))
    agent._hook("UserPromptSubmit", "Before: One more", promptText="One more", promptId="live")
    agent.talk.prompt("One more", promptId="live")
    agent.flush()
    for step in range(STEPS):
        page.wait_for_timeout(PAUSE * 1000)
        agent._write(f"live{step}.py", "x = 1\n" * 20)
        agent.flush()
    agent.talk.answer("Done.")
    agent.flush()
    agent._hook("Stop", "After: One more", promptId="live")
    page.wait_for_timeout(3000)
    return count


def memory(context: BrowserContext, page: Page, server: Server) -> dict[str, int]:
    tools = context.new_cdp_session(page)
    tools.send("Performance.enable")
    tools.send("HeapProfiler.collectGarbage")
    found = {one["name"]: one["value"] for one in tools.send("Performance.getMetrics")["metrics"]}
    return {"page MB": round(found["JSHeapUsedSize"] / (1 << 20)), "nodes": int(found["Nodes"]),
            "server MB": round(peak_mb(server.pid))}


def browse(browser: Browser, home: Path, project: Path, agent: Agent) -> dict[str, Any]:
    server = Server(project, home)
    context = browser.new_context(viewport=WIDE)
    page = Rewind(context.new_page(), server)
    page.open()
    page.go(f"session/{BIG}")
    page.turn(TURNS).wait_for()
    paint = page.page.evaluate(PAINT)
    found = {"first paint ms": round(paint), "scroll": frame_times(page.page)}
    page.go("")
    page.go(f"session/{agent.session}")
    found["live turn"] = live_turn(page.page, agent)
    found["memory"] = memory(context, page.page, server)
    context.close()
    server.stop()
    return found


def table(found: dict[str, Any]) -> str:
    live, cold, warm = found["live turn"], found["cold"], found["warm"]
    rows = [("first paint", f"{found['first paint ms']} ms", ""),
            ("turns on screen, 57 MB ÷ 1 MB, nothing remembered",
             f"{cold['ratio']} ({cold['big ms']} ÷ {cold['small ms']} ms)", "≤ 2"),
            ("turns on screen, 57 MB ÷ 1 MB, remembered",
             f"{warm['ratio']} ({warm['big ms']} ÷ {warm['small ms']} ms)", "≤ 1.3"),
            ("scrolling: time of a frame, p95", f"{found['scroll']['p95 ms']} ms", ""),
            ("requests of a live turn of 27 s", str(live["requests"]), f"≤ {FIRST_MEASURED // 3}"),
            ("bytes of a live turn, answers and pushes", f"{live['bytes']:,} + {live['pushed']:,}", ""),
            ("memory of the server at most", f"{found['memory']['server MB']} MB", ""),
            ("memory of the page (JavaScript)", f"{found['memory']['page MB']} MB", "")]
    return "\n".join(["| | | budget |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)])


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    turn_bytes = MB * (1 << 20) // TURNS
    small = max(2, (1 << 20) // turn_bytes)
    chromium = os.environ.get("REWIND_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright, stage("web-shop") as (home, project):
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        Controller.init(str(project))[0].close()
        talk(home, project, SMALL, "A short talk", small, turn_bytes)
        talk(home, project, BIG, "A long talk", TURNS, turn_bytes)
        live = Agent(home, project, "00001176-1111-4222-8333-444444444444", "Live", ago=60)
        live.turn("Begin", {"begin.py": "1\n"})
        found: dict[str, Any] = {"MB": [round(megabytes(home, project, one), 1) for one in (SMALL, BIG)],
                                 "load": os.getloadavg()[0], "at": time.strftime("%Y-%m-%d")}
        found["cold"] = ratio_of(browser, home, project, small, rounds, True)
        found["warm"] = ratio_of(browser, home, project, small, rounds, False)
        found.update(browse(browser, home, project, live))
        browser.close()
    print(json.dumps(found))
    print(table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
