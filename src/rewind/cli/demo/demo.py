"""A tour that checks itself: an agent works, a bad turn is taken back, undone and redone.

Everything happens in a temporary directory with a home of its own: nothing of yours is touched.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from shutil import which
from typing import TYPE_CHECKING, Any

from rewind.cli.demo.demo_session import IGNORED, TURNS
from rewind.cli.demo.demo_world import Agent, CheckFailed, World, content
from rewind.cli.look import ui
from rewind.cli.open_and_answer import Args, Parser, note, print_json
from rewind.cli.output.change_counts import amount
from rewind.cli.output.columns import cells, cut
from rewind.cli.output.style import paint
from rewind.cli.parse.arguments import parse
from rewind.errors import DONE, DemoFailed, UiMissing
from rewind.words import plural

if TYPE_CHECKING:
    from typing import TypedDict

    class StepJson(TypedDict):
        step: int
        title: str
        command: str | None
        checked: list[str]

summary = "a tour in seconds: an agent's bad turn is taken back"
examples = ("rewind demo", "rewind demo --ui              # and then look at it on the web page",
            "rewind demo --keep            # keep the directory")
_PROMPT = 42  # cells of one in the list
_PLAIN = {"✓": "*", "›": ">", "·": ",", "…": "...", "−": "-"}  # for terminals that know no others


def arguments(parser: Parser) -> None:
    parser.add_argument("--keep", action="store_true", help="keep the directory and print its path")
    parser.add_argument("--ui", action="store_true", help="then show it on the web page")


def run(args: Args) -> int:
    began = time.monotonic()
    world = World()
    tour = _Tour(world, _Page(quiet=args.json))
    try:
        tour.play()
        seconds = time.monotonic() - began
        tour.page.say(f"\nEverything came back exactly. ({seconds:.1f} s)", "green")
        tour.page.say(f"To use it in your own projects: {_program()} install")
        if args.ui and not args.json:
            _show_page(world)
    finally:
        if args.keep:
            exports = " ".join(f"{key}={shlex.quote(value)}" for key, value in world.homes.items())
            note(f"To look around:\n  cd {world.project}\n  export {exports}\n  rewind\n"
                 f"Everything is left in {world.top}")
        else:
            world.remove()
    if args.json:
        print_json({"ok": True, "seconds": round(seconds, 2), "steps": tour.done,
                    "directory": world.top if args.keep else None})
    return DONE


def _show_page(world: World) -> None:
    """Until Ctrl-C. It looks into the demo's homes; the browser that it opens stays in the person's own."""
    env = world.env(HOME=os.environ.get("HOME", world.home))
    os.environ.clear()
    os.environ.update(env)
    try:
        ui.run(parse(ui, "ui", ["-C", world.project]))
    except UiMissing as error:
        note(f"{error.message} {error.hint}")
    except KeyboardInterrupt:
        pass


class _Page:
    """How the tour looks: for each step its title, what is typed, what happened, what was checked."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        try:
            "".join(_PLAIN).encode(sys.stdout.encoding or "ascii")
            self._plain = {}
        except UnicodeEncodeError:
            self._plain = str.maketrans(_PLAIN)

    def say(self, text: str, style: str = "", mark: str = "", mark_style: str = "dim") -> None:
        if not self._quiet:
            before = f"   {paint(mark, mark_style)} " if mark else ""
            print((before + paint(text, style)).translate(self._plain), flush=True)

    def prompt(self, text: str) -> None:
        self.say(text, mark="›", mark_style="magenta")

    def detail(self, text: str, style: str = "dim") -> None:
        self.say(text, style, mark=" ")


class _Tour:
    """Six steps. Each gets the answer to what a person would type, and returns what it has checked."""

    def __init__(self, world: World, page: _Page) -> None:
        self.world, self.page, self.agent = world, page, Agent(world)
        self.done: list[StepJson] = []
        self.before: dict[str, bytes] = {}  # the bad turn
        self.after: dict[str, bytes] = {}
        self.conversation = b""  # after it
        self.fork = ""

    def play(self) -> None:
        self.page.say("\nRewind, in a few seconds", "bold")
        self.page.say("A recorded session of a coding agent, played through the real hooks.")
        steps = ((self._protect, "Protect a project", "rewind init"),
                 (self._work, "Let an agent work", ""),
                 (self._look, "See what was kept", "rewind list"),
                 (self._back, "Take back the last turn, code and conversation", "rewind back 1 --both"),
                 (self._undo, "Change your mind", "rewind undo-restore"),
                 (self._redo, "And once more", "rewind redo"))
        for number, (step, title, command) in enumerate(steps, 1):
            self.page.say(f"\n{paint(str(number), 'cyan')}  {paint(title, 'bold')}")
            if command:
                self.page.say(command, "cyan", mark="$")
            try:
                checked = step(self.world.rewind(*command.split()[1:]) if command else None)
            except CheckFailed as error:
                raise DemoFailed(number=number, title=title, problem=str(error))
            except (OSError, ValueError, LookupError, TypeError, subprocess.SubprocessError) as error:
                raise DemoFailed(number=number, title=title, problem=f"{type(error).__name__}: {error}")
            for text in checked:
                self.page.say(text, mark="✓", mark_style="green")
            self.done.append({"step": number, "title": title, "command": command or None, "checked": checked})

    def _protect(self, answer: Any) -> list[str]:
        count = len(self.world.files())
        _check(self.world.rewind("list")["checkpoints"][0]["fileCount"] == count,
               "the first checkpoint does not hold every file")
        return [f"All {count} files are safe, including {IGNORED}, which git ignores."]

    def _work(self, answer: Any) -> list[str]:
        self.agent.start()
        for turn in TURNS:
            self.before = self.world.files()
            self.page.prompt(turn.prompt)
            self.page.detail(turn.shown)
            self.agent.turn(turn)
        self.agent.end()
        self.after, self.conversation = self.world.files(), content(self.agent.transcript)
        lost = sorted(self.before.keys() - self.after.keys())
        changed = sorted(name for name in self.after if self.after[name] != self.before.get(name))
        _check(bool(lost) and IGNORED in changed, "the recorded session did not do what it should")
        self.page.detail(f"Oh no: {_and(changed)} overwritten, {_and(lost)} gone.", "yellow")
        return [f"The hooks printed nothing; the slowest took {self.agent.slowest * 1000:.0f} ms."]

    def _look(self, answer: Any) -> list[str]:
        found, turns = answer["checkpoints"], answer["turns"]
        for row in turns:
            self.page.detail(_turn_row(row))
        _check([row["turn"] for row in turns] == list(range(len(TURNS), 0, -1)), "a turn is missing")
        events = [r["trigger"].get("event") for r in found if r["sessionId"] == self.agent.session]
        for event in ("UserPromptSubmit", "Stop"):
            count = events.count(event)
            _check(count == len(TURNS), f"{count} checkpoints were made by {event}")
        # The client makes its file after the first prompt's hook.
        _check(all(r["hasTranscript"] for r in found[:2 * len(TURNS) - 1]), "a conversation is missing")
        return ["There is a checkpoint before and after each turn, with the conversation."]

    def _back(self, answer: Any) -> list[str]:
        last = TURNS[-1].prompt
        _check([p["text"] for p in answer["prompts"]] == [last], "another prompt was taken back")
        _check(bool(answer["code"] and answer["code"]["exact"]), "the code is not exactly of that moment")
        self.page.prompt(last)
        self.page.detail(f"taken back; resume: {answer['fork']['resume'].rpartition('&& ')[2]}")
        return self._is_before(answer)

    def _undo(self, answer: Any) -> list[str]:
        _check(not os.path.exists(self.fork), "the fork is still there")
        return [self._files_are(self.after, "as the agent had left them"), "The unused fork is in the trash."]

    def _redo(self, answer: Any) -> list[str]:
        checked = self._is_before(answer)
        problems = self.world.rewind("validate", "--deep")["problems"]
        _check(not problems, "; ".join(map(str, problems)))
        return [*checked, "Every byte in the store is sound: rewind validate --deep"]

    def _is_before(self, answer: Any) -> list[str]:
        self.fork = answer["fork"]["path"] if answer["fork"] else self.fork
        files = self._files_are(self.before, "as they were before that prompt")
        turns = self.world.rewind("sessions", "show", self.fork)["turns"]
        said = [turn["prompt"] for turn in turns if turn["active"]]
        _check(said == [turn.prompt for turn in TURNS[:-1]], f"the fork has the prompts {said}")
        _check(content(self.agent.transcript) == self.conversation, "the old session is not what it was")
        return [files, f"A fork continues the conversation after turn {len(said)}; the old one is untouched."]

    def _files_are(self, wanted: dict[str, bytes], how: str) -> str:
        found = self.world.files()
        wrong = sorted(name for name in {*wanted, *found} if wanted.get(name) != found.get(name))
        _check(not wrong, f"{_and(wrong)} should be {how}")
        return f"{plural(len(wanted), 'file')} {how}, byte for byte."


def _turn_row(row: Any) -> str:
    """As `rewind list` shows a turn, in less room."""
    prompt, changes = cut(row["prompt"], _PROMPT), row["changes"]
    mark = "! " if changes and changes["largeDeletion"] else ""
    counted = amount(changes["added"], changes["removed"], changes["files"]) if changes else ""
    return (f"{row['number']:>2}  t{row['turn']}  {prompt}{' ' * (_PROMPT - cells(prompt))}"
            f"  {mark}{counted}").rstrip()


def _check(holds: bool, problem: str) -> None:
    if not holds:
        raise CheckFailed(problem)


def _and(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _program() -> str:
    """As it can be typed: in a checkout that is not installed yet, by its path."""
    typed = sys.argv[0]
    if os.path.basename(typed) == "rewind" and os.sep in typed and not which("rewind"):
        return typed
    return "rewind"
