"""The timeline as a numbered list in plain text, for every terminal: choose, see the plan, confirm."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from rewind.cli.go_back.plan_and_outcome import exit_code, print_plan, tell_code, tell_what_next
from rewind.cli.output.progress import ProgressLine
from rewind.cli.output.style import paint
from rewind.controller import BOTH, CHECKPOINT, CODE, CONVERSATION, NOW, PROMPT, SESSION, Controller
from rewind.errors import DONE, NotInitialised, RewindError
from rewind.paths import current_dir
from rewind.words import age, one_line, plural, safe, shortened

if TYPE_CHECKING:
    from rewind.checkpoint.map.by_session import Item
    from rewind.checkpoint.rewind.outcome import Outcome
    from rewind.checkpoint.rewind.plan import Plan

_AT_ONCE = 20
_INTENTS = {"1": BOTH, "2": CODE, "3": CONVERSATION}
_CHOICES = ("1  Jump: code + conversation", "2  Code only", "3  Conversation only")


class _Leave(Exception):
    """The person wants to leave."""


def pick(project: str | None) -> int:
    try:
        controller = _open(project)
        return _Picker(controller).run()
    except _Leave:
        return DONE


def _open(project: str | None) -> Controller:
    try:
        return Controller(project)
    except NotInitialised:
        root = os.path.realpath(project or current_dir())
        print(f"This directory is not protected by Rewind yet: {safe(root)}")
        if not _yes("Protect it now?"):
            raise _Leave
        with ProgressLine() as progress:
            return Controller.init(root, progress=progress)[0]


def _ask(question: str) -> str:
    print(f"{question} ", end="", flush=True)
    line = sys.stdin.readline()
    if not line:
        print()
        raise _Leave
    return line.strip()


def _yes(question: str) -> bool:
    while True:
        answer = _ask(f"{question} (y/n)").lower()
        if answer in ("y", "yes", "n", "no", "q"):
            return answer[0] == "y"
        print("Please answer y or n.")


class _Picker:
    def __init__(self, controller: Controller) -> None:
        self.controller = controller
        self.filter = ""
        self.most = _AT_ONCE
        self.items: list[Item] = []

    def run(self) -> int:
        """Until something was done, or the person leaves."""
        show = True
        while True:
            self.items = self.controller.map_by_session().items if show else self.items
            numbers = self._list(show)
            answer = _ask("Number, text to filter, m for more, q to quit:")
            show = True
            if answer.lower() in ("q", "quit"):
                return DONE
            if answer in numbers or (answer.isascii() and answer.isdigit()):
                chosen = numbers.get(answer)
                code = self._choose(chosen) if chosen else None
                if code is not None:
                    return code
                if chosen is None:
                    print(f"There is no number {answer} in this list. To show more: m")
                    show = False
            elif answer == "m":
                self.most += _AT_ONCE
            else:
                self.filter = answer  # an empty one shows everything again

    # the list

    def _list(self, show: bool) -> dict[str, Item]:
        """The items by number, as in `rewind list`; a prompt without a checkpoint by its turn."""
        wanted = [item for item in self.items if item.kind != NOW and self._matches(item)]
        numbers: dict[str, Item] = {}
        for item in wanted:
            if item.kind in (PROMPT, CHECKPOINT):
                numbers.setdefault(self._number(item, numbers), item)
        if show:
            self._print(wanted, {id(item): number for number, item in numbers.items()})
        return numbers

    def _number(self, item: Item, taken: dict[str, Item]) -> str:
        if item.record and str(item.record.sequence) not in taken:
            return str(item.record.sequence)
        turn = f"t{item.turn}"
        return f"{item.session.session_id[:6]}:{turn}" if item.session and turn in taken else turn

    def _matches(self, item: Item) -> bool:
        if item.kind == SESSION:
            return not self.filter
        name = item.record.name if item.record else ""
        return all(word in f"{item.text} {name}".casefold() for word in self.filter.casefold().split())

    def _print(self, items: list[Item], numbers: dict[int, str]) -> None:
        now, hidden = time.time(), 0
        print()
        choosable = [item for item in items if item.kind in (PROMPT, CHECKPOINT)]
        old = {id(item) for item in choosable[:-self.most]}
        for item in items:
            if id(item) in old:
                hidden += 1
            elif item.kind == SESSION or item in choosable or not hidden:
                print(self._line(item, numbers.get(id(item)), now))
        if not numbers:
            print("Nothing matches; Enter shows everything again." if self.filter
                  else "There is nothing to go back to yet.")
        elif hidden:
            print(paint(f"{plural(hidden, 'older item')} not shown; m shows more.", "dim"))

    def _line(self, item: Item, number: str | None, now: float) -> str:
        text = shortened(one_line(item.text), 56) or "(empty)"
        inset = "  " * min(item.depth, 4)
        if item.kind == SESSION:
            title = f"{inset}{'fork: ' if item.depth else ''}{text}"
            agent = item.session.file.profile.title if item.session else ""
            return f"     {paint(title, 'bold')}  {paint(agent, 'dim')}"
        mark = f"> {text}" if item.kind == PROMPT else f"  * {text}"
        here = "  <- here" if item.here else ""
        when = paint(age(item.time, now), "dim") if item.time else ""
        return f"{number or '':>4} {inset}{mark}{here}  {when}".rstrip()

    # one of them

    def _choose(self, item: Item) -> int | None:
        """An exit code when something was done; None to go on choosing."""
        name = item.record.name if item.record else ""
        where = "before the prompt" if item.kind == PROMPT else f"to {name}"
        print(f"\nGo back {where}: {one_line(item.text)}")
        for number, text in enumerate(_CHOICES, 1):
            lacks = number != 2 and not item.has_conversation
            print(f"  {text}" + (paint("  (it holds no conversation)", "dim") if lacks else ""))
        intent = _INTENTS.get(answer := _ask("1, 2 or 3; Enter for the list:"))
        if intent is None:
            if answer.lower() in ("q", "quit"):
                raise _Leave
            return None
        try:
            plan = self.controller.plan(item.target(), intent)
            _show(plan)
            if not _yes("Go ahead?"):
                return None
            with ProgressLine() as progress:
                outcome = self.controller.apply(plan, progress=progress)
        except RewindError as error:
            print(f"{paint('error:', 'red')} {safe(error.message)}")
            print(f"{paint('hint:', 'cyan')} {error.hint}")
            return None
        _tell(self.controller, outcome)
        return exit_code(outcome)


def _show(plan: Plan) -> None:
    if plan.prompts and plan.session:
        print(f"{plural(len(plan.prompts), 'prompt')} to take back:")
        for prompt in plan.prompts:
            print(f"  > {one_line(prompt.text)[:100]}")
    print_plan(plan)
    if plan.no_conversation:
        print(plan.no_conversation)


def _tell(controller: Controller, outcome: Outcome) -> None:
    tell_code(outcome)
    if outcome.record and outcome.plan.changes:
        print(f"Restored to {outcome.record.name}. Reload your agent session.")
    tell_what_next(outcome, controller, "undo-restore")
