"""What a page that follows a session has not been told yet of its last turns: a turn grows block by block,
and saying all of it each time would be most of what is sent."""

from __future__ import annotations

from typing import Any


class News:
    """For one connection; begun anew whenever it asks to follow a session."""

    def __init__(self, session: str) -> None:
        self.session = session
        self._sent: dict[int, dict[str, Any]] = {}
        self._sessions: dict[str, dict[str, Any]] = {}

    def session_of(self, event: dict[str, Any]) -> dict[str, Any]:
        """`session_updated` with no more of a session than what has changed."""
        session = event["session"]
        id = str(session["sessionId"])
        known, self._sessions[id] = self._sessions.get(id), session
        return {**event, "session": {"sessionId": id, **_changed(known, session)}} if known else event

    def of(self, page: dict[str, Any]) -> dict[str, Any]:
        turns = [self._since(turn) for turn in page["turns"]]
        self._sent = {turn["turn"]: turn for turn in page["turns"]}
        return {**page, "turns": turns}

    def _since(self, turn: dict[str, Any]) -> dict[str, Any]:
        """The turn; with `blocksFrom`, what has changed of it and the blocks from there on; or that it is the
        same."""
        known = self._sent.get(turn["turn"])
        if known == turn:
            return {"turn": turn["turn"], "same": True}
        same = _alike(known["blocks"], turn["blocks"]) if known else 0
        if not known or not same:
            return turn
        return {"turn": turn["turn"], **_changed(known, turn), "blocks": turn["blocks"][same:],
                "blocksFrom": same}


def _changed(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in new.items() if key not in old or old[key] != value}


def _alike(old: list[Any], new: list[Any]) -> int:
    pairs = enumerate(zip(old, new))
    return next((at for at, (one, other) in pairs if one != other), min(len(old), len(new)))
