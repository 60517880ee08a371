"""Walks through a script without running it: where it would be, and which programs it would run."""

from __future__ import annotations

import os

from rewind.hooks.places import UNKNOWN, Places
from rewind.hooks.shell import files
from rewind.hooks.shell.rewind import PROGRAMS, rewind
from rewind.hooks.shell.words import CLOSE, NAME, OPEN, PLAIN, QUOTED, Command, Word, read_commands
from rewind.hooks.shell.wrappers import is_assignment, program_name, unwrap
from rewind.hooks.wildcards import braces, escape, unescape

SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh", "ash", "fish"))
_DIRECTORY = frozenset(("cd", "chdir", "pushd", "popd"))
_DECLARE = frozenset(("export", "declare", "local", "readonly", "typeset"))
_DEEPEST = 5  # `sh -c` within `eval` within …
_LONGEST = 4096  # no directory has a longer name


class Shell:
    """A shell that only imagines. `cwd` is None where it cannot be told."""

    def __init__(self, places: Places, cwd: str, names: dict[str, str]) -> None:
        self.places = places
        self.cwd: str | None = cwd
        self._names = names
        self._left: list[str | None] = []  # the directories that `cd` and `pushd` left
        self._depth = 0

    def script(self, text: str) -> str:
        """What to say about the first command that is to be blocked, or nothing."""
        if self._depth == _DEEPEST:
            return ""
        self._depth += 1
        outer: list[str | None] = []
        sentence = ""
        for event in read_commands(text):
            if event == OPEN:
                outer.append(self.cwd)
            elif event == CLOSE:
                self.cwd = outer.pop()
            elif isinstance(event, Command):
                sentence = self._command(event)
                if sentence:
                    break
        self._depth -= 1
        return sentence

    def _apart(self, text: str) -> str:
        """A script in a process of its own, whose `cd` is not ours."""
        before = self.cwd
        sentence = self.script(text)
        self.cwd = before
        return sentence

    def run(self, words: list[str], command: Command) -> str:
        """One command, whose words are patterns by now."""
        at, fed = unwrap(words)
        if at == len(words):
            self._assign(words)
            return ""
        if fed:
            words = words + self._piped_words(command)
        name, rest = program_name(words[at]), words[at + 1 :]
        return self._program(name, rest, command) or (self._pipe_of_find(words[at:], command) if fed else "")

    def patterns(self, command: Command | None) -> list[str]:
        words = command.words if command else []
        return [pattern for word in words for pattern in braces(self._pattern(word))]

    def _pattern(self, word: Word) -> str:
        """A word as far as it is known: quoted wildcards escaped, UNKNOWN for the rest."""
        found: list[str] = []
        for kind, text in word.parts:
            if kind == PLAIN:
                found.append(text if found else self._tilde(text))
            elif kind == QUOTED:
                found.append(escape(text))
            else:
                value = self._value(text) if kind == NAME else None
                found.append(UNKNOWN if value is None else escape(value))
        return "".join(found)

    def _tilde(self, text: str) -> str:
        if not text.startswith("~"):
            return text
        home = self._names.get("HOME", UNKNOWN)
        return escape(home) + text[1:] if text[1:2] in ("", "/") else UNKNOWN

    def _value(self, name: str) -> str | None:
        return self.cwd if name == "PWD" else self._names.get(name)

    def _command(self, command: Command) -> str:
        for operator, word in command.redirections:
            target = self._pattern(word)
            duplicates = operator == ">&" and (target == "-" or target.isdigit())
            if ">" in operator and not duplicates:
                sentence = files.writes(self, [target])
                if sentence:
                    return sentence
        return self.run(self.patterns(command), command)

    def _assign(self, words: list[str]) -> None:
        for word in filter(is_assignment, words):
            name, _, value = word.partition("=")
            if UNKNOWN in value:
                self._names.pop(name, None)
            else:
                self._names[name] = unescape(value)

    def _program(self, name: str, rest: list[str], command: Command) -> str:
        if name in PROGRAMS:
            return rewind(rest)
        if name.startswith(("python", "pypy")):
            return _python(rest)
        if name in SHELLS:
            return self._shell(rest, command)
        if name == "eval":
            return self.script(" ".join(map(unescape, rest)))
        if name == "trap":
            return self._apart(unescape(rest[0])) if rest else ""
        if name in _DIRECTORY:
            self._change_directory(name, rest)
        elif name in _DECLARE:
            self._assign(rest)
        return files.program(self, name, rest)

    def _shell(self, rest: list[str], command: Command) -> str:
        at, flags = _shell_options(rest)
        if "c" in flags:
            return self._apart(unescape(rest[at])) if at < len(rest) else ""
        if at < len(rest) and "s" not in flags:
            return rewind(rest[at + 1 :]) if program_name(rest[at]) in PROGRAMS else ""
        return next(filter(None, map(self._apart, self._input(command))), "")

    def _input(self, command: Command) -> list[str]:
        """The scripts that a shell would read from its input."""
        found = list(command.documents)
        found += [unescape(self._pattern(word)) for sign, word in command.redirections if sign == "<<<"]
        if command.source and command.source.documents:
            found += command.source.documents  # cat <<EOF | sh
        found.append(" ".join(map(unescape, self._piped_words(command))))
        return found

    def _piped_words(self, command: Command) -> list[str]:
        """What `echo` on the other side of the pipe says."""
        source = self.patterns(command.source)
        return source[1:] if source[:1] in (["echo"], ["printf"]) else []

    def _pipe_of_find(self, words: list[str], command: Command) -> str:
        source = self.patterns(command.source)
        at, _ = unwrap(source)
        if source[at : at + 1] != ["find"]:
            return ""
        from rewind.hooks.shell.find import find_for

        return find_for(self, source[at + 1 :], words)

    def _change_directory(self, name: str, rest: list[str]) -> None:
        before = self.cwd
        goal = next((word for word in rest if not word.startswith("-") or word == "-"), "")
        if name == "popd" or goal == "-":
            self.cwd = self._left.pop() if self._left else None
        else:
            self.cwd = self.step(goal or escape(self._names.get("HOME", UNKNOWN)))
        if name != "popd":
            self._left.append(before)

    def step(self, goal: str) -> str | None:
        """Where `cd` leads. By name, as a shell does it: `cd link/..` ends where it began."""
        relative = not goal.startswith("/")
        if UNKNOWN in goal or len(goal) > _LONGEST or (relative and self.cwd is None):
            return None
        joined = os.path.join(self.cwd or "/", unescape(goal))
        return os.path.normpath(joined) if len(joined) <= _LONGEST else None


def _python(rest: list[str]) -> str:
    for i, word in enumerate(rest):
        if not word.startswith("-"):
            return rewind(rest[i + 1 :]) if program_name(word) in PROGRAMS else ""
        if word.startswith("--"):
            continue
        if word.endswith("m"):
            return rewind(rest[i + 2 :]) if rest[i + 1 : i + 2] in (["rewind"], ["rewind.cli.main"]) else ""
        if word.endswith("c"):
            break
    return ""


def _shell_options(rest: list[str]) -> tuple[int, str]:
    """Where a shell's own options end, and the letters among them."""
    flags = ""
    at = 0
    while at < len(rest) and rest[at][:1] in ("-", "+"):
        word = rest[at]
        at += 1
        if word in ("--", "-"):
            break
        if not word.startswith("--"):
            flags += word[1:] if len(word) < 20 else ""
            at += word.endswith(("o", "O"))  # `-o pipefail`
    return at, flags
