"""`rewind help`: every command on one screen."""

from __future__ import annotations

from rewind.cli.output.style import paint
from rewind.cli.parse.commands import summary_of
from rewind.cli.parse.topic import TOPICS

_HEAD = """Rewind is a time machine for AI coding agents: checkpoints of your project,
and a safe way back."""
_TAIL = """Name a checkpoint by its number in `rewind list`, or as `last`, `@` (here), `t4`
(before turn 4), `10m` (ten minutes ago) or "text of a prompt".
`rewind help COMMAND` shows options and examples. `rewind help TOPIC` explains:
  {topics}"""


def overview(groups: tuple[tuple[str, tuple[str, ...]], ...]) -> str:
    lines = [_HEAD, "", f"{paint('usage:', 'bold')} rewind COMMAND [options]"]
    for title, names in groups:
        lines += ["", paint(title, "bold")]
        for name in names:
            lines.append(f"  {paint(name.ljust(13), 'cyan')} {summary_of(name)}")
    return "\n".join([*lines, "", _TAIL.format(topics=", ".join(TOPICS))])
