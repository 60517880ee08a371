"""Suggestions: up to three selectors for a text that names nothing, or more than one checkpoint."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Record
    from rewind.transcript.turns.turn_tree import Row

    Near = list[tuple[str, str]]  # (selector, what it is)

_MOST = 3
_WORDS = ("last", "prev", "yesterday")


def nearest(state: State, text: str) -> Near:
    """Checkpoints with a close number, a similar name, or the same words in the description."""
    shown = state.timeline.shown()
    if not shown:
        return []
    if text.isascii() and text.isdigit() and len(text) < 5:
        wanted = int(text)
        return by_record(sorted(sorted(shown, key=lambda r: abs(r.sequence - wanted))[:_MOST],
                                key=lambda r: r.sequence))
    import difflib

    names = {r.name: r for r in shown}
    close = difflib.get_close_matches(text.lower(), [*_WORDS, *names], n=_MOST, cutoff=0.7)
    found = [(one, _meaning(names[one]) if one in names else "") for one in close]
    if found and found[0][0] in _WORDS:
        return found[:1]
    said = _words(text)
    alike = sorted((r for r in shown if said & _words(r.description)), reverse=True,
                   key=lambda r: (len(said & _words(r.description)), r.sequence))
    return (found or by_record(alike))[:_MOST]


def _words(text: str) -> set[str]:
    return {word for word in text.casefold().split() if len(word) > 2}


def by_record(records: list[Record]) -> Near:
    return [(str(record.sequence), _meaning(record)) for record in records]


def by_turn(rows: list[Row], prefix: str = "", suffix: str = "") -> Near:
    return [(f"{prefix}t{row.turn}{suffix}", row.prompt) for row in rows]


def _meaning(record: Record) -> str:
    return f"{record.name}  {record.description}".rstrip()
