"""What a tool was asked to do, as a person would want to see it: a difference, a command, a list.

This is decided by the fields of the input, because agents have different names for their tools.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from rewind.web.render.colours import code_html
from rewind.web.render.rows import blocks_of, rows_of

if TYPE_CHECKING:
    from typing import Literal, TypedDict, Union

    from rewind.jsonfile import JsonObject
    from rewind.web.render.rows import Row

    class NoView(TypedDict):
        view: None

    class DiffView(TypedDict):
        view: Literal["diff"]
        path: str
        parts: list[list[Row]]

    class CodeView(TypedDict):
        view: Literal["code"]
        html: str

    class TerminalView(TypedDict):
        view: Literal["terminal"]
        html: str
        command: str
        about: str
        status: int | None

    class Task(TypedDict):
        text: str
        status: str

    class TodosView(TypedDict):
        view: Literal["todos"]
        items: list[Task]

    View = Union[DiffView, CodeView, TerminalView, TodosView, NoView]

_EDITS = (("old_string", "new_string"), ("old_str", "new_str"))
_PATHS = ("file_path", "path", "notebook_path")
_MOST = 200_000  # characters of a text that is shown as a difference
_STATUS = re.compile(r"exit(?:ed with)?(?: code| status)?:? (\d{1,3})\b", re.IGNORECASE)
_TASK = re.compile(r"^\s*(?:\d+\.|[-*])?\s*\[(\w+)\]\s+(.+)$", re.MULTILINE)
_KINDS = (("todo", ("todo", "plan")), ("agent", ("task", "agent")), ("web", ("web", "fetch")),
          ("read", ("read", "view", "cat")), ("search", ("grep", "glob", "search", "find", "ls")),
          ("edit", ("edit", "write", "create", "patch", "replace")),
          ("run", ("bash", "execute", "shell", "run")))


@lru_cache(maxsize=500)
def kind_of(name: str) -> str:
    """read, edit, run, search, todo, agent, web or other."""
    words = name.lower()
    return next((kind for kind, parts in _KINDS if any(part in words for part in parts)), "other")


def tool_view(block: JsonObject) -> View:
    """`{"view": …}` and what that view needs. `view` is null if there is nothing better than the text."""
    try:
        given = json.loads(block["input"] or "null")
    except ValueError:  # it was cut, or is not JSON
        given = None
    given = given if isinstance(given, dict) else {}
    return _edit(given) or _patch(given) or _command(given, block) or _todos(given) or {"view": None}


def _edit(given: JsonObject) -> DiffView | None:
    path = next((given[key] for key in _PATHS if isinstance(given.get(key), str)), "")
    several = given.get("edits")
    pairs = [pair for one in (several if isinstance(several, list) else [given]) for pair in _pairs(one)]
    whole = given.get("content", given.get("new_source"))  # `new_source` is the cell of a notebook
    if not pairs and path and isinstance(whole, str):
        pairs = [("", whole)]
    if not pairs or sum(len(old) + len(new) for old, new in pairs) > _MOST:
        return None
    return {"view": "diff", "path": path, "parts": [_rows(old, new, path) for old, new in pairs]}


def _pairs(one: object) -> list[tuple[str, str]]:
    if not isinstance(one, dict):
        return []
    return [(one[old], one[new]) for old, new in _EDITS
            if isinstance(one.get(old), str) and isinstance(one.get(new), str)]


def _rows(old: str, new: str, path: str) -> list[Row]:
    blocks = blocks_of(_lines(old), _lines(new))
    return rows_of(old, new, blocks, path)


def _lines(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _patch(given: JsonObject) -> CodeView | None:
    text = next((given[key] for key in ("patch", "input") if isinstance(given.get(key), str)), "")
    if "*** Begin Patch" not in text and not text.startswith(("--- ", "diff ")):
        return None
    return {"view": "code", "html": code_html(text[:_MOST], "diff")}


def _command(given: JsonObject, block: JsonObject) -> TerminalView | None:
    command = given.get("command")
    if isinstance(command, list) and all(isinstance(one, str) for one in command):
        command = " ".join(command)
    if not isinstance(command, str):
        return None
    found = _STATUS.search((block.get("result") or "")[:2000]) if block.get("isError") else None
    about = given.get("description")
    return {"view": "terminal", "html": code_html(command[:_MOST], "bash"), "command": command[:_MOST],
            "about": about if isinstance(about, str) else "",
            "status": int(found[1]) if found else None if block.get("isError") else 0}


def _todos(given: JsonObject) -> TodosView | None:
    """A list of tasks. Droid gives one as text, Codex calls it a plan of steps."""
    todos = given.get("todos", given.get("plan"))
    if isinstance(todos, str):
        items: list[Task] = [{"text": text, "status": status} for status, text in _TASK.findall(todos)]
        return {"view": "todos", "items": items[:500]} if items else None
    if not isinstance(todos, list):
        return None
    items = [{"text": next((str(one[key]) for key in ("content", "text", "step") if one.get(key)), ""),
              "status": str(one.get("status") or "")} for one in todos[:500] if isinstance(one, dict)]
    return {"view": "todos", "items": items}
