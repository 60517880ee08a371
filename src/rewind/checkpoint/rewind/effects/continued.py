"""Whether a session was continued since an operation made or rewrote it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rewind.agents.profile import Profile
from rewind.agents.registry import profile_named
from rewind.checkpoint.conversations.bring_back import size_and_mtime
from rewind.checkpoint.conversations.recorded_sessions import recorded_session
from rewind.checkpoint.project.state import State
from rewind.errors import RewindError
from rewind.transcript.liveness import is_open
from rewind.transcript.place.cursor import header_length
from rewind.transcript.read.entries import entry_of
from rewind.transcript.read.lines import events_forward, open_transcript, size_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rewind.checkpoint.operation_log.line import Effect
    from rewind.checkpoint.project.known_forks import KnownFork


def fork_was_continued(state: State, fork: Effect | KnownFork) -> bool:
    """Whether a fork was continued since it was made, or a client has it open."""
    profile, session = _profile(state, fork), str(fork.get("sessionId"))
    if is_open(profile, session, recorded_session(state, session)):
        return True
    known: Mapping[str, object] = fork if "size" in fork else state.forks().find(session) or {}
    return _said_since(str(fork.get("path")), profile, known)


def rewritten_session_was_continued(state: State, effect: Effect) -> bool:
    """Whether a session was continued since its transcript was rewritten."""
    path, backup = str(effect.get("path")), effect.get("backup")
    if not os.path.lexists(path) or effect.get("made") == size_and_mtime(path):
        return False
    if "made" not in effect and backup and os.path.lexists(backup):
        # The process was killed before it could log the size of what it wrote.
        return _said_since(path, _profile(state, effect), _as_cut(path, backup))
    return _said_since(path, _profile(state, effect), effect)


def _as_cut(path: str, backup: str) -> Effect:
    """The size of a cut transcript: it begins like its backup, and what follows came later or names the
    leaf."""
    with open_transcript(path) as file, open_transcript(backup) as whole:
        size = 0
        while True:
            chunk, other = file.read(1 << 20), whole.read(1 << 20)
            if not chunk or chunk != other[:len(chunk)]:
                break
            size += len(chunk)
        line = 0
        for one, two in zip(chunk.splitlines(keepends=True), other.splitlines(keepends=True)):
            if one != two:
                break
            line += len(one)
        return {"size": size + line, "header": header_length(file)}


def _said_since(path: str, profile: Profile, made: Mapping[str, object]) -> bool:
    size, header = made.get("size"), made.get("header")
    if not isinstance(size, int) or not isinstance(header, int):
        return True  # not known: keep it
    try:
        with open_transcript(path) as file:
            # Droid may have rewritten line 1 since, which moves the body.
            made_up_to = header_length(file) + size - header
            entries = (entry_of(event, profile) for event in events_forward(file, made_up_to))
            return size_of(file) < made_up_to or any(entry and entry.speaker for entry in entries)
    except RewindError:
        return True


def _profile(state: State, effect: Effect | KnownFork) -> Profile:
    return profile_named(str(effect.get("agent")), state.project.home)
