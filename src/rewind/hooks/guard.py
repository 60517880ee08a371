"""Prevents an agent from damaging Rewind's records by accident, and from going back by itself.

This is a guard against accidents, not a sandbox: what it does not understand passes, as docs/guard.md
explains.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

RECORDS = "Rewind blocks this: the path belongs to Rewind's own records. Only Rewind may write there."
IGNORE_FILE = ("Rewind blocks this: .rewindignore decides what is protected."
               " Ask the person at the keyboard to edit it.")
PERSON = ("Rewind blocks this: only the person at the keyboard may run this command. Ask them to run it."
          " You may run `rewind save`, `list`, `show`, `diff`, `log` and `status`.")
REMOVING = ("Rewind blocks this: it would remove, move or change Rewind's checkpoints."
            " Name only what you mean, or ask the person at the keyboard.")
GIT = ("Rewind blocks this: it would remove the checkpoints in .agent. Use `git clean -x -e .agent`,"
       " `git clean -X -- ':!.agent'` or `git stash -u`.")

_READS = {"save", "list", "show", "diff", "log", "cat", "grep", "blame", "status", "sessions", "ops", "help",
          "version", "projects", "doctor", "watch", "completion"}
_REMOVERS = {"rm", "rmdir", "unlink", "shred", "truncate", "rimraf", "del-cli", "trash", "trash-put"}
_WRITERS = {"cp", "install", "rsync", "tee", "ln", "dd", "chmod", "chown", "chgrp", "sed", "gsed", "perl"}
_SHELLS = {"sh", "bash", "zsh", "dash", "ksh"}
# Programs that run another program, and which of their short options take a value.
_WRAPPERS = {"sudo": "ugphrtTUDRC", "doas": "uC", "env": "uC", "nice": "n", "ionice": "cnp", "timeout": "sk",
             "stdbuf": "ioe", "xargs": "IJRnPLdasE", "python": "WX", "uv": "p", "uvx": "p", "npx": "p",
             **dict.fromkeys(("pipx", "run", "tool", "nohup", "time", "command", "exec", "builtin", "setsid",
                              "if", "then", "else", "elif", "do", "while", "until", "!", "{", "}"), "")}
# A command without one of these words and without Rewind's name does no harm, so it is not parsed.
_HINTS = _REMOVERS | {"mv", "find", "rsync", "clean", "stash", "--remove-files"}
_AS_WORDS = str.maketrans("\n;&|()<>`$/", " " * 11, "'\"\\")
_SIGN = "\1"  # begins a token that is not a word
_IN_STATE = ("objects.db", "objects.db-wal", "store.json", "operations.jsonl", "trash", "checkpoints",
             "checkpoints/%Y%m%d_%H%M%S_001", "checkpoints/%Y%m%d_%H%M%S_001/metadata.json")
_LONGEST = 4096  # bytes of a path
_MOST = 50_000  # characters, without here-documents; the rest of a longer command passes
_DEEPEST = 6  # levels of `sh -c` and `$(…)`


class _Blocked(Exception):
    """The message is what to tell the agent."""


class Guard:
    """Where the state of a project is, and what an agent may not do to it."""

    def __init__(self, root: str, state: str, home: str) -> None:
        self.root, self.home = os.path.realpath(root), home
        inside = os.path.normpath(os.path.join(self.root, os.path.relpath(state, root)))
        self.states = {os.path.realpath(state), os.path.abspath(state), inside}
        self.places = {*self.states, os.path.realpath(home), os.path.abspath(home)}
        self._spared = [os.path.join(place, "agents") for place in self.places]  # the person's own profiles
        self._spared += [self.root for place in self.places if _is_in(self.root, place)]

    def file(self, path: str, cwd: str) -> str:
        """What to tell an agent whose file tool may not write to `path`; empty if it may."""
        named = os.path.join(self.root, cwd, path)
        if not path or "\0" in named or len(named) > _LONGEST:
            return ""
        try:
            both = (os.path.realpath(named), os.path.abspath(named))
        except ValueError:
            return ""  # a name that no file can have
        if any(map(self.holds, both)):
            return RECORDS
        return IGNORE_FILE if any(map(self.is_ignore_file, both)) else ""

    def command(self, text: str, cwd: str) -> str:
        """What to tell an agent that may not run this shell command; empty if it may."""
        words = text.translate(_AS_WORDS)
        here = os.path.join(self.root, cwd)
        ours = any(name in words for name in ("rewind", ".agent", os.path.basename(self.home)))
        if not ours and _HINTS.isdisjoint(words.split()) and not self.holds(here):
            return ""
        try:
            script = self._with_known_names(_without_documents(text), here)
            _Script(self, here, "dotglob" in text or "globdots" in text).run(script)
        except _Blocked as blocked:
            return str(blocked)
        except (ValueError, RecursionError):
            pass  # a name that no file can have
        return ""

    def _with_known_names(self, text: str, cwd: str) -> str:
        known = {"(pwd)": cwd, "PWD": cwd, "(git rev-parse --show-toplevel)": self.root,
                 "HOME": os.path.expanduser("~"), "CLAUDE_PROJECT_DIR": self.root, "REWIND_HOME": self.home}
        for name, value in known.items():
            text = text.replace("$" + name, value).replace("${" + name + "}", value)
        return text.replace("`pwd`", cwd)

    def holds(self, path: str) -> bool:
        """Whether this path is in Rewind's home, the project's state, or the state of a nested project."""
        if "/.agent/rewind/" in path + "/" or any(_is_in(path, place) for place in self.states):
            return True
        spared = any(_is_in(path, place) for place in self._spared)
        return not spared and any(_is_in(path, place) for place in self.places)

    def is_above(self, path: str) -> bool:
        """Whether this path contains one of these."""
        nested = os.path.join(path, "rewind" if path.endswith("/.agent") else ".agent/rewind")
        return any(_is_in(place, path) for place in self.places) or (
            path != self.root and _is_in(path, self.root) and os.path.lexists(nested))

    def is_ignore_file(self, path: str) -> bool:
        return os.path.basename(path) == ".rewindignore" and _is_in(path, self.root)


class _Script:
    """Checks the commands of a shell script in the order in which they would run."""

    def __init__(self, guard: Guard, cwd: str, dots: bool) -> None:
        self._guard = guard
        self._cwd = self._left = cwd
        self._dots = dots  # whether `*` matches hidden files
        self._depth = 0

    def run(self, text: str) -> None:
        words: list[str] = []
        source: list[str] = []  # the command that is piped into the next one
        outside: list[str] = []
        self._depth += 1
        for token in _tokens(text[:_MOST]) if self._depth < _DEEPEST else ():
            if token[:2] == _SIGN + "$":
                self._apart(token[2:])
            elif token[:1] != _SIGN or token[1] in "<>":
                words += _braces(token)
            else:
                self._command(words, source)
                source, words = words if token[1] == "|" else [], []
                if token[1] == "(":
                    outside.append(self._cwd)
                elif token[1] == ")" and outside:
                    self._cwd = outside.pop()
        self._command(words, source)
        self._depth -= 1

    def _apart(self, text: str) -> None:
        cwd = self._cwd
        self.run(text)
        self._cwd = cwd

    def _command(self, words: list[str], source: list[str]) -> None:
        pairs = list(zip(["", *words], words))
        self._check([word for sign, word in pairs if _SIGN in sign and ">" in sign and not word.isdigit()])
        words, fed = _unwrapped([word for sign, word in pairs
                                 if _SIGN not in (sign[:1], word[:1]) or sign == _SIGN + "<<<"])
        said = source[1:] if source[:1] in (["echo"], ["printf"]) else []
        name, rest = _name("".join(words[:1])), words[1:] + (said if fed else [])
        operands = [word for word in rest if word[:1] not in ("-", "")]
        if name == "rewind":
            _refuse_changes(rest)
        elif name in _SHELLS:
            self._shell(rest, said)
        elif name in ("eval", "trap"):
            self.run(" ".join(rest))
        elif name in ("cd", "pushd", "popd"):
            goal = os.path.join(self._cwd, os.path.expanduser((operands or ["~"])[0]))
            back = name == "popd" or rest == ["-"]
            self._left, self._cwd = self._cwd, self._left if back else os.path.normpath(goal)[:_LONGEST]
        elif name == "git":
            self._git(rest)
        elif name == "find":
            self._find(rest, harm=False)
        elif name in _REMOVERS or "--remove-files" in rest:
            self._check(operands, above=True)
        elif name == "mv":
            self._check(operands[:-1], above=True)
            self._check(operands[-1:])
        elif name in _WRITERS:
            self._write(name, rest, operands)
        if fed and source[:1] == ["find"] and _harms(words):
            self._find(source[1:], harm=True)

    def _shell(self, rest: list[str], said: list[str]) -> None:
        """Runs `-c text`, or the words of a script's command line, or what `echo` pipes into the shell."""
        scripts = [word for option, word in zip(rest, rest[1:]) if option[:1] == "-" and option[-1:] == "c"]
        self._apart(scripts[0] if scripts else " ".join(said or rest).replace("\\n", "\n"))

    def _write(self, name: str, rest: list[str], operands: list[str]) -> None:
        if name in ("cp", "install", "rsync"):
            text = " ".join(rest)
            deletes = "--del" in text and ".agent" not in text and "n" not in _letters(rest)
            self._check(operands[-1:], above=deletes)
        elif name in ("tee", "ln", "dd"):
            self._check([word.removeprefix("of=") for word in operands])
        elif name[:2] == "ch" or _edits_in_place(name, rest):
            self._check(operands[1:])  # a script or a mode comes first

    def _check(self, words: list[str], *, above: bool = False, sentence: str = REMOVING) -> None:
        """Refuse our paths. `above`: also directories above the state, which the command would remove."""
        for word in words:
            for path in self._paths(os.path.expanduser(word), follow=not above):
                if self._guard.holds(path) or (above and self._guard.is_above(path)):
                    raise _Blocked(sentence)
                if not above and self._guard.is_ignore_file(path):
                    raise _Blocked(IGNORE_FILE)

    def _paths(self, word: str, follow: bool) -> list[str]:
        """The paths that a word may mean: itself, and those to our places that its wildcards match."""
        if not word or "\0" in word or len(word) > _LONGEST:
            return []
        names = [name for name in word.split("/") if name not in ("", ".")]
        wild = next((i for i, name in enumerate(names) if set(name) & set("*?[")), len(names))
        base = os.path.join("/" if word[0] == "/" else self._cwd, *names[:wild])
        if wild == len(names) and names and names[-1] != ".." and not follow:
            return [os.path.join(os.path.realpath(os.path.dirname(base)), names[-1])]
        base, globs = os.path.realpath(base), names[wild:]
        found = [os.path.normpath(os.path.join(base, *globs))]
        for place in self._guard.places if globs else ():
            way = place[len(base.rstrip("/")) + 1 :].split("/") if _is_in(place, base) else []
            if way and all(_fits(glob, name, self._dots) for glob, name in zip(globs, way)):
                found.append(os.path.join(base, *way[: len(globs)], *globs[len(way) :]))
        return found

    def _git(self, rest: list[str]) -> None:
        cwd = self._cwd
        while rest and rest[0][:1] == "-":
            if rest[0] == "-C":
                self._cwd = os.path.join(self._cwd, *rest[1:2])
            rest = rest[2:] if rest[0] in ("-C", "-c") else rest[1:]
        if rest[:1] == ["clean"]:
            self._git_clean(rest[1:])
        elif rest[:1] == ["stash"] and ("--all" in rest or "a" in _letters(rest).partition("m")[0]):
            self._check(["."], above=True, sentence=GIT)
        self._cwd = cwd

    def _git_clean(self, rest: list[str]) -> None:
        """Git ignores our state, and removes ignored files only with -x or -X."""
        letters = _letters(word.partition("e")[0] for word in rest)
        paths = [word for option, word in zip(["", *rest], rest)
                 if word[:1] != "-" and (option[:1] != "-" or option[-1:] != "e")]
        text = " ".join(rest).replace(" /", " ").replace("=/", "=")
        spared = ":!.agent" in text or ("X" not in letters and ("e .agent" in text or "=.agent" in text))
        if {"x", "X"} & set(letters) and "n" not in letters and "--dry-run" not in rest and not spared:
            self._check(paths or ["."], above=True, sentence=GIT)

    def _find(self, rest: list[str], *, harm: bool) -> None:
        at = next((i for i, word in enumerate(rest) if word[:1] in ("-", "(", "!")), len(rest))
        starts, tests = rest[:at] or ["."], rest[at:]
        runs = [_unwrapped(tests[i + 1 : i + 20])[0] for i, word in enumerate(tests) if word[:5] == "-exec"]
        if not (harm or "-delete" in tests or any(map(_harms, runs))):
            return
        for base in [path for start in starts for path in self._paths(os.path.expanduser(start), True)]:
            ways = [state[len(base.rstrip("/")) :] for state in self._guard.states if _is_in(state, base)]
            if self._guard.holds(base) or any(_finds(tests, way) for way in ways):
                raise _Blocked(REMOVING)


def _tokens(text: str) -> Iterator[str]:
    """Words without their quotes, and signs. A substitution in double quotes is a sign of its own."""
    at, word = 0, ""
    begun = False  # whether a word has begun, which may be empty
    while at < len(text):
        char, follower = text[at], text[at + 1 : at + 2]
        at += 1
        if char in " \t\r\n;&|()<>`":
            if begun:
                yield word
            word, begun = "", False
            start = at - 1
            while char in "<>" and text[at : at + 1] and text[at] in "<>&|":
                at += 1
            if char not in " \t\r":
                yield _SIGN + text[start:at]
        elif char == "#" and not begun:
            at = _index(text, "\n", at)
        elif char in "'\"":
            end = _index(text, char, at)
            while char == '"' and end < len(text) and text[end - 1] == "\\":
                end = _index(text, char, end + 1)
            inside = text[at:end].replace('\\"', '"') if char == '"' else text[at:end]
            yield from [f"{_SIGN}${part.partition(')')[0]}" for part in inside.split("$(")[1:] if char == '"']
            word, begun, at = word + inside, True, end + 1
        elif char == "\\":
            word, begun, at = word + follower.strip("\n"), begun or follower != "\n", at + 1
        else:
            word, begun = word + char, True
    if begun:
        yield word


def _index(text: str, sign: str, at: int) -> int:
    found = text.find(sign, at)
    return found if found >= 0 else len(text)


def _without_documents(text: str) -> str:
    """The text without here-documents, which are not commands unless a shell reads them."""
    lines = text.split("\n")
    last = {line.strip(): at for at, line in enumerate(lines)}
    kept: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        kept.append(line)
        at += 1
        for part in line.split("<<")[1:] if _SHELLS.isdisjoint(line.split()) else ():
            name = part.lstrip("- '\"\\").translate(_AS_WORDS).partition(" ")[0]
            if name and last.get(name, -1) >= at:
                at += [one.strip() for one in lines[at:]].index(name) + 1
    return "\n".join(kept)


def _braces(word: str) -> list[str]:
    """`a{b,c}` as `ab` and `ac`."""
    close = word.find("}")
    start = word.rfind("{", 0, max(close, 0))
    if start < 0 or "," not in word[start:close] or word.count("{") > 6 or len(word) > _LONGEST:
        return [word]
    return [made for choice in word[start + 1 : close].split(",")
            for made in _braces(word[:start] + choice + word[close + 1 :])]


def _fits(pattern: str, name: str, dots: bool = True) -> bool:
    """Whether a wildcard matches a name. `dots`: it also matches a leading dot."""
    at = 0
    reached = {0} if dots or name[:1] != "." or pattern[:1] == "." else set()  # where in the name it may be
    while at < len(pattern) and reached:
        close = pattern.find("]", at + 2) if pattern[at] == "[" else -1
        if pattern[at] == "*":
            reached = set(range(min(reached), len(name) + 1))
        elif close < 0:
            reached = {end + 1 for end in reached if name[end : end + 1] and pattern[at] in ("?", name[end])}
        else:
            reached = {end + 1 for end in reached if _is_one_of(pattern[at + 1 : close], name[end : end + 1])}
        at = max(at, close) + 1
    return len(name) in reached


def _is_one_of(members: str, char: str) -> bool:
    ranges = zip(members, members[1:], members[2:])
    among = char in members or any(low <= char <= high for low, dash, high in ranges if dash == "-")
    return char != "" and among != (members[0] in "!^")


def _name(word: str) -> str:
    """A program without its directory and version: `/usr/bin/python3.11`, `agentrewind@latest`."""
    name = word.rpartition("/")[2].partition("@")[0].partition("==")[0]
    if name in ("bin-rewind", "agentrewind"):
        return "rewind"
    return "python" if name.startswith(("python", "pypy")) else name


def _unwrapped(words: list[str]) -> tuple[list[str], bool]:
    """The command without `sudo`, `A=b` and the like, and whether `xargs` adds words to it."""
    fed = False
    while words and (_name(words[0]) in _WRAPPERS or "=" in words[0]):
        name, at = _name(words[0]), 1
        while name in _WRAPPERS and at < len(words) and words[at][:1] in set("-0123456789"):
            if name == "python" and words[at] == "-c":
                return [], False
            at += 2 if words[at][1:] and words[at][1:] in _WRAPPERS[name] else 1
        fed = fed or name == "xargs"
        words = words[at:]
    return words, fed


def _letters(words: Iterable[str]) -> str:
    return "".join(word[1:] for word in words if word[:1] == "-" and word[1:2] != "-")


def _refuse_changes(rest: list[str]) -> None:
    """An agent may only run the commands of Rewind that look at something, and `save`."""
    text = " ".join(rest).partition(" -- ")[0].replace("--project ", "--project=").replace("-C ", "-C")
    words = text.split()
    name, *names = [word for word in words if word[:1] != "-"] or ["help"]
    options = {word for word in words if word[:1] == "-" and not word.startswith(("-C", "--project="))}
    looks = name in _READS or (name == "forks" and names[:1] in ([], ["list"], ["show"], ["compare"]))
    if name in ("config", "validate"):
        looks = options <= {"--json", "--global", "--deep"}
    if not looks and not options & {"-h", "--help", "--dry-run"}:
        raise _Blocked(PERSON)


def _edits_in_place(name: str, rest: list[str]) -> bool:
    return name in ("sed", "gsed", "perl") and ("i" in _letters(rest) or "--in-place" in " ".join(rest))


def _harms(words: list[str]) -> bool:
    """Whether a program removes or rewrites the files in its arguments."""
    name = _name("".join(words[:1]))
    if name in _SHELLS:
        return not _REMOVERS.isdisjoint(" ".join(words).split())
    return name in _REMOVERS or name == "mv" or _edits_in_place(name, words)


def _finds(tests: list[str], way: str) -> bool:
    """Whether `find` would find a state directory at `way` below its start, as far as names tell."""
    pruned, _, rest = " ".join(tests).rpartition("-prune -o ")
    tests = rest.split()
    named = [(before in ("!", "-not"), value) for before, test, value in zip(["", *tests], tests, tests[1:])
             if test in ("-name", "-iname", "-path", "-wholename", "-regex")]
    spared = ".agent" in pruned or any(".agent" in value for negated, value in named if negated)
    if spared or "-empty" in tests or ("-maxdepth" in tests and "f" in tests):
        return False
    wanted = [value for negated, value in named if not negated]
    paths = [way[:at] for at, char in enumerate(way) if char == "/" and at] + [way]
    paths += [f"{way}/{time.strftime(name)}" for name in _IN_STATE]
    return not wanted or any(_fits(value, "." + path) or _fits(value, path.rpartition("/")[2])
                             for value in wanted for path in paths)


def _is_in(path: str, top: str) -> bool:
    return path == top or path.startswith(top.rstrip("/") + "/")
