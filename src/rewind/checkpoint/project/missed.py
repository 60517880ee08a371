"""Missing checkpoints: events for which hooks made none, and checkpoints that are still being made after
their hook has ended. Read from `hook-state.json`, which only hooks write."""

from __future__ import annotations

import time

from rewind import jsonfile
from rewind.checkpoint.records.record import seconds_of
from rewind.processes import process_start
from rewind.words import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypedDict

    from rewind.paths import Project

    class Begun(TypedDict, total=False):
        """A checkpoint that a process is making. Any member of this and of `MissedEvent` may have another
        type when it is read from disk."""

        at: str
        event: str
        session: str
        pid: int
        start: str  # of the process; empty if only `ps` knows it
        description: str
        late: bool  # its hook has ended

    class MissedEvent(TypedDict, total=False):
        """An event without a checkpoint."""

        at: str | None
        event: str | None
        session: str | None
        reason: str
        told: bool  # whether the person was told at the start of a session

FILE = "hook-state.json"
MAX_BYTES = 1 << 20
BUSY, KILLED = "the store was busy", "the process that saved was killed"
_SHOWN = 7 * 86_400.0  # seconds for which a missing checkpoint is reported
_PROMPT = "UserPromptSubmit"


class Missed:
    """Missed events and late checkpoints, as they are now. Unreadable entries are ignored."""

    def __init__(self, project: Project) -> None:
        data = jsonfile.read_or_empty(project.own(FILE), MAX_BYTES)
        begun: list[Begun] = jsonfile.objects_in(data.get("begun"))
        alive = [one for one in begun if is_alive(one)]
        killed: Any = [{**one, "reason": KILLED} for one in begun if one not in alive]
        self.late = [one for one in alive if one.get("late") is True]
        self.events: list[MissedEvent] = [one for one in (*jsonfile.objects_in(data.get("missed")), *killed)
                                          if _is_recent(one)]

    @property
    def text(self) -> str:
        return sentence(self.events)

    def json(self) -> dict[str, object]:
        return {"count": len(self.events), "prompts": sum(map(_is_prompt, self.events)), "text": self.text,
                "events": [{key: one.get(key) for key in ("at", "event", "session", "reason")}
                           for one in self.events]}

    def late_json(self) -> list[dict[str, object]]:
        return [{key: one.get(key) for key in ("at", "event", "session", "description")} for one in self.late]


def is_alive(begun: Begun) -> bool:
    """Whether the process that makes this checkpoint is still running."""
    pid, start = begun.get("pid"), begun.get("start")
    if not isinstance(pid, int) or pid <= 0:
        return False
    living = process_start(pid)
    return living is not None and start in ("", living)


def sentence(events: list[MissedEvent]) -> str:
    """`2 prompts here have no checkpoint: the store was busy.` Empty if nothing is missing."""
    prompts = sum(map(_is_prompt, events))
    others = len(events) - prompts
    if not events:
        return ""
    if not prompts:
        what = f"{plural(others, 'checkpoint')} could not be made here"
    else:
        what = f"{plural(prompts, 'prompt')} here {'has' if prompts == 1 else 'have'} no checkpoint"
        what += f" (nor {plural(others, 'other event')})" if others else ""
    return f"{what}: {'; '.join(_reasons(events))}."


def _reasons(events: Iterable[MissedEvent]) -> list[str]:
    """Each reason once, the most frequent first, limited to what fits on a line."""
    count: dict[str, int] = {}
    for one in events:
        reason = str(one.get("reason") or "no reason was noted").rstrip(".")
        count[reason] = count.get(reason, 0) + 1
    return sorted(count, key=lambda reason: -count[reason])[:2]


def _is_prompt(event: MissedEvent) -> bool:
    return event.get("event") == _PROMPT


def _is_recent(event: MissedEvent) -> bool:
    at = seconds_of(event.get("at"))
    return at is not None and time.time() - at < _SHOWN
