"""Gemini CLI in its terminal UI, protected by an installed Rewind: turns, its own /rewind, and a way back
from there. Only with `scripts/e2e --all`."""

from __future__ import annotations

import time

from gemini_client import Gemini
from installed import Installed, state
from screen import Screen, wait_until
from scripted import prompt
from stage import Stage
from talk import prompts


def say(screen: Screen, gemini: Gemini, name: str, answer: str) -> list[str]:
    """Type a prompt; what the model was told when it got it."""
    screen.press("C-u")
    time.sleep(0.5)
    screen._tmux("send-keys", "-t", "screen", "-l", "--", prompt(name))
    screen.wait(prompt(name))
    time.sleep(0.5)  # an Enter that comes with the text is taken for a new line
    screen.press("Enter")
    screen.wait(f"✦ {answer}")
    return gemini.heard(prompt(name))


def rewind_before(screen: Screen, name: str) -> None:
    """The client's own way back, the conversation alone."""
    screen._tmux("send-keys", "-t", "screen", "-l", "--", "/rewind")
    time.sleep(0.5)
    screen.press("Enter")
    screen.wait("Stay at current position")
    screen.press_until("Up", f"● {prompt(name)}")
    screen.press("Enter")
    screen.wait("1. Rewind conversation")
    screen.press("Enter")
    screen.wait(f"* {prompt(name)}")  # it is in the input again
    time.sleep(0.5)


def test_the_terminal_ui_is_protected_and_its_own_way_back_is_followed(
        gemini: Gemini, stage: Stage, tmux: None, long_run: None) -> None:
    rewind = Installed(stage, "gemini")
    states, told = [state(stage.project)], []
    env = {**gemini.env, "TERM": "xterm-256color"}
    command = [*gemini.command, "--model", "gemini-2.5-flash", "--approval-mode", "yolo"]
    with Screen(command, env, stage.project) as screen:
        screen.wait("Type your message")
        for name, answer in (("WRITE", "Written."), ("SHELL", "Made.")):
            told.append(say(screen, gemini, name, answer))
            wait_until(lambda: rewind.made_for().count("Stop") == len(told), screen.text)
            states.append(state(stage.project))
        rewind_before(screen, "SHELL")
        told.append(say(screen, gemini, "PAIR", "Both done."))
        wait_until(lambda: rewind.made_for().count("Stop") == 3, screen.text)
        assert not any(word in screen.text() for word in ("[rewind]", "Rewind:", "smart-checkpoint"))
        screen.press("C-u")
        screen._tmux("send-keys", "-t", "screen", "-l", "--", "/quit")
        time.sleep(0.5)
        screen.press("Enter")
        wait_until(lambda: not screen.running(), screen.text)
    assert prompts(told[2]) == ["WRITE", "PAIR"]

    one, = (s for s in rewind.json("sessions", "list")["sessions"])
    shown = rewind.json("sessions", "show", one["session_id"])
    assert [(t["turn"], t["prompt"]) for t in shown["turns"]] == [
        (1, prompt("WRITE")), (None, prompt("SHELL")), (2, prompt("PAIR"))]
    back = rewind.json("back", "1", "--both", "--session", one["session_id"])
    assert back["code"]["exact"] and state(stage.project) == states[2], "the client left the files alone"
    heard = gemini.hear(back["fork"]["session_id"], prompt("NEXT"))
    assert heard[:-1] == told[2][:-1] and prompts(heard) == ["WRITE", "NEXT"]
