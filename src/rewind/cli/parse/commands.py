"""Which commands there are, and what may stand before one."""

from __future__ import annotations

from rewind.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

# Options that may stand before the command.
_SWITCHES = ("-q", "--quiet", "-v", "--verbose", "-qv", "-vq")
PROJECT = ("-C", "--project")
# Command -> module. `summary` of each module is its line in the overview.
COMMANDS = {
    "init": "protect.init", "save": "protect.save", "projects": "protect.projects",
    "status": "protect.status", "config": "protect.config",
    "list": "look.list.list_",
    "show": "look.show", "diff": "look.diff", "blame": "look.blame", "bisect": "look.bisect",
    "log": "look.log", "cat": "look.cat", "grep": "look.grep", "watch": "look.watch",
    "sessions": "look.sessions", "ui": "look.ui", "tui": "look.tui",
    "revert": "go_back.revert", "apply": "go_back.apply", "restore": "go_back.restore",
    "jump": "go_back.restore", "undo": "go_back.undo", "redo": "go_back.redo",
    "undo-restore": "go_back.undo_restore", "ops": "go_back.ops", "back": "go_back.back",
    "rewrite-chat": "go_back.rewrite_chat",
    "commit": "branch.commit", "forks": "branch.forks", "fork": "branch.fork",
    "gc": "maintain.gc", "export": "maintain.export", "import": "maintain.import_",
    "validate": "maintain.validate", "pin": "maintain.pin", "unpin": "maintain.pin",
    "describe": "maintain.describe", "delete": "maintain.delete",
    "share": "give.share", "open": "give.open_", "remote": "give.remote", "push": "give.push",
    "pull": "give.pull", "clone": "give.clone",
    "demo": "demo.demo",
    "install": "set_up.install", "uninstall": "set_up.uninstall", "doctor": "set_up.doctor",
    "completion": "set_up.completion", "version": "set_up.version",
}
ALIASES = {"ls": "list", "st": "status"}
GROUPS = (
    ("Protect", ("init", "save", "status", "projects", "config")),
    ("Look", ("list", "show", "diff", "log", "blame", "bisect", "cat", "sessions", "grep", "watch", "ui",
              "tui")),
    ("Go back", ("back", "restore", "jump", "undo", "redo", "undo-restore", "ops")),
    ("Single turns", ("revert", "apply")),
    ("Branches of the conversation", ("fork", "forks", "rewrite-chat")),
    ("Git", ("commit",)),
    ("Give to others", ("share", "open", "remote", "push", "pull", "clone")),
    ("Maintain", ("pin", "unpin", "describe", "delete", "gc", "export", "import", "validate")),
    ("Try it", ("demo",)),
    ("Set up", ("install", "uninstall", "doctor", "completion", "version")),
)


def load_command(name: str) -> ModuleType:
    module = COMMANDS.get(name)
    if module is None:
        raise _unknown_command(name)
    loaded: ModuleType = __import__(f"rewind.cli.{module}", fromlist=["run"])
    return loaded


def summary_of(name: str) -> str:
    module = load_command(name)
    summary: str = getattr(module, "summaries", {}).get(name, module.summary)
    return summary


def _unknown_command(name: str) -> UsageError:
    import difflib

    near = difflib.get_close_matches(name, COMMANDS, n=1)
    hint = f"Did you mean `rewind {near[0]}`?" if near else "Run `rewind help` to see the commands."
    return UsageError(f'There is no command "{name}".', hint=hint)


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
