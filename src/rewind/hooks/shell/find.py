"""What `find` would do to the state: its expression is evaluated for the paths that are there."""

from __future__ import annotations

from rewind.hooks import sentences
from rewind.hooks.places import UNKNOWN
from rewind.hooks.shell.arguments import has_flag, values
from rewind.hooks.shell.files import EDITORS, REMOVERS, edits_in_place
from rewind.hooks.shell.words import Command, read_commands
from rewind.hooks.shell.wrappers import program_name, unwrap
from rewind.hooks.wildcards import matches, unescape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.hooks.shell.walk import Shell

# What a program would damage of the paths that find gives it: only files, or directories as well.
_FILES, _ALL = "files", "all"

# What a state directory holds and cannot make again; the log and the scan cache it can.
_STATE_FILES = (
    "store.json", "objects.db", "config.json", "session.json", "pins.json", "branches.json", "lock",
    "operations.jsonl", "metadata.json", "snapshot.tar.gz", "transcript.jsonl.gz", "session.jsonl",
)
_TESTS = frozenset(("-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex",
                    "-type"))
_EXECS = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_OPTIONS = frozenset(("-H", "-L", "-P", "-E", "-O1", "-O2", "-O3"))
_DEEPEST = 20  # parentheses in each other
_LONGEST = 500  # words
_COST = 5  # looks that a word of the expression costs


def find(shell: Shell, words: list[str]) -> str:
    runs = _programs_run(words)
    for program in runs:
        sentence = shell.run([UNKNOWN if unescape(word) == "{}" else word for word in program], Command())
        if sentence:
            return sentence
    return _search(shell, words, "") if runs or "-delete" in words else ""


def find_for(shell: Shell, words: list[str], program: list[str]) -> str:
    """`find … | xargs program`."""
    harm = _harm_of(program)
    return _search(shell, words, harm) if harm else ""


def _search(shell: Shell, words: list[str], piped: str) -> str:
    starts, expression = _split(words)
    if len(expression) > _LONGEST:
        return ""
    harms = [_harm_of(program) for program in _programs_run(expression)]
    for start in starts:
        for where in shell.places.locate(start, shell.cwd, follow=True):
            if not shell.places.may_look(_COST * (10 + len(expression))):
                return ""
            if shell.places.holds(where) and (piped or "-delete" in words or any(harms)):
                return sentences.REMOVING
            for way in shell.places.ways_down(where):
                if _meets(start, way, _Expression(expression, harms, piped)):
                    return sentences.REMOVING
    return ""


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    first = 0
    while first < len(words) and words[first] in _OPTIONS:
        first += 1
    at = first
    while at < len(words) and not words[at].startswith(("-", "(", "!")):
        at += 1
    return words[first:at] or ["."], words[at:]


def _programs_run(words: list[str]) -> list[list[str]]:
    found: list[list[str]] = []
    inside = False
    for word in words:
        if inside and word not in (";", "+"):
            found[-1].append(word)
        else:
            inside = word in _EXECS
            if inside:
                found.append([])
    return found


def _harm_of(words: list[str]) -> str:
    at, _ = unwrap(words)
    name = program_name(words[at]) if at < len(words) else ""
    rest = words[at + 1 :]
    if name == "rm":
        return _ALL if has_flag(rest, "r", "--recursive") or has_flag(rest, "R", "") else _FILES
    if name in ("mv", "rimraf", "trash", "trash-put"):
        return _ALL
    if name in REMOVERS or (name in EDITORS and edits_in_place(rest)):
        return _FILES
    if name.endswith("sh"):  # the script gets the paths as $1 and so on
        flags = [word for word in rest[:-1] if word.startswith("-") and word.endswith("c")]
        return _harm_of_script(unescape(rest[rest.index(flags[0]) + 1])) if flags else ""
    return ""


def _harm_of_script(text: str) -> str:
    for event in read_commands(text):
        if isinstance(event, Command) and event.words:
            name = event.words[0].literal()
            if name in REMOVERS or name == "mv":
                return _ALL
    return ""


class _Expression:
    """The words after the starting points, what the programs in them harm, and what one after a pipe does."""

    __slots__ = ("harms", "piped", "words")

    def __init__(self, words: list[str], harms: list[str], piped: str) -> None:
        self.words = words
        self.harms = harms
        self.piped = piped


def _meets(start: str, way: list[str], expression: _Expression) -> bool:
    """Looks at what find would meet on its way down to one guarded place, and in it."""
    path = unescape(start).rstrip("/")
    for depth, name in enumerate(way, 1):
        path = f"{path}/{name}"
        seen = _Visit(expression, path, "d", depth)
        if seen.harmed:
            return True
        if seen.pruned or depth >= seen.deepest:
            return False
    return any(_Visit(expression, f"{path}/{name}", "f", len(way) + 1).harmed for name in _STATE_FILES)


class _Visit:
    """find's expression, evaluated for one path as find would do it. A test that we do not know is true."""

    def __init__(self, expression: _Expression, path: str, kind: str, depth: int) -> None:
        self._words = words = expression.words
        self._harms = iter(expression.harms)
        self._path = path
        self._kind = kind
        self._at = 0
        self._harm = ""
        self._printed = False
        self.pruned = False
        self.deepest = self._number("-maxdepth", 1_000_000)
        if self._number("-mindepth", 0) <= depth <= self.deepest:
            true = self._either(0, live=True)
            if self._printed or (true and not {"-print", "-print0"} & set(words)):
                self._harm = self._harm or expression.piped

    @property
    def harmed(self) -> bool:
        # A directory that holds something cannot be deleted alone.
        return self._harm == _ALL or (self._harm == _FILES and self._kind == "f")

    def _number(self, option: str, default: int) -> int:
        text = "".join(values(self._words, option)[:1])
        return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else default

    def _next(self) -> str:
        return unescape(self._words[self._at]) if self._at < len(self._words) else ""

    def _either(self, depth: int, live: bool) -> bool:
        true = self._every(depth, live)
        while self._next() in ("-o", "-or", ","):
            comma = self._next() == ","
            self._at += 1
            right = self._every(depth, live and (comma or not true))
            true = right or (true and not comma)
        return true

    def _every(self, depth: int, live: bool) -> bool:
        true = True
        while self._at < len(self._words) and self._next() not in ("-o", "-or", ",", ")"):
            true = self._one(depth, live and true) and true
        if not depth:
            self._at += self._next() == ")"  # closes nothing
        return true

    def _one(self, depth: int, live: bool) -> bool:
        word = self._next()
        negated = False
        while word in ("!", "-not", "-a", "-and"):
            negated ^= word in ("!", "-not")
            self._at += 1
            word = self._next()
        self._at += 1
        if word != "(":
            return self._primary(word, live) != negated
        if depth == _DEEPEST:
            self._at = len(self._words)
            return False
        true = self._either(depth + 1, live)
        self._at += self._next() == ")"
        return true != negated

    def _primary(self, word: str, live: bool) -> bool:
        if word in _EXECS:
            self._skip_program()
            self._act(next(self._harms, ""), live)
        elif word == "-delete":
            self._act(_FILES, live)
        elif word == "-prune":
            # -delete goes through directories from the inside out, so that nothing is pruned.
            self.pruned = self.pruned or (live and "-delete" not in self._words)
        elif word in ("-print", "-print0"):
            self._printed = self._printed or live
        elif word in ("-empty", "-false"):
            return False
        elif word in _TESTS or not self._next().startswith(("-", "(", ")", "!", ",")):
            self._at += 1
            return self._test(word, unescape("".join(self._words[self._at - 1 : self._at])))
        return True

    def _skip_program(self) -> None:
        while self._at < len(self._words) and self._words[self._at] not in (";", "+"):
            self._at += 1
        self._at += 1

    def _act(self, harm: str, live: bool) -> None:
        if live and self._harm != _ALL:
            self._harm = harm or self._harm

    def _test(self, word: str, wanted: str) -> bool:
        if word == "-type":
            return self._kind in wanted
        if word in ("-regex", "-iregex"):
            return "agent" in wanted or "rewind" in wanted
        if word not in _TESTS:
            return True
        text = self._path.rpartition("/")[2] if word.endswith("name") and "whole" not in word else self._path
        if word.startswith("-i"):
            wanted, text = wanted.lower(), text.lower()
        return UNKNOWN not in wanted and len(wanted) < 1000 and matches(wanted, text, True)
