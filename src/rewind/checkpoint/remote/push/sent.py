"""Finds the conversations that have grown since the last push. A file in our repository remembers how large
each transcript was; without it, all are read again."""

from __future__ import annotations

import os

from rewind import jsonfile
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record, session_of
from rewind.checkpoint.share.giving.conversations import OutConversation
from rewind.checkpoint.share.giving.left_out import Policy
from rewind.errors import RewindError
from rewind.transcript.find import SessionFile, candidates

_FILE = "rewind-sent.json"
_MAX_BYTES = 64 << 20


class Sent:
    def __init__(self, folder: str, tip: str, policy: Policy) -> None:
        self._path = os.path.join(folder, _FILE)
        self._policy = policy
        self._stamps = self._load(tip)

    def _load(self, tip: str) -> dict[str, list[int]]:
        """Only if the file is about this commit."""
        data = jsonfile.read_or_empty(self._path, _MAX_BYTES)
        fits = data.get("tip") == tip and data.get("withSecrets") == self._policy.with_secrets
        stamps = data.get("sessions") if fits else None
        return stamps if isinstance(stamps, dict) else {}

    def save(self, tip: str) -> None:
        data = {"tip": tip, "withSecrets": self._policy.with_secrets, "sessions": self._stamps}
        jsonfile.write(self._path, data, sync=False)

    def grown(self, state: State, records: list[Record], new: list[Record]) -> list[OutConversation]:
        """The conversations that have changed, and those of new checkpoints."""
        known, needed = {session_of(r) for r in records}, {session_of(r) for r in new}
        found: list[OutConversation] = []
        if known <= {None}:
            return found  # no checkpoint belongs to a session, so none is searched for
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
        try:
            found.append(OutConversation(state, session.path, session.profile, session.session_id,
                                         self._policy))
        except (RewindError, OSError):
            return  # a transcript that cannot be read is tried again at the next push
        self._stamps[session.session_id] = stamp


def _stamp(path: str) -> list[int]:
    try:
        info = os.stat(path)
    except OSError:
        return []
    return [info.st_size, info.st_mtime_ns]
