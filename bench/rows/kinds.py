"""Long conversations of Codex and Gemini CLI, whose transcripts have other formats than Claude Code's.

The rows compare processor times, because they are about how the cost grows with the length.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable

from bench import trees
from bench.measure import Action, Sample
from bench.ours import Rewind
from bench.peers.peer import tool
from bench.rows.row import Outcome, Row, Runner, Unfaithful, compare
from bench.workplace import Workplace, say

_SMALL = 1 << 20
_TEXT = "All work and no play makes for a dull transcript. " * 40
_ANSWERS = 10


class _Talk:
    """A session, in the file where its agent would write it."""

    def __init__(self, home: Path, project: Path, size: int) -> None:
        self.project = os.path.realpath(project)
        self.session = f"{size:08x}-0000-4000-8000-000000000000"
        self.path = self.place(home)
        self._lines = 0
        say(f"making a conversation of {size >> 20} MB")
        with open(self.path, "wb") as file:
            file.write(self.line(self.head()))
            while file.tell() < size:
                file.write(self._turn())

    def place(self, home: Path) -> Path:
        raise NotImplementedError

    def head(self) -> dict[str, Any]:
        raise NotImplementedError

    def turn(self, text: str) -> list[dict[str, Any]]:
        raise NotImplementedError

    def add_turn(self) -> None:
        with open(self.path, "ab") as file:
            file.write(self._turn())

    def forks(self) -> list[Path]:
        return [path for path in self.path.parent.glob("*.jsonl") if path != self.path]

    def _turn(self) -> bytes:
        return b"".join(map(self.line, self.turn(f"Prompt {self._lines}")))

    def line(self, data: dict[str, Any]) -> bytes:
        self._lines += 1
        return json.dumps(data, separators=(",", ":")).encode() + b"\n"


class _Gemini(_Talk):
    _seconds = 0

    def place(self, home: Path) -> Path:
        chats = home / ".gemini" / "tmp" / Path(self.project).name / "chats"
        chats.mkdir(parents=True)
        (chats.parent / ".project_root").write_text(self.project)
        return chats / f"session-2026-11-15T08-00-{self.session[:8]}.jsonl"

    def head(self) -> dict[str, Any]:
        return {"sessionId": self.session, "projectHash": "f" * 64, "startTime": self._now(), "kind": "main",
                "lastUpdated": self._now()}

    def turn(self, text: str) -> list[dict[str, Any]]:
        records = self._message("user", [{"text": text}])
        for _ in range(_ANSWERS):
            first, noted = self._message("gemini", "")
            result = [{"functionResponse": {"id": "c", "name": "read_file", "response": {"output": _TEXT}}}]
            calls = [{"id": "c", "name": "read_file", "args": {}, "result": result, "status": "success"}]
            records += [first, noted, {**first, "content": _TEXT, "toolCalls": calls}]
        return records

    def _message(self, type: str, content: object) -> list[dict[str, Any]]:
        """A message, and the line with the time that the client writes after it."""
        now = self._now()
        id = f"{self._seconds:08x}-1111-4000-8000-000000000000"
        return [{"id": id, "timestamp": now, "type": type, "content": content},
                {"$set": {"lastUpdated": now}}]

    def _now(self) -> str:
        self._seconds += 1
        return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(1794729600 + self._seconds))


class _Codex(_Talk):
    def place(self, home: Path) -> Path:
        folder = home / ".codex" / "sessions" / "2026" / "11" / f"{len(Path(self.project).name) % 28 + 1:02}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"rollout-2026-11-15T08-00-00-{self.session}.jsonl"

    def head(self) -> dict[str, Any]:
        return self._record("session_meta", id=self.session, session_id=self.session, cwd=self.project,
                            source="cli", thread_source="user", history_mode="paginated")

    def turn(self, text: str) -> list[dict[str, Any]]:
        turn = f"turn-{self._lines}"
        item = {"type": "UserMessage", "id": turn, "content": [{"type": "text", "text": text}]}
        call, output = {"type": "function_call", "name": "exec_command", "call_id": "c", "arguments": "{}"}, {
            "type": "function_call_output", "call_id": "c", "output": _TEXT}
        return [self._record("event_msg", type="task_started", turn_id=turn),
                self._record("turn_context", turn_id=turn, cwd=self.project),
                self._message("user", text),
                self._record("event_msg", type="item_completed", turn_id=turn, item=item),
                *[self._record("response_item", **one) for _ in range(_ANSWERS) for one in (call, output)],
                self._message("assistant", _TEXT),
                self._record("event_msg", type="task_complete", turn_id=turn)]

    def _message(self, role: str, text: str) -> dict[str, Any]:
        kind = "output_text" if role == "assistant" else "input_text"
        return self._record("response_item", type="message", role=role,
                            content=[{"type": kind, "text": text}])

    def _record(self, kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": "2026-11-15T08:00:00.000Z", "ordinal": self._lines, "type": kind,
                "payload": payload}


def _processor_time(contenders: Mapping[str, Action], rounds: int, before: Action | None = None,
                    after: Callable[[str], object] | None = None) -> dict[str, Sample]:
    """Like `interleave`, but with processor times."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds):
        if before is not None:
            before()
        for name in list(contenders) if number % 2 == 0 else reversed(list(contenders)):
            start = _used()
            contenders[name]()
            taken[name].append((_used() - start) * 1000)
            if after is not None:
                after(name)
    return {name: Sample(tuple(values)) for name, values in taken.items()}


def _used() -> float:
    """Processor time of the processes that have ended."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def _sides(place: Workplace, kind: type[_Talk], name: str, *sizes: int) -> list[tuple[Rewind, _Talk]]:
    found = []
    for size in sizes:
        tree = place.plain_tree(f"{name}-{size}", trees.TreeSpec(40, 600))
        rewind = place.rewind(tree.root)
        rewind.init()
        found.append((rewind, kind(place.root / "home", tree.root, size)))
    return found


def _back(kind: type[_Talk]) -> Runner:
    def run(place: Workplace) -> Outcome:
        long, short = _sides(place, kind, f"back{kind.__name__}", _sizes(place)[0], _SMALL)
        taken = _processor_time({"long": _going_back(*long, "--dry-run"),
                                 "short": _going_back(*short, "--dry-run")}, place.options.rounds)
        long[1].path.unlink()
        return compare(taken["long"], taken["short"], _NOTE)
    return run


def _fork(kind: type[_Talk]) -> Runner:
    def run(place: Workplace) -> Outcome:
        (rewind, talk), = _sides(place, kind, f"fork{kind.__name__}", _sizes(place)[0])
        copy = talk.path.with_suffix(".copy")

        def check(name: str) -> None:
            made = [copy] if name == "cp" else talk.forks()
            if len(made) != 1 or made[0].stat().st_size < talk.path.stat().st_size * 0.9:
                raise Unfaithful(f"the fork is not there or too short: {made}")
            made[0].unlink()

        def cp() -> None:
            place.spawner.run([tool("cp"), str(talk.path), str(copy)])

        taken = _processor_time({"ours": _going_back(rewind, talk), "cp": cp},
                                max(3, place.options.rounds // 4), after=check)
        talk.path.unlink()
        return compare(taken["ours"], taken["cp"], _NOTE)
    return run


def _save(kind: type[_Talk]) -> Runner:
    def run(place: Workplace) -> Outcome:
        sides = _sides(place, kind, f"save{kind.__name__}", _sizes(place)[1], _SMALL)
        for rewind, _ in sides:
            rewind.save()

        def add_turn() -> None:
            for _, talk in sides:
                talk.add_turn()

        (long, talk), (short, _) = sides
        taken = _processor_time({"long": long.save, "short": short.save}, place.options.rounds,
                                before=add_turn)
        talk.path.unlink()
        return compare(taken["long"], taken["short"], _NOTE)
    return run


def _sizes(place: Workplace) -> tuple[int, int]:
    return (64 << 20, 32 << 20) if place.options.quick else (1 << 30, 200 << 20)


def _going_back(rewind: Rewind, talk: _Talk, *options: str) -> Action:
    return lambda: rewind.output("back", "1", "--session", str(talk.path), *options)


_NOTE = "processor time of the whole command"
_KINDS: dict[str, tuple[str, type[_Talk]]] = {"gemini": ("Gemini CLI", _Gemini), "codex": ("Codex", _Codex)}

ROWS = [row for name, (title, kind) in _KINDS.items() for row in (
    Row(f"back-{name}", f"{title}: `back 1 --dry-run` in 1 GB ÷ in 1 MB", 1.5, _back(kind), "more"),
    Row(f"fork-{name}", f"{title}: `back 1` in 1 GB ÷ `cp`", 1.2, _fork(kind), "more"),
    Row(f"transcript-{name}", f"{title}: checkpoint with 200 MB ÷ with 1 MB", 1.3, _save(kind), "more"))]
