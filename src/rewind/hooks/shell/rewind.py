"""Which of Rewind's own commands are for the person at the keyboard."""

from __future__ import annotations

from rewind.hooks import sentences
from rewind.hooks.shell.arguments import operands

PROGRAMS = frozenset(("rewind", "bin-rewind", "agentrewind"))

_GOING_BACK = frozenset(("restore", "jump", "back", "undo", "redo", "undo-restore", "rewrite-chat",
                         "revert", "apply"))
_WITH_VALUE = ("-C", "--project")
_SHOWS = frozenset(("--json", "--global", "--dry-run", *_WITH_VALUE))


def rewind(words: list[str]) -> str:
    options = words[: words.index("--")] if "--" in words else words
    if "-h" in options or "--help" in options:
        return ""
    name, *rest = operands(words, _WITH_VALUE) or [""]
    if name in _GOING_BACK or (name == "bisect" and "--in-place" in options):
        return sentences.GOING_BACK
    if name == "commit":
        return sentences.COMMITTING
    if name == "gc" or (name == "forks" and rest[:1] == ["delete"]):
        return sentences.DELETING
    if name == "uninstall" or (name == "config" and _changes(options)):
        return sentences.SETTINGS
    return ""


def _changes(options: list[str]) -> bool:
    return any(word.startswith("-") and word not in _SHOWS and not word.startswith(("--project=", "-C"))
               for word in options)
