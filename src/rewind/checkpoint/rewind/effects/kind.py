"""What an operation does to conversations, to directories of forks and to files outside the project, as data
in the log. Each effect can be done, done again after its process was killed, and undone by its inverse.

fork     a fork was made: `sessionId`, `path`, `agent`; with `of`, from the backup of a rewritten session
trash    a fork was moved to the trash directory `trash`
untrash  it was brought back from there
rewrite  a transcript was cut in its own file; `backup` has its previous content
swap     `put` replaced the transcript, whose content was moved to `kept`
rename   a fork was renamed from `before` to `after`; in its agent's list from `titleBefore` to `titleAfter`
rmdir    the directory of a fork was removed; `checkpoint` has its content
mkdir    it was brought back
outside  files outside the project were written or deleted: `files`, each with its `path` and its content
         `before` and `after`
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.operation_log.line import Effect
    from rewind.checkpoint.project.state import State

TRASH, UNTRASH, REWRITE, SWAP, RENAME = "trash", "untrash", "rewrite", "swap", "rename"
RMDIR, MKDIR, OUTSIDE = "rmdir", "mkdir", "outside"


class EffectsResult:
    """What was done, for the log and for the person; `lacking` if something could not be restored."""

    def __init__(self) -> None:
        self.effects: list[Effect] = []
        self.notes: list[str] = []
        self.lacking = False


class EffectKind:
    """The functions of each kind, with the default answers."""

    def inverse(self, state: State, effect: Effect, chosen: list[Effect]) -> Effect | None:
        """The effect that undoes it. New names are chosen now, so that they are in the log before anything is
        done. `chosen` are the inverses of later effects, whose names are in use."""
        return None

    def was_done(self, effect: Effect) -> bool:
        """Whether a process that was killed got as far as doing this. Only the files tell. True for kinds
        whose inverse does nothing if nothing was done."""
        return True

    def is_worth_undoing(self, state: State, effect: Effect) -> bool:
        """Whether undoing it would do anything."""
        return True

    def why_refused(self, state: State, effect: Effect) -> str | None:
        return None

    def preview_notes(self, state: State, effect: Effect) -> list[str]:
        """What doing it would do, in words."""
        return []

    def do(self, state: State, effect: Effect, done: EffectsResult) -> Effect | None:
        """Do it. A process that was killed may have done it already. Returns the effect for the log."""
        raise NotImplementedError(effect["kind"])
