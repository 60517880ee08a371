"""What the keys do and what the signs mean."""

from __future__ import annotations

from rich.text import Text

_KEYS = (
    ("↑ ↓  j k", "another item; PgUp PgDn Home End"),
    ("Enter", "go back there: code + chat, code, or chat"),
    ("/ or type", "filter by words; Esc shows everything"),
    ("d", "the diff on the whole screen"),
    ("s", "save a checkpoint"),
    ("u  r", "undo to the checkpoint before; redo"),
    ("U", "undo the last operation: code and chat"),
    ("f", "sessions and forks: rename, promote, delete"),
    ("Tab", "to the preview and back, to scroll it"),
    ("t", "light or dark"),
    ("q", "quit"),
)
_SIGNS = (
    (" ▌", "cyan", "session"), (" ▌", "magenta", "fork"), (" ●", "cyan", "prompt with its checkpoint"),
    (" ○", "cyan", "prompt"), (" ◆", "yellow", "saved by hand"), (" ◇", "yellow", "automatic checkpoint"),
)


def help_lines() -> list[Text]:
    lines = [Text.assemble((f"{key:<11}", "cyan"), meaning) for key, meaning in _KEYS]
    signs = [Text.assemble((sign, style), f" {meaning}") for sign, style, meaning in _SIGNS]
    return [*lines, Text(""), *[Text("  ").join(signs[at:at + 3]) for at in range(0, len(signs), 3)]]
