"""Messages and queries that are nearly right: each is answered, and none of them is a bug of ours."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from fuzz.fuzz_mutate import STRANGE_TEXTS, spoil_bytes, spoil_json

pytestmark = pytest.mark.slow

_MESSAGES = 150
_AT_ONCE = 20  # to a connection, which takes no more than fifty a second


def requests(site: Any) -> list[dict[str, Any]]:
    name = site.get("/api/checkpoints", count=1)["checkpoints"][0]["name"]
    session = site.session
    return [
        {
            "event": "rewind_session",
            "sessionId": session,
            "rewindToTurn": 2,
            "mode": "both",
            "name": "n",
            "stamp": "s",
        },
        {"event": "fast_forward", "sessionId": session, "code": True},
        {"event": "rename_branch", "sessionId": session, "name": "n"},
        {"event": "promote_branch", "sessionId": session},
        {"event": "delete_branches", "sessionIds": [session]},
        {"event": "undelete_branch", "sessionId": session},
        {"event": "save_checkpoint", "description": "d"},
        {"event": "mark_turn", "sessionId": session, "turn": 1, "name": "n"},
        {"event": "restore_checkpoint", "name": name, "paths": ["a.txt"], "stamp": "s"},
        {"event": "undo_restore"},
        {"event": "redo"},
    ]


def spoiled(rng: Random, request: dict[str, Any]) -> str:
    raw = json.dumps({**request, "requestId": "r"}).encode()
    raw = spoil_json(rng, raw) if rng.random() < 0.8 else spoil_bytes(rng, raw)
    text = raw.decode("utf-8", "replace")[:60_000]
    try:
        value = json.loads(text)
    except ValueError:
        return text
    # An answer to nobody could not be told from a push.
    return json.dumps({**value, "requestId": "r"}) if isinstance(value, dict) else text


def test_every_spoiled_message_is_answered_and_none_is_a_bug(site):
    rng = Random(7)
    asked = requests(site)
    for _ in range(_MESSAGES // _AT_ONCE):
        with site.connect() as socket:
            for _ in range(_AT_ONCE):
                message = spoiled(rng, rng.choice(asked))
                socket.send_text(message)
                answer = _answer(socket)
                assert "This is a bug" not in str(answer.get("message")), (message, answer)


def _answer(socket: Any) -> dict[str, Any]:
    """Pushes come in between; an answer is an error, or has the request's id."""
    while True:
        message: dict[str, Any] = socket.receive_json()
        if message["event"] == "error" or "requestId" in message:
            return message


def test_every_odd_query_is_refused_or_answered(site):
    rng = Random(8)
    paths = (
        "/api/sessions/{}/turns",
        "/api/sessions/{}/plan",
        "/api/sessions/{}/search",
        "/api/sessions/{}/outline",
        "/api/sessions/{}/future",
        "/api/sessions/{}/turns/{}",
        "/api/compare",
        "/api/checkpoints",
        "/api/checkpoints/{}/diff",
        "/api/checkpoints/{}/plan",
        "/static/{}",
    )
    words = [
        *STRANGE_TEXTS,
        site.session,
        "1",
        "-1",
        "0",
        "99999999999999999999",
        "NaN",
        "1e5",
        "both",
        "now",
    ]
    for _ in range(_MESSAGES):
        path = rng.choice(paths)
        while "{}" in path:
            path = path.replace("{}", _quoted(rng.choice(words)), 1)
        keys = rng.sample(("from", "count", "turn", "mode", "q", "a", "b", "to", "path", "before"), 3)
        answer = site.ask(path, **{key: _text(rng.choice(words)) for key in keys})
        assert answer.status_code < 500, (path, answer.text)


def _text(word: str) -> str:
    return word.encode("utf-8", "replace").decode()[:2000]


def _quoted(word: str) -> str:
    from urllib.parse import quote

    return quote(_text(word)[:300], safe="")
