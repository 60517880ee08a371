"""The changes that a page has not been sent yet. A turn grows block by block, and to send all of it each time
would be most of the traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rewind.web.reads.answer_types import TurnPage
    from rewind.web.reads.parts import Session, Turn
    from rewind.web.writes.answer_types import SessionUpdated


class UnsentChanges:
    """For one connection. A new one begins whenever the page asks to follow a session."""

    def __init__(self, session: str) -> None:
        self.session = session
        self._sent: dict[int | None, Turn] = {}
        self._sessions: dict[str, Session] = {}

    def session_changes(self, event: SessionUpdated) -> Mapping[str, object]:
        """`session_updated` with only the changed fields of the session."""
        session = event["session"]
        id = session["sessionId"]
        known, self._sessions[id] = self._sessions.get(id), session
        return {**event, "session": {"sessionId": id, **_changed(known, session)}} if known else event

    def page_changes(self, page: TurnPage) -> Mapping[str, object]:
        turns = [self._since(turn) for turn in page["turns"]]
        self._sent = {turn["turn"]: turn for turn in page["turns"]}
        return {**page, "turns": turns}

    def _since(self, turn: Turn) -> Mapping[str, object]:
        """The turn, or only its changes and the blocks from `blocksFrom` on, or that it is the same."""
        known = self._sent.get(turn["turn"])
        if known == turn:
            return {"turn": turn["turn"], "same": True}
        same = _alike(known["blocks"], turn["blocks"]) if known else 0
        if not known or not same:
            return turn
        return {"turn": turn["turn"], **_changed(known, turn), "blocks": turn["blocks"][same:],
                "blocksFrom": same}


def _changed(old: Mapping[str, object], new: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in new.items() if key not in old or old[key] != value}


def _alike(old: Sequence[object], new: Sequence[object]) -> int:
    pairs = enumerate(zip(old, new))
    return next((at for at, (one, other) in pairs if one != other), min(len(old), len(new)))
