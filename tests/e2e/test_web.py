"""Branches that are made on the page, resumed by the real clients: files and history are of that turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Union

import httpx
import pytest
from claude_client import Claude
from droid_client import Droid
from installed import Installed, state
from page import Page
from scripted import prompt
from stage import Stage
from talk import prompts

from rewind_cli import clean_env
from web.server import Server

TURNS = ["WRITE", "SHELL", "EDIT"]
NEXT = f"user: {prompt('NEXT')}"


@pytest.fixture
def page(stage: Stage) -> Iterator[Page]:
    """Opened when the agent has worked already; the project is made by its hooks."""
    with Server(stage.project, clean_env(stage.home)) as server, \
            httpx.Client(base_url=server.origin, timeout=60, trust_env=False) as client:
        yield Page(server, client)


class Recorded:
    """Three turns under hooks: what the model was told at each prompt, and the files around each turn."""

    def __init__(self, client: Union[Claude, Droid], stage: Stage) -> None:
        self.client = client
        self.project = stage.project
        self.told: list[list[str]] = []
        self.states = [state(stage.project)]
        self.session = ""

    def add(self, told: list[str]) -> None:
        self.told.append(told)
        self.states.append(state(self.project))

    def before(self, turn: int) -> list[str]:
        """What the model knew when the turn after this one began."""
        return self.told[turn][:-1]


@pytest.fixture
def by_claude(claude: Claude, stage: Stage) -> Recorded:
    Installed(stage, "claude")
    recorded = Recorded(claude, stage)
    for name in TURNS:
        recorded.session = claude.ask(prompt(name), recorded.session)
        recorded.add(claude.heard(prompt(name)))
    return recorded


@pytest.fixture
def by_droid(droid: Droid, stage: Stage) -> Recorded:
    Installed(stage, "droid")
    recorded = Recorded(droid, stage)
    with droid.open() as opened:
        for name in TURNS:
            recorded.add(opened.ask(prompt(name)))
        recorded.session = opened.session
    return recorded


def test_a_branch_of_the_page_is_resumed_by_claude_code(by_claude: Recorded, page: Page) -> None:
    check(by_claude, page)


def test_a_branch_of_the_page_is_resumed_by_droid(by_droid: Recorded, page: Page) -> None:
    check(by_droid, page)


def check(recorded: Recorded, page: Page) -> None:
    path = recorded.client.transcript(recorded.session)
    content = path.read_bytes()
    assert [t["prompt"] for t in page.turns(recorded.session)] == [prompt(name) for name in TURNS]
    check_chat(recorded, page, 1)
    check_both(recorded, page, 2)
    check_both(recorded, page, 1)
    assert path.read_bytes() == content, "the session itself is as the client left it"


def check_chat(recorded: Recorded, page: Page, turn: int) -> None:
    """The files stay, the client goes on from the turn."""
    answer = page.rewind(recorded.session, turn, "chat")
    made = answer["session"]
    assert answer["code"] is None and made["codeRestored"] is False
    assert state(recorded.project) == recorded.states[-1]
    check_resumed(recorded, made, turn)
    # Other turns changed the code since, but not this one.
    changes = page.turns(made["sessionId"])[turn - 1]["changes"]
    assert [(f["path"], f["status"]) for f in changes["files"]] == [("note.txt", "added")]


def check_both(recorded: Recorded, page: Page, turn: int) -> None:
    """Files and conversation of the same moment, and forward again."""
    answer = page.rewind(recorded.session, turn, "both")
    made = answer["session"]
    assert answer["code"]["exact"] and answer["operation"] and made["codeRestored"] is True
    assert state(recorded.project) == recorded.states[turn]
    check_resumed(recorded, made, turn)
    forward = page.does("fast_forward", sessionId=made["sessionId"], code=True)
    assert (forward["sessionId"], forward["code"]) == (recorded.session, True)
    assert state(recorded.project) == recorded.states[-1]
    assert page.session(made["sessionId"])["codeRestored"] is False


def check_resumed(recorded: Recorded, made: dict[str, Any], turn: int) -> None:
    assert (made["parentSessionId"], made["rewindFromTurn"]) == (recorded.session, turn)
    assert (made["turns"], made["name"]) == (turn, f"Branch from turn {turn}")
    heard = recorded.client.hear(made["sessionId"], prompt("NEXT"))
    assert heard == [*recorded.before(turn), NEXT]
    assert prompts(heard) == [*TURNS[:turn], "NEXT"]
