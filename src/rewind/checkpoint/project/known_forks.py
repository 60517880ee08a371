"""`branches.json`: the forks that Rewind made, and what people call them."""

from __future__ import annotations

from rewind import jsonfile
from rewind.errors import FormatTooNew, StoreDamaged
from rewind.files import stamp_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypedDict

    from rewind.jsonfile import JsonObject
    from rewind.paths import Project

    class LastRun(TypedDict, total=False):
        """How the last command of `forks compare --run` ended."""

        command: str
        code: int
        at: str

    class SharedSession(TypedDict, total=False):
        """For a conversation that came from another user: its id there, its digest and its size."""

        session: str
        sha256: str
        bytes: int

    class KnownFork(TypedDict, total=False):
        """A session in `branches.json`. Only the first two members are checked when it is read."""

        sessionId: str
        parentSessionId: str | None
        rewindFromTurn: int | None
        rewindedAt: str
        name: str | None
        archived: bool
        promoted: bool
        made: bool
        agent: str
        path: str
        size: int
        header: int
        cutAt: int
        dir: str
        place: str
        point: str
        removed: str | bool | None
        aside: str | None
        clearing: str | None
        lastRun: LastRun
        shared: SharedSession

FORMAT = 1
_MAX_BYTES = 16 << 20


class KnownForks:
    """Use `State.forks()`, which reads the file again only if it has changed."""

    def __init__(self, project: Project) -> None:
        self.path = project.path("branches.json")
        self._stamp = stamp_of(self.path)
        self._is_as_read = True
        self.data = self._load()

    def is_current(self) -> bool:
        """Whether the file is still the same as the data that was read from it."""
        return self._is_as_read and self._stamp == stamp_of(self.path)

    def _load(self) -> JsonObject:
        try:
            data = jsonfile.read(self.path, _MAX_BYTES)
        except FileNotFoundError:
            return {"format": FORMAT, "branches": []}
        if data is None or not _are_sound(data.get("branches")):
            raise StoreDamaged(what=f"{self.path} is not readable",
                               hint="Move this file away and try again. The sessions themselves are fine.")
        if isinstance(data.get("format"), int) and data["format"] > FORMAT:
            raise FormatTooNew(what=self.path, found=data["format"], known=FORMAT)
        return data

    def save(self) -> None:
        from rewind.checkpoint.records.seal import sealed

        self._is_as_read = False
        jsonfile.write(self.path, sealed(self.data))

    @property
    def all(self) -> list[KnownFork]:
        found: list[KnownFork] = self.data["branches"]
        return found

    def find(self, session_id: str) -> KnownFork | None:
        return next((b for b in self.all if b["sessionId"] == session_id), None)

    def parent_of(self, session_id: str) -> str | None:
        known = self.find(session_id)
        return known["parentSessionId"] if known else None

    def add(self, known: KnownFork) -> None:
        self.data["branches"] = [b for b in self.all if b["sessionId"] != known["sessionId"]] + [known]
        self.save()

    def change(self, session_id: str, changes: KnownFork) -> None:
        """Replaces the entry: callers that read it before keep the old one."""
        known = self.find(session_id)
        if known is None:
            self.add({"sessionId": session_id, "parentSessionId": None, "made": False, **changes})
            return
        changed: KnownFork = {**known, **changes}
        self.data["branches"] = [changed if b is known else b for b in self.all]
        self.save()

    def remove(self, session_id: str) -> None:
        self.data["branches"] = [b for b in self.all if b["sessionId"] != session_id]
        self.save()


def ancestors(session_id: str, parent_of: Callable[[str], str | None]) -> list[str]:
    """The session and those that it was forked from. A ring of parents ends where it repeats."""
    found: list[str] = []
    at: str | None = session_id
    while at and at not in found:
        found.append(at)
        at = parent_of(at)
    return found


def _are_sound(forks: Any) -> bool:
    return isinstance(forks, list) and all(
        isinstance(b, dict) and isinstance(b.get("sessionId"), str)
        and (b.get("parentSessionId") is None or isinstance(b["parentSessionId"], str)) for b in forks)
