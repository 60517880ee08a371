"""Show new checkpoints and prompts while an agent works. Press Ctrl-C to stop."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from rewind.cli.open_and_answer import Args, Parser, note, open_controller
from rewind.cli.output.change_counts import amount
from rewind.cli.output.columns import cells, cut, terminal_width
from rewind.cli.output.style import paint
from rewind.errors import RewindError, UsageError
from rewind.fast import quickjson
from rewind.words import file_count, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Literal, TypedDict, Union

    from rewind.checkpoint.records.record import Trigger
    from rewind.controller import Controller
    from rewind.transcript.find import SessionFile
    from rewind.transcript.turns.turn_tree import Row

    class Counts(TypedDict):
        files: int
        insertions: int
        deletions: int

    class CheckpointEvent(TypedDict):
        event: Literal["checkpoint"]
        checkpoint: str
        createdAt: str
        kind: str
        description: str
        trigger: Trigger
        sessionId: str | None
        changes: Counts | None

    class TurnEvent(TypedDict):
        event: Literal["turn"]
        session_id: str
        agent: str
        turn: int | None
        prompt: str
        timestamp: str | None

    Event = Union[CheckpointEvent, TurnEvent]

summary = "show new checkpoints and prompts while an agent works"
examples = ("rewind watch", "rewind watch --json | jq .")
_EVERY = 1.0


def arguments(parser: Parser) -> None:
    parser.add_argument("--interval", type=float, default=_EVERY, metavar="SECONDS",
                        help="how often to look (1)")


def run(args: Args) -> int:
    if not 0 < args.interval < float("inf"):
        raise UsageError("--interval must be greater than 0 seconds.",
                         hint="`rewind watch --interval 5` looks every five seconds.")
    controller = open_controller(args)
    watcher = Watcher(controller)
    note(f"Watching {controller.project.root}. Press Ctrl-C to stop.")
    tell: Callable[[Event], str] = quickjson.dumps if args.json else _line
    try:
        while True:
            time.sleep(min(60.0, max(0.05, args.interval)))
            for event in watcher.look():
                print(tell(event), flush=True)
    except KeyboardInterrupt:
        return 0


class Watcher:
    """Looks for news. While nothing happens, a look lists some directories and opens no file."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._looked = time.time()
        self._checkpoints = controller.names()
        # The size of each transcript at the last look: a prompt beyond it is new.
        self._sizes = {s.path: s.size for s in controller.latest_sessions()}

    def look(self) -> Iterator[Event]:
        """What is new since the last time."""
        yield from self._new_turns()
        new = self._controller.names(self._checkpoints)
        self._checkpoints |= new
        for name in sorted(new):
            try:
                yield self._checkpoint(name)
            except RewindError:
                continue  # deleted already, or not readable

    def _checkpoint(self, name: str) -> Event:
        record = self._controller.find(name)
        changes = self._controller.changes_with(record)
        return {"event": "checkpoint", "checkpoint": name, "createdAt": record.created_at,
                "kind": record.kind, "description": record.description, "trigger": record.trigger,
                "sessionId": record.session,
                "changes": {"files": file_count(changes),
                            "insertions": changes["added"], "deletions": changes["removed"]}
                if changes else None}

    def _new_turns(self) -> Iterator[Event]:
        # Unchanged transcripts are not opened. Times of some file systems are two seconds apart.
        since, self._looked = self._looked - 2, time.time()
        for session in self._controller.latest_sessions(since):
            if self._sizes.get(session.path) == session.size:
                continue
            try:
                rows = self._rows(session)
            except RewindError:
                continue  # deleted meanwhile, or readable at the next look
            for row in rows:
                yield {"event": "turn", "session_id": session.session_id, "agent": session.profile.name,
                       "turn": row.turn, "prompt": row.prompt, "timestamp": row.stamp}

    def _rows(self, session: SessionFile) -> list[Row]:
        index = self._controller.turns_of(session)
        before = self._sizes.get(session.path)
        if before is None and self._controller.is_fork(session, index):
            before = session.size  # a fork: its first prompts are not new
        self._sizes[session.path] = index.size
        return [row for row in index.turns(1, index.total) if row.offset >= (before or 0)]


def _line(event: Event) -> str:
    """On a terminal it fits on a line: the text in the middle is cut."""
    now = paint(time.strftime("%H:%M:%S"), "dim")
    if event["event"] == "turn":
        head = f"{event['session_id'][:8]}  turn {event['turn']}: "
        return f"{now}  {paint('prompt'.ljust(10), 'bold')}  {head}{_fitted(event['prompt'], head)}"
    changes = event["changes"]
    what = "" if not changes or not changes["files"] else (
        f"  ({amount(changes['insertions'], changes['deletions'], changes['files'])})")
    text = _fitted(event["description"], f"{event['checkpoint']}  {what}")
    name = paint(event["checkpoint"], "cyan")
    return f"{now}  checkpoint  {name}  {text}{paint(what, 'dim')}".rstrip()


def _fitted(text: str, beside: str) -> str:
    room = terminal_width() - 1 - cells(f"HH:MM:SS  checkpoint  {beside}")
    return cut(one_line(text), max(20, room) if sys.stdout.isatty() else 1000)
