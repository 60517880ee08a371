"""`rewind blame` of a large file with many versions, against `git blame` in a repository whose commits are
the same versions."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from pathlib import Path

from bench import many
from bench.measure import interleave
from bench.ours import Rewind
from bench.rows.row import Outcome, Row, Unfaithful, compare
from bench.workplace import Workplace

LINES, FILE = 10_000, "blamed.py"
_WORDS = [f"word{number}" for number in range(300)]
_COMMON = ("", "", "}", "    }", "return")


def versions(count: int, lines: int = LINES) -> list[bytes]:
    """Versions as an agent makes them: each has one more edit of a few lines."""
    chance = random.Random(1)

    def line() -> str:
        if chance.random() < 0.15:
            return chance.choice(_COMMON)
        words = (chance.choice(_WORDS) for _ in range(chance.randrange(1, 9)))
        return "    " * chance.randrange(4) + " ".join(words)

    text = [line() for _ in range(lines)]
    found = []
    for _ in range(count):
        found.append("\n".join(text).encode() + b"\n")
        at, size, what = chance.randrange(len(text)), chance.choice((1, 3, 8)), chance.random()
        gone = 0 if 0.4 < what < 0.75 else size
        text[at:at + gone] = [line() for _ in range(size)] if what < 0.75 else []
    return found


def commit_all(folder: Path, texts: list[bytes], env: dict[str, str]) -> None:
    parts = []
    for number, text in enumerate(texts):
        who = b"A <a@example.com> %d +0000" % (1_700_000_000 + number)
        parts.append(b"blob\nmark :%d\ndata %d\n%s\n" % (2 * number + 1, len(text), text))
        parts.append(b"commit refs/heads/main\nmark :%d\nauthor %s\ncommitter %s\ndata 1\nx\n"
                     % (2 * number + 2, who, who))
        parts.append(b"M 100644 :%d %s\n\n" % (2 * number + 1, FILE.encode()))
    git = ["git", "-C", str(folder)]
    subprocess.run([*git, "init", "-q"], env=env, check=True)
    subprocess.run([*git, "fast-import", "--quiet"], env=env, check=True, input=b"".join(parts))
    subprocess.run([*git, "symbolic-ref", "HEAD", "refs/heads/main"], env=env, check=True)
    subprocess.run([*git, "reset", "-q", "--hard"], env=env, check=True)


def save_all(rewind: Rewind, python: str, texts: list[bytes], place: Path) -> None:
    place.mkdir()
    for number, text in enumerate(texts):
        (place / f"{number:06}").write_bytes(text)
    many.make(rewind, python, "versions", len(texts), place, FILE)


def _check(rewind: Rewind, theirs: list[str]) -> None:
    """Both must attribute each line to the same version. Otherwise the time means nothing."""
    lines = json.loads(rewind.output("blame", FILE, "--json"))["lines"]
    ours = [line["checkpoint"] for line in lines]
    pairs = set(zip(ours, theirs))
    if not (len(ours) == len(theirs) and len(pairs) == len(set(ours)) == len(set(theirs))):
        raise Unfaithful("blame differs from git's")


def _blame(place: Workplace) -> Outcome:
    git = shutil.which("git") or "git"
    texts = versions(place.options.listed)
    ours, theirs = place.empty("blamed-by-rewind"), place.empty("blamed-by-git")
    commit_all(theirs, texts, place.spawner.env)
    (ours / FILE).write_bytes(texts[0])
    rewind = place.rewind(ours)
    rewind.init()
    save_all(rewind, place.options.python, texts[1:], place.fresh("versions"))
    os.chdir(theirs)
    out = place.spawner.output([git, "blame", "-s", FILE])
    _check(rewind, [line.split()[0].decode() for line in out.splitlines()])

    def by_git() -> None:
        place.spawner.run([git, "-C", str(theirs), "blame", FILE])

    taken = interleave({"ours": lambda: rewind.run("blame", FILE), "git": by_git}, place.options.few)
    return compare(taken["ours"], taken["git"], "ours uses two cores where they are free")


ROWS = [Row("blame", "`blame` of 10,000 lines, 1,000 checkpoints ÷ `git blame`", 2.0, _blame, "more")]
