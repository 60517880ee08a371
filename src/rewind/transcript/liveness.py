"""Whether a client has a session open: then its file must not be rewritten.

A running client goes on from memory, and what it appends to a rewritten file has no history any more.
"""

from __future__ import annotations

import os
import time

from rewind import jsonfile
from rewind.agents.profile import holds, pick
from rewind.agents.registry import is_under_root, session_home
from rewind.errors import NotInPlace, RewindError
from rewind.lock import is_locked
from rewind.processes import process_start
from rewind.transcript.names import is_session_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rewind.agents.profile import Profile
    from rewind.agents.profile_sections import Liveness, Locks
    from rewind.jsonfile import JsonObject

    Recorded = Mapping[str, object]  # what hooks remember of a session

_RECENT = 600.0  # seconds
_MAX_BYTES = 1 << 20
_REFER = "keeps conversations in files that refer to one another"


def check_in_place(profile: Profile) -> None:
    """Whether a session of this agent may be rewritten at all."""
    if not profile.fork.get("inPlace", True):
        raise NotInPlace(agent=profile.title, reason=profile.fork.get("notInPlace", _REFER))


def is_open(profile: Profile, session_id: str, recorded: Recorded | None = None) -> bool | None:
    """By the client's own word, else by the process that SessionStart recorded; None when there is none."""
    return Clients(profile).is_open(session_id, recorded)


def is_busy(profile: Profile, session_id: str, recorded: Recorded | None = None) -> bool:
    """Whether a turn is running now. One that was interrupted tells no hook, but the client knows."""
    return Clients(profile).is_busy(session_id, recorded)


class Clients:
    """One look at the clients of an agent, to be asked about many sessions."""

    def __init__(self, profile: Profile) -> None:
        register = _folder(profile, profile.liveness)
        self._profile = profile
        self._locks = _folder(profile, profile.locks)
        self._rule = profile.liveness
        self._entries = None if register is None else list(_entries(register))

    def is_open(self, session_id: str, recorded: Recorded | None) -> bool | None:
        if self._entries is not None:
            return bool(self._of(session_id))
        if self._locks is not None and self._profile.locks and is_session_id(session_id):
            return is_locked(os.path.join(self._locks, session_id + self._profile.locks["suffix"]))
        return _recorded_client(recorded)

    def is_busy(self, session_id: str, recorded: Recorded | None) -> bool:
        busy = self._rule["busy"] if self._rule else None
        if self._entries is not None and busy:
            return any(holds(busy, entry) for entry in self._of(session_id))
        if not (recorded or {}).get("running"):
            return False
        if self._locks is not None:
            # The process that runs its hooks may serve many sessions, and an interrupted turn tells no hook.
            return (bool(self.is_open(session_id, recorded))
                    and _turn_runs(self._profile, recorded) is not False)
        return bool(_recorded_client(recorded))

    def _of(self, session_id: str) -> list[JsonObject]:
        assert self._rule is not None
        rule = self._rule
        return [entry for pid, entry in self._entries or () if pick(entry, rule["session"]) == session_id
                and (_is_elsewhere(pick(entry, rule.get("domain")))
                     or _lives(pid, pick(entry, rule["start"])))]


def _is_elsewhere(domain: object) -> bool:
    """In a container that shares this home its number means nothing to us: it may well be alive."""
    try:
        own = os.readlink("/proc/self/ns/pid")
    except OSError:
        return False
    return isinstance(domain, str) and "pid:[" in domain and not domain.endswith(own)


def _recorded_client(recorded: Recorded | None) -> bool | None:
    client = (recorded or {}).get("client")
    if isinstance(client, dict) and isinstance(client.get("pid"), int):
        return _lives(client["pid"], client.get("start"))
    return None


def why_open(profile: Profile, session_id: str, path: str, recorded: Recorded | None = None) -> str:
    """A reason not to touch this session, or nothing."""
    known = is_open(profile, session_id, recorded)
    if known is None:
        try:
            age = time.time() - os.stat(path).st_mtime
        except OSError:
            return ""
        return "its transcript was written in the last minutes" if age < _RECENT else ""
    return f"{profile.title} is running it" if known else ""


def _folder(profile: Profile, rule: Liveness | Locks | None) -> str | None:
    """Where a rule of the profile says that the agent keeps files about its clients, if it is there."""
    home = session_home(profile)
    if rule is None or home is None:
        return None
    folder = os.path.join(home, rule["folder"])
    return folder if os.path.isdir(folder) else None


def _turn_runs(profile: Profile, recorded: Recorded | None) -> bool | None:
    from rewind.transcript.kinds import kind_of
    from rewind.transcript.read.lines import open_transcript

    path = (recorded or {}).get("transcript_path")
    if not isinstance(path, str) or not is_under_root(profile, path):
        return None
    try:
        with open_transcript(path) as file:
            return kind_of(profile).turn_runs(file)
    except RewindError:
        return None


def _entries(folder: str) -> Iterator[tuple[int, JsonObject]]:
    """`<pid>.json` of each client. Claude Code 2.1 leaves the file behind when it is killed."""
    for name in os.listdir(folder):
        pid = name[: -len(".json")]
        if not name.endswith(".json") or not (pid.isascii() and pid.isdigit()):
            continue
        entry = jsonfile.read_or_empty(os.path.join(folder, name), _MAX_BYTES)
        if entry:
            yield int(pid), entry


def _lives(pid: int, start: object) -> bool:
    """The same process, not another one that got its number."""
    now = process_start(pid)
    return now is not None and (not isinstance(start, str) or not start or start == now)
