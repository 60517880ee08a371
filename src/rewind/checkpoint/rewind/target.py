"""What to go to and what to restore: all interfaces request a rewind with these classes."""

from __future__ import annotations

from rewind.checkpoint.operation_log import operations as ops
from rewind.errors import RewindError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST_NAME = 200
BOTH, CODE, CONVERSATION = "both", "code", "conversation"
_OLD_WORDS = {"chat": CONVERSATION}  # the name in interfaces


class Target:
    """The base of the classes below."""

    command = ops.RESTORE

    def key(self) -> list[Any]:
        """Equal for targets that ask for the same."""
        found = {name: value for name, value in self.__dict__.items() if value}
        paths = found.pop("paths", None)
        fields = [[name, found[name]] for name in sorted(found)]
        return [type(self).__name__, fields, [path.hex() for path in paths or ()]]


class AtCheckpoint(Target):
    """A checkpoint, or some paths of it."""

    def __init__(self, name: str, paths: list[bytes] | None = None) -> None:
        self.name = name
        self.paths = paths


class BeforePrompts(Target):
    """Before the Nth-latest prompt of `session`, or of the current session."""

    command = ops.BACK

    def __init__(self, n: int = 1, session: str | None = None) -> None:
        self.n = n
        self.session = session


class AtTurn(Target):
    """Before or after a turn of a session. With `uuid` the turn is found by the id of its prompt, because its
    number may have changed since it was shown."""

    command = ops.BACK

    def __init__(self, session: str, turn: int = 0, *, after: bool = False, uuid: str = "") -> None:
        self.session = session
        self.turn = turn
        self.after = after
        self.uuid = uuid


class EarlierOnLine(Target):
    """The nearest ancestor that differs from the working tree: `undo`."""

    command = ops.UNDO


class BeforeOperation(Target):
    """The state before an operation and all later ones; without an id, before the newest operation that is
    not undone: `undo-restore`."""

    command = ops.UNDO_RESTORE

    def __init__(self, op: str = "") -> None:
        self.op = op


class BeforeUndo(Target):
    """The state that the newest `undo` or `undo-restore` replaced: `redo`."""

    command = ops.REDO


class BeforeFork(Target):
    """The code that was replaced when a fork was made: fast-forward."""

    command = ops.FORWARD

    def __init__(self, session: str) -> None:
        self.session = session


class Merge(Target):
    """The current code with some turns reverted or applied. `how` settles conflicts: "markers", "ours" or
    "theirs"; without it, nothing is written if there are conflicts. `turns` are words for
    `select/spans.py`."""

    def __init__(self, turns: list[str], session: str | None = None, paths: list[bytes] | None = None,
                 how: str = "") -> None:
        self.turns = list(turns)
        self.session = session
        self.paths = paths
        self.how = how


class Reverted(Merge):
    """Without what these turns did, but with all later changes."""

    command = ops.REVERT


class Applied(Merge):
    """With what these turns did; if no turns are named, with what the whole fork `session` did."""

    command = ops.APPLY


class Adopted(Merge):
    """With what a fork in a directory of its own did, and with its conversation."""

    command = ops.ADOPT

    def __init__(self, name: str, how: str = "") -> None:
        super().__init__([], None, None, how)
        self.name = name


class BroughtBack(Reverted):
    """Some files or hunks of a difference are reverted to its old side in the current code. `old` and `new`
    are checkpoints; without `new`, the difference is from `old` to the project as it is now. `parts` has the
    ids of hunks (`Hunk.id`) by path; no ids mean the whole file. `label` describes the difference, and
    `session` is the session whose agent should be told."""

    def __init__(self, old: str, new: str | None, parts: dict[bytes, list[str]], *, how: str = "",
                 label: str = "", session: str | None = None) -> None:
        if not parts:
            raise UsageError("Nothing is chosen.", hint="Name a file, or hunks of one.")
        super().__init__([], session, sorted(parts), how)
        self.old = old
        self.new = new
        self.parts = parts
        self.label = label

    def key(self) -> list[Any]:
        hunks = [[path.hex(), sorted(ids)] for path, ids in sorted(self.parts.items())]
        return [type(self).__name__, [["how", self.how], ["new", self.new], ["old", self.old]], hunks]


class Request:
    """A target and how to go there. `what` is "code", "conversation" or "both"."""

    def __init__(self, target: Target, what: str = BOTH, *, in_place: bool = False,
                 skip_missing: bool = False, name: str = "", outside: bool = False) -> None:
        """`outside`: files outside the project that the agent edited are restored as well."""
        what = _OLD_WORDS.get(what, what)
        if what not in (BOTH, CODE, CONVERSATION):
            raise UsageError(f"Unknown mode: {what}", hint="Use `both`, `code` or `conversation`.")
        self.target = target
        self.what = CODE if getattr(target, "paths", None) else what  # single paths have no conversation
        self.in_place = in_place
        self.skip_missing = skip_missing
        self.outside = outside
        if outside and (self.what == CONVERSATION or getattr(target, "paths", None)):
            raise UsageError("--outside brings files back together with all of the code.",
                             hint="Leave out --outside, or restore the code without naming paths.")
        self.name = " ".join(name.split())  # of the fork that is made
        if len(self.name) > LONGEST_NAME:
            raise RewindError(f"A name must have 1 to {LONGEST_NAME} characters.", hint="Choose another one.")

    @property
    def wants_code(self) -> bool:
        return self.what != CONVERSATION

    @property
    def wants_conversation(self) -> bool:
        return self.what != CODE

    def key(self) -> list[Any]:
        return [*self.target.key(), self.what, self.in_place, *(["outside"] if self.outside else [])]
