"""What the model is told when the real Gemini CLI resumes what Rewind has made of a session; and Gemini CLI
protected by an installed Rewind, beside hooks of others."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Callable

import pytest
from conversation import NEXT, Conversation, Recording
from gemini_client import SETTINGS, Gemini
from installed import Installed, state
from scripted import PLAIN, prompt
from stage import Stage
from talk import prompts
from test_hooks import check_turns

Play = Callable[[Recording], Conversation[Gemini]]
FOREIGN = "// mine\n" + json.dumps(SETTINGS)[:-1] + """,
  "hooks": { // of others
    "AfterAgent": [ {"hooks": [{"command": "echo stopped >> $HOME/foreign.log", "type": "command"}]} ]
  } /* the end */ }"""


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def id_of(path: Path, text: str) -> str:
    return next(r["id"] for r in records(path) if r.get("content") == [{"text": text}])


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_fork_tells_the_model_what_was_said_before(
        plain_gemini: Recording, play_gemini: Play, n: int) -> None:
    heard = play_gemini(plain_gemini).back(n).hear()
    assert heard == [*plain_gemini.before(n), NEXT]
    assert prompts(heard) == [*PLAIN[:-n], "NEXT"]
    if n == 1:
        results = [line for line in heard if line.startswith("result") and "-result" in line]
        assert len(results) == 2, "of parallel calls none is lost"
        assert "left-result" in results[0] and "right-result" in results[1]


def test_before_the_first_prompt_there_is_nothing_to_resume(
        plain_gemini: Recording, play_gemini: Play) -> None:
    chat = play_gemini(plain_gemini)
    assert "nothing before this prompt" in chat.rewind.fails(1, "back", "4", "--session", chat.session)


def test_a_fork_of_a_fork_and_of_one_that_went_on(plain_gemini: Recording, play_gemini: Play) -> None:
    fork = play_gemini(plain_gemini).back(2)
    fork.hear("OTHER")
    again = fork.other(fork.session)
    assert again.back(1).hear() == [*plain_gemini.before(2), NEXT]
    assert again.back(2).hear() == [*plain_gemini.before(3), NEXT]


def make_long(path: Path) -> None:
    """Ten megabytes that amount to nothing: earlier versions of an answer."""
    lines = path.read_bytes().splitlines(keepends=True)
    at = next(i for i, raw in enumerate(lines) if json.loads(raw).get("type") == "gemini")
    earlier = json.dumps({**json.loads(lines[at]), "content": "x" * 200_000}).encode() + b"\n"
    path.write_bytes(b"".join([*lines[:at], *[earlier] * 50, *lines[at:]]))


def test_a_fork_of_a_long_log_is_a_copy_that_amounts_to_the_same(
        plain_gemini: Recording, play_gemini: Play) -> None:
    chat = play_gemini(plain_gemini)
    make_long(chat.path)
    found = chat.other(chat.session).back_json(1)
    fork = found["fork"]["session_id"]
    assert Path(found["fork"]["path"]).stat().st_size > 10_000_000, "the records were not copied"
    assert f"[Fork] {prompt('WRITE')}" in chat.client.run("--list-sessions")
    assert chat.other(fork).hear() == [*plain_gemini.before(1), NEXT]


def test_a_fork_after_gemini_went_back_itself(plain_gemini: Recording, play_gemini: Play) -> None:
    """The record that its /rewind writes; the command itself is in the terminal UI only."""
    chat = play_gemini(plain_gemini)
    with chat.path.open("a") as file:
        file.write(json.dumps({"$rewindTo": id_of(chat.path, prompt(PLAIN[2]))}) + "\n")
    assert prompts(chat.client.hear(chat.session, prompt("AFTER"))) == [*PLAIN[:2], "AFTER"]
    rewound = chat.other(chat.session)
    assert rewound.back(1).hear() == [*plain_gemini.before(2), NEXT]
    assert rewound.back(2).hear() == [*plain_gemini.before(3), NEXT]


def test_a_fork_may_lie_on_either_side_of_a_compaction(plain_gemini: Recording, play_gemini: Play) -> None:
    chat = play_gemini(plain_gemini)
    chat.client.set(model={"compressionThreshold": 0.0001})
    told = chat.client.hear(chat.session, prompt("LATER"))
    assert "user: <state_snapshot>SUMMARY of what was said</state_snapshot>" in told
    chat.client.set()
    compacted = chat.other(chat.session)
    assert compacted.back(1).hear() == [*told[:-1], NEXT]
    assert compacted.back(2).hear() == [*plain_gemini.before(1), NEXT]


def test_a_fork_after_the_original_was_deleted(plain_gemini: Recording, play_gemini: Play) -> None:
    chat = play_gemini(plain_gemini)
    chat.rewind.save()
    chat.path.unlink()
    restored = chat.rewind.json("restore", "last", "--context-only")
    heard = chat.other(restored["fork"]["session_id"]).hear()
    assert prompts(heard) == [*PLAIN, "NEXT"]
    assert heard[:len(plain_gemini.told[-1])] == plain_gemini.told[-1]


def test_gemini_lists_the_fork_under_its_title_and_does_not_delete_it(
        plain_gemini: Recording, play_gemini: Play) -> None:
    """With the client's own cleaning up, which deletes resumed sessions whose name ends like their id."""
    chat = play_gemini(plain_gemini)
    found = chat.back_json(1)
    fork = found["fork"]["session_id"]
    assert found["fork"]["resume"] == f"cd {chat.client.project} && gemini --resume {fork}"
    chat.client.set(general={"enableAutoUpdate": False})
    assert f"[Fork] {prompt('WRITE')}" in chat.client.run("--list-sessions")
    assert chat.other(fork).hear() == [*plain_gemini.before(1), NEXT]
    # What the client leaves when it resumes a session in another minute.
    stub = Path(found["fork"]["path"]).with_name(f"session-2026-01-01T00-00-{fork[:8]}.jsonl")
    stub.write_bytes(chat.bytes.split(b"\n")[0].replace(chat.session.encode(), fork.encode()) + b"\n")
    assert fork in chat.client.run("--list-sessions")
    assert not stub.exists() and Path(found["fork"]["path"]).exists()
    assert prompts(chat.other(fork).hear("LATER")) == [*PLAIN[:-1], "NEXT", "LATER"]


def test_in_place_is_refused(plain_gemini: Recording, play_gemini: Play) -> None:
    chat = play_gemini(plain_gemini)
    done = chat.rewind.fails(1, "back", "--in-place", "--session", chat.session)
    assert "none is rewritten in place" in done and "which of them are open" in done
    chat.check_untouched()


# installed

def test_gemini_is_protected_from_the_first_prompt_on(gemini: Gemini, stage: Stage) -> None:
    gemini.settings.write_text(FOREIGN)
    rewind = Installed(stage, "gemini")
    assert gemini.settings.read_text() != FOREIGN

    session, told, states = "", [], [state(stage.project)]
    for name in ("WRITE", "SHELL", "EDIT"):
        session = gemini.ask(prompt(name), session)
        told.append(gemini.heard(prompt(name)))
        states.append(state(stage.project))
    assert states[-1] == {"README": "A project.\n", "note.txt": "second\n", "made.txt": "by-shell\n"}
    assert not any("rewind" in line.lower() for line in told[-1]), "hooks say nothing"

    made = rewind.made_for()
    assert made.count("UserPromptSubmit") == made.count("Stop") == 3 and made[0] == "SessionStart"
    assert (stage.home / "foreign.log").read_text() == "stopped\n" * 3, "foreign hooks still run"
    check_turns(rewind, gemini, session, states, told)
    back = rewind.json("back", "3", "--both", "--session", session)
    assert back["code"]["exact"] and state(stage.project) == states[0]
    rewind("undo-restore")

    rewind("uninstall", "--yes")
    assert gemini.settings.read_text() == FOREIGN


def test_the_guard_keeps_gemini_from_going_back(gemini: Gemini, stage: Stage) -> None:
    Installed(stage, "gemini")
    session = gemini.ask(prompt("HARM"))
    assert "Rewind blocks this" in gemini.transcript(session).read_text(), "the agent is told why"


def test_doctor_says_that_no_hook_runs_in_a_folder_that_is_not_trusted(gemini: Gemini, stage: Stage) -> None:
    rewind = Installed(stage, "gemini")
    rewind("init")
    gemini.trust(False)
    done = subprocess.run([str(stage.home / ".local" / "bin" / "rewind"), "doctor"], cwd=stage.project,
                          env=rewind.env, text=True, capture_output=True, timeout=120)
    assert "Gemini CLI runs no hooks here" in done.stdout + done.stderr, done
    gemini.trust()
    assert "runs no hooks here" not in rewind("doctor")
