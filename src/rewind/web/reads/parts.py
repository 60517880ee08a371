"""The objects in answers, with their names in `docs/web-api.md`. Only types: nothing loads this file.

Objects that come unchanged from the rooms below, such as `changes`, are described where they are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict, Union

from rewind.jsonfile import JsonObject
from rewind.web.render.rows import Row

if TYPE_CHECKING:
    from rewind.checkpoint.changes.turn_changes import TurnChanges
    from rewind.checkpoint.records.record import Trigger


class Session(TypedDict):
    sessionId: str
    agent: str
    agentTitle: str
    title: str
    name: str | None
    parentSessionId: str | None
    rewindFromTurn: int | None
    rewindedAt: str | None
    madeByRewind: bool
    archived: bool
    promoted: bool
    codeRestored: bool
    turns: int
    messageCount: int
    created: str | None
    modified: str
    running: bool
    busy: bool
    bytes: int
    resume: str


# turns

class CodeName(TypedDict):
    """A checkpoint whose code belongs to a turn."""

    name: str
    exact: bool


class Turn(TypedDict):
    turn: int | None
    uuid: str
    timestamp: str | None
    prompt: str
    blocks: list[Block] | list[ShownBlock]
    truncated: bool
    compactedBefore: bool
    checkpoint: CodeName | None
    changes: TurnChanges | None
    canRewind: bool
    reason: str | None
    missingFiles: list[str]
    seconds: float | None
    failures: int


_Around = TypedDict("_Around", {"from": "str | None", "to": "str | None"})


class TurnFigures(_Around):
    """A turn in a few numbers."""

    turn: int | None
    prompt: str
    timestamp: str | None
    seconds: float | None
    failures: int
    compactedBefore: bool
    added: int | None
    removed: int | None
    files: int | None
    edited: bool
    saved: list[str]


class TurnTitle(TypedDict):
    turn: int
    prompt: str
    timestamp: str | None
    compactedBefore: bool


class _Match(TypedDict):
    turn: int
    where: str
    snippet: str


class Match(_Match, total=False):
    block: int | None  # for a match in the conversation
    status: str  # for a file


# plans and outcomes

class WithReason(TypedDict):
    path: str
    reason: str
    text: str


class PathLists(TypedDict):
    """Each list may be incomplete, so it comes with the whole count."""

    written: list[str]
    writtenCount: int
    deleted: list[str]
    deletedCount: int
    kept: list[WithReason]
    keptCount: int
    changedSince: list[str]
    changedSinceCount: int


class PlannedPaths(PathLists):
    conflicts: list[WithReason]


class Warned(TypedDict):
    code: str
    message: str


class WarnedWithHint(Warned):
    hint: str


class PlanCode(TypedDict):
    checkpoint: str
    exact: bool
    createdAt: str


class _PlanEnd(TypedDict):
    notes: list[str]
    warnings: list[Warned]
    stamp: str


class Plan(PlannedPaths, _PlanEnd):
    code: PlanCode | None


class TurnPlan(Plan):
    turn: int
    mode: str
    keeps: int
    drops: int
    prompt: str


class StepPlan(Plan):
    """The plan of an undo or a redo, and its operation."""

    operation: str | None
    text: str


class LineAuthor(TypedDict):
    """A run of lines with one author."""

    lines: int
    who: str
    sessionId: str | None
    turn: int | None
    prompt: str
    checkpoint: str | None
    saved: bool
    at: str | None
    commit: str | None
    summary: str
    was: str


_From = TypedDict("_From", {"from": int})


class PlaceLines(TypedDict, total=False):
    """The lines of a conflict and who wrote them, if they are shown."""

    lines: list[str]
    by: list[LineAuthor]


class Place(_From, PlaceLines):
    count: int


class Conflict(WithReason):
    places: list[Place]


class MergePlan(PathLists, _PlanEnd):
    """The result of a merge is no checkpoint yet, so there is no `code`."""

    code: None
    conflicts: list[Conflict]
    settled: list[Conflict]


class RevertPlan(MergePlan):
    turn: int
    how: str
    about: str


class Outcome(PlannedPaths):
    operation: str | None
    checkpoint: str | None
    backup: str | None
    remaining: list[WithReason]
    remainingCount: int
    canRedo: bool
    notes: list[str]


# checkpoints

class Checkpoint(TypedDict):
    name: str
    sequence: int
    createdAt: str
    kind: str
    description: str
    trigger: Trigger
    parent: str | None
    place: str
    hasTranscript: bool
    sessionId: str | None
    fileCount: int | None
    totalSize: int | None
    newBytes: int | None


class ChangeCounts(TypedDict):
    added: int
    removed: int
    files: int
    counted: bool


class RowChanges(TypedDict, total=False):
    changes: ChangeCounts


class CheckpointRow(Checkpoint, RowChanges):
    """A checkpoint, and its changes since the one before it if they were asked for and are known."""


class OperationName(TypedDict):
    id: str
    at: str
    text: str


# files

class PromptOf(TypedDict):
    sessionId: str
    turn: int
    text: str


class Point(TypedDict):
    """A moment of the project as a person would name it."""

    name: str
    words: str
    createdAt: str | None
    prompt: PromptOf | None


class PathName(TypedDict):
    path: str
    name: str


class LastChange(TypedDict):
    checkpoint: str
    createdAt: str


class EntryChanges(TypedDict):
    changes: int
    hottest: int
    last: LastChange | None


class Entry(PathName, EntryChanges):
    """A line of a folder."""

    kind: str
    gone: bool
    size: int | None


class FileLines(TypedDict):
    path: str
    status: str
    verdict: str
    added: int | None
    removed: int | None
    rows: list[Row]


class HunkRow(TypedDict):
    """A hunk, and the row with which it begins."""

    id: str
    row: int


# blocks: without rendering, a block is as `transcript/turns/turn_blocks.py` makes it

Block = JsonObject


class TextBlock(TypedDict):
    kind: Literal["text"]
    html: str


class ThinkingBlock(TypedDict):
    kind: Literal["thinking"]
    text: str
    size: int


class ToolBlock(TypedDict):
    kind: Literal["tool"]
    id: str
    name: str
    summary: str
    isError: bool
    about: str
    done: bool
    size: int


ShownBlock = Union[TextBlock, ThinkingBlock, ToolBlock, Block]
