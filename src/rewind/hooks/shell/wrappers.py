"""Programs that run another one, such as `sudo` and `timeout`: where in their words it begins."""

from __future__ import annotations

from rewind.hooks.wildcards import unescape

_KEYWORDS = frozenset(("if", "then", "else", "elif", "do", "while", "until", "!", "{", "}"))
# Which of their short options take a value, and how many words of their own follow.
_WRAPPERS = {
    "sudo": ("ugphrtTUDRC", 0), "doas": ("uC", 0), "env": ("uCS", 0), "nohup": ("", 0), "time": ("fo", 0),
    "nice": ("n", 0), "ionice": ("cnp", 0), "timeout": ("sk", 1), "command": ("", 0), "builtin": ("", 0),
    "exec": ("a", 0), "stdbuf": ("ioe", 0), "setsid": ("", 0), "busybox": ("", 0), "caffeinate": ("tw", 0),
    "xargs": ("IJRnPLdasE", 0), "npx": ("p", 0), "bunx": ("", 0), "uvx": ("pwcf", 0), "uv": ("pwcf", 0),
    "pipx": ("", 0),
}
_RUNS = {"uv": (["run"], ["tool", "run"]), "pipx": (["run"],)}  # their other subcommands run nothing
_LONG_WITH_VALUE = frozenset((
    "--user", "--group", "--signal", "--kill-after", "--adjustment", "--unset", "--chdir", "--max-args",
    "--max-procs", "--max-lines", "--delimiter", "--arg-file", "--from", "--with", "--spec", "--python",
    "--package", "--index-url", "--pip-args", "--with-editable", "--project", "--directory",
))


def program_name(pattern: str) -> str:
    """Without its directory, and without a version as in `agentrewind@latest`."""
    name = unescape(pattern).rpartition("/")[2]
    for sign in ("@", "=="):
        name = name.partition(sign)[0] or name
    return name


def is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def unwrap(words: list[str]) -> tuple[int, bool]:
    """Where the program itself stands, and whether `xargs` is among those that run it."""
    at = 0
    fed = False
    while at < len(words):
        name = program_name(words[at])
        if name in _WRAPPERS:
            fed = fed or name == "xargs"
            at = _behind(name, words, at + 1)
        elif name in _KEYWORDS or is_assignment(words[at]):
            at += 1
        else:
            break
    return at, fed


def _behind(name: str, words: list[str], at: int) -> int:
    valued, own = _WRAPPERS[name]
    if name in _RUNS:
        run = next((run for run in _RUNS[name] if words[at : at + len(run)] == run), None)
        if run is None:
            return len(words)
        at += len(run)
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        word = words[at]
        at += 1
        if word == "--":
            break
        if name == "command" and word in ("-v", "-V"):
            return len(words)  # asks where it is
        if word in _LONG_WITH_VALUE or (len(word) == 2 and word[1] in valued):
            at += 1
    return min(at + own, len(words))
