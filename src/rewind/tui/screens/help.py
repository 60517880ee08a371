"""What the keys do and what the signs mean."""

from __future__ import annotations

from rich.text import Text

_KEYS = (
    ("↑ ↓  j k", "another row; PgUp PgDn Home End; Tab: the preview"),
    ("Enter", "go back there: code, conversation, or both"),
    ("→ ←", "unfold or fold a turn or a session; z: all sessions"),
    ("/ or type", "filter by words; Esc shows everything"),
    ("d", "the diff; there, bring back files and hunks"),
    ("Space", "mark a row, then another: compare them"),
    ("v", "revert: take back this turn, keep what is later"),
    ("b", "blame: which prompt wrote each line of a file"),
    ("s  f", "save a checkpoint; forks: compare, adopt, remove"),
    ("u  r", "undo to the checkpoint before; redo"),
    ("U", "undo the last operation: code and conversation"),
    ("t  F5  q", "light or dark; read again; quit"),
)
_SIGNS = (
    ("▌", "cyan", "session"), ("●", "cyan", "turn"), ("○", "cyan", "turn, no checkpoint"),
    ("◆", "yellow", "saved by hand"), ("◇", "yellow", "automatic"), ("✎", "magenta", "your edit"),
    ("↶", "yellow", "operation"), ("◀ here", "yellow", "where you are"),
)
_DIFF = (
    ("↑ ↓  j k", "another line; PgUp PgDn Home End"),
    ("→ ←", "the next hunk or file; the one before"),
    ("Space", "mark the hunk; on a file's name, the file"),
    ("a", "mark everything, or nothing"),
    ("b  Enter", "bring back what is marked, else what you stand on"),
    ("U", "undo the last operation"),
    ("n", "what this step did, or what changed since then"),
    ("x", "swap sides, where two rows are compared"),
    ("w", "blame: who wrote the lines of this file"),
    ("Esc", "back to the list"),
)


def help_lines() -> list[Text]:
    signs = [Text.assemble((sign, style), f" {meaning}") for sign, style, meaning in _SIGNS]
    return [*_lines(_KEYS), Text(""), *[Text("  ").join(signs[at:at + 4]) for at in range(0, len(signs), 4)]]


def diff_help() -> list[Text]:
    return [*_lines(_DIFF), Text(""),
            Text("What comes back is the old side, the lines with −. Later edits elsewhere stay. Nothing is"
                 " written before you have seen the plan.", "dim")]


def _lines(keys: tuple[tuple[str, str], ...]) -> list[Text]:
    return [Text.assemble((f"{key:<11}", "cyan"), meaning) for key, meaning in keys]
