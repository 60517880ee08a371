"""opencode protected by an installed Rewind, beside a plugin of somebody else's, and what the model is told
when the real client resumes Rewind's forks.

One session is recorded once, and all tests fork it: that none of its rows changes is part of what they show.
To start opencode takes ten times as long as to answer a prompt. So processes of their own resume a fork of
each kind, and one server, such as there is behind the terminal UI, the others. It may write on after its
answer, and its turn may end later, so what is forked next has another process, or waits for the end of the
turn.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable, NamedTuple

import pytest
from chat_api import ChatApi
from installed import Installed, state
from opencode_client import OWN, Opencode, Server
from scripted import PLAIN, opencode_script, prompt
from stage import make_stage
from talk import prompts

pytestmark = [pytest.mark.slow, pytest.mark.longest, pytest.mark.together]
NEXT = f"user: {prompt('NEXT')}"
FOREIGN = """import { appendFileSync } from "node:fs"
export const Mine = async () => ({
  "chat.message": async () => { appendFileSync(process.env.HOME + "/foreign.log", "asked\\n") },
})
"""
# opencode itself adds the first line where it is missing.
SETTINGS = '{\n  "$schema": "https://opencode.ai/config.json",\n  // mine\n  "username": "me",\n}\n'


class Scene(NamedTuple):
    client: Opencode
    server: Server
    rewind: Installed
    session: str
    told: list[list[str]]  # what the model was told at each prompt
    states: list[dict[str, str]]  # the files before each prompt, and after the last
    before: dict[str, bytes]  # the person's configuration before Rewind was installed
    rows: list[Any]

    def back(self, n: int, session: str = "", *options: str) -> str:
        """`rewind back`; the fork that it makes. The other session's rows stay as they are."""
        session = session or self.session
        rows = self.client.rows(session)
        found = self.rewind.json("back", str(n), *options, "--session", session)
        assert self.client.rows(session) == rows
        return str(found["fork"]["session_id"])

    def hear(self, session: str, name: str = "NEXT") -> list[str]:
        """What the model is told when the session goes on in the server."""
        self.server.say(session, prompt(name))
        self.wait_until(session, lambda turns: turns[-1:] == [prompt(name)])
        return self.client.heard(prompt(name))

    def hear_to_the_end(self, session: str, name: str = "NEXT") -> list[str]:
        """The same, until the checkpoint after the turn is there, too."""
        before = self.rewind.made_for().count("Stop")
        heard = self.hear(session, name)
        wait_for_turns(self.rewind, before + 1)
        return heard

    def hear_anew(self, session: str, name: str = "NEXT") -> list[str]:
        """The same by a process of its own."""
        return self.client.hear(session, prompt(name))

    def wait_for(self, session: str, names: list[str]) -> None:
        """Until Rewind's copy has these prompts."""
        self.wait_until(session, lambda turns: turns == [prompt(name) for name in names])

    def wait_until(self, session: str, there: Callable[[list[str]], bool]) -> None:
        """The plugin writes Rewind's copy after opencode has answered."""
        for _ in range(300):
            if there(self.turns(session)):
                return
            time.sleep(0.2)
        raise AssertionError(self.turns(session))

    def turns(self, session: str) -> list[str]:
        shown = self.rewind.json("sessions", "show", session)["turns"]
        return [turn["prompt"] for turn in shown if turn["active"]]


def wait_for_turns(rewind: Installed, count: int) -> None:
    """Until so many turns have ended."""
    for _ in range(300):
        if rewind.made_for().count("Stop") >= count:
            return
        time.sleep(0.2)
    raise AssertionError(rewind.made_for())


def configuration(client: Opencode) -> dict[str, bytes]:
    found = (path for path in client.config.rglob("*") if path.is_file())
    kept = {str(path.relative_to(client.config)): path for path in found}
    return {name: path.read_bytes() for name, path in kept.items() if name.split(os.sep)[0] not in OWN}


@pytest.fixture(scope="module")
def scene(opencode_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    stage = make_stage(tmp_path_factory.mktemp("opencode"))
    with ChatApi(opencode_script(stage.project)) as api:
        client = Opencode(opencode_program, stage, api)
        (client.config / "plugins").mkdir()
        (client.config / "plugins" / "mine.js").write_text(FOREIGN)
        (client.config / "opencode.jsonc").write_text(SETTINGS)
        before = configuration(client)
        rewind = Installed(stage, "opencode")
        rewind.env["PATH"] = client.env["PATH"]
        states = [state(stage.project)]
        session = client.ask(prompt(PLAIN[0]))
        states.append(state(stage.project))
        with client.server() as recording:
            for count, name in enumerate(PLAIN[1:], 2):
                recording.say(session, prompt(name))
                wait_for_turns(rewind, count)
                states.append(state(stage.project))
        told = [client.heard(prompt(name)) for name in PLAIN]
        rows = client.rows(session)
        with client.server() as server:
            yield Scene(client, server, rewind, session, told, states, before, rows)


def test_opencode_is_protected_from_the_first_prompt_on(scene: Scene) -> None:
    assert scene.states[-1] == {"README": "A project.\n", "note.txt": "second\n", "made.txt": "by-shell\n"}
    assert not any("rewind" in line.lower() for line in scene.told[-1]), "hooks say nothing"
    made = scene.rewind.made_for()
    assert made.count("UserPromptSubmit") == made.count("Stop") == len(PLAIN), made
    assert made[0] == "SessionStart"
    assert (scene.client.home / "foreign.log").read_text() == "asked\n" * len(PLAIN), "others still run"
    assert scene.turns(scene.session) == [prompt(name) for name in PLAIN]
    listed = scene.rewind.json("sessions", "list")["sessions"]
    assert [(one["session_id"], one["agent"]) for one in listed] == [(scene.session, "opencode")]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_files_and_conversation_go_back_to_the_same_moment(scene: Scene, n: int) -> None:
    fork = scene.back(n, "", "--both")
    assert state(scene.client.project) == scene.states[-1 - n]
    heard = scene.hear_anew(fork) if n == 1 else scene.hear_to_the_end(fork)
    assert heard == [*scene.told[-n][:-1], NEXT]
    assert prompts(heard) == [*PLAIN[:-n], "NEXT"]
    scene.rewind("undo-restore", "--force")
    assert state(scene.client.project) == scene.states[-1]
    listed = scene.client.listed() if n == 1 else scene.server.listed()
    assert fork in listed, "what was said in it keeps it"
    assert scene.client.rows(scene.session) == scene.rows


def test_undo_takes_a_fork_out_of_opencodes_list_and_redo_brings_it_back(scene: Scene) -> None:
    found = scene.rewind.json("back", "1", "--session", scene.session)["fork"]
    fork = found["session_id"]
    assert scene.client.listed()[fork] == "[Fork] A title"
    assert found["resume"] == f"cd {scene.client.project} && opencode -s {fork}"
    scene.rewind("undo-restore")
    assert fork not in scene.server.listed() and scene.client.rows(fork) == [[], [], []]
    scene.rewind("redo")
    assert scene.hear(fork) == [*scene.told[-1][:-1], NEXT]


def test_no_result_of_parallel_calls_is_lost(scene: Scene) -> None:
    results = [line for line in scene.told[-1] if line.startswith("result") and "-result" in line]
    assert ["left-result" in results[0], "right-result" in results[1]] == [True, True]


def test_a_fork_of_a_fork_that_went_on_and_was_deleted_then(scene: Scene) -> None:
    """By opencode itself; Rewind has its copy still, and without that the checkpoints."""
    fork = scene.back(2)
    scene.hear_to_the_end(fork, "OTHER")
    assert scene.turns(fork) == [*map(prompt, PLAIN[:2]), prompt("OTHER")]
    again = scene.back(1, fork)
    scene.server.delete(fork)
    older = scene.back(2, fork)
    scene.client.transcript(fork).unlink()
    restored = scene.rewind.json("restore", "last", "--context-only")["fork"]["session_id"]
    assert scene.hear(again) == [*scene.told[-2][:-1], NEXT]
    assert scene.hear(older) == [*scene.told[-3][:-1], NEXT]
    heard = scene.hear_anew(restored)
    assert prompts(heard) == [*PLAIN[:2], "OTHER", "NEXT"]
    assert heard[:len(scene.told[-2]) - 1] == scene.told[-2][:-1]


def test_a_fork_may_lie_on_either_side_of_a_compaction(scene: Scene) -> None:
    fork = scene.back(1)
    with scene.client.server() as server:
        server.compact(fork)
        server.say(fork, prompt("LATER"))
        scene.wait_for(fork, [*PLAIN[:3], "LATER"])
    told = scene.client.heard(prompt("LATER"))
    assert any("SUMMARY" in line for line in told), told
    shown = scene.rewind.json("sessions", "show", fork)
    assert len(shown["compactions"]) == 1
    assert scene.hear(scene.back(1, fork)) == [*told[:-1], NEXT]
    assert scene.hear(scene.back(2, fork)) == [*scene.told[-2][:-1], NEXT]


def test_a_fork_after_opencodes_own_undo(scene: Scene) -> None:
    fork = scene.back(1)
    lines = map(json.loads, scene.client.transcript(fork).read_text().splitlines())
    second = [line["info"]["id"] for line in lines if line["info"].get("role") == "user"][1]
    with scene.client.server() as server:
        server.say(fork, prompt("OTHER"))
        scene.wait_for(fork, [*PLAIN[:3], "OTHER"])
        server.revert(fork, second)
        scene.wait_for(fork, ["WRITE"])  # undone, though the rows are still there
    assert len(scene.client.rows(fork)[1]) > 10
    between = scene.back(1, fork)
    assert prompts(scene.hear_anew(fork, "AFTER")) == ["WRITE", "AFTER"]
    assert scene.turns(fork) == [prompt("WRITE"), prompt("AFTER")]
    assert scene.hear(between) == [NEXT]
    assert scene.hear(scene.back(1, fork)) == [*scene.told[1][:-1], NEXT]


def test_in_place_is_refused(scene: Scene) -> None:
    done = subprocess.run([str(scene.client.home / ".local" / "bin" / "rewind"), "back", "--in-place",
                           "--session", scene.session], cwd=scene.client.project, env=scene.rewind.env,
                          text=True, capture_output=True, timeout=120)
    assert done.returncode == 1 and "in a database of its own, so none is rewritten in place" in done.stderr
    assert scene.client.rows(scene.session) == scene.rows


def test_the_guard_keeps_opencode_from_going_back(scene: Scene) -> None:
    session = scene.client.ask(prompt("HARM"))
    assert "Rewind blocks this" in scene.client.transcript(session).read_text(), "the agent is told why"


def test_uninstalling_leaves_nothing_behind(scene: Scene) -> None:
    """The last one, for it ends the scene."""
    assert scene.client.rows(scene.session) == scene.rows, "nothing above has touched the original"
    assert (scene.client.config / "plugins" / "rewind.js").exists()
    assert scene.rewind.json("validate", "--deep")["ok"]
    scene.rewind("uninstall", "--yes")
    assert configuration(scene.client) == scene.before
    assert prompts(scene.hear_anew(scene.session)) == [*PLAIN, "NEXT"], "and opencode works without it"
