"""Keeps an agent from damaging Rewind's records by accident, and from going back on its own.

A guard against accidents, not a sandbox: what it cannot understand passes. docs/guard.md says what that is.
"""

from __future__ import annotations

import os

from rewind.hooks import sentences
from rewind.hooks.places import Places
from rewind.hooks.wildcards import escape

__all__ = ["Places", "guard_command", "guard_file"]

# A command without any of these cannot matter, and that is most of them: it is not even taken apart.
_HINTS = ("rewind", ".agent", ">", "rm", "mv", "cp", "find", "sed", "ln", "tee", "dd", "chmod", "chown",
          "chgrp", "rsync", "install", "unlink", "shred", "truncate", "perl", "rimraf", "trash", "clean",
          "stash", "worktree")


def guard_file(path: str, cwd: str, places: Places) -> str:
    """Why an agent's file tool may not write to `path`: what to tell it, or nothing."""
    for follow in (True, False):
        for where in places.locate(escape(path), os.path.join(places.root, cwd), follow):
            if places.holds(where):
                return sentences.RECORDS
            if places.is_ignore_file(where):
                return sentences.IGNORE_FILE
    return ""


def guard_command(command: str, cwd: str, places: Places, environ_home: str) -> str:
    """Why an agent may not run this shell command: what to tell it, or nothing."""
    bare = command.replace("'", "").replace('"', "").replace("\\", "")
    if not any(hint in bare for hint in _HINTS):
        return ""
    from rewind.hooks.shell.walk import Shell

    names = {
        "HOME": environ_home,
        "REWIND_HOME": places.home,
        "REWIND_PROJECT_ROOT": places.root,
        "CLAUDE_PROJECT_DIR": places.root,
        "FACTORY_PROJECT_DIR": places.root,
    }
    places.start(stars_match_dots="dotglob" in command or "globdots" in command)
    return Shell(places, os.path.join(places.root, cwd), names).script(command)
