"""The commands, and the options that may stand before one."""

from __future__ import annotations

from rewind.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType
    from typing import Any

# Options that may stand before the command.
_SWITCHES = ("-q", "--quiet", "-v", "--verbose", "-qv", "-vq")
PROJECT = ("-C", "--project")
# The headings of the overview, with the module of each command. `summary` of a module is its line there.
GROUPS = {
    "Protect": {"init": "protect.init", "save": "protect.save", "status": "protect.status",
                "projects": "protect.projects", "config": "protect.config"},
    "Look": {"list": "look.list.list_", "show": "look.show", "diff": "look.diff", "log": "look.log",
             "blame": "look.blame", "bisect": "look.bisect", "cat": "look.cat", "sessions": "look.sessions",
             "grep": "look.grep", "watch": "look.watch", "ui": "look.ui", "tui": "look.tui"},
    "Go back": {"back": "go_back.back", "restore": "go_back.restore", "jump": "go_back.restore",
                "undo": "go_back.undo", "redo": "go_back.redo", "undo-restore": "go_back.undo_restore",
                "ops": "go_back.ops"},
    "Single turns": {"revert": "go_back.revert", "apply": "go_back.apply"},
    "Branches of the conversation": {"fork": "branch.fork", "forks": "branch.forks",
                                     "rewrite-chat": "go_back.rewrite_chat"},
    "Git": {"commit": "branch.commit"},
    "Give to others": {"share": "give.share", "open": "give.open_", "remote": "give.remote",
                       "push": "give.push", "pull": "give.pull", "clone": "give.clone"},
    "Maintain": {"pin": "maintain.pin", "unpin": "maintain.pin", "describe": "maintain.describe",
                 "delete": "maintain.delete", "gc": "maintain.gc", "export": "maintain.export",
                 "import": "maintain.import_", "validate": "maintain.validate"},
    "Try it": {"demo": "demo.demo"},
    "Set up": {"install": "set_up.install", "uninstall": "set_up.uninstall", "doctor": "set_up.doctor",
               "completion": "set_up.completion", "version": "set_up.version"},
}
COMMANDS = {name: module for group in GROUPS.values() for name, module in group.items()}
ALIASES = {"ls": "list", "st": "status"}


def load_command(name: str) -> ModuleType:
    module = COMMANDS.get(name)
    if module is None:
        raise unknown_word("command", name, COMMANDS, "rewind", "Run `rewind help` to see the commands.")
    loaded: ModuleType = __import__(f"rewind.cli.{module}", fromlist=["run"])
    return loaded


def summary_of(name: str) -> str:
    module = load_command(name)
    summary: str = getattr(module, "summaries", {}).get(name, module.summary)
    return summary


def unknown_word(what: str, word: str, known: Iterable[str], command: str, hint: str) -> UsageError:
    """The hint is the known word that is nearest, if one is near."""
    import difflib

    near = difflib.get_close_matches(word, known, n=1)
    return UsageError(f'There is no {what} "{word}".',
                      hint=f"Did you mean `{command} {near[0]}`?" if near else hint)


def options_before(argv: list[str]) -> int:
    """How many words stand before the command: `rewind -C DIR --quiet list`."""
    at = 0
    while at < len(argv):
        if argv[at] in PROJECT:
            at += 2
        elif argv[at] in _SWITCHES or argv[at].startswith(("-C", "--project=")):
            at += 1
        else:
            break
    return min(at, len(argv))


def load_room(module: str) -> Any:
    """A module of another room of this rank; None if packages that it needs are missing. Rooms of one rank
    do not import each other: the command that needs one loads it by name."""
    from importlib import import_module

    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("rewind"):
            raise
        return None
