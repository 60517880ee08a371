"""Which conversations have grown since they were written into our repository. A file beside it remembers
how large each transcript was then; without it, all are read again."""

from __future__ import annotations

import os

from rewind import jsonfile
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record, session_of
from rewind.checkpoint.share.giving.conversations import OutConversation
from rewind.checkpoint.share.giving.left_out import Policy
from rewind.errors import RewindError
from rewind.transcript.find import SessionFile

_FILE = "rewind-sent.json"
_MAX_BYTES = 64 << 20


class Sent:
    def __init__(self, folder: str, tip: str, policy: Policy) -> None:
        self._path = os.path.join(folder, _FILE)
        self._secrets = policy.with_secrets
        self._policy = policy
        self._stamps = self._load(tip)

    def _load(self, tip: str) -> dict[str, list[int]]:
        """Only if it is about the very commit that is there."""
        data = jsonfile.read_or_empty(self._path, _MAX_BYTES)
        fits = data.get("tip") == tip and data.get("withSecrets") == self._secrets
        stamps = data.get("sessions") if fits else None
        return stamps if isinstance(stamps, dict) else {}

    def save(self, tip: str) -> None:
        data = {"tip": tip, "withSecrets": self._secrets, "sessions": self._stamps}
        jsonfile.write(self._path, data, sync=False)

    def grown(self, state: State, records: list[Record], new: list[Record]) -> list[OutConversation]:
        """Those of the project's checkpoints that have changed, and those that new checkpoints are part
        of."""
        known, needed = {session_of(r) for r in records}, {session_of(r) for r in new}
        found: list[OutConversation] = []
        if known <= {None}:
            return found  # no agent was at work here, and none is looked for
        from rewind.transcript.find import candidates

        try:
            for session, _ in candidates(state.area(), home=state.project.home):
                if session.session_id in known:
                    self._add(state, session, session.session_id in needed, found)
        except BaseException:
            for one in found:
                one.close()
            raise
        return found

    def _add(self, state: State, session: SessionFile, needed: bool, found: list[OutConversation]) -> None:
        stamp = _stamp(session.path)
        if not stamp or (self._stamps.get(session.session_id) == stamp and not needed):
            return
        from rewind.checkpoint.share.giving.conversations import OutConversation

        try:
            found.append(OutConversation(state, session.path, session.profile, session.session_id,
                                         self._policy))
        except (RewindError, OSError):
            return  # a transcript that cannot be read stays here, and is tried again the next time
        self._stamps[session.session_id] = stamp


def _stamp(path: str) -> list[int]:
    try:
        info = os.stat(path)
    except OSError:
        return []
    return [info.st_size, info.st_mtime_ns]
