"""What the programs that remove, move and write files would do to Rewind's state."""

from __future__ import annotations

from rewind.hooks import sentences
from rewind.hooks.shell.arguments import has_flag, operands, values
from rewind.hooks.wildcards import unescape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rewind.hooks.shell.walk import Shell

REMOVERS = frozenset(("rm", "rmdir", "unlink", "shred", "truncate", "rimraf", "trash", "trash-put"))
EDITORS = frozenset(("sed", "gsed", "perl"))


def removes(shell: Shell, patterns: Iterable[str]) -> str:
    """For what takes away whatever it is given: our places, what is in them, what they are in."""
    places = shell.places
    for pattern in patterns:
        for where in places.locate(pattern, shell.cwd, follow=False):
            if places.holds(where) or places.lies_below(where):
                return sentences.REMOVING
    return ""


def writes(shell: Shell, patterns: Iterable[str]) -> str:
    """For what writes into files, or into a directory without touching the rest of it."""
    places = shell.places
    for pattern in patterns:
        for where in places.locate(pattern, shell.cwd, follow=True):
            if places.holds(where):
                return sentences.REMOVING
            if places.is_ignore_file(where):
                return sentences.IGNORE_FILE
    return ""


def _remove(shell: Shell, words: list[str]) -> str:
    return removes(shell, operands(words))


def _move(shell: Shell, words: list[str]) -> str:
    sources, goal = _sources_and_goal(words)
    return removes(shell, sources) or _writes_into(shell, goal, sources)


def _copy(shell: Shell, words: list[str]) -> str:
    sources, goal = _sources_and_goal(words)
    return _writes_into(shell, goal, sources)


def _link(shell: Shell, words: list[str]) -> str:
    sources, goal = _sources_and_goal(words)
    places = shell.places
    for source in sources or operands(words):
        # A second name for what is protected would be a way around all of this.
        if any(places.holds(where) for where in places.locate(source, shell.cwd, follow=True)):
            return sentences.REMOVING
    return _writes_into(shell, goal, sources)


def _sources_and_goal(words: list[str]) -> tuple[list[str], str]:
    goals = values(words, "-t", "--target-directory")
    found = operands(words, ("-t", "--target-directory", "-S", "-m", "-o", "-g"))
    if goals:
        return found, goals[0]
    return found[:-1], found[-1] if len(found) > 1 else ""


def _writes_into(shell: Shell, goal: str, sources: list[str]) -> str:
    if not goal:
        return ""
    into = goal.rstrip("/") + "/"
    return writes(shell, [goal]) or writes(shell, (into + s.rstrip("/").rpartition("/")[2] for s in sources))


def _rsync(shell: Shell, words: list[str]) -> str:
    found = operands(words, ("-e", "-f", "-T", "-B", "--exclude", "--include", "--filter", "--rsh"))
    if len(found) < 2 or has_flag(words, "n", "--dry-run"):
        return ""
    *sources, goal = found
    spared = any(unescape(value).strip("/*") in (".agent", ".agent/rewind")
                 for value in values(words, "--exclude"))
    if "--remove-source-files" in words and not spared and removes(shell, sources):
        return sentences.REMOVING
    deletes = any(word.startswith("--del") for word in words)
    if deletes and (not spared or "--delete-excluded" in words) and removes(shell, [goal]):
        return sentences.REMOVING
    # `dir/` stands for what is in it, whose names we do not know.
    return _writes_into(shell, goal, [source for source in sources if not source.endswith("/")])


def _tee(shell: Shell, words: list[str]) -> str:
    return writes(shell, operands(words))


def _dd(shell: Shell, words: list[str]) -> str:
    return writes(shell, values(words, "of"))


def edits_in_place(words: list[str]) -> bool:
    return has_flag(words, "i", "--in-place")


def _edit(shell: Shell, words: list[str]) -> str:
    if not edits_in_place(words):
        return ""
    script_options = ("-e", "-f", "--expression", "--file")
    found = operands(words, script_options)
    given = any(word.partition("=")[0] in script_options for word in words)
    return writes(shell, found if given else found[1:])


def _modes(shell: Shell, words: list[str]) -> str:
    places = shell.places
    found = operands(words)
    recursive = has_flag(words, "R", "--recursive")
    for pattern in found if has_flag(words, "\0", "--reference") else found[1:]:
        for where in places.locate(pattern, shell.cwd, follow=True):
            # Not for the whole project: `chown -R me .` mends more than it harms.
            meant = bool(where.globs) or not places.is_around_project(where.path)
            if places.holds(where) or (recursive and meant and places.lies_below(where)):
                return sentences.REMOVING
    return ""


def _find(shell: Shell, words: list[str]) -> str:
    from rewind.hooks.shell.find import find

    return find(shell, words)


def _git(shell: Shell, words: list[str]) -> str:
    from rewind.hooks.shell.git import git

    return git(shell, words)


_PROGRAMS: dict[str, Callable[[Shell, list[str]], str]] = {
    **dict.fromkeys(REMOVERS, _remove),
    **dict.fromkeys(EDITORS, _edit),
    **dict.fromkeys(("cp", "install"), _copy),
    **dict.fromkeys(("chmod", "chown", "chgrp"), _modes),
    "ln": _link, "mv": _move, "rsync": _rsync, "tee": _tee, "dd": _dd, "find": _find, "git": _git,
}


def program(shell: Shell, name: str, words: list[str]) -> str:
    """What a program would do, if it is one that we know."""
    known = _PROGRAMS.get(name)
    return known(shell, words) if known else ""
