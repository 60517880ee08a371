"""What the model is told when the real Codex resumes what Rewind has made of a thread."""

from __future__ import annotations

import json
from typing import Callable

import pytest
from codex_client import Codex
from conversation import NEXT, Conversation, Recording
from scripted import PLAIN, prompt
from talk import prompts

Play = Callable[[Recording], Conversation[Codex]]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_fork_tells_the_model_what_was_said_before(
        plain_codex: Recording, play_codex: Play, n: int) -> None:
    chat = play_codex(plain_codex)
    heard = chat.back(n).hear()
    assert heard == [*plain_codex.before(n), NEXT]
    assert prompts(heard) == [*PLAIN[:-n], "NEXT"]
    chat.check_untouched()
