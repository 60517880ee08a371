"""`rewind __complete WORD …`: completions of the last word, for the scripts that `completion` prints.

Hidden, and quiet whatever happens: a shell that completes must never show an error.
"""

from __future__ import annotations

import os

from rewind.cli.parse.arguments import make_parser, project_path
from rewind.cli.parse.commands import ALIASES, COMMANDS, load_command, options_before, summary_of
from rewind.cli.parse.help import TOPICS
from rewind.controller import BY_KEY, Controller, shown_url, split_selector
from rewind.errors import RewindError
from rewind.words import age, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator
    from typing import Any

    from rewind.checkpoint.records.record import Record

    Candidate = tuple[str, str]  # what to type, what it is

_MOST = 80
_OF_LANES = ("compare", "adopt", "remove", "delete")  # forks with a directory, by their names
_PROMPT = 60  # characters
_TURNS = 15
_CHECKPOINT = ("checkpoint", "checkpoints", "old", "new", "good", "bad")
_SESSION = ("session", "names")
_SETTINGS = ("set", "unset", "key")


def complete(words: list[str]) -> int:
    try:
        begun = words[-1] if words else ""
        found = 0
        for text, meaning in _candidates(words[:-1], begun):
            # Names with spaces or control characters are left out.
            if text.startswith(begun) and text.isprintable() and " " not in text:
                print(f"{text}\t{safe(meaning)}")
                found += 1
            if found == _MOST:
                break
    except (RewindError, OSError, ValueError):
        pass
    return 0


def _candidates(before: list[str], begun: str) -> Iterable[Candidate]:
    count = options_before(before)
    options, before = before[:count], before[count:]
    if options and options[-1] in ("-C", "--project"):
        return []
    if not before:
        return [*_commands(), ("help", "every command, or a topic")]
    if before[0] == "help":
        return [*_commands(), *((topic, "a topic") for topic in TOPICS)] if len(before) == 1 else []
    command = ALIASES.get(before[0], before[0])
    if command not in COMMANDS:
        return []
    words = [*options, *before[1:]]
    return _paths(command, words, begun) if "--" in before else _of_command(command, words, begun)


def _paths(command: str, words: list[str], begun: str) -> Iterable[Candidate]:
    """Paths in the named checkpoint, even deleted ones; without one, the shell completes paths."""
    names = _positionals(words[:words.index("--")], _options(_actions(command)))
    if not getattr(load_command(command), "takes_paths", False) or not names:
        return []
    return _files_in(_controller(words), names[0], begun)


def _commands() -> Iterator[Candidate]:
    return ((name, summary_of(name)) for name in COMMANDS)


def _of_command(command: str, words: list[str], begun: str) -> Iterable[Candidate]:
    actions = _actions(command)
    options = _options(actions)
    waiting = options.get(words[-1]) if words else None
    if waiting is not None and waiting.nargs != 0:
        return _values(waiting, words, begun)
    if begun.startswith("-"):
        return [(option, action.help or "") for option, action in options.items()
                if option.startswith("--") and option not in words]
    free = _positionals(words, options)
    positionals = [action for action in actions if not action.option_strings]
    if not positionals:
        return []
    action = positionals[min(len(free), len(positionals) - 1)]
    if len(free) >= len(positionals) and action.nargs not in ("*", "+"):
        return []
    return _values(action, words, begun)


def _actions(command: str) -> list[argparse.Action]:
    return make_parser(load_command(command), command)._actions


def _options(actions: list[argparse.Action]) -> dict[str, argparse.Action]:
    return {option: action for action in actions for option in action.option_strings}


def _positionals(words: list[str], options: dict[str, argparse.Action]) -> list[str]:
    found, skip = [], False
    for word in words:
        if skip or word.startswith("-"):
            skip = not skip and word in options and options[word].nargs != 0
        else:
            found.append(word)
    return found


def _values(action: Any, words: list[str], begun: str) -> Iterable[Candidate]:
    if action.choices:
        return [(str(choice), "") for choice in action.choices]
    if action.dest == "turns":
        controller = _controller(words)
        return [*_turns_of(controller, words), *_checkpoints(controller, begun)]
    if action.dest in _CHECKPOINT:
        return _checkpoints(_controller(words), begun)
    if action.dest in _SESSION:
        return _sessions(_controller(words), words)
    if action.dest == "op":
        return _operations(_controller(words))
    if action.dest == "remote" and "add" not in words:
        return [(remote.name, shown_url(remote.url)) for remote in _controller(words).remotes()]
    if action.dest in _SETTINGS:
        return _settings(action.dest, begun)
    if action.dest == "shared":
        controller = _controller(words)
        return [*_turns_of(controller, words), *_sessions(controller, []), *_checkpoints(controller, begun)]
    if action.dest == "what":
        return _files_of(_controller(words), begun)
    return []


def _controller(words: list[str]) -> Controller:
    named = [words[at + 1] for at, word in enumerate(words[:-1]) if word in ("-C", "--project")]
    return Controller(named[-1] if named else None, forgiving=True)


def _checkpoints(controller: Controller, begun: str) -> Iterator[Candidate]:
    """Words, turns of the current session, then numbers; names once the person has begun to type one."""
    shown = controller.list_checkpoints()
    for word, record in zip(("last", "prev"), (one for one in shown if one.kind != "backup")):
        yield word, _meaning(record)
    here = controller.here()
    if here:
        yield "@", f"here: {_meaning(here)}"
    if not begun or begun[0] == "t":
        yield from _turns(controller, begun)
    known = controller.list_checkpoints(backups=True) if begun else shown
    numbers = [record for record in known if str(record.sequence).startswith(begun)]
    for record in numbers:
        yield str(record.sequence), _meaning(record)
    for record in known if begun and not numbers else ():
        yield record.name, _meaning(record)


def _meaning(record: Record) -> str:
    return f"{age(record.created)}  {record.description}"


def _turns(controller: Controller, begun: str) -> Iterator[Candidate]:
    try:
        rows = controller.current_turns(_TURNS)
    except RewindError:
        return  # no conversation here
    end = "+" if begun.endswith("+") else ""
    for row in reversed(rows):
        yield f"t{row.turn}{end}", row.prompt


def _turns_of(controller: Controller, words: list[str]) -> Iterator[Candidate]:
    """Of the named session or the current one, the newest first."""
    named = [words[at + 1] for at, word in enumerate(words[:-1]) if word in ("--session", "--from")]
    try:
        index = controller.session_index(named[-1] if named else None)
    except RewindError:
        return  # a project without conversations
    for turn in reversed(index.active_turns):
        yield f"t{turn.turn}", " ".join(turn.prompt.split())[:_PROMPT]


def _sessions(controller: Controller, words: list[str]) -> Iterator[Candidate]:
    if words and words[0] == "undelete":
        for entry in controller.deleted_forks():
            yield str(entry["sessionId"]), "in the trash"
        for lane in controller.removed_lanes():
            yield lane.name, f"removed from {lane.dir}"
        return
    if words and words[0] in _OF_LANES:
        for lane in controller.lanes():
            yield lane.name, lane.dir
        if words[0] in ("compare", "adopt"):
            return
    for info in controller.sessions():
        yield info.session_id, f"{age(info.file.modified)}  {info.name}"


def _files_of(controller: Controller, begun: str) -> Iterator[Candidate]:
    """`CHECKPOINT:PATH`, one level of directories at a time."""
    name, path = split_selector(begun)
    if not begun[len(name):].startswith(":"):
        for text, meaning in _checkpoints(controller, begun):
            yield f"{text}:", meaning
        return
    for text, meaning in _files_in(controller, name, path):
        yield f"{name}:{text}", meaning


def _files_in(controller: Controller, name: str, path: str) -> Iterator[Candidate]:
    """What a checkpoint has at a path, one level of directories at a time."""
    folder = path.rpartition("/")[0] + "/" if "/" in path else ""
    inside = project_path(folder or ".", controller.project)
    record = controller.find(name)
    with controller.source(record) as source:
        root = record.tree
        for part in inside.split(b"/") if inside else ():
            root = source.tree(root).entries[part].ref
        for child, entry in sorted(source.tree(root).entries.items()):
            if child.startswith(b".") and not path[len(folder):].startswith("."):
                continue  # hidden, as shells see it
            yield f"{folder}{os.fsdecode(child)}{'/' if entry.kind == b'd' else ''}", ""


def _operations(controller: Controller) -> Iterator[Candidate]:
    for op in reversed(controller.operations()):
        yield op.id, f"{age(op.time)}  {controller.describe(op)}"


def _settings(option: str, begun: str) -> Iterator[Candidate]:
    """Keys, and once a key is there its values."""
    key = begun.partition("=")[0]
    if option == "set" and "=" in begun and key in BY_KEY:
        setting = BY_KEY[key]
        for value in setting.choices or (("true", "false") if setting.kind == "boolean" else ()):
            yield f"{key}={value}", ""
        return
    for name, setting in BY_KEY.items():
        yield (f"{name}=" if option == "set" else name), setting.meaning
