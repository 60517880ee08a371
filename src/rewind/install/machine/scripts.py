"""The scripts of an installation: the shim, which agents call, and the program, which people call through a
link in `~/.local/bin`.

The shim starts the hook with the right Python and keeps it from disturbing the agent. Python itself may exit
with 2 (for a missing file, for example), and for an agent 2 means "blocked". So the hook exits with 93 to
block, and every other status becomes 0.

A hook that takes long sends USR1, so that both the agent and the hook go on. A process in the background has
no standard input unless it is given one. Redirecting the braces starts no process, and does not end the
script if a stream is closed.
"""

from __future__ import annotations

import shlex

NAME = "smart-checkpoint"

_SHIM = """#!/bin/sh
# Rewind's hook, called by coding agents. It never disturbs them: its exit status is 0, or 2 where the guard
# blocks on purpose. Made by `rewind install`, which also removes it.
python={python}
entry={entry}
[ -x "$python" ] || python=python3
trap 'exit 0' USR1
code=1
{{ REWIND_SHIM=$$ "$python" -I -S "$entry" "$@" <&4 4<&- & wait $!; code=$?; }} 3>&2 2>/dev/null 4<&0
[ $code -eq 93 ] && exit 2
[ $code -eq 0 ] || {{
  printf '%s smart-checkpoint %s: exit status %s of %s\\n' \\
    "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "${{1-}}" "$code" "$python" >> {log}
}} 2>/dev/null
exit 0
"""

_PROGRAM = """#!/bin/sh
# Rewind's command line. Made by `rewind install`, which also removes it.
python={python}
entry={entry}
[ -x "$python" ] || python=python3
exec "$python" -I -S "$entry" "$@"
"""


def shim_text(python: str, entry: str, log: str) -> str:
    """`python` is the interpreter itself, not the stand-in of a version manager."""
    return _SHIM.format(python=shlex.quote(python), entry=shlex.quote(entry), log=shlex.quote(log))


def program_text(python: str, entry: str) -> str:
    return _PROGRAM.format(python=shlex.quote(python), entry=shlex.quote(entry))
