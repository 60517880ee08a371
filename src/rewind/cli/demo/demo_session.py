"""The session that `rewind demo` plays: what was in the project, what was asked, what the agent did."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PROJECT = "todo"
IGNORED = ".env"  # by git; an agent that overwrites it has overwritten the only copy
BEFORE = {
    ".gitignore": "__pycache__/\n.env\n",
    ".env": "TODO_TOKEN=the-only-copy\n",
    "README.md": "# todo\n\nA list of things to do.\n",
}

_TODO = '''\
"""A small to-do list."""

import csv


def load(path):
    with open(path, newline="") as file:
        return [row for row in csv.reader(file) if row]


def add(tasks, title):
    return [*tasks, [title]]
'''
_TEST = '''\
from todo import add


def test_a_task_is_added_at_the_end():
    assert add([["bread"]], "milk") == [["bread"], ["milk"]]
'''
_ADD = '''\
def add(tasks, title):
    return [*tasks, [title]]
'''
_ADD_AND_TICK = '''\
def add(tasks, title):
    return [*tasks, [title, "open"]]


def tick(tasks, title):
    return [[t, "done" if t == title else state] for t, state in tasks]
'''
_REWRITTEN = '''\
class TodoManagerFactory:
    """TODO: everything that was here before."""
'''

# As an agent's tool calls: the tool's name, and its input with paths relative to the project.
TURNS: tuple[dict[str, Any], ...] = (
    {"prompt": "Write a small to-do list in Python, with a test.",
     "tools": (("Write", {"file_path": "todo.py", "content": _TODO}),
               ("Write", {"file_path": "tests/test_todo.py", "content": _TEST})),
     "answer": "There is a to-do list in todo.py now, and a test beside it."},
    {"prompt": "Let me tick tasks off, and give me a few to begin with.",
     "tools": (("Edit", {"file_path": "todo.py", "old_string": _ADD, "new_string": _ADD_AND_TICK}),
               ("Bash", {"command": "printf 'bread,open\\nmilk,open\\n' > tasks.csv"})),
     "answer": "Tasks can be ticked off, and tasks.csv holds two."},
    {"prompt": "Tidy up the project.",
     "tools": (("Write", {"file_path": "todo.py", "content": _REWRITTEN}),
               ("Bash", {"command": "rm -r tests tasks.csv"}),
               ("Bash", {"command": "echo TODO_TOKEN=changeme > .env"})),
     "answer": "All tidy! I removed what was not needed and modernised the rest."},
)
