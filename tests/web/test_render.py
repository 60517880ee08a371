"""What the server makes HTML of, from text that wants to be more than text."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any, Optional

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rewind.web.render.colours import code_html, coloured, lexer_for
from rewind.web.render.markdown import markdown
from rewind.web.render.rows import blocks_of, rows_of
from rewind.web.render.tools import kind_of, tool_view

TAGS = {"p", "h3", "h4", "h5", "h6", "ul", "ol", "li", "strong", "em", "s", "del", "code", "pre", "span",
        "div", "a", "blockquote", "table", "thead", "tbody", "tr", "th", "td", "hr", "br"}
ATTRIBUTES = {"class", "href", "title", "start", "tabindex", "role", "aria-label"}
NASTY = ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))",
         "![x](javascript:alert(1))", "<a href='javascript:alert(1)'>x</a>", "[x](data:text/html,<b>)",
         "```\"><img src=x onerror=alert(1)>\n</code></pre><script>\n```", "<svg/onload=alert(1)>",
         "| <b>a</b> |\n|---|\n| [x](vbscript:x) |", '[a](http://x" onmouseover="alert(1))', "<!-- x -->",
         "[x]: javascript:alert(1)\n\n[x]", "<http://a\"onclick=1>", "- [x] <iframe>", "# <style>"]


class Seen(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, Optional[str]]]) -> None:
        assert tag in TAGS, tag
        for name, value in attributes:
            assert name in ATTRIBUTES, (tag, name)
            if name == "href":
                self.links.append(value or "")

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("text", NASTY)
def test_no_text_becomes_markup(text: str) -> None:
    for html in (markdown(text), code_html(text, "html"), code_html(text, "python")):
        assert all(link.startswith(("http://", "https://", "mailto:")) for link in Seen(html).links)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from([*NASTY, "word", "\n", "\n\n", "    ", "`", "*", "> ", "1. ", "|", "\0"])))
def test_no_mixture_becomes_markup(parts: list[str]) -> None:
    Seen(markdown("".join(parts)))


def test_headings_leave_out_no_level_on_the_way_down() -> None:
    assert re.findall(r"<(h\d)>", markdown("### a\n# b\n#### c\n###### d\n## e")) == [
        "h3", "h3", "h4", "h5", "h4"]


def test_names_of_files_are_no_links() -> None:
    assert "<a" not in markdown("See cart.py, main.rs and README.md, or setup.sh")


def test_what_agents_write_is_rendered() -> None:
    assert '<td class="right">1</td>' in markdown("| a |\n|--:|\n| 1 |")
    html = markdown("# Title\n\n- [x] done\n- [ ] open\n\n| a |\n|---|\n| `b` |\n\n~~no~~ **yes**\n\n"
                    "```python\ndef f():\n    return 1\n```\n\n[a](https://a.example) [b](src/b.py)")
    for part in ("<h3>Title</h3>", 'class="task-box done"', "<td><code>b</code></td>", "<s>no</s>",
                 "<strong>yes</strong>", '<span class="hl-word">def</span>', '<a href="https://a.example">a</a>',
                 '<span class="dead-link" title="src/b.py">b</span>'):
        assert part in html, part


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet="a\n\r \t'\"#(){}:=é\x0b\x0c\u2028", max_size=60),
       st.sampled_from(["a.py", "a.js", "a.json", "a.html", "a.unknown"]))
def test_colours_keep_every_character_in_its_line(text: str, path: str) -> None:
    lines = coloured(text, lexer_for("", path))
    expected = text.replace("\r\n", "\n").replace("\r", "␍").split("\n")
    assert ["".join(part for _, part in line) for line in lines] == expected


LINES = st.lists(st.sampled_from(["one\n", "two\n", "three\n", "\n", "x = 1\n", "x = 2\n"]), max_size=12)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(LINES, LINES)
def test_rows_tell_both_texts(old: list[str], new: list[str]) -> None:
    rows = rows_of("".join(old), "".join(new), blocks_of(old, new), "a.py")
    assert ["".join(Seen(row[3]).text) + "\n" for row in rows if row[0] != "add"] == old
    assert ["".join(Seen(row[3]).text) + "\n" for row in rows if row[0] != "del"] == new
    assert [row[1] for row in rows if row[0] != "add"] == list(range(1, len(old) + 1))
    assert [row[2] for row in rows if row[0] != "del"] == list(range(1, len(new) + 1))


def test_words_that_differ_are_marked() -> None:
    rows = rows_of("a = total(x)\n", "a = total(y)\n", [(0, 1, 0, 1)], "a.txt")
    assert [row[3] for row in rows] == ['a = total(<span class="word">x</span>)',
                                        'a = total(<span class="word">y</span>)']


def test_of_a_long_file_the_page_gets_the_changes_and_what_is_around_them() -> None:
    old = [f"line {n}\n" for n in range(5000)]
    new = [*old[:100], "new\n", *old[100:4000], *old[4001:]]
    rows = rows_of("".join(old), "".join(new), [(100, 100, 100, 101), (4000, 4001, 4001, 4001)], "a.txt")
    kinds = [row[0] for row in rows]
    around = ["same"] * 12
    assert kinds == ["gap", *around, "add", *around, "gap", *around, "del", *around, "gap"]
    assert rows[13][3] == "new" and rows[-14][1] == 4001


def test_of_a_long_file_that_changed_everywhere_the_page_gets_the_beginning() -> None:
    old, new = ([f"{text} {n}\n" for n in range(9000)] for text in ("old", "new"))
    rows = rows_of("".join(old), "".join(new), [(0, 9000, 0, 9000)], "a.txt")
    assert len(rows) < 18_000 and [row[0] for row in rows[:2]] == ["del", "del"] and rows[-1][0] == "gap"


def block(given: Any, result: Optional[str] = "ok", failed: bool = False) -> dict[str, Any]:
    return {"kind": "tool", "input": json.dumps(given), "result": result, "isError": failed}


def test_tools_are_shown_by_what_they_were_given() -> None:
    edit = tool_view(block({"file_path": "a.py", "old_string": "x", "new_string": "y"}))
    assert edit["view"] == "diff" and [row[0] for row in edit["parts"][0]] == ["del", "add"]
    several = tool_view(block({"file_path": "a.py", "edits": [{"old_str": "x", "new_str": "y"}] * 2}))
    assert len(several["parts"]) == 2
    write = tool_view(block({"file_path": "a.py", "content": "x\ny\n"}))
    assert [row[:3] for row in write["parts"][0]] == [["add", None, 1], ["add", None, 2]]
    run = tool_view(block({"command": "ls <b>"}, "Exit code 2\nno", failed=True))
    assert (run["view"], run["status"]) == ("terminal", 2) and "<b>" not in run["html"]
    assert tool_view(block({"todos": [{"content": "a", "status": "completed"}, 3]}))["items"] == [
        {"text": "a", "status": "completed"}]
    droid = tool_view(block({"todos": "1. [in_progress] first\n2. [pending] second"}))
    assert droid["items"] == [{"text": "first", "status": "in_progress"},
                              {"text": "second", "status": "pending"}]
    codex = tool_view(block({"plan": [{"step": "a", "status": "pending"}]}))
    assert codex["items"] == [{"text": "a", "status": "pending"}]
    cell = tool_view(block({"notebook_path": "a.ipynb", "new_source": "x = 1"}))
    assert cell["view"] == "diff" and [row[0] for row in cell["parts"][0]] == ["add"]
    patch = tool_view(block({"patch": "*** Begin Patch\n*** Update File: a\n-<b>\n+y\n"}))
    assert patch["view"] == "code" and "<b>" not in patch["html"]
    assert tool_view(block({"plan": "Do it in two steps"}))["view"] is None
    for odd in ([], None, "text", {"command": 3}, {"edits": "x"}, {"todos": 1}, {"file_path": 1}):
        assert tool_view(block(odd))["view"] is None
    assert tool_view({"input": '{"cut', "result": None, "isError": False})["view"] is None


def test_tools_have_a_kind() -> None:
    kinds = {"Read": "read", "MultiEdit": "edit", "NotebookEdit": "edit", "ApplyPatch": "edit",
             "Create": "edit", "Bash": "run", "Execute": "run", "BashOutput": "run", "Grep": "search",
             "Glob": "search", "LS": "search", "TodoWrite": "todo", "ExitPlanMode": "todo", "Task": "agent",
             "WebFetch": "web", "WebSearch": "web", "X": "other"}
    assert {name: kind_of(name) for name in kinds} == kinds
