"""A tour that checks itself: an agent works, a bad turn is taken back, undone and redone.

Everything happens in a temporary directory with a home of its own: nothing of yours is touched.
"""

from __future__ import annotations

import os
import sys
import time

from rewind.cli.demo.demo_agent import Agent
from rewind.cli.demo.demo_session import IGNORED, TURNS
from rewind.cli.demo.demo_world import WentWrong, World
from rewind.cli.output.style import style_for
from rewind.cli.parse.session import note, print_json
from rewind.errors import DONE, DemoFailed, UiMissing
from rewind.words import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

summary = "a tour in seconds: an agent's bad turn is taken back"
examples = ("rewind demo", "rewind demo --ui              # and then look at it on the web page",
            "rewind demo --keep            # keep the directory")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--keep", action="store_true", help="keep the directory and print its path")
    parser.add_argument("--ui", action="store_true", help="then show it on the web page")


def run(args: argparse.Namespace) -> int:
    began = time.monotonic()
    world = World()
    tour = _Tour(world, quiet=args.json)
    try:
        tour.play()
        seconds = time.monotonic() - began
        tour.farewell(seconds)
        if args.ui and not args.json:
            _show_page(world)
    finally:
        if args.keep:
            note(f"To look around:\n  cd {world.project}\n  export {world.exports()}\n  rewind\n"
                 f"Everything is left in {world.top}")
        else:
            world.remove()
    if args.json:
        print_json({"ok": True, "seconds": round(seconds, 2), "steps": tour.done,
                    "directory": world.top if args.keep else None})
    return DONE


def _show_page(world: World) -> None:
    """Until Ctrl-C. It looks into the demo's homes; the browser that it opens stays in the person's own."""
    from rewind.cli.look import ui
    from rewind.cli.parse.arguments import parse

    was = dict(os.environ)
    try:
        os.environ.clear()
        os.environ.update({**world.env(), "HOME": was.get("HOME", world.home)})
        ui.run(parse(ui, "ui", ["-C", world.project]))
    except (UiMissing, KeyboardInterrupt) as end:
        if isinstance(end, UiMissing):
            note(f"{end.message} {end.hint}")
    finally:
        os.environ.clear()
        os.environ.update(was)


class _Tour:
    """Six steps. Each shows what a person would type, and checks what came of it."""

    def __init__(self, world: World, *, quiet: bool) -> None:
        self.world = world
        self.agent = Agent(world)
        self.done: list[dict[str, Any]] = []
        self._page = _Page(quiet)
        self._before: dict[str, bytes] = {}  # the files before the bad turn, after it, and the chat then
        self._after: dict[str, bytes] = {}
        self._chat = b""
        self._fork: dict[str, str] = {}

    def play(self) -> None:
        self._page.title("Rewind, in a few seconds",
                         "A recorded session of a coding agent, played through the real hooks.")
        steps = ((self._protect, "Protect a project", "rewind init"),
                 (self._work, "Let an agent work", ""),
                 (self._look, "See what was kept", "rewind list"),
                 (self._back, "Take back the last turn, code and chat", "rewind back 1 --both"),
                 (self._undo, "Change your mind", "rewind undo-restore"),
                 (self._redo, "And once more", "rewind redo"))
        for number, (step, title, command) in enumerate(steps, 1):
            self._page.step(number, title, command)
            try:
                checked = step(*command.split()[1:])
            except (WentWrong, OSError, ValueError, LookupError, TypeError) as error:
                problem = str(error) if isinstance(error, WentWrong) else f"{type(error).__name__}: {error}"
                raise DemoFailed(number=number, title=title, problem=problem)
            for text in checked:
                self._page.check(text)
            self.done.append({"step": number, "title": title, "command": command or None, "checked": checked})

    def farewell(self, seconds: float) -> None:
        self._page.end(f"Everything came back exactly. ({seconds:.1f} s)",
                       f"To use it in your own projects: {_program()} install")

    # the steps: each shows a little, and returns what it has checked

    def _protect(self, *command: str) -> list[str]:
        self.world.rewind(*command)
        count = len(self.world.files())
        _check(self.world.rewind("list")["checkpoints"][0]["fileCount"] == count,
               "the first checkpoint does not hold every file")
        return [f"All {count} files are safe, including {IGNORED}, which git ignores."]

    def _work(self) -> list[str]:
        self.agent.start()
        for turn in TURNS:
            self._before = self.world.files()
            self._page.prompt(turn["prompt"])
            self._page.say(" · ".join(_short(tool, given) for tool, given in turn["tools"]), "dim")
            self.agent.turn(turn)
        self.agent.end()
        self._after = self.world.files()
        self._chat = _bytes(self.agent.transcript)
        lost = sorted(name for name in self._before if name not in self._after)
        changed = sorted(name for name in self._after if self._after[name] != self._before.get(name))
        _check(bool(lost and IGNORED in changed), "the recorded session did not do what it should")
        self._page.say(f"Oh no: {_and(changed)} overwritten, {_and(lost)} gone.", "yellow")
        return [f"The hooks printed nothing; the slowest took {self.agent.slowest * 1000:.0f} ms."]

    def _look(self, *command: str) -> list[str]:
        found = self.world.rewind(*command)["checkpoints"]
        for number, record in enumerate(found, 1):
            self._page.say(f"{number:>2}  {record['description']}", "dim")
        events = [r["trigger"].get("event") for r in found if r["sessionId"] == self.agent.session]
        for event in ("UserPromptSubmit", "Stop"):
            count = events.count(event)
            _check(count == len(TURNS), f"{count} checkpoints were made by {event}")
        # The client makes its file after the first prompt's hook.
        _check(all(r["hasTranscript"] for r in found[:2 * len(TURNS) - 1]), "a conversation is missing")
        return ["There is a checkpoint before and after each turn, with the conversation."]

    def _back(self, *command: str) -> list[str]:
        back = self.world.rewind(*command)
        _check([p["text"] for p in back["prompts"]] == [TURNS[-1]["prompt"]], "another prompt was taken back")
        _check(bool(back["code"] and back["code"]["exact"]), "the code is not exactly of that moment")
        self._page.prompt(TURNS[-1]["prompt"])
        self._fork = back["fork"]
        self._page.say(f"taken back; resume: {back['fork']['resume'].rpartition('&& ')[2]}", "dim")
        return [self._files_are(self._before, "as they were before that prompt"), self._talk_goes_on()]

    def _undo(self, *command: str) -> list[str]:
        self.world.rewind(*command)
        _check(not os.path.exists(self._fork["path"]), "the fork is still there")
        return [self._files_are(self._after, "as the agent had left them"),
                "The unused fork is in the trash."]

    def _redo(self, *command: str) -> list[str]:
        redone = self.world.rewind(*command)
        self._fork = redone["fork"] or self._fork
        texts = [self._files_are(self._before, "as they were before that prompt"), self._talk_goes_on()]
        problems = self.world.rewind("validate", "--deep")["problems"]
        _check(not problems, "; ".join(str(p) for p in problems))
        return [*texts, "Every byte in the store is sound: rewind validate --deep"]

    # what is checked more than once

    def _files_are(self, wanted: dict[str, bytes], how: str) -> str:
        found = self.world.files()
        wrong = sorted(name for name in {*wanted, *found} if wanted.get(name) != found.get(name))
        _check(not wrong, f"{_and(wrong)} should be {how}")
        return f"{plural(len(wanted), 'file')} {how}, byte for byte."

    def _talk_goes_on(self) -> str:
        turns = self.world.rewind("sessions", "show", self._fork["path"])["turns"]
        said = [turn["prompt"] for turn in turns if turn["active"]]
        _check(said == [turn["prompt"] for turn in TURNS[:-1]], f"the fork has the prompts {said}")
        _check(_bytes(self.agent.transcript) == self._chat, "the old session is not what it was")
        return f"The chat continues after turn {len(said)}, in a fork; the old session is untouched."


def _check(holds: bool, problem: str) -> None:
    if not holds:
        raise WentWrong(problem)


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _and(names: list[str]) -> str:
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else "".join(names)


def _short(tool: str, given: dict[str, str]) -> str:
    what = given.get("file_path") or given["command"]
    words = what.split(" ")
    return f"{tool} {what if len(what) <= 24 else ' '.join([words[0], '…', *words[-2:]])}"


_PLAIN = {"✓": "*", "›": ">", "·": ",", "…": "..."}  # for terminals that know no others


class _Page:
    """How the tour looks: for each step its title, what is typed, what happened, what was checked."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._paint = style_for(sys.stdout)
        try:
            "".join(_PLAIN).encode(sys.stdout.encoding or "ascii")
            self._plain = {}
        except UnicodeEncodeError:
            self._plain = str.maketrans(_PLAIN)

    def title(self, text: str, below: str) -> None:
        self._print(f"\n{self._paint(text, 'bold')}\n{below}")

    def step(self, number: int, title: str, command: str) -> None:
        self._print(f"\n{self._paint(str(number), 'cyan')}  {self._paint(title, 'bold')}")
        if command:
            self._print(f"   {self._paint('$', 'dim')} {self._paint(command, 'cyan')}")

    def prompt(self, text: str) -> None:
        self._print(f"   {self._paint('›', 'magenta')} {text}")

    def say(self, text: str, style: str) -> None:
        self._print(f"     {self._paint(text, style)}")

    def check(self, text: str) -> None:
        self._print(f"   {self._paint('✓', 'green')} {text}")

    def end(self, text: str, below: str) -> None:
        self._print(f"\n{self._paint(text, 'green')}\n{below}")

    def _print(self, text: str) -> None:
        if not self._quiet:
            print(text.translate(self._plain), flush=True)


def _program() -> str:
    """As it can be typed: in a checkout that is not installed yet, by its path."""
    from shutil import which

    typed = sys.argv[0]
    if os.path.basename(typed) == "rewind" and os.sep in typed and not which("rewind"):
        return typed
    return "rewind"
