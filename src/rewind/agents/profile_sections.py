"""The sections of a profile as types, for readers and for mypy. Nothing loads this module at run time.

`docs/agents.md` explains the fields, and `check.py` decides whether a file has this shape. Fields that may be
missing follow a blank line, and their class is not `total`. The class of a section that may be null is not
`total` either, so that `profile.sessions or {}` has its type.
"""

from __future__ import annotations

from typing import Any, TypedDict, Union

from rewind.jsonfile import JsonObject

OneWhere = dict[str, list[Any]]
Where = Union[OneWhere, list[OneWhere]]


class Environment(TypedDict):
    marks: list[str]
    session: str | None
    pid: str | None
    project: str | None
    envFile: str | None


class Home(TypedDict, total=False):
    """Where a directory of the agent is. It is a part of `sessions`, and of `registration` if that has
    another directory."""

    home: str
    homeVariable: str | None
    homeBelow: str


class Sessions(Home, total=False):
    root: str
    folders: str
    flat: bool

    side: Where
    mark: str
    below: str


class Recognise(TypedDict, total=False):
    within: int

    keys: list[str]
    equals: Where


class Lines(TypedDict, total=False):
    id: str
    parent: str | None
    logicalParent: str | None
    timestamp: str | None
    cwd: str | None
    version: str | None
    entry: Where
    sideline: Where
    user: Where
    assistant: Where
    passing: Where
    content: list[str]

    main: Where
    lostParentSeconds: int


class SlashCommands(TypedDict):
    starts: list[str]
    genuine: Where


class Prompt(TypedDict, total=False):
    require: Where
    absentOr: OneWhere
    refuse: OneWhere
    refuseKeys: list[str]
    refuseBlocks: list[str]
    imageBlocks: list[str]
    text: str
    envelopes: list[str]
    refuseStarts: list[str]
    refuseTexts: list[str]
    commands: SlashCommands | None
    joinKey: str | None

    skipBlocks: list[str]
    genuine: Where
    notices: list[str]


class Leaf(TypedDict, total=False):
    line: Where
    id: str
    append: JsonObject
    since: str | None

    exact: Where


class Compaction(TypedDict, total=False):
    line: Where
    summary: Where | None
    resumable: bool

    kept: str | None


class Title(TypedDict, total=False):
    line: Where
    field: str

    entry: str


class LastMessage(TypedDict):
    refuse: Where


class Header(TypedDict):
    set: JsonObject
    setIfPresent: JsonObject
    drop: list[str]
    lastMessage: LastMessage


class TitleField(TypedDict):
    field: str
    within: int


class Sidecar(TypedDict):
    suffix: str
    drop: list[str]


class Fork(TypedDict, total=False):
    strategy: str
    emptyResumes: bool
    append: list[JsonObject]
    header: Header | None
    titleField: TitleField | None
    sidecars: list[Sidecar]

    inPlace: bool
    notInPlace: str


class Native(TypedDict):
    within: int
    session: str
    event: str


class Liveness(TypedDict, total=False):
    folder: str
    session: str
    start: str | None
    busy: Where | None

    domain: str


class Locks(TypedDict):
    folder: str
    suffix: str


class Trust(TypedDict):
    file: str
    trusted: str
    parent: str
    variable: str
    setting: str


class Registration(Home, total=False):
    settings: str
    flat: str | None
    project: str
    disabled: str | None

    local: str | None
    plugin: str | None
    named: bool
    consent: str
    script: str
    needs: str
    note: str
    events: dict[str, str]
    hookName: str
    timeoutsPerSecond: int
    comments: bool
    trust: Trust


# Not a class, because `import` is a keyword of Python.
Commands = TypedDict("Commands", {"resume": str, "start": str,
                                  "server": list[str], "import": list[str], "delete": list[str]}, total=False)
