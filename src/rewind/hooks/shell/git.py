"""What a git command would do to the checkpoints: git removes ignored files only when it is told to."""

from __future__ import annotations

from rewind.hooks import sentences
from rewind.hooks.shell.files import removes
from rewind.hooks.wildcards import unescape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.hooks.shell.walk import Shell

_WITH_VALUE = frozenset(("-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--exec-path"))


def git(shell: Shell, words: list[str]) -> str:
    outside = shell.cwd
    at = 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "-C" and at + 1 < len(words):
            shell.cwd = shell.step(words[at + 1])
            at += 1
        at += 2 if words[at] in _WITH_VALUE else 1
    sentence = _subcommand(shell, words[at : at + 1], words[at + 1 :])
    shell.cwd = outside
    return sentence


def _subcommand(shell: Shell, name: list[str], rest: list[str]) -> str:
    if name == ["clean"]:
        return _clean(shell, rest)
    if name == ["stash"]:
        return _stash(shell, rest)
    if name == ["worktree"] and rest[:1] in (["remove"], ["move"]):
        words = [word for word in rest[1:] if not word.startswith("-")]
        return removes(shell, words[:1])
    if name == ["mv"]:
        return removes(shell, [word for word in rest if not word.startswith("-")][:-1])
    return ""


def _concerns_us(shell: Shell) -> bool:
    """Whether git would work on the project; where that cannot be told, it is asked to leave .agent out."""
    places = shell.places
    if not places.state_in_project():
        return False
    if shell.cwd is None:
        return True
    here = places.real(shell.cwd)
    return places.in_project(here) or places.is_around_project(here)


def _clean(shell: Shell, words: list[str]) -> str:
    flags, excludes, paths = _clean_arguments(words)
    wanted = flags & {"x", "X"}
    if not wanted or "n" in flags or not _concerns_us(shell):
        return ""
    if any(path.startswith((":!", ":^", ":(exclude)")) and ".agent" in path for path in map(unescape, paths)):
        return ""
    if paths and not any(_is_broad(shell, path) for path in paths):
        return ""
    # With -X the patterns of -e say what to remove: `-e .agent` would ask for it.
    if "X" in wanted:
        return sentences.GIT_CLEAN_IGNORED
    spared = any(pattern.strip("/*") in (".agent", ".agent/rewind") for pattern in excludes)
    return "" if spared else sentences.GIT_CLEAN


def _clean_arguments(words: list[str]) -> tuple[set[str], list[str], list[str]]:
    flags: set[str] = set()
    excludes: list[str] = []
    for at, word in enumerate(words):
        if word == "--":
            return flags, excludes, _without_values(words[:at]) + words[at + 1 :]
        if word in ("-n", "--dry-run"):
            flags.add("n")
        elif word.startswith("--exclude="):
            excludes.append(unescape(word[len("--exclude=") :]))
        elif word.startswith("-"):
            cluster, e, value = ("", "e", "") if word == "--exclude" else word[1:].partition("e")
            if word.startswith("--") and word != "--exclude":
                continue
            flags.update(cluster)
            if e:
                excludes.append(unescape(value or "".join(words[at + 1 : at + 2])))
    return flags, excludes, _without_values(words)


def _without_values(words: list[str]) -> list[str]:
    """The paths: what is neither an option nor the value of an `-e` before it."""
    return [word for before, word in zip(["", *words], words)
            if not word.startswith("-") and not _awaits_value(before)]


def _awaits_value(word: str) -> bool:
    return word == "--exclude" or (word.startswith("-") and not word.startswith("--") and word.endswith("e"))


def _is_broad(shell: Shell, path: str) -> bool:
    plain = unescape(path)
    return shell.cwd is None or any(sign in plain for sign in "*?[:") or bool(removes(shell, [path]))


def _stash(shell: Shell, words: list[str]) -> str:
    if words and not words[0].startswith("-") and words[0] not in ("push", "save"):
        return ""
    message = False
    for word in words:
        if word == "--":
            break
        if message:
            message = False
        elif word in ("-m", "--message"):
            message = True
        elif word == "--all" or (word.startswith("-") and not word.startswith("--") and _says_all(word)):
            return sentences.GIT_STASH if _concerns_us(shell) else ""
    return ""


def _says_all(cluster: str) -> bool:
    return "a" in cluster[1:].partition("m")[0]
