"""The one door by which HTML of the server comes into the page, attacked from inside."""

from __future__ import annotations

import re

from page_of import Rewind
from playwright.sync_api import expect

from rewind_cli import CHECKOUT

STATIC = CHECKOUT / "src" / "rewind" / "web" / "static"
DOOR = """async html => {
    const {fromServer} = await import('/static/code/door.js');
    const host = document.createElement('div');
    document.querySelector('main').append(host);
    host.append(fromServer(html));
    await new Promise(done => setTimeout(done, 50));
    const bad = [...host.querySelectorAll('*')]
        .flatMap(n => [...n.attributes].map(a => `${n.tagName} ${a.name}=${a.value}`))
        .filter(a => / on|style=|src|javascript:|id=/i.test(a));
    return {hurt: window.hurt ?? null, bad, html: host.innerHTML,
            tags: [...host.querySelectorAll('*')].map(n => n.tagName)};
}"""
TAGS = {"P", "H4", "H5", "H6", "UL", "OL", "LI", "STRONG", "EM", "S", "DEL", "CODE", "PRE", "SPAN", "DIV",
        "A", "BLOCKQUOTE", "TABLE", "THEAD", "TBODY", "TR", "TH", "TD", "HR", "BR"}
HURT = "window.hurt=1"
ATTACKS = [
    f"<script>{HURT}</script>", f"<img src=x onerror={HURT}>",
    f"<svg onload={HURT}><script>{HURT}</script></svg>",
    f"<a href='javascript:{HURT}'>x</a>", f"<a href=' java\nscript:{HURT}'>x</a>",
    f"<p onclick={HURT} style='color:red' id=main>x</p>",
    f"<iframe srcdoc='<script>{HURT}</script>'></iframe>",
    f"<math><mtext><table><mglyph><style><img src=x onerror={HURT}>", "<form action=/x><input name=a></form>",
    f"<template><img src=x onerror={HURT}></template>",
    f"<noscript><p title='</noscript><img src=x onerror={HURT}>'>",
    f"</body></html><script>{HURT}</script>",
    f"<base href=//evil><object data=x></object><div class='a\"{HURT}'>x",
    "<meta http-equiv=refresh content='0;url=//evil'>", "<link rel=stylesheet href=//evil/x.css>",
]


def test_nothing_but_text_and_harmless_nodes_passes(page: Rewind) -> None:
    expect(page.turn(6)).to_be_visible()
    asked: list[str] = []
    page.page.on("request", lambda request: asked.append(request.url))
    for html in ATTACKS:
        found = page.page.evaluate(DOOR, html)
        assert found["hurt"] is None and found["bad"] == [], (html, found)
        assert set(found["tags"]) <= TAGS, (html, found)
    assert all(url.startswith(page.server.base) for url in asked), asked
    assert all("Content Security Policy" in text for text in page.complaints), page.complaints
    page.complaints.clear()  # the browser says what its parser has seen, and that nothing of it was done


def test_what_our_renderer_makes_passes_as_it_is(page: Rewind) -> None:
    expect(page.turn(6)).to_be_visible()
    html = ('    <span class="hl-word">def</span> <a href="https://a.example">x</a>'
            '<ol start="3"><li>y</li></ol>')
    found = page.page.evaluate(DOOR, html)["html"]
    assert found == html.replace('">x</a>', '" target="_blank" rel="noopener noreferrer">x</a>')


def test_the_browser_itself_refuses_every_other_way(page: Rewind) -> None:
    expect(page.turn(6)).to_be_visible()
    refused = page.page.evaluate("""() => {
        try { document.createElement('div').innerHTML = '<b>x</b>'; return false; }
        catch (error) { return error instanceof TypeError; } }""")
    assert refused
    page.complaints.clear()  # the browser says what it refused


def test_there_is_one_door() -> None:
    for path in STATIC.rglob("*.js"):
        text = path.read_text()
        ways = re.findall(r"innerHTML|outerHTML\s*=|insertAdjacentHTML|document\.write|parseFromString|"
                          r"setHTML|createContextualFragment|\beval\(|new Function", text)
        assert not ways or path.name == "door.js", (path, ways)


def test_lines_are_as_short_as_those_of_python() -> None:
    long = [f"{path.name}:{number}" for path in STATIC.rglob("*.js")
            for number, line in enumerate(path.read_text().splitlines(), 1) if len(line) > 110]
    assert not long
