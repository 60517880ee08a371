"""What an operation does to conversations, to directories of forks and to files outside the project, as data
that the log keeps: each effect can be done, done again after a kill, and turned around.

fork     a session was made: `sessionId`, `path`, `agent`; with `of`, out of the backup of a rewritten one
trash    a fork was moved to the trash directory `trash`
untrash  it was brought back from there
rewrite  a transcript was cut in its own file; `backup` is what it held
swap     `put` took the transcript's place; what was there went to `kept`
rename   a fork was called `before`, and is called `after`; in its agent's list `titleBefore`, `titleAfter`
rmdir    the directory of a fork was removed; `checkpoint` holds what was in it
mkdir    it was brought back
outside  files outside the project were written or deleted: `files`, each with its `path`, what was there
         `before`, and what is there `after`
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.log.line import Effect
    from rewind.checkpoint.project.state import State

TRASH, UNTRASH, REWRITE, SWAP, RENAME = "trash", "untrash", "rewrite", "swap", "rename"
RMDIR, MKDIR, OUTSIDE = "rmdir", "mkdir", "outside"


class EffectsResult:
    """What was done: for the log, for the person, and whether something could not be had."""

    def __init__(self) -> None:
        self.effects: list[Effect] = []
        self.notes: list[str] = []
        self.lacking = False


class EffectKind:
    """What each kind is asked. These are the answers of a kind that has none of its own."""

    def inverse(self, state: State, effect: Effect, chosen: list[Effect]) -> Effect | None:
        """What takes it back. Its names are chosen now, so that the log can have them before anything is
        done; `chosen` are the inverses of later effects, whose names are taken."""
        return None

    def was_done(self, effect: Effect) -> bool:
        """Whether a process that was killed came as far as this; told by the files, for it could not say so.
        True where turning it around does nothing if nothing was done."""
        return True

    def is_worth_undoing(self, state: State, effect: Effect) -> bool:
        """Whether taking this back would do anything."""
        return True

    def why_refused(self, state: State, effect: Effect) -> str | None:
        return None

    def preview_notes(self, state: State, effect: Effect) -> list[str]:
        """What doing it would do, in words."""
        return []

    def do(self, state: State, effect: Effect, done: EffectsResult) -> Effect | None:
        """It may have been done already by a process that was killed then. Returns what is to be logged."""
        raise NotImplementedError(effect["kind"])
