"""What to go to, and what of it: every interface asks for a rewind in these words."""

from __future__ import annotations

from rewind.checkpoint.log import operations as ops
from rewind.errors import RewindError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST_NAME = 200
BOTH, CODE, CONVERSATION = "both", "code", "conversation"
_OLD_WORDS = {"chat": CONVERSATION}  # what interfaces called it


class Target:
    """One of those below."""

    command = ops.RESTORE

    def key(self) -> list[Any]:
        """The same for the same wish."""
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
    """Before the Nth-latest prompt of a session: that of `session`, or the one that is going on."""

    command = ops.BACK

    def __init__(self, n: int = 1, session: str | None = None) -> None:
        self.n = n
        self.session = session


class AtTurn(Target):
    """Before a turn of a session, or after it. With `uuid` the turn is found by its prompt's id, for its
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
    """What was there before an operation and all later ones; without an id, before the newest step that is
    not undone: `undo-restore`."""

    command = ops.UNDO_RESTORE

    def __init__(self, op: str = "") -> None:
        self.op = op


class BeforeUndo(Target):
    """What the newest `undo` or `undo-restore` replaced: `redo`."""

    command = ops.REDO


class BeforeFork(Target):
    """The code that making a fork replaced: fast-forward."""

    command = ops.FORWARD

    def __init__(self, session: str) -> None:
        self.session = session


class Merge(Target):
    """The code of now with some turns taken back or brought over; `how` says what to do about conflicts:
    "markers", "ours" or "theirs", and nothing without it. `turns` are words for `select/spans.py`."""

    def __init__(self, turns: list[str], session: str | None = None, paths: list[bytes] | None = None,
                 how: str = "") -> None:
        self.turns = list(turns)
        self.session = session
        self.paths = paths
        self.how = how


class Reverted(Merge):
    """Without what these turns did, and with everything later."""

    command = ops.REVERT


class Applied(Merge):
    """With what these turns did; without any turns, with what the whole fork `session` did."""

    command = ops.APPLY


class Adopted(Merge):
    """With what a fork in a directory of its own did, and its conversation at home."""

    command = ops.ADOPT

    def __init__(self, name: str, how: str = "") -> None:
        super().__init__([], None, None, how)
        self.name = name


class BroughtBack(Reverted):
    """Some files or hunks of a difference as its old side has them, merged into the code of now. `old` and
    `new` are checkpoints; without `new` the difference leads to the project as it is now. `parts` has the ids
    of hunks (`Hunk.id`) by path; none for a path: all of it. `label` says what the difference is, and
    `session` whose agent should hear of it."""

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
    """A target, and how to go there. `what` is "code", "conversation" or "both"."""

    def __init__(self, target: Target, what: str = BOTH, *, in_place: bool = False,
                 skip_missing: bool = False, name: str = "", outside: bool = False) -> None:
        """`outside`: files outside the project that the agent edited come back as well."""
        what = _OLD_WORDS.get(what, what)
        if what not in (BOTH, CODE, CONVERSATION):
            raise UsageError(f"Unknown mode: {what}", hint="Use `both`, `code` or `conversation`.")
        self.target = target
        self.what = CODE if getattr(target, "paths", None) else what  # some paths alone have no conversation
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
