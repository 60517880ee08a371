"""A session in the main work tree and two in linked ones, all at work at once: each goes back by itself."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
from claude_client import Claude
from installed import Installed
from mock_api import MockApi, Reply, Script, call, say
from scripted import prompt
from stage import Stage, make_repository

from rewind_cli import git, tree_state

pytestmark = [pytest.mark.slow, pytest.mark.longest]
# Three turns each say whether it works; `REWIND_E2E_TURNS=10` is what it was tried with by hand.
TURNS = int(os.environ.get("REWIND_E2E_TURNS", "3"))
PLACES = ("main", "beside", "inside")


def turn(place: str, number: int) -> str:
    return f"{place}-{number:02}"


def tree_of(place: str, project: Path) -> Path:
    return {"main": project, "beside": project.parent / "beside",
            "inside": project / ".claude" / "worktrees" / "inside"}[place]


def script(project: Path) -> Script:
    """Each turn of each place writes one file with a tool, and others by the shell."""
    found: dict[str, list[Reply]] = {}
    for place in PLACES:
        note = str(tree_of(place, project) / "note.txt")
        for number in range(1, TURNS + 1):
            text = turn(place, number)
            shell = f"echo {text} >> diary.txt; echo {text} > {text}.txt; rm -f {turn(place, number - 2)}.txt"
            found[f"PROMPT-{text} "] = [
                Reply([call("Write", file_path=note, content=f"{text}\n")] if number % 2 else
                      [call("Bash", command=f"echo {text} > note.txt", description="try")]),
                Reply([call("Bash", command=shell, description="try")]), say(f"Did {text}.")]
    return found


class Agent(NamedTuple):
    place: str
    client: Claude
    rewind: Installed

    @property
    def tree(self) -> Path:
        return self.client.project

    def files(self) -> dict[str, bytes]:
        """Everything in this work tree but git's own files and the work trees inside it."""
        return {os.fsdecode(path): what for path, what in tree_state(self.tree).items()
                if not path.startswith((b".git/", b".claude/worktrees")) and path != b".git"}

    def work(self) -> tuple[str, list[dict[str, bytes]]]:
        """All turns, one after the other; the session, and the files before the first and after each."""
        session, states = "", [self.files()]
        with self.client.asking_on() as ask:
            for number in range(1, TURNS + 1):
                session = ask(prompt(turn(self.place, number)))["session_id"]
                states.append(self.files())
        return session, states


@pytest.fixture
def agents(claude_program: Path, stage: Stage) -> Iterator[list[Agent]]:
    make_repository(stage)
    rewind = Installed(stage, "claude")
    for place in PLACES[1:]:
        git(stage.project, "worktree", "add", "-q", str(tree_of(place, stage.project)), home=stage.home)
    with MockApi(script(stage.project)) as api:
        found = []
        for place in PLACES:
            there = Stage(stage.home, tree_of(place, stage.project))
            installed = copy.copy(rewind)
            installed.stage = there
            found.append(Agent(place, Claude(claude_program, there, api), installed))
        yield found


def test_three_sessions_at_once_each_go_back_two_turns_with_both(agents: list[Agent]) -> None:
    with ThreadPoolExecutor(len(agents)) as pool:
        worked = list(pool.map(Agent.work, agents))
    for agent, (session, states) in zip(agents, worked):
        assert len({str(state) for state in states}) == TURNS + 1, "every turn changed something"
        made = agent.rewind.made_for()
        assert (made.count("UserPromptSubmit"), made.count("Stop")) == (TURNS, TURNS), agent.place
        assert agent.files() == states[-1], "nobody else has touched this work tree"
        others = {other.place: other.files() for other in agents if other is not agent}

        back = agent.rewind.json("back", "2", "--both", "--session", session)
        assert back["code"]["exact"] and agent.files() == states[-3], agent.place
        assert {other.place: other.files() for other in agents if other is not agent} == others

        heard = agent.client.hear(back["fork"]["session_id"], prompt("NEXT"))
        wanted = [prompt(turn(agent.place, number)) for number in range(1, TURNS - 1)]
        assert [line for line in heard if line.startswith("user: ")] == [
            f"user: {text}" for text in (*wanted, prompt("NEXT"))]
    assert agents[0].rewind.json("validate", "--deep")["ok"]


def test_three_sessions_go_back_while_the_others_work(agents: list[Agent]) -> None:
    """The first is done and goes back, again and again, while the two others are in the middle of a turn."""
    first, others = agents[0], agents[1:]
    session, states = first.work()
    with ThreadPoolExecutor(len(others)) as pool:
        working = [pool.submit(other.work) for other in others]
        while not all(one.done() for one in working):
            first.rewind("back", "2", "--both", "--session", session)
            assert first.files() == states[-3]
            first.rewind("undo-restore")
            assert first.files() == states[-1]
    for other, one in zip(others, working):
        back = other.rewind.json("back", "1", "--both", "--session", one.result()[0])
        assert back["code"]["exact"] and other.files() == one.result()[1][-2], other.place
    assert first.files() == states[-1]
