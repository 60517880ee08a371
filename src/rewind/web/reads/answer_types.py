"""The answers to each GET, as in the table of `docs/web-api.md`. Only types: nothing loads this file."""

from __future__ import annotations

from typing import TypedDict

from rewind.jsonfile import JsonObject
from rewind.web.reads.parts import (
    Block,
    ChangeCounts,
    CheckpointRow,
    Entry,
    FileLines,
    HunkRow,
    LineAuthor,
    Match,
    OperationName,
    Point,
    PromptOf,
    Session,
    Turn,
    TurnFigures,
    TurnTitle,
    WarnedWithHint,
)

# the project

class Storage(TypedDict):
    bytes: int
    maxBytes: int
    checkpoints: int


class Interrupted(TypedDict):
    operation: str
    checkpoint: str
    paths: list[str]
    message: str


class Project(TypedDict):
    root: str
    name: str
    version: str
    branchesMax: int
    storage: Storage
    here: str | None
    canUndo: OperationName | None
    canRedo: OperationName | None
    late: list[JsonObject]
    missed: JsonObject
    interrupted: Interrupted | None
    turnRunning: bool


class AgentSetup(TypedDict):
    name: str
    title: str
    used: bool
    hooks: str


class Setup(TypedDict):
    register: str
    agents: list[AgentSetup]


class LoggedOperation(OperationName):
    command: str
    undone: bool
    canUndo: bool


class Operations(TypedDict):
    operations: list[LoggedOperation]


# sessions and turns

class DeletedFork(TypedDict):
    sessionId: str | None
    title: str


class Sessions(TypedDict):
    sessions: list[Session]
    trash: list[DeletedFork]
    warnings: list[WarnedWithHint]


class TurnOf(TypedDict):
    sessionId: str
    turn: int


class AgentRewind(TurnOf):
    """A turn to which the agent itself went back."""

    left: int
    prompt: str
    timestamp: str | None


class Graph(TypedDict):
    here: TurnOf | None
    rewinds: list[AgentRewind]


_Page = TypedDict("_Page", {"from": int})


class TurnPage(_Page):
    sessionId: str
    total: int
    busy: bool
    turns: list[Turn]


class OneBlock(TypedDict):
    block: Block


class OneTurn(TypedDict):
    busy: bool
    turn: Turn


class Outline(TypedDict):
    total: int
    turns: list[TurnTitle]


class SessionShape(TypedDict):
    sessionId: str
    total: int
    complete: bool
    here: int | None
    turns: list[TurnFigures]


class Matches(TypedDict):
    matches: list[Match]
    more: bool


class SessionMatches(TypedDict):
    sessionId: str
    matches: list[Match]


class Found(TypedDict):
    found: list[SessionMatches]
    more: bool
    complete: bool


class Future(TypedDict):
    parentSessionId: str | None
    fromTurn: int | None
    total: int
    turns: list[Turn]


# comparing

class Side(TypedDict):
    session: Session
    total: int
    turns: list[Turn]


class CodeOfBoth(TypedDict):
    a: str | None
    b: str | None
    added: list[str] | None
    addedCount: int | None
    modified: list[str] | None
    modifiedCount: int | None
    deleted: list[str] | None
    deletedCount: int | None


class Compared(TypedDict):
    common: int
    a: Side
    b: Side
    code: CodeOfBoth


Ends = TypedDict("Ends", {"from": str, "to": str})


class ChangedFile(TypedDict):
    path: str
    status: str
    added: int | None
    removed: int | None


class Review(Ends):
    words: Ends
    files: list[ChangedFile]
    more: int
    counted: bool
    added: int
    removed: int


class FileReview(FileLines):
    hunks: list[HunkRow]


class Diff(Ends):
    added: list[str]
    modified: list[str]
    deleted: list[str]
    patch: str | None
    binary: list[str]


# checkpoints

class Checkpoints(TypedDict):
    total: int
    checkpoints: list[CheckpointRow]


class HistoryRow(TypedDict):
    key: str
    kind: str
    text: str
    createdAt: str
    before: str | None
    after: str | None
    checkpoints: list[str]
    sessionId: str | None
    turn: int | None
    abandoned: bool
    ended: bool
    here: bool
    label: str | None
    saved: str | None
    undone: bool
    changes: ChangeCounts | None


class History(TypedDict):
    total: int
    everything: int
    waiting: int
    rows: list[HistoryRow]


# files

class Tree(TypedDict):
    point: Point
    under: str
    entries: list[Entry]
    more: int
    gone: int
    most: int
    complete: bool


class FileChange(TypedDict):
    checkpoint: str
    operation: str | None
    createdAt: str
    status: str
    kind: str
    added: int
    removed: int
    text: str
    prompt: PromptOf | None


class FileLog(TypedDict):
    path: str
    changes: list[FileChange]
    more: bool
    leftOut: int


class WhyNoLines(TypedDict):
    there: bool
    message: str


class Blame(_Page):
    path: str
    point: Point
    total: int
    lines: list[str]
    runs: list[LineAuthor]
    why: WhyNoLines | None


# lanes

class RemovedLane(TypedDict):
    name: str
    dir: str


class Lanes(TypedDict):
    lanes: list[JsonObject]
    removed: list[RemovedLane]
