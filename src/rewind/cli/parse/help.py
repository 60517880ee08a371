"""`rewind help`: every command on one screen. `rewind help TOPIC`: a short text from `topics/`."""

from __future__ import annotations

import os

from rewind.cli.output.style import paint
from rewind.cli.parse.commands import COMMANDS, GROUPS, summary_of, unknown_word
from rewind.errors import DONE

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "topics")
TOPICS = ("going-back", "checkpoints", "conversations", "hooks", "storage", "safety")
_HEAD = """Rewind is a time machine for AI coding agents: checkpoints of your project,
and a safe way back."""
_TAIL = """Name a checkpoint by its number in `rewind list`, or as `last`, `@` (here), `t4`
(before turn 4), `10m` (ten minutes ago) or "text of a prompt".
`rewind help COMMAND` shows options and examples. `rewind help TOPIC` explains:
  {topics}"""


def print_overview() -> int:
    lines = [_HEAD, "", f"{paint('usage:', 'bold')} rewind COMMAND [options]"]
    for title, names in GROUPS.items():
        lines += ["", paint(title, "bold")]
        for name in names:
            lines.append(f"  {paint(name.ljust(13), 'cyan')} {summary_of(name)}")
    print("\n".join([*lines, "", _TAIL.format(topics=", ".join(TOPICS))]))
    return DONE


def print_topic(name: str) -> int:
    if name not in TOPICS:
        raise unknown_word("command or topic", name, [*COMMANDS, *TOPICS], "rewind help",
                           "Run `rewind help` to see the commands and the topics.")
    with open(os.path.join(_FOLDER, f"{name}.txt"), encoding="utf-8") as file:
        print(file.read().rstrip())
    return DONE
