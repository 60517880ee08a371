"""The list of commits that a person edits, as `git rebase -i` shows it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING

from rewind.errors import RewindError, UsageError

if TYPE_CHECKING:
    from rewind.checkpoint.turns.commit.commit import Draft

_HELP = """
# Commits from turns, the oldest first. The words before the lines are commands:
#   pick    make this commit
#   reword  make this commit, but edit its message
#   squash  put it into the commit before
#   drop    leave it out
# The order cannot be changed: a commit holds files as the turn left them.
# Without any line, nothing is done.
"""
_REWORD = """
# Lines that begin with # are left out.
"""
_VARIABLES = ("GIT_EDITOR", "VISUAL", "EDITOR")
_SHORT = {"p": "pick", "r": "reword", "s": "squash", "d": "drop"}
_HINT = "Nothing was done. The lines begin with pick, reword, squash or drop."


def todo_text(drafts: list[Draft]) -> str:
    return "".join(f"pick {number} {draft.subject}\n" for number, draft in enumerate(drafts, 1)) + _HELP


def parse_todo(text: str, count: int) -> list[tuple[str, int]]:
    """(command, place in the list) of each line."""
    found: list[tuple[str, int]] = []
    for line in text.splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        command = _SHORT.get(words[0], words[0])
        number = words[1] if len(words) > 1 else ""
        if command not in _SHORT.values() or not number.isdigit() or not 1 <= int(number) <= count:
            raise UsageError(f"Cannot understand this line: {line.strip()}", hint=_HINT)
        found.append((command, int(number) - 1))
    numbers = [number for _, number in found]
    if numbers != sorted(set(numbers)):
        raise UsageError("The lines were reordered, or one of them occurs twice.", hint=_HINT)
    return found


def edited(drafts: list[Draft], edit: Callable[[str], str]) -> list[Draft]:
    """The commits that a person wants; `edit` shows a text and returns what became of it."""
    wanted: list[Draft] = []
    reworded: list[Draft] = []
    for command, number in parse_todo(edit(todo_text(drafts)), len(drafts)):
        draft = drafts[number]
        if command == "squash":
            if not wanted:
                raise UsageError("There is no commit before the first one to squash it into.", hint=_HINT)
            wanted[-1].spans += draft.spans
            wanted[-1].message = wanted[-1].message.rstrip() + "\n\n" + draft.message
        elif command != "drop":
            wanted.append(draft)
            reworded += [draft] if command == "reword" else []
    for draft in reworded:
        draft.message = _reworded(edit(f"{draft.message.rstrip()}\n{_REWORD}"))
    return wanted


def _reworded(text: str) -> str:
    message = "\n".join(line for line in text.splitlines() if not line.startswith("#")).strip()
    if not message:
        raise UsageError("The message is empty.", hint="Nothing was done.")
    return message + "\n"


def in_editor(text: str) -> str:
    """The text after the person edited it. The editor is named by git's variables, not by the project."""
    editor = next((os.environ[name] for name in _VARIABLES if os.environ.get(name)), "vi")
    with tempfile.TemporaryDirectory(prefix="rewind-edit-") as folder:
        path = os.path.join(folder, "COMMITS")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        # stdout is for the result, so the editor gets stderr.
        done = subprocess.run(["sh", "-c", f'{editor} "$@"', editor, path], check=False, stdout=2)
        if done.returncode:
            raise RewindError(f"The editor ended with status {done.returncode}: {editor}",
                              hint="Nothing was done.")
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
