"""Hooks for an agent that has no settings for them, but loads scripts: a script that runs our hooks.

Its first lines say who made it and which hooks it runs, in the form that settings have.
"""

from __future__ import annotations

import json
import os
from typing import Any

from rewind.install.agent_settings.merger import EVENTS, MARK, Found, Hooks

_SOURCE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts")
_MADE_BY = "// Made by `rewind install`, which also removes it."
_FOLDERS = "// Directories that were made for it: "
_HOOKS = "const HOOKS = "


def script_text(name: str, hooks: Hooks, made: int) -> str:
    """`made`: how many of the directories above the file were made for it."""
    with open(os.path.join(_SOURCE, name), encoding="utf-8") as file:
        source = file.read()
    return "\n".join((_MADE_BY, f"{_FOLDERS}{made}", f"{_HOOKS}{json.dumps(hooks)}", source))


def is_our_script(text: str) -> bool:
    return text.startswith(_MADE_BY + "\n")


def folders_made(text: str) -> int:
    lines = text.splitlines()
    number = lines[1][len(_FOLDERS):] if len(lines) > 1 and lines[1].startswith(_FOLDERS) else ""
    return int(number) if number.isascii() and number.isdigit() else 0


def hooks_in(text: str, file: str) -> list[Found]:
    """The hooks that a script of ours runs; none if somebody has changed it beyond recognition."""
    if not is_our_script(text):
        return []
    line = next((line for line in text.splitlines() if line.startswith(_HOOKS)), "")
    try:
        found: Any = json.loads(line[len(_HOOKS):])
        return [Found(file, event, hook["command"], str(group.get("matcher", "")))
                for event in EVENTS for group in found.get(event, ()) for hook in group["hooks"]
                if MARK in hook["command"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []
