"""`session.json`: the latest session of an agent in this project, and the ones before it."""

from __future__ import annotations

import os

from rewind import jsonfile
from rewind.hooks.memory.hook_files_lock import HookFilesLock
from rewind.hooks.memory.log import now
from rewind.hooks.transcript_path import transcript_path
from rewind.processes import process_start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypedDict

    from rewind.hooks.event import HookEvent
    from rewind.jsonfile import JsonObject

    class Client(TypedDict):
        """The process that runs a session."""

        pid: int
        start: str

    class SessionEntry(TypedDict, total=False):
        """One session. The file is that of the latest session, with the others in `recent`."""

        agent: str
        transcript_path: str
        session_id: str
        env_file: str
        client: Client | None
        running: bool
        started: str
        ended: str | None

FORMAT = 1
_MAX_BYTES = 4 << 20
_MOST_RECENT = 20
_SHELLS = ("sh", "bash", "dash", "zsh", "ash", "busybox", "fish", "env", "timeout", "sudo", "nice")


class SessionMemory:
    """`folder` is the directory of the place."""

    def __init__(self, folder: str) -> None:
        self.path = os.path.join(folder, "session.json")
        self.data: JsonObject = {}
        self._lock = HookFilesLock(folder)  # hooks of other sessions write the file as well

    def _load(self) -> None:
        self.data = jsonfile.read_or_empty(self.path, _MAX_BYTES)

    def _save(self) -> None:
        jsonfile.write(self.path, self.data, sync=False)

    def begin(self, event: HookEvent, env_file: str, environ: Mapping[str, str]) -> None:
        """A session starts or continues: it is the latest now, and no turn is running yet."""
        client = _client(event, environ)
        with self._lock:
            self._load()
            self._become_latest(event, {"env_file": env_file, "client": client, "running": False,
                                        "started": now(), "ended": None})

    def turn(self, event: HookEvent, running: bool) -> None:
        """A turn begins or ends. The session may be new: Droid may start one without a SessionStart."""
        with self._lock:
            self._load()
            if self.data.get("session_id") != event.session or self.data.get("running") != running:
                self._become_latest(event, {"running": running, "ended": None})

    def end(self, event: HookEvent) -> None:
        """The client has ended, so nobody has this session open any more."""
        with self._lock:
            self._load()
            for entry in (self.data, *self._recent()):
                if entry.get("session_id") == event.session:
                    entry.update({"client": None, "running": False, "ended": now()})
            if self.data:
                self._save()

    def _recent(self) -> list[JsonObject]:
        return jsonfile.objects_in(self.data.get("recent"))

    def _become_latest(self, event: HookEvent, fields: SessionEntry) -> None:
        before = {key: value for key, value in self.data.items() if key not in ("recent", "format")}
        others = [before, *self._recent()] if before else self._recent()
        same = next((s for s in others if s.get("session_id") == event.session), {})
        known: SessionEntry = {"agent": event.profile.name, "transcript_path": transcript_path(event),
                               "session_id": event.session}
        self.data = {"format": FORMAT, **same, **known, **fields,
                     "recent": [s for s in others if s.get("session_id") != event.session][:_MOST_RECENT]}
        self._save()


def _client(event: HookEvent, environ: Mapping[str, str]) -> Client | None:
    """The process that runs the session: the agent may name it; else it is our first ancestor but a shell."""
    named = environ.get(event.profile.environment["pid"] or "") or ""
    is_number = named.isascii() and named.isdigit() and len(named) < 10
    pid = int(named) if is_number else _first_no_shell(os.getppid())
    start = process_start(pid) if pid else None
    return {"pid": pid, "start": start} if start else None


def _first_no_shell(pid: int) -> int:
    for _ in range(20):
        name, parent = _process(pid)
        if parent <= 0:
            return 0
        if name not in _SHELLS:
            return pid
        pid = parent
    return 0


def _process(pid: int) -> tuple[str, int]:
    """(name, parent) of a process, or ("", 0) if they cannot be found out."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            head, _, rest = file.read().rpartition(b")")
        return head.partition(b"(")[2].decode("utf-8", "replace"), int(rest.split()[1])
    except (OSError, ValueError, IndexError):
        return _process_by_ps(pid) if not os.path.exists("/proc/self/stat") else ("", 0)


def _process_by_ps(pid: int) -> tuple[str, int]:
    import subprocess

    try:
        done = subprocess.run(["ps", "-o", "ppid=,comm=", "-p", str(pid)], capture_output=True, check=False)
        parent, _, name = done.stdout.decode("utf-8", "replace").strip().partition(" ")
        return os.path.basename(name.strip()), int(parent)
    except (OSError, ValueError):
        return "", 0
