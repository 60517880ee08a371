"""Conversations that only checkpoints still have. Agents delete old ones, Claude Code after 30 days."""

from __future__ import annotations

import os

from rewind.agents.profile import SQLITE
from rewind.agents.registry import profile_named
from rewind.checkpoint.conversations.bring_back import checked_path
from rewind.checkpoint.conversations.links import newest_versions
from rewind.checkpoint.conversations.stored import write_out
from rewind.checkpoint.conversations.trash import trashed
from rewind.checkpoint.project.state import State
from rewind.checkpoint.project.unfinished import Unfinished
from rewind.checkpoint.records.record import Record
from rewind.errors import RewindError, SessionNotFound, SessionThere
from rewind.files import PRIVATE_FILE, fsync_dir, make_private_dir
from rewind.transcript.find import session_anywhere
from rewind.transcript.write.fork import move_into_place, temp_of

_SHORTEST = 6  # characters of an id that names a session


class KeptConversation:
    """A conversation, and the checkpoint with the newest version of it."""

    def __init__(self, record: Record) -> None:
        data = record.data["transcript"]
        self.record = record
        self.session_id = str(data.get("sessionId"))
        self.agent = str(data.get("agent"))
        self.path = str(data.get("original_path"))


def only_here(state: State) -> list[KeptConversation]:
    """Newest first. Without forks in the trash, which are not lost and are listed there."""
    deleted = {one["sessionId"] for one in trashed(state)}
    kept = [KeptConversation(record) for record in newest_versions(state.timeline.all()).values()]
    return [one for one in sorted(kept, key=lambda one: one.record.sequence, reverse=True)
            if one.session_id not in deleted and not _is_there(state, one)]


def _is_there(state: State, kept: KeptConversation) -> bool:
    if os.path.lexists(kept.path):
        return True
    try:
        profile = profile_named(kept.agent, state.project.home)
    except RewindError:
        return True  # this version does not know the agent, so it cannot tell
    return session_anywhere(profile, kept.session_id) is not None


def bring_back(state: State, text: str) -> KeptConversation:
    """Put a conversation back where its agent finds it, exactly as the newest checkpoint has it. Its
    modification time is now, so that the agent keeps it for another period. The caller holds the lock."""
    kept = find_kept_conversation(state, text)
    profile = profile_named(kept.agent, state.project.home)
    path = checked_path(profile, kept.record.data["transcript"])
    make_private_dir(os.path.dirname(path))
    temp = temp_of(path)
    with Unfinished(state.project, temp):
        fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), PRIVATE_FILE)
        try:
            write_out(state, kept.record, fd)
            os.fsync(fd)
            move_into_place(temp, path)
        finally:
            os.close(fd)
            if os.path.lexists(temp):
                os.unlink(temp)
    fsync_dir(os.path.dirname(path))
    return kept


def find_kept_conversation(state: State, text: str) -> KeptConversation:
    """The conversation that `bring_back` would put back."""
    versions = newest_versions(state.timeline.all())
    found = [KeptConversation(record) for session, record in versions.items()
             if session == text or (len(text) >= _SHORTEST and session.startswith(text))]
    if len(found) != 1:
        raise SessionNotFound(name=text, hint="`rewind status` shows those that only Rewind still has.")
    if _is_there(state, found[0]):
        raise SessionThere(session=found[0].session_id)
    profile = profile_named(found[0].agent, state.project.home)
    if profile.kind == SQLITE:
        raise RewindError(f"{profile.title} keeps conversations in a database of its own.",
                          hint=f"To get it as a fork: rewind restore {found[0].record.name} --context-only")
    return found[0]
