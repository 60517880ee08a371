"""Questions to the person at the terminal, and whether there is one."""

from __future__ import annotations

import sys

from rewind.cli.output.style import paint
from rewind.errors import UsageError


def has_terminal() -> bool:
    """A person must be able to see the question and to answer it."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def refuse_unasked(as_json: bool) -> None:
    """Without `--yes`, where nobody can be asked, and where the answer is for a program."""
    if as_json or not has_terminal():
        raise UsageError("Not a terminal. Pass --yes to confirm.",
                         hint="Repeat with --yes; --dry-run shows what would be done.")


def ask(question: str, default: str) -> str:
    """A line of text; the default for an empty one, or when nothing more comes."""
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
    """One of the choices, or the beginning of one."""
    while True:
        answer = ask(question, default).lower()
        near = [choice for choice in choices if choice.startswith(answer)]
        if len(near) == 1:
            return near[0]
        print(f"Please answer {', '.join(choices[:-1])} or {choices[-1]}.", file=sys.stderr)
