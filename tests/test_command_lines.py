"""Every command line that Rewind shows (in its documents, hints, help texts and on the page) is one that it
takes: each is given to the real parser."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from rewind.cli.parse.arguments import parse
from rewind.cli.parse.commands import COMMANDS
from rewind.errors import RewindError

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")),
         *sorted((ROOT / "src").rglob("cli/topics/*"))]
SOURCES = sorted((ROOT / "src" / "rewind").rglob("*.py"))
SCRIPTS = sorted((ROOT / "src" / "rewind" / "web" / "static").rglob("*.js"))
NOT_COMMANDS = {"help", "--version", "--help", "__complete", "__plugin"}
IN_TICKS = re.compile(r"`(?:bin/)?(rewind(?: [^`\n]+)?)`")
AT_A_PROMPT = re.compile(r"^\s*(?:\$ )?(?:bin/)?(rewind [^\n]+)$", re.MULTILINE)
AFTER_A_COLON = re.compile(r": (rewind [a-z][^\n.;`]*)")
GLUED = re.compile(r"(?<=[\w-])\{[^{}]*\}")  # an ending that may be empty
GAP = re.compile(r"\{[^{}]*\}|…")


def of_page(text: str) -> Iterator[str]:
    yield from IN_TICKS.findall(text)
    for block in re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield from AT_A_PROMPT.findall(block)


def of_source(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.JoinedStr):
            said = "".join(v.value if isinstance(v, ast.Constant) else "{}" for v in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            said = node.value
        else:
            continue
        yield from IN_TICKS.findall(said)
        yield from AFTER_A_COLON.findall(said)
        if said.startswith("rewind ") and not said.endswith(" "):
            yield said


def of_script(text: str) -> Iterator[str]:
    for said in re.findall(r"(['\"])(.*?)\1", text):
        yield from AFTER_A_COLON.findall(said[1])
        if re.match(r"rewind [a-z]", said[1]):
            yield said[1]


def words_of(line: str) -> list[str]:
    """As a shell would hand them over: up to a comment, a pipe or the next command, with something in each
    gap."""
    line = GAP.sub("1", GLUED.sub("", line)).split("  #")[0]
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split, lexer.commenters = True, "#"
    words: list[str] = []
    for word in lexer:
        if word and set(word) <= set("|&;<>"):
            break
        words.append("1" if word in ("N", "PORT", "SECONDS") else word)
    return words


def is_meant_to_be_run(words: list[str]) -> bool:
    """Not a synopsis, a name in a sentence, or a line with something missing in its middle."""
    return (len(words) > 1 and words[0] == "rewind" and not words[1].isupper()
            and not words[1].startswith("1")
            and not any(re.match(r"[\[(<]|.*[\])>]$|.*\|", word) for word in words))


def problem_with(line: str) -> str:
    try:
        words = words_of(line)
    except ValueError:
        return ""  # half of a quotation: a sentence, no command line
    if not is_meant_to_be_run(words):
        return ""
    while len(words) > 2 and words[1] in ("-C", "--project"):
        words[1:3] = []
    command, *rest = words[1:]
    if command in NOT_COMMANDS:
        return ""
    if command not in COMMANDS:
        return f"{line!r}: there is no such command"
    if {"--help", "-h"} & set(rest):
        return ""
    try:
        parse(import_module(f"rewind.cli.{COMMANDS[command]}"), command, rest)
    except RewindError as error:
        # A command may be spoken of without what it needs; an action that is filled in later is not known.
        if not re.search(r" needs [A-Z]+|--\S+ needs a value|cannot be '1'", error.message):
            return f"{line!r}: {error.message}"
    return ""


def lines_of(file: Path) -> Iterator[str]:
    of_kind = {".py": of_source, ".js": of_script}.get(file.suffix, of_page)
    return of_kind(file.read_text(encoding="utf-8"))


def test_every_command_line_can_be_typed() -> None:
    found = {str(file.relative_to(ROOT)): [problem for line in dict.fromkeys(lines_of(file))
                                           if (problem := problem_with(line))]
             for file in (*PAGES, *SOURCES, *SCRIPTS)}
    assert {file: problems for file, problems in found.items() if problems} == {}


def test_a_wrong_one_is_found() -> None:
    assert "no such command" in problem_with("rewind rewind 3")
    assert problem_with("rewind init --register-hooks")
    assert problem_with("rewind gc --keep many")
    assert not problem_with("rewind gc --keep N")
    assert not problem_with("rewind list | head")
    assert list(of_page("Run `rewind init`.\n```\n$ rewind back 1 --both\n```\n")) == [
        "rewind init", "rewind back 1 --both"]
