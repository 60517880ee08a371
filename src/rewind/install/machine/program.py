"""The shell script that people call, by way of a link in `~/.local/bin`."""

from __future__ import annotations

import shlex

_TEXT = """#!/bin/sh
# Rewind's command line. Made by `rewind install`, which also removes it.
python={python}
entry={entry}
[ -x "$python" ] || python=python3
exec "$python" -I -S "$entry" "$@"
"""


def program_text(python: str, entry: str) -> str:
    return _TEXT.format(python=shlex.quote(python), entry=shlex.quote(entry))
