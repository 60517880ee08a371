"""Untrusted Markdown as HTML, by markdown-it-py: raw HTML becomes text, pictures are not fetched, and only
http, https and mailto links work."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from rewind.web.render.colours import code_html

_LONGEST = 200_000
_SAFE = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_TASK = re.compile(r"\[([ xX])\]\s+")


@lru_cache(maxsize=1500)
def markdown(text: str) -> str:
    if len(text) > _LONGEST:
        return f'<pre class="plain">{escape(text)}</pre>'
    return str(_parser().render(text))


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    links = importlib.util.find_spec("linkify_it") is not None
    found = MarkdownIt("commonmark", {"html": False, "linkify": links, "maxNesting": 20})
    found.enable(["table", "strikethrough", *(["linkify"] if links else [])])
    if links and found.linkify:
        found.linkify.set({"fuzzy_link": False})  # `cart.py` is a file, not a domain of Paraguay
    found.validateLink = lambda url: True  # type: ignore[method-assign]  # `_link_open` shows dead links as such
    for name, rule in _RULES.items():
        found.add_render_rule(name, rule)
    return found


def _attribute(token: Token, name: str) -> str:
    return str(token.attrs.get(name) or "")


def _heading(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    # The headings go below those of the page, where a turn has level 2, and no level is skipped.
    if tokens[at].nesting != 1:
        return f"</h{env['level']}>\n"
    env["level"] = min(6, int(tokens[at].tag[1:]) + 2, env.get("level", 2) + 1)
    return f"<h{env['level']}>"


def _link_open(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    target = _attribute(tokens[at], "href")
    safe = bool(_SAFE.match(target))
    env.setdefault("links", []).append(safe)
    return f'<a href="{escape(target)}">' if safe else f'<span class="dead-link" title="{escape(target)}">'


def _link_close(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return "</a>" if env["links"].pop() else "</span>"


def _image(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    target = _attribute(tokens[at], "src")
    return f'<span class="dead-link" title="{escape(target)}">{escape(tokens[at].content or target)}</span>'


def _fence(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    language = (tokens[at].info or "").strip().split(" ")[0][:20]
    code = tokens[at].content
    return (f'<div class="code"><div class="code-head"><span>{escape(language or "text")}</span></div>'
            f'<pre tabindex="0" aria-label="Code"><code>{code_html(code.rstrip(chr(10)), language)}'
            "</code></pre></div>\n")


def _always(html: str) -> Callable[..., str]:
    return lambda *given: html


def _cell_open(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    """A class instead of a style, because the page's policy forbids styles."""
    side = _attribute(tokens[at], "style").rpartition(":")[2]
    tag = tokens[at].tag
    return f'<{tag} class="{side}">' if side in ("left", "center", "right") else f"<{tag}>"


def _item_open(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    """`- [x] done` gets a box instead of the brackets."""
    inline = next((t for t in tokens[at + 1:at + 3] if t.type == "inline"), None)
    first = inline.children[0] if inline and inline.children else None
    task = _TASK.match(first.content) if first and first.type == "text" else None
    if not task or first is None:
        return "<li>"
    first.content = first.content[task.end():]
    name, label = ("task-box", "open") if task[1] == " " else ("task-box done", "done")
    return f'<li class="task"><span class="{name}" role="img" aria-label="{label}"></span>'


_RULES = {"heading_open": _heading, "heading_close": _heading, "link_open": _link_open,
          "link_close": _link_close, "image": _image, "fence": _fence, "code_block": _fence,
          "table_open": _always('<div class="table" tabindex="0" role="region" aria-label="Table"><table>\n'),
          "table_close": _always("</table></div>\n"), "th_open": _cell_open,
          "td_open": _cell_open, "list_item_open": _item_open}
