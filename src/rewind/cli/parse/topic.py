"""`rewind help TOPIC`: short texts on how things hang together, one file each in `topics/`."""

from __future__ import annotations

import os

from rewind.errors import UsageError

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "topics")
TOPICS = ("going-back", "checkpoints", "conversations", "hooks", "storage", "safety")


def print_topic(name: str) -> int:
    if name not in TOPICS:
        raise _unknown(name)
    with open(os.path.join(_FOLDER, f"{name}.txt"), encoding="utf-8") as file:
        print(file.read().rstrip())
    return 0


def _unknown(name: str) -> UsageError:
    import difflib

    from rewind.cli.parse.commands import COMMANDS

    near = difflib.get_close_matches(name, [*COMMANDS, *TOPICS], n=1)
    hint = (f"Did you mean `rewind help {near[0]}`?" if near
            else "Run `rewind help` to see the commands and the topics.")
    return UsageError(f'There is no command or topic "{name}".', hint=hint)
