"""The built-in list of what is not captured: caches and dependencies, which can be made again.

`.git` and Rewind's state are not in it. No rule can include them, so the scan itself leaves them out.
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
