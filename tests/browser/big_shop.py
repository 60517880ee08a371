"""A project as months of work leave it: 300 checkpoints, 12 sessions, and one of them of 57 MB."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from shop import Agent

from make_transcripts import event_id
from rewind.controller import Controller

LONG = event_id(0x10A6)
MB = 57
TURNS = 600
WITH_CODE = 148  # of its last turns have the checkpoints of hooks: before and after
GONE = "billing/invoice.py"
DELETED = TURNS - 40  # the turn that deleted it
COMPACTED = TURNS - 60  # after which the conversation was compacted, as one of that size must be
TIDY = "Tidy up the billing"
_LINE = "    return sum(item.price for item in self.items)  # in cents, number %d\n"


def make_big(home: Path, project: Path) -> None:
    controller, _ = Controller.init(str(project), mode="project")
    controller.close()
    for number in range(40):
        _write(project / f"src/module{number:02}.py", f"value = {number}\n")
    _write(project / GONE, "def invoice(order):\n    return order.total\n")
    for number in range(11):
        other = Agent(home, project, event_id(0x500 + number), f"Task {number}", ago=86400 * (number + 2))
        for turn in range(4):
            other.turn(f"Do part {turn} of task {number}", answer="Done.", hooks=False)
    _long(Agent(home, project, LONG, "Build the billing of the shop", ago=41 * 8 * TURNS))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _long(agent: Agent) -> None:
    said = "".join(_LINE % n for n in range((MB << 20) // COMPACTED // 2 // len(_LINE)))
    for number in range(1, TURNS + 1):
        files: dict[str, Optional[str]] = {}
        if number > TURNS - WITH_CODE:
            files = {f"src/module{number % 40:02}.py": f"value = {number}\n"}
        if number == DELETED:
            files[GONE] = None
        prompt = TIDY if number == DELETED else f"Question {number}: what about part {number % 97}?"
        agent.turn(prompt, files, f"Part {number % 97} is **done**.", hooks=bool(files),
                   run=(f"sed -n 1,400p part{number}.py", said if number <= COMPACTED else "value = 1\n"))
        if number == COMPACTED:
            agent.talk.compaction()
            agent.flush()
        agent.talk.lines.clear()
        agent._written = 0
