"""The session that `rewind demo` plays: what was in the project, what was asked, what the agent did."""

from __future__ import annotations

from typing import NamedTuple

PROJECT = "todo"
IGNORED = ".env"  # by git; an agent that overwrites it has overwritten the only copy
BEFORE = {".gitignore": "__pycache__/\n.env\n", ".env": "TODO_TOKEN=the-only-copy\n",
          "README.md": "# todo\n\nA list of things to do.\n"}


class Turn(NamedTuple):
    prompt: str
    shown: str  # what the agent does, in one line
    tools: tuple[tuple[str, dict[str, str]], ...]  # name and input; paths are relative to the project
    answer: str


_ADD = "def add(tasks, title):\n    return [*tasks, [title]]\n"
_TICK = '''\
def add(tasks, title):
    return [*tasks, [title, "open"]]


def tick(tasks, title):
    return [[t, "done" if t == title else state] for t, state in tasks]
'''
_TEST = '''\
from todo import add


def test_a_task_is_added_at_the_end():
    assert add([["bread"]], "milk") == [["bread"], ["milk"]]
'''
TURNS = (
    Turn("Write a small to-do list in Python, with a test.", "Write todo.py · Write tests/test_todo.py",
         (("Write", {"file_path": "todo.py", "content": '"""A small to-do list."""\n\n\n' + _ADD}),
          ("Write", {"file_path": "tests/test_todo.py", "content": _TEST})),
         "There is a to-do list in todo.py now, and a test beside it."),
    Turn("Let me tick tasks off, and give me a few to begin with.",
         "Edit todo.py · Bash printf … > tasks.csv",
         (("Edit", {"file_path": "todo.py", "old_string": _ADD, "new_string": _TICK}),
          ("Bash", {"command": "printf 'bread,open\\nmilk,open\\n' > tasks.csv"})),
         "Tasks can be ticked off, and tasks.csv holds two."),
    Turn("Tidy up the project.", "Write todo.py · Bash rm -r tests tasks.csv · Bash echo … > .env",
         (("Write", {"file_path": "todo.py", "content": "class TodoManagerFactory:\n    pass  # TODO\n"}),
          ("Bash", {"command": "rm -r tests tasks.csv"}),
          ("Bash", {"command": "echo TODO_TOKEN=changeme > .env"})),
         "All tidy! I removed what was not needed and modernised the rest."))
