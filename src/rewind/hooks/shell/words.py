"""Takes a shell command line apart into simple commands and words, as far as that goes without running it.

One pass, and every character is looked at once, so a megabyte of anything is read in linear time. What is
not well formed never raises: the reader takes the rest as it comes, or stops.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Union

    Event = Union["Command", str]

PLAIN, QUOTED, NAME, UNKNOWN = "plain", "quoted", "name", "unknown"
OPEN, CLOSE = "(", ")"  # events: a subshell or a substitution begins, ends

_DEEPEST = 30  # substitutions within each other; nobody writes more
_MOST_WORDS = 20_000  # nor more words: what comes after them is not read
_BLANK = " \t\r"
_OPERATORS = "\n;&|()<>"
_ENDS_WORD = frozenset(_BLANK + _OPERATORS)
_STOPS_RUN = _ENDS_WORD | frozenset("\\'\"$`")
_STOPS_QUOTED = frozenset('"\\$`')
_STOPS_BACKTICKS = frozenset("`\\")
_STOPS_ANSI = frozenset("'\\")
_REDIRECTIONS = ("&>>", "<<<", "<<-", "&>", ">>", ">|", ">&", "<<", "<>", "<&", ">", "<")
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\033", "f": "\f", "v": "\v"}
# Substitutions whose result is known, under the name of the variable that holds the same.
_KNOWN = {"pwd": "PWD", "git rev-parse --show-toplevel": "REWIND_PROJECT_ROOT"}


class Word:
    """One word as parts of (kind, text): quoting decides later what is a wildcard and what is a name."""

    __slots__ = ("parts",)

    def __init__(self) -> None:
        self.parts: list[tuple[str, str]] = []

    def literal(self) -> str:
        return "".join(text for _, text in self.parts)


class Command:
    """A simple command: its words, its redirections, the documents it is fed, and what is piped into it."""

    __slots__ = ("documents", "redirections", "source", "words")

    def __init__(self) -> None:
        self.words: list[Word] = []
        self.redirections: list[tuple[str, Word]] = []
        self.documents: list[str] = []
        self.source: Command | None = None


def read_commands(text: str) -> list[Event]:
    """The commands in the order in which they would run, with marks where a subshell begins and ends."""
    reader = _Reader(text)
    reader.commands(nested=False)
    return reader.events


class _Reader:
    def __init__(self, text: str) -> None:
        self.events: list[Event] = []
        self._text = text
        self._end = len(text)
        self._at = 0
        self._depth = 0
        self._words_left = _MOST_WORDS
        self._now = Command()
        self._pending: list[tuple[Command, str, bool]] = []  # here-documents whose text is still to come

    def commands(self, nested: bool) -> None:
        """Reads up to the end, or to the `)` that closes the substitution around it."""
        open_subshells = 0
        while self._at < self._end:
            char = self._text[self._at]
            if char in _BLANK:
                self._at += 1
            elif char == ")":
                if nested and not open_subshells:
                    break
                self._finish()
                self._at += 1
                if open_subshells:
                    open_subshells -= 1
                    self.events.append(CLOSE)
            elif char == "(":
                open_subshells += self._parenthesis()
            elif char in _OPERATORS:
                self._operator(char)
            elif char == "#":
                self._to(self._text.find("\n", self._at))
            else:
                self._word_of_command()
        self._finish()

    def _parenthesis(self) -> int:
        array = self._text.startswith("=", self._at - 1)
        if array or (self._text.startswith("((", self._at) and not self._now.words):
            self._skip_balanced("(", ")")
            return 0
        self._finish()
        self._at += 1
        self.events.append(OPEN)
        return 1

    def _operator(self, char: str) -> None:
        if char in "<>" or self._text.startswith("&>", self._at):
            self._redirection()
            return
        before = self._finish()
        self._at += 1
        if char == "\n":
            self._read_documents()
        elif char == "|":
            if self._text.startswith("|", self._at):
                self._at += 1
                return
            if self._text.startswith("&", self._at):
                self._at += 1
            self._now.source = before

    def _finish(self) -> Command | None:
        done = self._now
        if not done.words and not done.redirections:
            return None
        self.events.append(done)
        self._now = Command()
        return done

    def _redirection(self) -> None:
        operator = next(sign for sign in _REDIRECTIONS if self._text.startswith(sign, self._at))
        self._at += len(operator)
        while self._at < self._end and self._text[self._at] in _BLANK:
            self._at += 1
        if self._at == self._end or self._text[self._at] in _OPERATORS:
            return  # `<(…)`, or no sense at all
        word = self._word()
        if operator in ("<<", "<<-"):
            self._pending.append((self._now, word.literal(), operator == "<<-"))
        else:
            self._now.redirections.append((operator, word))

    def _read_documents(self) -> None:
        for command, delimiter, tabs in self._pending:
            start = self._at
            stop = self._end
            while self._at < self._end:
                line_at = self._at
                self._to(self._text.find("\n", line_at))
                line = self._text[line_at : self._at]
                self._at = min(self._at + 1, self._end)
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    stop = line_at
                    break
            command.documents.append(self._text[start:stop])
        self._pending = []

    def _word_of_command(self) -> None:
        start = self._at
        word = self._word()
        numbered = self._at < self._end and self._text[self._at] in "<>"
        if numbered and self._text[start : self._at].isdigit():
            return  # the descriptor of `2>file`
        if word.parts:  # else nothing but a continued line
            self._now.words.append(word)

    def _word(self) -> Word:
        self._count_word()
        word = Word()
        parts = word.parts
        while self._at < self._end:
            char = self._text[self._at]
            if char in _ENDS_WORD:
                break
            if char == "\\":
                if self._text[self._at + 1 : self._at + 2] != "\n":
                    parts.append((QUOTED, self._text[self._at + 1 : self._at + 2]))
                self._at = min(self._at + 2, self._end)
            elif char == "'":
                start = self._at + 1
                self._to(self._text.find("'", start))
                parts.append((QUOTED, self._text[start : self._at]))
                self._at = min(self._at + 1, self._end)
            elif char == '"':
                self._at += 1
                self._double_quoted(parts)
            elif char == "$":
                self._dollar(parts, quoted=False)
            elif char == "`":
                self._backticks(parts)
            else:
                parts.append((PLAIN, self._run(_STOPS_RUN)))
        return word

    def _count_word(self) -> None:
        self._words_left -= 1
        if self._words_left < 0:
            self._at = self._end

    def _run(self, stops: frozenset[str]) -> str:
        start = self._at
        while self._at < self._end and self._text[self._at] not in stops:
            self._at += 1
        return self._text[start : self._at]

    def _double_quoted(self, parts: list[tuple[str, str]]) -> None:
        parts.append((QUOTED, ""))
        while self._at < self._end:
            char = self._text[self._at]
            if char == '"':
                self._at += 1
                return
            if char == "\\":
                follower = self._text[self._at + 1 : self._at + 2]
                if follower != "\n":
                    parts.append((QUOTED, follower if follower in '$`"\\' else "\\" + follower))
                self._at = min(self._at + 2, self._end)
            elif char == "$":
                self._dollar(parts, quoted=True)
            elif char == "`":
                self._backticks(parts)
            else:
                parts.append((QUOTED, self._run(_STOPS_QUOTED)))

    def _dollar(self, parts: list[tuple[str, str]], quoted: bool) -> None:
        follower = self._text[self._at + 1 : self._at + 2]
        if follower == "(":
            self._at += 1
            if self._text.startswith("((", self._at):
                self._skip_balanced("(", ")")
                parts.append((UNKNOWN, ""))
            else:
                parts.append(self._substitution())
        elif follower == "{":
            start = self._at + 2
            self._at += 1
            self._skip_balanced("{", "}")
            name = self._text[start : self._at - 1]
            parts.append((NAME, name) if _is_name(name) else (UNKNOWN, ""))
        elif follower == "'" and not quoted:
            self._at += 2
            self._ansi_quoted(parts)
        elif follower == '"' and not quoted:
            self._at += 2
            self._double_quoted(parts)
        elif follower and (follower.isalnum() or follower in "_@*#?$!-"):
            self._at += 1
            parts.append(self._variable(follower))
        else:
            self._at += 1
            parts.append((QUOTED, "$"))

    def _variable(self, first: str) -> tuple[str, str]:
        if not _is_name(first):
            self._at += 1
            return (UNKNOWN, "")
        start = self._at
        while self._at < self._end and _is_name("_" + self._text[self._at]):
            self._at += 1
        return (NAME, self._text[start : self._at])

    def _substitution(self) -> tuple[str, str]:
        start = self._at + 1
        self._count_word()
        if self._depth == _DEEPEST or self._at == self._end:
            self._at = self._end
            return (UNKNOWN, "")
        outer = self._now, self._pending
        self._now, self._pending = Command(), []
        self._depth += 1
        self._at = start
        self.events.append(OPEN)
        self.commands(nested=True)
        self.events.append(CLOSE)
        self._depth -= 1
        self._now, self._pending = outer
        inside = self._text[start : self._at].strip() if self._at - start < 40 else ""
        self._at = min(self._at + 1, self._end)
        return (NAME, _KNOWN[inside]) if inside in _KNOWN else (UNKNOWN, "")

    def _backticks(self, parts: list[tuple[str, str]]) -> None:
        self._at += 1
        inside = []
        while self._at < self._end and self._text[self._at] != "`":
            if self._text[self._at] == "\\":
                follower = self._text[self._at + 1 : self._at + 2]
                inside.append(follower if follower in "`\\$" else "\\" + follower)
                self._at = min(self._at + 2, self._end)
            else:
                inside.append(self._run(_STOPS_BACKTICKS))
        self._at = min(self._at + 1, self._end)
        parts.append((UNKNOWN, ""))
        self._count_word()
        if self._depth < _DEEPEST:
            reader = _Reader("".join(inside))
            reader._depth = self._depth + 1
            reader._words_left = self._words_left
            reader.commands(nested=False)
            self._words_left = reader._words_left
            self.events += [OPEN, *reader.events, CLOSE]

    def _ansi_quoted(self, parts: list[tuple[str, str]]) -> None:
        while self._at < self._end and self._text[self._at] != "'":
            if self._text[self._at] == "\\":
                parts.append((QUOTED, self._ansi_escape()))
            else:
                parts.append((QUOTED, self._run(_STOPS_ANSI)))
        self._at = min(self._at + 1, self._end)
        parts.append((QUOTED, ""))

    def _ansi_escape(self) -> str:
        kind = self._text[self._at + 1 : self._at + 2]
        self._at = min(self._at + 2, self._end)
        if kind in ("x", "u", "U"):
            return self._code("0123456789abcdefABCDEF", 16, {"x": 2, "u": 4, "U": 8}[kind])
        if kind and kind in "01234567":
            self._at -= 1
            return self._code("01234567", 8, 3)
        return _ANSI.get(kind, kind)

    def _code(self, digits: str, base: int, longest: int) -> str:
        start = self._at
        while self._at < min(self._end, start + longest) and self._text[self._at] in digits:
            self._at += 1
        value = int(self._text[start : self._at] or "0", base)
        return chr(value) if 0 < value < 0x110000 else ""

    def _skip_balanced(self, opening: str, closing: str) -> None:
        """From an opening sign to behind the one that closes it; to the end when none does."""
        depth = 0
        while self._at < self._end:
            char = self._text[self._at]
            self._at += 2 if char == "\\" else 1
            depth += (char == opening) - (char == closing)
            if not depth:
                return
        self._at = self._end

    def _to(self, found: int) -> None:
        self._at = self._end if found < 0 else found


def _is_name(text: str) -> bool:
    return text.isascii() and text.isidentifier()
