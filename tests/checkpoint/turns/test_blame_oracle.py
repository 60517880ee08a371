"""Blame equals `git blame` on a repository whose commits are the checkpoints."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import pytest

from rewind.checkpoint.turns.blame.blame import split
from rewind.controller import Controller
from rewind_cli import git

pytestmark = pytest.mark.slow

FILES, VERSIONS = 1000, 12
FOLDERS = 50  # so that a version of a file is found in a short list: how long the list is, is not tested here
# Few words: where many lines are the same, a diff has the most to choose from.
WORDS = ["{", "}", "", "", "    return x", "    x = 1", "def f():", "\tif y:", "        call(x)", "# note",
         "end", "a", "b", "c", "  - item", "else:"]


def make_text(chance: random.Random) -> list[str]:
    if chance.random() < 0.05:
        return [f"line {n} {chance.random()}" for n in range(chance.randrange(100, 400))]
    return [chance.choice(WORDS) if chance.random() < 0.8 else f"only {chance.random()}"
            for _ in range(chance.randrange(0, 60))]


def edited(lines: list[str], chance: random.Random) -> list[str]:
    lines = list(lines)
    for _ in range(chance.choice((1, 1, 2, 5))):
        at, size = chance.randrange(len(lines) + 1), chance.choice((1, 1, 2, 5, 12))
        what = chance.randrange(6)
        fresh = [chance.choice(WORDS) for _ in range(size)]
        if what == 0:
            lines[at:at] = fresh
        elif what == 1:
            del lines[at:at + size]
        elif what == 2:
            lines[at:at + size] = fresh
        elif what == 3:  # moved
            moved, to = lines[at:at + size], chance.randrange(len(lines) + 1)
            del lines[at:at + size]
            lines[to:to] = moved
        elif what == 4:  # doubled
            lines[at:at] = lines[at:at + size]
        else:
            lines[at:at + size] = [line + " " for line in lines[at:at + size]]
    return lines


def as_bytes(lines: list[str], number: int, chance: random.Random) -> bytes:
    end = "\r\n" if number % 17 == 0 else "\n"
    text = end.join(lines) + (end if lines and chance.random() < 0.8 else "")
    return text.encode("latin-1" if number % 13 == 0 else "utf-8") + (b"\xe9" if number % 13 == 0 else b"")


def blamed_by_git(project: Path, path: str, home: Path) -> list[str]:
    found = git(project, "blame", "--porcelain", "--", path, home=home)
    return re.findall(r"^([0-9a-f]{40}) [0-9]+ [0-9]+(?: [0-9]+)?$", found, re.M)


@pytest.mark.longest
@pytest.mark.slow
def test_a_thousand_files_are_blamed_as_git_blames_them(project: Path, home: Path,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    chance = random.Random(22)
    git(project, "init", "-q", home=home)
    git(project, "config", "core.autocrlf", "false", home=home)
    texts = {f"{n % FOLDERS}/f{n}": make_text(chance) for n in range(FILES)}
    for folder in range(FOLDERS):
        (project / str(folder)).mkdir()
    commit_of: dict[str, str] = {}
    controller = None
    for version in range(VERSIONS):
        for name in sorted(texts):
            if version == 0 or chance.random() < 0.4:
                texts[name] = edited(texts[name], chance) if version else texts[name]
                (project / name).write_bytes(as_bytes(texts[name], int(name.rpartition("f")[2]), chance))
        if version == VERSIONS // 2:
            for name in sorted(texts)[:40]:  # renamed and, if it is long enough, changed a little
                renamed = name.replace("/f", "/renamed-f")
                (project / name).rename(project / renamed)
                texts[renamed] = texts.pop(name)
        git(project, "add", "-A", home=home)
        git(project, "commit", "-q", "--allow-empty", "-m", str(version), home=home)
        if controller is None:
            controller, saved = Controller.init(str(project))
        else:
            saved = controller.save(str(version))
        assert saved
        commit_of[saved.record.name] = git(project, "rev-parse", "HEAD", home=home).strip()
    assert controller
    # The first checkpoint stands for the first commit, which git is not asked for here.
    monkeypatch.setattr("rewind.checkpoint.turns.blame.blame.commits_of", lambda *more: {})
    wrong = []
    for name in texts:
        ours = [commit_of[line.record.name] for line in controller.blame(name.encode()).lines if line.record]
        if ours != blamed_by_git(project, name, home):
            wrong.append(name)
    controller.close()
    assert not wrong


def test_lines_are_split_by_blocks() -> None:
    """Against another way of doing the same."""
    chance = random.Random(7)
    for _ in range(500):
        blocks, old, new = [], 0, 0
        for _ in range(chance.randrange(5)):
            gap = chance.randrange(1, 4)
            old, new = old + gap, new + gap
            a, b = chance.randrange(3), chance.randrange(3)
            if a or b:
                blocks.append((old, old + a, new, new + b))
            old, new = old + a, new + b
        total = new + chance.randrange(4)
        lines = [100 + n if chance.random() < 0.7 else -1 for n in range(total)]
        own, rest = split(lines, blocks)
        within = {n for _, _, c, d in blocks for n in range(c, d)}
        shift = {n: sum((b - a) - (d - c) for a, b, c, d in blocks if d <= n) for n in range(total)}
        assert sorted(own) == sorted(lines[n] for n in within)
        assert {at: final for at, final in enumerate(rest) if final >= 0} == {
            n + shift[n]: final for n, final in enumerate(lines) if final >= 0 and n not in within}
        assert len(rest) == total + sum((b - a) - (d - c) for a, b, c, d in blocks)
