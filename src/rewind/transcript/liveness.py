"""Whether a client has a session open. If so, its file must not be rewritten: a running client continues from
memory, and what it appended to a rewritten file would have lost its history.
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

_RECENT_SECONDS = 600.0
_MAX_BYTES = 1 << 20
_NOT_IN_PLACE = "keeps conversations in files that refer to one another"


def check_in_place(profile: Profile) -> None:
    """Refuse if sessions of this agent are never rewritten."""
    if not profile.fork.get("inPlace", True):
        raise NotInPlace(agent=profile.title, reason=profile.fork.get("notInPlace", _NOT_IN_PLACE))


def is_open(profile: Profile, session_id: str, recorded: Recorded | None = None) -> bool | None:
    """What the client says, else whether the process that SessionStart recorded is alive. None if neither is
    known."""
    return Clients(profile).is_open(session_id, recorded)


def is_busy(profile: Profile, session_id: str, recorded: Recorded | None = None) -> bool:
    """Whether a turn is running. No hook runs when a turn is interrupted, but the client knows."""
    return Clients(profile).is_busy(session_id, recorded)


class Clients:
    """The clients of an agent, looked at once and asked about many sessions."""

    def __init__(self, profile: Profile) -> None:
        register = _folder(profile, profile.liveness)
        self._profile = profile
        self._locks = _folder(profile, profile.locks)
        self._rule = profile.liveness
        self._entries = None if register is None else list(_entries(register))

    def is_open(self, session_id: str, recorded: Recorded | None) -> bool | None:
        if self._entries is not None:
            return bool(self._entries_of(session_id))
        if self._locks is not None and self._profile.locks and is_session_id(session_id):
            return is_locked(os.path.join(self._locks, session_id + self._profile.locks["suffix"]))
        return _recorded_client(recorded)

    def is_busy(self, session_id: str, recorded: Recorded | None) -> bool:
        busy = self._rule["busy"] if self._rule else None
        if self._entries is not None and busy:
            return any(holds(busy, entry) for entry in self._entries_of(session_id))
        if not (recorded or {}).get("running"):
            return False
        if self._locks is not None:
            # The process that runs the hooks may serve many sessions, and no hook runs when a turn is
            # interrupted. So the transcript decides.
            return (bool(self.is_open(session_id, recorded))
                    and _turn_runs(self._profile, recorded) is not False)
        return bool(_recorded_client(recorded))

    def _entries_of(self, session_id: str) -> list[JsonObject]:
        assert self._rule is not None
        rule = self._rule
        return [entry for pid, entry in self._entries or () if pick(entry, rule["session"]) == session_id
                and (_is_elsewhere(pick(entry, rule.get("domain")))
                     or _is_alive(pid, pick(entry, rule["start"])))]


def _is_elsewhere(domain: object) -> bool:
    """Whether it runs in a container that shares this home. Its process id means nothing here, so it counts
    as alive."""
    try:
        own = os.readlink("/proc/self/ns/pid")
    except OSError:
        return False
    return isinstance(domain, str) and "pid:[" in domain and not domain.endswith(own)


def _recorded_client(recorded: Recorded | None) -> bool | None:
    client = (recorded or {}).get("client")
    if isinstance(client, dict) and isinstance(client.get("pid"), int):
        return _is_alive(client["pid"], client.get("start"))
    return None


def why_open(profile: Profile, session_id: str, path: str, recorded: Recorded | None = None) -> str:
    """The reason why this session must not be touched; empty if there is none."""
    known = is_open(profile, session_id, recorded)
    if known is None:
        try:
            age = time.time() - os.stat(path).st_mtime
        except OSError:
            return ""
        return "its transcript was written in the last minutes" if age < _RECENT_SECONDS else ""
    return f"{profile.title} is running it" if known else ""


def _folder(profile: Profile, rule: Liveness | Locks | None) -> str | None:
    """The directory in which the agent keeps files about its clients, according to the profile, if it
    exists."""
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
    """`<pid>.json` of each client. Claude Code 2.1 leaves its file behind when it is killed."""
    for name in os.listdir(folder):
        pid = name[: -len(".json")]
        if not name.endswith(".json") or not (pid.isascii() and pid.isdigit()):
            continue
        entry = jsonfile.read_or_empty(os.path.join(folder, name), _MAX_BYTES)
        if entry:
            yield int(pid), entry


def _is_alive(pid: int, start: object) -> bool:
    """Whether it is the same process, and not another one with the same number."""
    now = process_start(pid)
    return now is not None and (not isinstance(start, str) or not start or start == now)
