"""Codex in its terminal UI, protected by an installed Rewind: its questions answered as a person would answer
them, turns, a way back, and the fork continued by the printed command. Only with `scripts/e2e --all`."""

from __future__ import annotations

from codex_client import Codex
from codex_screen import CodexScreen, open_codex
from installed import Installed, state
from scripted import prompt
from stage import Stage
from talk import prompts

TURNS = {"WRITE": "Written.", "SHELL": "Made.", "EDIT": "Edited."}


def install(codex: Codex, stage: Stage) -> Installed:
    rewind = Installed(stage, "codex")
    rewind.env["PATH"] += f":{codex.program.parent}"
    return rewind


def say_turns(opened: CodexScreen, rewind: Installed, states: list[dict[str, str]]) -> list[list[str]]:
    """What the model was told at each prompt. The files are looked at once the turn has its checkpoint."""
    told: list[list[str]] = []
    for name, answer in TURNS.items():
        told.append(opened.ask(prompt(name), answer))
        opened.wait_until(lambda: rewind.made_for().count("Stop") == len(told))
        states.append(state(rewind.stage.project))
    return told


def test_the_terminal_ui_is_protected_and_the_printed_command_goes_on(
        codex: Codex, stage: Stage, tmux: None, long_run: None) -> None:
    rewind = install(codex, stage)
    states = [state(stage.project)]
    with open_codex(codex) as opened:
        assert "Hooks need review" in opened.asked, "the person's trust is asked for"
        told = say_turns(opened, rewind, states)
        assert not any(word in opened.screen.text() for word in ("[rewind]", "Rewind:", "smart-checkpoint"))
        opened.quit()
    assert states[-1] == {"README": "A project.\n", "note.txt": "second\n", "made.txt": "by-shell\n"}
    one, = rewind.json("sessions", "list")["sessions"]
    original = codex.transcript(one["session_id"])
    before = original.read_bytes()

    for n in (1, 2, 3):
        back = rewind.json("back", str(n), "--both", "--session", one["session_id"])
        assert back["code"]["exact"] and state(stage.project) == states[-1 - n]
        rewind("undo-restore")
        assert state(stage.project) == states[-1]
    back = rewind.json("back", "1", "--both", "--session", one["session_id"])
    with open_codex(codex, back["fork"]["resume"]) as opened:
        assert "Hooks need review" not in opened.asked, "what was trusted is trusted still"
        opened.wait("Made.")  # what was said is shown again
        assert "Edited." not in opened.screen.text()
        heard = opened.ask(prompt("NEXT"), "Heard PROMPT-NEXT")
        opened.wait_until(lambda: rewind.made_for().count("Stop") == 4)
        opened.quit()
    assert heard[:-1] == told[2][:-1] and prompts(heard) == ["WRITE", "SHELL", "NEXT"]
    assert original.read_bytes() == before

    again = rewind.json("back", "1", "--session", back["fork"]["session_id"])
    assert prompts(codex.hear(again["fork"]["session_id"], prompt("OTHER"))) == ["WRITE", "SHELL", "OTHER"]


def test_the_picker_shows_the_fork_by_its_title_and_opens_it(
        codex: Codex, stage: Stage, tmux: None, long_run: None) -> None:
    rewind = install(codex, stage)
    with open_codex(codex) as opened:
        told = say_turns(opened, rewind, [])
        opened.quit()
    rewind.json("back", "1")
    with open_codex(codex, "codex resume", ready="Resume a previous session") as opened:
        opened.choose(f"[Fork] {prompt('WRITE')}")
        heard = opened.ask(prompt("NEXT"), "Heard PROMPT-NEXT")
        opened.quit()
    assert heard[:-1] == told[2][:-1] and prompts(heard) == ["WRITE", "SHELL", "NEXT"]


def test_what_it_took_back_itself_does_not_count(
        codex: Codex, stage: Stage, tmux: None, long_run: None) -> None:
    """Its own rewind, Esc Esc, leaves the files alone, and goes on in a second file."""
    rewind = install(codex, stage)
    states = [state(stage.project)]
    with open_codex(codex) as opened:
        told = say_turns(opened, rewind, states)
        opened.rewind_last(prompt("EDIT"))
        heard = opened.ask(prompt("PAIR"), "Both done.")
        opened.wait_until(lambda: rewind.made_for().count("Stop") == 4)
        opened.quit()
    assert heard[:-1] == told[2][:-1] and state(stage.project) == states[3]
    one, = rewind.json("sessions", "list")["sessions"]
    back = rewind.json("back", "2", "--both", "--session", one["session_id"])
    assert [p["text"] for p in back["prompts"]] == [prompt("SHELL"), prompt("PAIR")]
    assert state(stage.project) == states[1]
    with open_codex(codex, back["fork"]["resume"]) as opened:
        heard = opened.ask(prompt("NEXT"), "Heard PROMPT-NEXT")
        opened.quit()
    assert heard[:-1] == told[1][:-1] and prompts(heard) == ["WRITE", "NEXT"]
