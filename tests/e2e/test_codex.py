"""What the model is told when the real Codex resumes what Rewind has made of a thread; and Codex protected by
an installed Rewind, beside hooks of others."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Callable

import pytest
from codex_client import Codex
from conversation import NEXT, Conversation, Recording
from installed import Installed, state
from scripted import PLAIN, prompt
from stage import Stage
from talk import prompts
from test_hooks import check_turns

Play = Callable[[Recording], Conversation[Codex]]
FOREIGN = """{ "description": "mine",
  "hooks": {
    "Stop": [ {"hooks": [{"command": "echo stopped >> $HOME/foreign.log", "type": "command"}]} ]
  } }"""


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def turns(path: Path) -> list[str]:
    return [r["payload"]["turn_id"] for r in records(path) if r["payload"].get("type") == "task_started"]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_fork_tells_the_model_what_was_said_before(
        plain_codex: Recording, play_codex: Play, n: int) -> None:
    chat = play_codex(plain_codex)
    heard = chat.back(n).hear()
    assert heard == [*plain_codex.before(n), NEXT]
    assert prompts(heard) == [*PLAIN[:-n], "NEXT"]
    if n == 1:
        results = [line for line in heard if line.startswith("result") and "-result" in line]
        assert len(results) == 2, "of parallel calls none is lost"
        assert "left-result" in results[0] and "right-result" in results[1]
    chat.check_untouched()


def test_a_fork_of_a_fork_and_of_one_that_went_on(plain_codex: Recording, play_codex: Play) -> None:
    chat = play_codex(plain_codex)
    fork = chat.back(2)
    fork.hear("OTHER")
    again = fork.other(fork.session)
    assert again.back(1).hear() == [*plain_codex.before(2), NEXT]
    assert again.back(2).hear() == [*plain_codex.before(3), NEXT]
    again.check_untouched()


def test_a_fork_of_codexs_own_fork_stands_alone(plain_codex: Recording, play_codex: Play) -> None:
    """Its file begins with a reference to the other one, which may go."""
    chat = play_codex(plain_codex)
    native = chat.other(chat.client.fork(chat.session, prompt("OTHER")))
    assert "history_base" in records(native.path)[0]["payload"]
    ours = [native.back(n) for n in (1, 2)]
    chat.path.unlink()
    heard = ours[0].hear()
    assert prompts(heard) == [*PLAIN, "NEXT"] and heard[:len(plain_codex.told[-1])] == plain_codex.told[-1]
    assert ours[1].hear() == [*plain_codex.before(1), NEXT]
    chat.rewind.fails(1, "back", "1", "--session", native.session)


def test_a_fork_after_codexs_own_rewind(plain_codex: Recording, play_codex: Play) -> None:
    chat = play_codex(plain_codex)
    with chat.client.server() as server:
        server.revert(chat.session, turns(chat.path)[2])
    assert prompts(chat.client.hear(chat.session, prompt("AFTER"))) == [*PLAIN[:2], "AFTER"]
    rewound = chat.other(chat.session)
    assert rewound.path != chat.path
    assert rewound.back(1).hear() == [*plain_codex.before(2), NEXT]
    assert rewound.back(2).hear() == [*plain_codex.before(3), NEXT]
    chat.check_untouched()


def test_a_fork_may_lie_on_either_side_of_a_compaction(plain_codex: Recording, play_codex: Play) -> None:
    chat = play_codex(plain_codex)
    with chat.client.server() as server:
        server.compact(chat.session)
        server.wait_for("turn/completed")
    assert any(record["type"] == "compacted" for record in records(chat.path))
    told = chat.client.hear(chat.session, prompt("LATER"))
    compacted = chat.other(chat.session)
    assert compacted.back(1).hear() == [*told[:-1], NEXT]
    assert compacted.back(2).hear() == [*plain_codex.before(1), NEXT]
    compacted.check_untouched()


def test_a_fork_after_the_original_was_deleted(plain_codex: Recording, play_codex: Play) -> None:
    chat = play_codex(plain_codex)
    chat.rewind.save()
    chat.path.unlink()
    restored = chat.rewind.json("restore", "last", "--context-only")
    heard = chat.other(restored["fork"]["session_id"]).hear()
    assert prompts(heard) == [*PLAIN, "NEXT"]
    assert heard[:len(plain_codex.told[-1])] == plain_codex.told[-1]


def test_codex_lists_the_fork_under_its_title(plain_codex: Recording, play_codex: Play) -> None:
    chat = play_codex(plain_codex)
    chat.rewind.env["PATH"] = chat.client.env["PATH"]
    found = chat.back_json(1)
    with chat.client.server() as server:
        assert server.listed()[found["fork"]["session_id"]] == f"[Fork] {prompt('WRITE')}"
    resume = f"codex resume {found['fork']['session_id']}"
    assert found["fork"]["resume"] == f"cd {chat.client.project} && {resume}"
    chat.rewind.ok("undo-restore")
    with chat.client.server() as server:
        assert found["fork"]["session_id"] not in server.listed()


def test_in_place_is_refused(plain_codex: Recording, play_codex: Play) -> None:
    chat = play_codex(plain_codex)
    done = chat.rewind.fails(1, "back", "--in-place", "--session", chat.session)
    assert "none is rewritten in place" in done
    chat.check_untouched()


# installed

def test_codex_is_protected_from_the_first_prompt_on(codex: Codex, stage: Stage) -> None:
    hooks = codex.config / "hooks.json"
    hooks.write_text(FOREIGN)
    rewind = Installed(stage, "codex")
    assert json.loads(hooks.read_text())["hooks"]["Stop"][0] == json.loads(FOREIGN)["hooks"]["Stop"][0]

    session, told, states = "", [], [state(stage.project)]
    for name in ("WRITE", "SHELL", "EDIT"):
        session = codex.ask(prompt(name), session)
        told.append(codex.heard(prompt(name)))
        states.append(state(stage.project))
    assert states[-1] == {"README": "A project.\n", "note.txt": "second\n", "made.txt": "by-shell\n"}
    assert not any("developer" in line or "rewind" in line.lower() for line in told[-1]), "hooks say nothing"

    made = rewind.made_for()
    assert made.count("UserPromptSubmit") == made.count("Stop") == 3 and made[0] == "SessionStart"
    assert (stage.home / "foreign.log").read_text() == "stopped\n" * 3, "foreign hooks still run"
    check_turns(rewind, codex, session, states, told)
    back = rewind.json("back", "3", "--both", "--session", session)
    assert back["code"]["exact"] and state(stage.project) == states[0]
    rewind("undo-restore")

    rewind("uninstall", "--yes")
    assert hooks.read_text() == FOREIGN


def test_the_guard_keeps_codex_from_going_back(codex: Codex, stage: Stage) -> None:
    Installed(stage, "codex")
    codex.ask(prompt("WRITE"))
    session = codex.ask(prompt("HARM"))
    assert "Rewind blocks this" in codex.transcript(session).read_text(), "the agent is told why"


def test_hooks_need_the_persons_trust_and_doctor_says_so(codex: Codex, stage: Stage) -> None:
    rewind = Installed(stage, "codex")
    before = {p.name: p.read_bytes() for p in codex.config.glob("*.toml")}
    rewind.env["PATH"] += f":{codex.program.parent}"
    done = subprocess.run([str(stage.home / ".local" / "bin" / "rewind"), "doctor"], cwd=stage.project,
                          env=rewind.env, text=True, capture_output=True, timeout=120)
    assert "Codex runs 0 of" in done.stdout + done.stderr, done
    assert "Trust all and continue" in done.stdout + done.stderr, done
    assert {p.name: p.read_bytes() for p in codex.config.glob("*.toml")} == before
