"""The built-in list of what is never captured: caches and dependency trees, made again at will.

`.git` and Rewind's own state are not in it: nothing overrides those, so the scan knows them.
"""

from __future__ import annotations

import os

from rewind.fast import quickjson

LIST_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                         "rewind-checkpoint-ignore.json")


def builtin_ignore_patterns() -> bytes:
    """The list as the text of a gitignore file."""
    with open(LIST_FILE, encoding="utf-8") as file:
        entries = quickjson.loads(file.read())["patterns"]
    return "".join(entry["pattern"] + "\n" for entry in entries).encode()
