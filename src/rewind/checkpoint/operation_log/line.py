"""The types of the lines of `operations.jsonl`, for the type checker. `docs/format.md` says what they mean.

The log is read from disk. `operations.py` checks the types of some members; check the others before use.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypedDict

    from rewind.checkpoint.records.record import OutsideFile

    class ChangedOutside(TypedDict, total=False):
        """A file outside the project that an operation wrote or deleted."""

        path: str
        before: OutsideFile
        after: OutsideFile

    class Effect(TypedDict, total=False):
        """What was done to a conversation, to the directory of a fork, or to files outside the project. The
        members depend on the kind: see `rewind/effects/kind.py`."""

        kind: str
        sessionId: str | None
        path: str | None
        agent: str | None
        size: int
        header: int
        of: str | None
        original: str
        trash: str
        made: list[int] | None  # size and time of the last change
        backup: str | None
        bytes: int
        hash: str
        put: str | None
        kept: str | None
        before: str | None
        after: str | None
        titleBefore: str | None
        titleAfter: str | None
        name: str
        dir: str
        place: str
        checkpoint: str
        aside: str
        by: str
        files: list[ChangedOutside]

    class WhereCut(TypedDict, total=False):
        """Where a transcript is to be cut, so that a killed process can be finished."""

        agent: str
        path: str
        offset: int
        leaf: str | None
        mark: Mapping[str, object] | None  # see `transcript/place/cursor.py`
        inPlace: bool
        root: str

    class Line(TypedDict, total=False):
        """One line of the log. Its members depend on `event`."""

        format: int
        op: str
        event: str
        at: str
        place: str
        command: str
        what: str
        request: list[Any]
        before: str
        checkpoint: str
        paths: list[str]
        effects: list[Effect]
        leftAlone: list[str]
        undoes: list[str]
        redoes: str
        about: str
        resumes: str
        conversation: WhereCut
        session: str
        turn: int
        prompt: str
        origin: str  # for a fork: the place that it was made from
        point: int  # for a fork: the number of the checkpoint that it began with
        sequence: int
        result: str
        here: str
        written: int
        deleted: int
        kept: int
        remaining: list[str]
        check: str
