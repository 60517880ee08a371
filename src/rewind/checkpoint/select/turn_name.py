"""How a turn is named: `t4`, `turn:4`, `t4+`, `SESSION:t4`. For code that only parses; imports nothing."""

from __future__ import annotations


class TurnName:
    """`SESSION:t4+`: a turn of a session (None: the one that `back` uses), before it or after it."""

    def __init__(self, session: str | None, turn: int, after: bool) -> None:
        self.session = session
        self.turn = turn
        self.after = after


def turn_name(text: str) -> TurnName | None:
    """Parse `t4` or `turn:4`, with an optional `+` behind and session before; None for any other text."""
    text, after = (text[:-1], True) if text.endswith("+") else (text, False)
    session, _, word = text.rpartition(":")
    if session == "turn" or session.endswith(":turn"):  # turn:4
        session, word = session[:-len("turn")].rstrip(":"), f"t{word}"
    number = word[1:]
    if not (word.startswith("t") and number.isascii() and number.isdigit() and len(number) < 7):
        return None
    return TurnName(session or None, int(number), after)


def split_selector(text: str) -> tuple[str, str]:
    """Split `CHECKPOINT:PATH`. The checkpoint itself may contain colons (`14:30`, `3f2a9c11:t4`)."""
    parts = text.split(":")
    for count in (3, 2):
        head = ":".join(parts[:count])
        if len(parts) > count and (turn_name(head) or _is_clock(head)):
            return head, ":".join(parts[count:])
    head, _, rest = text.partition(":")
    return head, rest


def _is_clock(text: str) -> bool:
    from rewind.checkpoint.select.times import moment

    return moment(text, 1e9) is not None
