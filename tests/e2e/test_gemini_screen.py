"""Gemini CLI in its terminal UI, protected by an installed Rewind: turns, its own /rewind, a way back, and a
fork continued by the printed command and from its own list. Only with `scripts/e2e --all`."""

from __future__ import annotations

from gemini_client import Gemini
from gemini_screen import GeminiScreen, open_gemini
from installed import Installed, state
from scripted import prompt
from stage import Stage
from talk import prompts

TURNS = {"WRITE": "Written.", "SHELL": "Made.", "EDIT": "Edited."}


def say_turns(opened: GeminiScreen, rewind: Installed, states: list[dict[str, str]],
              *names: str) -> list[list[str]]:
    """What the model was told at each prompt. The files are looked at once the turn has its checkpoint."""
    told: list[list[str]] = []
    for name in names or TURNS:
        told.append(opened.ask(prompt(name), TURNS[name]))
        opened.wait_until(lambda: rewind.made_for().count("Stop") == len(told))
        states.append(state(rewind.stage.project))
    return told


def test_the_terminal_ui_is_protected_and_the_printed_command_goes_on(
        gemini: Gemini, stage: Stage, tmux: None, long_run: None) -> None:
    rewind = Installed(stage, "gemini")
    states = [state(stage.project)]
    with open_gemini(gemini) as opened:
        told = say_turns(opened, rewind, states)
        assert not any(word in opened.screen.text() for word in ("[rewind]", "Rewind:", "smart-checkpoint"))
        opened.quit()
    assert states[-1] == {"README": "A project.\n", "note.txt": "second\n", "made.txt": "by-shell\n"}
    one, = rewind.json("sessions", "list")["sessions"]
    original = gemini.transcript(one["session_id"])
    before = original.read_bytes()

    for n in (1, 2):
        back = rewind.json("back", str(n), "--both", "--session", one["session_id"])
        assert back["code"]["exact"] and state(stage.project) == states[-1 - n]
        rewind("undo-restore")
        assert state(stage.project) == states[-1]
    back = rewind.json("back", "1", "--both", "--session", one["session_id"])
    assert original.read_bytes() == before
    with open_gemini(gemini, back["fork"]["resume"], shows="✦ Made.") as opened:
        assert "Edited." not in opened.screen.text()
        heard = opened.ask(prompt("NEXT"), "Heard PROMPT-NEXT")
        opened.wait_until(lambda: rewind.made_for().count("Stop") == 4)
        opened.quit()
    assert heard[:-1] == told[2][:-1] and prompts(heard) == ["WRITE", "SHELL", "NEXT"]

    with open_gemini(gemini) as opened:
        opened.choose(f"[Fork] {prompt('WRITE')}", shows="✦ Heard PROMPT-NEXT")
        heard = opened.ask(prompt("OTHER"), "Heard PROMPT-OTHER")
        opened.quit()
    assert prompts(heard) == ["WRITE", "SHELL", "NEXT", "OTHER"]


def test_what_it_took_back_itself_does_not_count(
        gemini: Gemini, stage: Stage, tmux: None, long_run: None) -> None:
    rewind = Installed(stage, "gemini")
    states = [state(stage.project)]
    with open_gemini(gemini) as opened:
        told = say_turns(opened, rewind, states, "WRITE", "SHELL")
        opened.rewind_before(prompt("SHELL"))
        told.append(opened.ask(prompt("PAIR"), "Both done."))
        opened.wait_until(lambda: rewind.made_for().count("Stop") == 3)
        opened.quit()
    assert prompts(told[2]) == ["WRITE", "PAIR"]

    one, = rewind.json("sessions", "list")["sessions"]
    shown = rewind.json("sessions", "show", one["session_id"])
    assert [(t["turn"], t["prompt"]) for t in shown["turns"]] == [
        (1, prompt("WRITE")), (None, prompt("SHELL")), (2, prompt("PAIR"))]
    back = rewind.json("back", "1", "--both", "--session", one["session_id"])
    assert back["code"]["exact"] and state(stage.project) == states[2], "the client left the files alone"
    with open_gemini(gemini, back["fork"]["resume"], shows="✦ Written.") as opened:
        heard = opened.ask(prompt("NEXT"), "Heard PROMPT-NEXT")
        opened.quit()
    assert heard[:-1] == told[2][:-1] and prompts(heard) == ["WRITE", "NEXT"]
