"""What the guard says to an agent: what is blocked, and what to do instead."""

from __future__ import annotations

RECORDS = ("Rewind blocks this: the path belongs to Rewind's own records, which only Rewind may write."
           " Leave it as it is.")
IGNORE_FILE = ("Rewind blocks this: .rewindignore decides what is protected, which is for the person at the"
               " keyboard. Ask them to edit it.")
GOING_BACK = ("Rewind blocks this: going back to a checkpoint, and undoing that, is for the person at the"
              " keyboard. Ask them to run it.")
DELETING = ("Rewind blocks this: deleting checkpoints or branches of the conversation is for the person at"
            " the keyboard. Ask them to run it.")
COMMITTING = ("Rewind blocks this: making git commits from turns is for the person at the keyboard."
              " Ask them to run it.")
SETTINGS = ("Rewind blocks this: changing or removing Rewind is for the person at the keyboard."
            " Ask them to run it; `rewind config` alone shows the settings.")
REMOVING = ("Rewind blocks this: it would remove, move or change the checkpoints or another part of Rewind."
            " Name only what you mean, so that .agent is left out, or ask the person at the keyboard.")
GIT_CLEAN = ("Rewind blocks this: `git clean -x` would remove the checkpoints."
             " Add `-e .agent`, or leave -x out.")
GIT_CLEAN_IGNORED = ("Rewind blocks this: `git clean -X` would remove the checkpoints, even with `-e .agent`."
                     " Add `-- ':!.agent'`, or leave -X out.")
GIT_STASH = ("Rewind blocks this: `git stash --all` would move the checkpoints away."
             " Use `git stash --include-untracked` instead.")
