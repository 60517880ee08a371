"""What the model is told when the real Droid loads what Rewind has made of a session."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, Callable

import pytest
from conversation import NEXT, Conversation, Recording, contents
from droid_client import Droid
from scripted import PLAIN, prompt
from talk import prompts

from rewind_cli import Rewind

Play = Callable[[Recording], Conversation[Droid]]
USAGE = {"tokenUsage", "inclusiveTokenUsage", "lastCallTokenUsage", "childInclusiveTokenUsageBySessionId",
         "assistantActiveTimeMs"}


def header(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_bytes().split(b"\n")[0]))


def body(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)[1:]


def check_like_droids_own(fork: Conversation[Droid], own: str) -> None:
    """Line by line the same, but for the new id and the title; the settings but for what was used."""
    native = fork.client.transcript(own)
    assert body(fork.path) == body(native)
    changed = {"id": fork.session, "title": header(fork.path)["title"]}
    assert header(fork.path) == {**header(native), **changed}
    ours, theirs = fork.client.settings(fork.session), fork.client.settings(own)
    assert "tokenUsage" not in ours
    assert {k: v for k, v in ours.items() if k not in USAGE} == \
        {k: v for k, v in theirs.items() if k not in USAGE}


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_fork_tells_the_model_what_was_said_before(
        plain_droid: Recording, play_droid: Play, n: int) -> None:
    chat = play_droid(plain_droid)
    heard = chat.back(n).hear()
    assert heard == [*plain_droid.before(n), NEXT]
    assert prompts(heard) == [*PLAIN[:-n], "NEXT"]
    results = [line for line in heard if line.startswith(("result left", "result right"))]
    assert len(results) == (2 if n == 1 else 0), "of parallel calls none is lost"
    chat.check_untouched()


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_fork_equals_what_droids_own_rewind_writes(
        plain_droid: Recording, play_droid: Play, n: int) -> None:
    chat = play_droid(plain_droid)
    found = chat.back_json(n)
    with chat.client.open(chat.session) as opened:
        own = opened.rewind_before(found["prompts"][0]["uuid"], "By Droid itself")
    fork = chat.other(found["fork"]["session_id"])
    check_like_droids_own(fork, own)
    assert header(fork.path)["title"] == f"[Fork] {header(chat.path)['title']}"


def test_the_reminder_before_a_prompt_stays_as_in_droids_own_rewind(
        plain_droid: Recording, play_droid: Play) -> None:
    fork = play_droid(plain_droid).back(2)
    last = json.loads(body(fork.path)[-1])
    # A shell command had changed a file that Droid knew.
    assert last["id"].startswith("context-") and last["message"]["visibility"] == "llm_only"
    assert header(fork.path)["forkedAtMessageId"] == last["id"]


def test_a_fork_of_all_equals_droids_own_fork(plain_droid: Recording, play_droid: Play) -> None:
    chat = play_droid(plain_droid)
    chat.rewind.save()
    fork = chat.other(chat.rewind.json("restore", "last", "--context-only")["fork"]["session_id"])
    with chat.client.open(chat.session) as opened:
        own = opened.fork()
    check_like_droids_own(fork, own)


def test_a_fork_may_begin_before_the_first_prompt(plain_droid: Recording, play_droid: Play) -> None:
    assert prompts(play_droid(plain_droid).back(4).hear()) == ["NEXT"]


@pytest.mark.parametrize("n, kept", [(1, ["PAIR", "LONG", "LATER"]), (2, ["PAIR", "LONG"]), (3, ["PAIR"])])
def test_a_fork_may_lie_on_either_side_of_a_compaction(
        compacted_droid: Recording, play_droid: Play, n: int, kept: list[str]) -> None:
    chat = play_droid(compacted_droid)
    heard = chat.back(n).hear()
    assert heard == [*compacted_droid.before(n), NEXT]
    assert prompts(heard) == [*kept, "NEXT"]
    assert ("SUMMARY" in heard[0]) == (n < 3)
    chat.check_untouched()


def test_a_fork_of_a_fork(plain_droid: Recording, play_droid: Play) -> None:
    chat = play_droid(plain_droid)
    fork = chat.back(2)
    assert header(fork.back(1).path)["title"] == f"[Fork] [Fork] {header(chat.path)['title']}"
    fork.hear("OTHER")
    again = fork.other(fork.session)
    assert again.back(1).hear() == [*plain_droid.before(2), NEXT]
    assert again.back(2).hear() == [*plain_droid.before(3), NEXT]
    again.check_untouched()


def test_a_fork_after_the_original_was_deleted(plain_droid: Recording, play_droid: Play) -> None:
    chat = play_droid(plain_droid)
    chat.rewind.save()
    chat.path.unlink()
    restored = chat.rewind.json("restore", "last", "--context-only")
    heard = chat.other(restored["fork"]["session_id"]).hear()
    assert prompts(heard) == [*PLAIN, "NEXT"]
    assert heard[:len(plain_droid.told[-1])] == plain_droid.told[-1]
    assert heard[-2:] == ["assistant: Edited.", NEXT]


def test_a_title_rewritten_after_the_checkpoint_does_not_move_its_place(droid: Droid, rewind: Rewind) -> None:
    rewind.init()
    with droid.open() as opened:
        told = opened.ask(prompt("WRITE"))
    session, rest = opened.session, body(droid.transcript(opened.session))
    saved = rewind.save()
    with droid.open(session) as opened:
        opened.rename("A title that is a good deal longer than the one before it")
        opened.ask(prompt("SHELL"))
    chat = Conversation(droid, rewind, session)
    fork = chat.other(rewind.json("restore", saved, "--context-only")["fork"]["session_id"])
    assert body(fork.path) == rest
    heard = fork.hear()
    assert heard[:len(told)] == told and heard[-2:] == ["assistant: Written.", NEXT]
    chat.check_untouched()


def test_sessions_are_found_where_the_environment_says(droid: Droid, rewind: Rewind, home: Path) -> None:
    droid.config = home / "elsewhere" / ".factory"
    droid.config.parent.mkdir()
    for env in (droid.env, rewind.env):
        env["FACTORY_HOME_OVERRIDE"] = str(droid.config.parent)
    droid.choose_model()
    rewind.init()
    with droid.open() as opened:
        opened.ask(prompt("PAIR"))
        opened.ask(prompt("MORE"))
    fork = Conversation(droid, rewind, opened.session).back(1)
    assert prompts(fork.hear()) == ["PAIR", "NEXT"]


def test_back_both_takes_back_what_a_shell_command_made(droid: Droid, rewind: Rewind) -> None:
    rewind.init()
    with droid.open() as opened:
        opened.ask(prompt("WRITE"))
    saved = rewind.save()
    with droid.open(opened.session) as opened:
        opened.ask(prompt("SHELL"))
    assert (droid.project / "made.txt").exists()
    chat = Conversation(droid, rewind, opened.session)
    found = chat.back_json(1, "--both")
    assert (found["code"]["checkpoint"], found["code"]["exact"]) == (saved, False)
    assert not (droid.project / "made.txt").exists()
    assert (droid.project / "note.txt").read_text() == "first\n"
    assert prompts(chat.other(found["fork"]["session_id"]).hear()) == ["WRITE", "NEXT"]


def test_in_place_is_refused_for_a_session_that_was_just_written(
        plain_droid: Recording, play_droid: Play) -> None:
    """Droid says nowhere which sessions are open, so a fresh one counts as such."""
    chat = play_droid(plain_droid)
    with chat.client.open(chat.session) as opened:
        opened.ask(prompt("MORE"))
        before = contents(chat.path.parent)
        chat.rewind.fails(13, "back", "--in-place", "--session", chat.session)
        assert contents(chat.path.parent) == before


def test_in_place_works_on_a_session_that_rests(plain_droid: Recording, play_droid: Play) -> None:
    chat = play_droid(plain_droid)
    long_ago = time.time() - 3600
    os.utime(chat.path, (long_ago, long_ago))
    assert chat.rewind.ok("back", "2", "--in-place", "--session", chat.session).out == \
        "Chat rewritten in-place\n"
    backup, = chat.rewind.state.glob("transcript-backup/*")
    assert backup.read_bytes() == chat.bytes
    assert chat.client.hear(chat.session, prompt("NEXT")) == [*plain_droid.before(2), NEXT]


def test_droid_finds_the_fork_and_forks_it_itself(plain_droid: Recording, play_droid: Play) -> None:
    chat = play_droid(plain_droid)
    fork = chat.back(1)
    assert f"[Fork] {header(chat.path)['title']}" in chat.client.run("search", prompt("WRITE"), "--json")
    chat.client.run("exec", "--fork", fork.session, prompt("NEXT"))
    assert chat.client.heard(prompt("NEXT")) == [*plain_droid.before(1), NEXT]
    fork.check_untouched()


def test_droid_lists_a_renamed_fork_by_its_new_name_and_keeps_it(
        plain_droid: Recording, play_droid: Play) -> None:
    chat = play_droid(plain_droid)
    fork = chat.back(1)
    chat.rewind.ok("forks", "rename", fork.session, "Try with SQLite")
    assert '"Try with SQLite"' in chat.client.run("search", prompt("WRITE"), "--json")
    assert fork.hear() == [*plain_droid.before(1), NEXT]
    assert header(fork.path)["title"] == "Try with SQLite"
