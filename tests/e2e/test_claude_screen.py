"""Rewind beside the interactive Claude Code, on a screen."""

from __future__ import annotations

from typing import Callable

import pytest
from claude_client import Claude
from conversation import NEXT, Conversation, Recording, contents
from scripted import prompt
from talk import prompts

Play = Callable[[Recording], Conversation[Claude]]


def test_the_picker_shows_the_fork_by_its_title_and_opens_it(rewound: Recording, play_claude: Play) -> None:
    chat = play_claude(rewound)
    chat.back(1)
    with chat.client.open() as opened:
        opened.switch_to(f"[Fork] {prompt('PAIR')}")
        assert opened.ask(prompt("NEXT")) == [*rewound.before(1), NEXT]
    chat.check_untouched()


def test_in_place_is_refused_while_the_session_is_open(rewound: Recording, play_claude: Play) -> None:
    chat = play_claude(rewound)
    with chat.client.open(chat.session):
        before = contents(chat.path.parent), chat.rewind.names(backups=True)
        chat.rewind.fails(13, "back", "--in-place", "--session", chat.session)
        assert chat.rewind.fails_with_json(13, "back", "--in-place", "--session", chat.session)
        assert (contents(chat.path.parent), chat.rewind.names(backups=True)) == before
        assert not list(chat.rewind.state.glob("transcript-backup/*"))
        fork = chat.rewind.ok("back", "1", "--session", chat.session)  # a fork does no harm
        assert fork.out.startswith("Fork created: ")


@pytest.mark.parametrize("n, kept", [(1, ["PAIR", "AFTER"]), (2, ["PAIR"])])
def test_in_place_works_once_the_session_is_closed(
        rewound: Recording, play_claude: Play, n: int, kept: list[str]) -> None:
    chat = play_claude(rewound)
    with chat.client.open(chat.session):
        pass
    before = chat.path.read_bytes()
    done = chat.rewind.ok("back", str(n), "--in-place", "--session", chat.session)
    assert done.out == "Chat rewritten in-place\n"
    backup, = chat.rewind.state.glob("transcript-backup/*")
    assert backup.read_bytes() == before
    with chat.client.open(chat.session) as opened:
        heard = opened.ask(prompt("NEXT"))
    assert heard == [*rewound.before(n), NEXT]
    assert prompts(heard) == [*kept, "NEXT"]


def test_a_fork_is_resumed_on_the_screen(compacted: Recording, play_claude: Play) -> None:
    chat = play_claude(compacted)
    fork = chat.back(3)
    with chat.client.open(fork.session) as opened:
        assert opened.ask(prompt("NEXT")) == [*compacted.before(3), NEXT]
    chat.check_untouched()
