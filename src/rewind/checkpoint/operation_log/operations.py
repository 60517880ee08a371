"""`operations.jsonl`: every operation of Rewind that changed files or conversations, with one entry when it
begins and one when it ends. The log is the only history: it tells where the project stands, what
`undo-restore` undoes and what `redo` brings back.

A hook reads its last line to find the parent of its checkpoint, so this file imports little.
"""

from __future__ import annotations

import os
import time

from rewind.checkpoint.records.record import iso_time_ms, seconds_of
from rewind.errors import FormatTooNew, OperationNotFound, RewindError, StoreDamaged
from rewind.fast import quickjson
from rewind.files import (
    PRIVATE_FILE,
    fsync_dir,
    read_bounded,
    stamp_of,
    stamp_of_stat,
    write_all,
    write_atomic,
)
from rewind.index import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from rewind.checkpoint.operation_log.line import Effect, Line
    from rewind.jsonfile import JsonObject


FILE = "operations.jsonl"
OLD_FILE = "restore-history.json"  # of earlier versions
FORMAT = 1
KEPT_STEPS = 20  # so many operations can always be undone: what they need is never collected
MAX_BYTES = 64 << 20
_MOST = 1000  # operations that a collection leaves in the log
_TAIL = 64 << 10

RESTORE, BACK, UNDO, FORWARD = "restore", "back", "undo", "fast-forward"
REVERT, APPLY = "revert", "apply"
RENAME, DELETE, UNDELETE = "forks rename", "forks delete", "forks undelete"
UNDO_RESTORE, REDO = "undo-restore", "redo"
FUTURE, ADOPT = "fork", "forks adopt"
BISECT = "bisect"  # in place: it ends where it began, so then there is nothing to undo
STEPS = (RESTORE, BACK, UNDO, FORWARD, REVERT, APPLY, ADOPT, RENAME, DELETE, UNDELETE)
COMMANDS = (*STEPS, UNDO_RESTORE, REDO, BISECT, FUTURE)

FORK = "fork"  # the effect that made a session; the other kinds are in `rewind/effects/kind.py`
DONE, PARTIAL = "done", "partial"  # how an operation ended


class Operation:
    """One operation. `begun` is what it was going to do. `ended` is what it did; it is None while the
    operation is under way and after its process was killed."""

    def __init__(self, begun: Line, ended: Line | None = None) -> None:
        self.begun = begun
        self.steps: list[Line] = []  # the further checkpoints of one that goes to several
        self.ended = ended
        self.undone = False  # by `undo-restore`, or, in the case of an `undo`, by `redo`
        self.superseded = False  # it was interrupted, and a later one finished it
        self.can_redo = False  # `redo` can bring back what this replaced
        self.half_done = False  # a `redo` that was interrupted and can be undone

    @property
    def id(self) -> str:
        return str(self.begun["op"])

    @property
    def command(self) -> str:
        return str(self.begun["command"])

    @property
    def at(self) -> str:
        return str(self.begun["at"])

    @property
    def time(self) -> float:
        """Seconds since the epoch; 0 if that is not readable."""
        return seconds_of(self.at) or 0.0

    @property
    def place(self) -> str:
        return str(self.begun.get("place") or "")

    @property
    def is_step(self) -> bool:
        return self.command in STEPS

    @property
    def before(self) -> str:
        """The checkpoint with the code as it was; empty if the code was not touched."""
        return str(self.begun.get("before") or "") if self.checkpoint else ""

    @property
    def here_before(self) -> str:
        return str(self.begun.get("before") or "")

    @property
    def checkpoint(self) -> str:
        """The checkpoint whose code was restored; empty if the code was not touched."""
        return str((self.steps or [self.begun])[-1].get("checkpoint") or "")

    @property
    def paths(self) -> list[bytes] | None:
        """The paths that it was limited to; None: the whole tree."""
        paths = self.begun.get("paths")
        return [os.fsencode(path) for path in paths] if paths else None

    @property
    def effects(self) -> list[Effect]:
        """What it did to conversations; if it was interrupted, what it may have done."""
        found = (self.ended or {}).get("effects", self.begun.get("effects"))
        return [one for one in found or () if isinstance(one, dict)]

    @property
    def made_session(self) -> str:
        """The session of the fork that it made; empty if it made none."""
        return next((str(one.get("sessionId") or "") for one in self.effects if one.get("kind") == FORK), "")

    @property
    def undoes(self) -> list[str]:
        return [str(id) for id in self.begun.get("undoes") or ()]

    @property
    def redoes(self) -> str:
        return str(self.begun.get("redoes") or "")

    @property
    def resumes(self) -> str:
        return str(self.begun.get("resumes") or "")

    @property
    def left_alone(self) -> list[bytes]:
        lines = (self.begun, *self.steps)
        return [os.fsencode(path) for line in lines for path in line.get("leftAlone") or ()]

    @property
    def here(self) -> str:
        """The checkpoint that the project stood on afterwards; if it was interrupted, the one before."""
        return str((self.ended or {}).get("here") or "") if self.ended else self.here_before

    @property
    def sequence(self) -> int:
        """The number of the newest checkpoint at that moment. Higher numbers came later."""
        found = (self.ended or self.begun).get("sequence")
        return found if isinstance(found, int) else 0

    @property
    def took_effect(self) -> bool:
        """Whether it counts as done. A step that failed in part does. An undo or a redo counts only once all
        of it is done, so that it can be repeated."""
        if self.ended is None:
            return False
        return self.is_step or self.ended.get("result") == DONE

    @property
    def can_undo(self) -> bool:
        return ((self.is_step or self.half_done) and not self.undone and not self.superseded
                and bool(self.before or self.effects))

    def checkpoints(self) -> set[str]:
        """The checkpoints that are needed to undo or redo it."""
        return {name for name in (self.before, self.checkpoint, self.here) if name}


class Operations:
    """The log of one project, read once. `place` is the work tree whose history is asked for."""

    def __init__(self, path: str, place: str, old: str = "") -> None:
        """`old` is the path of an earlier version's history, which is read if there is no log."""
        self.path = path
        self.place = place
        self._old = old
        self._stamp = stamp_of(path)
        self._last: dict[str, Line] = {}
        self.all = _read(path, old, self._last)
        self._replay()

    def is_current(self) -> bool:
        """Whether the file is still as it was read or as this process wrote it."""
        if self._stamp is None and os.path.exists(self._old):
            return False  # an earlier version may write the old history
        return self._stamp == stamp_of(self.path)

    # what it says

    @property
    def last(self) -> Line | None:
        """The last line about this place; see `last_line`."""
        return self._last.get(self.place)

    def _replay(self) -> None:
        """Work out which operations are undone and which can be redone."""
        by_id = {op.id: op for op in self.all}
        for op in self.all:
            op.undone = op.superseded = op.can_redo = op.half_done = False
        for op in self.all:
            if op.resumes in by_id:
                by_id[op.resumes].superseded = True
        forward: list[Operation] = []  # what can be redone so far
        for op in self.mine():
            if op.superseded:
                continue
            if op.command == UNDO_RESTORE:
                self._undo_steps(op, by_id)
                forward.append(op)
            elif op.command == REDO:
                self._redo_step(op, by_id)
            elif op.command == UNDO:
                op.can_redo = True
                forward.append(op)
            elif op.command != BISECT:  # after a new step nothing can be redone
                while forward:
                    forward.pop().can_redo = False
        last = self.interrupted()
        if last and last.command == REDO:
            last.half_done = True

    def _undo_steps(self, op: Operation, by_id: dict[str, Operation]) -> None:
        steps = [by_id[id] for id in op.undoes if id in by_id]
        if op.took_effect:
            for step in steps:
                step.undone = True
        # The half-done state that an interrupted step left is nothing to redo.
        op.can_redo = any(step.ended is not None for step in steps) if steps else True

    def _redo_step(self, op: Operation, by_id: dict[str, Operation]) -> None:
        target = by_id.get(op.redoes)
        if target is None or not op.took_effect:
            return
        target.can_redo = False
        if target.command == UNDO:
            target.undone = True
        for id in target.undoes:
            if id in by_id:
                by_id[id].undone = False

    def mine(self) -> list[Operation]:
        return [op for op in self.all if op.place == self.place]

    def interrupted(self) -> Operation | None:
        """The last operation, if a killed process left it half done. One that is under way looks the same, so
        the caller holds the lock or has checked that nobody holds it."""
        last = next(reversed(self.mine()), None)
        return last if last and last.ended is None and not last.superseded and not last.undone else None

    def undoable(self) -> list[Operation]:
        """The steps that are not undone, oldest first."""
        return [op for op in self.mine() if op.can_undo]

    def to_undo(self) -> Iterator[Operation]:
        """The candidates for the next `undo-restore`, which takes the first that is worth undoing: an
        interrupted operation, then the steps, newest first."""
        half_done = self.interrupted()
        if half_done and half_done.command != UNDO_RESTORE:
            yield half_done
        yield from reversed(self.undoable())

    def to_redo(self) -> Operation | None:
        """What the next `redo` reverses, unless a checkpoint that was made since prevents it."""
        redoable = [op for op in self.mine() if op.can_redo and not op.undone and not op.superseded]
        return redoable[-1] if redoable else None

    def find(self, text: str) -> Operation:
        found = [op for op in self.mine() if op.id == text or (len(text) >= 2 and op.id.startswith(text))]
        if len(found) != 1:
            raise OperationNotFound(name=text)
        return found[0]

    def since(self, op: Operation) -> list[Operation]:
        """This step and all later ones that are not undone."""
        return [step for step in self.undoable() if self.all.index(step) >= self.all.index(op)]

    def in_use(self) -> set[str]:
        """Checkpoints that are needed to undo, redo or finish the last operations."""
        kept = self.undoable()[-KEPT_STEPS:] + [op for op in self.all if op.can_redo][-KEPT_STEPS:]
        kept += [op for op in self.all[-KEPT_STEPS:] if op not in kept]
        return {name for op in kept for name in op.checkpoints()}

    # writing; the caller holds the lock

    def begin(self, command: str, **fields: Any) -> Operation:
        """Must be durable before the first change, so that a crash is noticed afterwards."""
        known = {op.id for op in self.all}
        id = os.urandom(4).hex()
        while id in known:
            id = os.urandom(4).hex()
        op = Operation(self._append("begin", id, command=command, **fields))
        self.all.append(op)
        self._replay()
        return op

    def step(self, op: Operation, **fields: Any) -> None:
        """The operation goes on to another checkpoint; undoing it still leads to its beginning. Must be
        durable before the first change."""
        op.steps.append(self._append("step", op.id, here=op.here_before, **fields))

    def end(self, op: Operation, **fields: Any) -> None:
        op.ended = self._append("end", op.id, **fields)
        self._replay()

    def _append(self, event: str, id: str, **fields: Any) -> Line:
        """Returns the line as readers of the log will see it."""
        line = {"format": FORMAT, "op": id, "event": event, "at": iso_time_ms(time.time()),
                "place": self.place, **{key: value for key, value in fields.items() if value is not None}}
        data = quickjson.dumps(_sealed(line)).encode() + b"\n"
        said: Line = quickjson.loads(data)
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, PRIVATE_FILE)
        try:
            size = os.fstat(fd).st_size
            if size and os.pread(fd, 1, size - 1) != b"\n":
                data = b"\n" + data  # a process was killed while it wrote the last line, which is ignored
            write_all(fd, data)
            os.fsync(fd)
            if size == (self._stamp[1] if self._stamp else 0):  # nobody else wrote since it was read
                self._stamp = stamp_of_stat(os.fstat(fd))
        finally:
            os.close(fd)
        if not size:
            fsync_dir(os.path.dirname(self.path))
        self._last[self.place] = said
        return said

    def import_old_history(self, here: str, sequence: int) -> None:
        """Write the history of an earlier version as the beginning of the log, followed by where the project
        stood."""
        if os.path.exists(self._old) and not os.path.exists(self.path):
            self._write(self.all, {"format": FORMAT, "op": "", "event": "here",
                                   "at": iso_time_ms(time.time()), "place": self.place, "here": here,
                                   "sequence": sequence})

    def delete_old_history(self) -> None:
        if os.path.exists(self._old):
            os.unlink(self._old)

    def _write(self, operations: Iterable[Operation], *more: Line) -> None:
        lines = [*(line for op in operations for line in (op.begun, *op.steps, op.ended) if line), *more]
        write_atomic(self.path, b"".join(quickjson.dumps(_sealed(line)).encode() + b"\n" for line in lines))

    def forget_oldest(self) -> None:
        """Keep the log short enough to be read as a whole, however old the project is."""
        if len(self.all) > _MOST:
            last = {op.place: op for op in self.all}  # where each place stands
            self.all = [op for op in self.all[:-_MOST] if last[op.place] is op] + self.all[-_MOST:]
            self._write(self.all)


def last_line(path: str, place: str = MAIN) -> Line | None:
    """The last line of the log about this place, without reading all of it. Invalid lines are ignored."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    try:
        return _last_of(fd, place)
    except OSError:
        return None  # it may be a directory; `validate` reports that
    finally:
        os.close(fd)


def _last_of(fd: int, place: str) -> Line | None:
    size, reach = os.fstat(fd).st_size, _TAIL
    said = quickjson.dumps(place).encode()
    while True:
        start = max(0, size - reach)
        lines = os.pread(fd, size - start, start).split(b"\n")
        for line in reversed(lines[1:] if start else lines):
            found = _parsed(line) if said in line else None
            if found and found.get("place") == place:
                return found
        if not start or reach > MAX_BYTES:
            return None
        reach *= 8


def _parsed(line: bytes) -> Line | None:
    if not line.strip():
        return None
    try:
        found: Line | None = quickjson.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("op"), str) else None


def _read(path: str, old: str, last: dict[str, Line]) -> list[Operation]:
    """Fills `last` with the last line of each place."""
    try:
        lines = read_bounded(path, MAX_BYTES).split(b"\n")
    except FileNotFoundError:
        if old and os.path.exists(old):
            from rewind.checkpoint.operation_log.old_history import lines_of

            return [Operation(begun, ended) for begun, ended in lines_of(old)]
        return []
    except RewindError as error:
        raise StoreDamaged(what=f"{path} is not readable: {error.message}", hint=_DAMAGED)
    found: dict[str, Operation] = {}
    for number, line in enumerate(lines, 1):
        data = _parsed(line)
        if data is None:
            # A torn line is ignored: the process that wrote it was killed.
            if line.strip() and not is_torn(line):
                raise StoreDamaged(what=f"line {number} of {path} is not readable", hint=_DAMAGED)
            continue
        _take(found, data, path)
        if isinstance(data.get("place"), str):
            last[data["place"]] = data
    return list(found.values())


_DAMAGED = "Move this file away and try again. The checkpoints themselves are fine."


def is_torn(line: bytes) -> bool:
    return line.startswith(b"{") and not line.rstrip().endswith(b"}")


def _take(found: dict[str, Operation], data: Line, path: str) -> None:
    version = data.get("format")
    if isinstance(version, int) and version > FORMAT:
        raise FormatTooNew(what=path, found=version, known=FORMAT)
    id = data["op"]
    if data.get("event") == "begin" and id not in found and _is_sound(data):
        found[id] = Operation(data)
    elif data.get("event") == "step" and id in found and _is_sound({**found[id].begun, **data}):
        found[id].steps.append(data)
    elif data.get("event") == "end" and id in found and isinstance(data.get("here", ""), str):
        found[id].ended = data


def _is_sound(data: Line) -> bool:
    texts = all(isinstance(data.get(key, ""), str) for key in ("command", "at", "place", "before",
                                                                "checkpoint", "redoes", "resumes"))
    lists = all(isinstance(data.get(key) or [], list) for key in ("paths", "effects", "undoes", "leftAlone"))
    names = [*(data.get("paths") or ()), *(data.get("leftAlone") or ())] if lists else []
    return (texts and lists and "command" in data and "at" in data
            and all(isinstance(name, str) and "\0" not in name for name in names))


def _sealed(line: Mapping[str, object]) -> JsonObject:
    from rewind.checkpoint.records.seal import sealed

    return sealed(line)


def names_of(paths: Iterable[bytes]) -> list[str]:
    return [os.fsdecode(path) for path in paths]
