"""The answers to actions, and the pushes, as in the second half of `docs/web-api.md`. Only types: nothing
loads this file."""

from __future__ import annotations

from typing import Literal, TypedDict, Union

from rewind.jsonfile import JsonObject
from rewind.web.reads.answer_types import Project
from rewind.web.reads.parts import Checkpoint, MergePlan, Outcome, Session, WithReason


class _Event(TypedDict):
    event: str


class Following(_Event):
    sessionId: str


class CodeBroughtBack(TypedDict):
    checkpoint: str
    exact: bool
    backup: str | None
    written: list[str]
    writtenCount: int
    deleted: list[str]
    deletedCount: int
    kept: list[WithReason]
    remaining: list[WithReason]


class SessionCreated(_Event):
    session: Session
    code: CodeBroughtBack | None
    operation: str
    notes: list[str]


class _FastForwarded(_Event):
    sessionId: str
    code: bool
    notes: list[str]


class FastForwarded(_FastForwarded, total=False):
    operation: str | None


class BranchesDeleted(_Event):
    sessionIds: list[str]


class CheckpointCreated(_Event):
    checkpoint: Checkpoint


class Restored(_Event, Outcome):
    pass


class MergeOutcome(Outcome):
    about: str
    note: str | None


class Reverted(_Event, MergeOutcome):
    pass


class LaneAdopted(_Event, MergeOutcome):
    sessionId: str | None
    resume: str | None


class LanesCompared(_Event):
    lanes: list[JsonObject]
    files: list[JsonObject]
    more: int


class AdoptPlanned(_Event, MergePlan):
    name: str
    how: str
    about: str


class LaneNamed(_Event):
    """Removed, or returned."""

    name: str


# pushes

class SessionUpdated(TypedDict):
    event: Literal["session_updated"]
    session: Session


class TurnsAdded(TypedDict):
    event: Literal["turns_added"]
    sessionId: str
    total: int


class SessionsChanged(TypedDict):
    event: Literal["sessions_changed"]


class CheckpointsChanged(TypedDict):
    event: Literal["checkpoints_changed"]
    newest: str | None


class ProjectRead(TypedDict, total=False):
    project: Project


class ProjectChanged(ProjectRead):
    event: Literal["project_changed"]


Push = Union[SessionUpdated, TurnsAdded, SessionsChanged, CheckpointsChanged, ProjectChanged]
Answer = Union[Following, SessionCreated, FastForwarded, SessionUpdated, BranchesDeleted, CheckpointCreated,
               Restored, Reverted, LanesCompared, AdoptPlanned, LaneAdopted, LaneNamed]


class TellsOfSessions(TypedDict, total=False):
    """An answer from which a page may have learned about sessions."""

    sessions: list[Session]
    session: Session
