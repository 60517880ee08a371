"""Questions to the person at the terminal, and whether there is one."""

from __future__ import annotations

import sys

from rewind.cli.output.style import paint
from rewind.errors import UsageError


def has_terminal() -> bool:
    """A person must be able to see the question and to answer it."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def require_yes(as_json: bool) -> None:
    """Without `--yes`, refuse if nobody can be asked, or if the output is for a program."""
    if as_json or not has_terminal():
        raise UsageError("Not a terminal. Pass --yes to confirm.",
                         hint="Repeat with --yes; --dry-run shows what would be done.")


def ask(question: str, default: str) -> str:
    """A line of text; the default if it is empty, or at the end of the input."""
    print(f"{question} {paint(f'[{default}]', 'dim', sys.stderr)} ", end="", file=sys.stderr, flush=True)
    line = sys.stdin.readline()
    if not line:
        print(file=sys.stderr)
    return line.strip() or default


def ask_yes(question: str, *, default: bool) -> bool:
    while True:
        answer = ask(question, "Y/n" if default else "y/N").lower()
        if answer in ("y/n", ""):
            return default
        if answer in ("y", "yes", "n", "no"):
            return answer[0] == "y"
        print("Please answer y or n.", file=sys.stderr)


def ask_choice(question: str, choices: tuple[str, ...], default: str) -> str:
    """One of the choices. The person may type the beginning of one."""
    while True:
        answer = ask(question, default).lower()
        found = [choice for choice in choices if choice.startswith(answer)]
        if len(found) == 1:
            return found[0]
        print(f"Please answer {', '.join(choices[:-1])} or {choices[-1]}.", file=sys.stderr)
