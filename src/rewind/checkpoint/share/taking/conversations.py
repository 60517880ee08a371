"""Gives a conversation from another machine to its agent, as a new session for this project's directory."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from rewind.agents.profile import Profile
from rewind.agents.registry import profile_named, session_root
from rewind.checkpoint.conversations.bring_back import ConversationPlan, ForkPlace, make_fork, resume_command
from rewind.checkpoint.project.state import State
from rewind.checkpoint.rewind.effects.continued import fork_was_continued
from rewind.checkpoint.share.giving.mask import PROJECT, Masker
from rewind.checkpoint.share.taking.incoming import InConversation
from rewind.errors import RewindError
from rewind.files import PRIVATE_FILE, write_all
from rewind.transcript.find import DATES, folder_for
from rewind.transcript.kinds import kind_of
from rewind.transcript.names import SUFFIX, path_beside
from rewind.transcript.place.cut import Cut
from rewind.transcript.read.conversation import open_conversation
from rewind.transcript.read.lines import end_of_lines, lines_forward, stored

if TYPE_CHECKING:
    from rewind.checkpoint.project.known_forks import KnownFork, SharedSession


class ReceivedConversation:
    """`origin` is the session's id where it came from, `session` the one here. `path` is empty if the agent
    cannot take it."""

    def __init__(self, origin: str, agent: str) -> None:
        self.origin = origin
        self.agent = agent
        self.session = origin
        self.path = ""
        self.resume = ""
        self.is_new = False
        self.profile: Profile
        self._ends: list[int] = []

    def end_of(self, lines: int) -> int:
        """The offset in its file after this many lines."""
        if not self._ends:
            with open_conversation(self.path, self.profile) as opened:
                file = stored(opened)
                self._ends = [offset + len(raw) for offset, raw in lines_forward(file, 0, end_of_lines(file))]
        return self._ends[min(lines, len(self._ends)) - 1] if self._ends else 0


def bring_conversation(state: State, conversation: InConversation, notes: list[str]) -> ReceivedConversation:
    """Conversations are compared by content, so the same one is not brought twice. A longer one continues the
    session that the shorter one became. If somebody went on in that here, it becomes another session."""
    received = ReceivedConversation(conversation.session, conversation.agent)
    before = [b for b in reversed(state.forks().all) if os.path.exists(str(b.get("path")))
              and (b.get("shared") or {}).get("session") == conversation.session]
    size, digest, begins = _digests(conversation, {b["shared"].get("bytes") for b in before})
    known = next((b for b in before if b["shared"].get("sha256") == digest), None)
    try:
        received.profile = profile_named(conversation.agent, state.project.home)
        if known:
            received.session, received.path = known["sessionId"], known["path"]
        else:
            shorter = [b for b in before if b["shared"].get("sha256") == begins.get(b["shared"].get("bytes"))]
            says: SharedSession = {"session": conversation.session, "sha256": digest, "bytes": size}
            _bring(state, conversation, received, says, _to_go_on_in(state, received.profile, shorter))
    except (RewindError, OSError) as error:
        notes.append(f"The conversation {conversation.session} could not be handed to {conversation.agent}:"
                     f" {error}")
        return received
    if received.path:
        received.resume = resume_command(state, received.profile, received.session, received.path)
    else:
        notes.append(f"{received.profile.title} only finds sessions in a directory where it has begun one"
                     " itself. Start it once, then open the file again to get the conversation.")
    return received


def _digests(conversation: InConversation, at: set[Any]) -> tuple[int, str, dict[Any, str]]:
    """Its size, its digest, and the digests of its beginnings of these lengths."""
    found, size, begins = sha256(), 0, {}
    ends = sorted(end for end in at if isinstance(end, int) and end > 0)
    for piece in conversation.read():
        while ends and ends[0] <= size + len(piece):
            part = found.copy()
            part.update(piece[:ends[0] - size])
            begins[ends.pop(0)] = part.hexdigest()
        found.update(piece)
        size += len(piece)
    return size, found.hexdigest(), begins


def _to_go_on_in(state: State, profile: Profile, shorter: list[KnownFork]) -> KnownFork | None:
    """The newest session here that holds the beginning of it and nothing else."""
    if profile.commands.get("import"):
        return None  # an agent that keeps sessions in a database imports each only once
    return next((known for known in shorter if not fork_was_continued(state, known)), None)


def _bring(state: State, conversation: InConversation, received: ReceivedConversation, says: SharedSession,
           shorter: KnownFork | None) -> None:
    profile, root = received.profile, state.project.root
    beside = str(shorter["path"]) if shorter else ""
    original = path_beside(beside, conversation.session, profile) if shorter else _original(
        profile, conversation.session, root)
    if not original:
        return
    source = state.project.path(f"temporary-{os.getpid()}-{says['sha256'][:16]}{SUFFIX}")
    _write(conversation, source, root)
    plan = ConversationPlan(profile, original, source, Cut(0))
    with plan:
        with open_conversation(source, profile) as file:
            plan.cut = Cut(end_of_lines(file)).marked(file)
        plan.fork_place = ForkPlace(root, state.place)
        if shorter and plan.path_of(shorter["sessionId"]) != beside:
            shorter = None  # its file was moved, or its name has another date
        session = shorter["sessionId"] if shorter else kind_of(profile).new_session_id()
        name = (shorter or {}).get("name") or conversation.title
        done = make_fork(state, plan, session, name, earlier=shorter)
    assert done.fork is not None
    received.session, received.path, received.is_new = session, done.fork["path"], shorter is None
    state.forks().change(session, {"shared": says})


def _original(profile: Profile, session: str, root: str) -> str:
    """Where its file would be if it had begun here; empty if only the agent can make that directory."""
    top = session_root(profile)
    if top is None or profile.sessions is None:
        return ""
    if profile.sessions["folders"] == DATES:
        folder = os.path.join(top, *time.strftime("%Y %m %d", time.gmtime()).split())
    else:
        folder = folder_for(profile, root, "")
    return path_beside(os.path.join(folder, "any" + SUFFIX), session, profile) if folder else ""


def _write(conversation: InConversation, path: str, root: str) -> None:
    """Write it with this project's directory in place of theirs."""
    masker = Masker(PROJECT, root, with_secrets=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), PRIVATE_FILE)
    try:
        for line in _lines(conversation.read()):
            write_all(fd, masker.line(line)[0])
    finally:
        os.close(fd)


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    rest: list[bytes] = []
    for piece in pieces:
        head, newline, tail = piece.rpartition(b"\n")
        if not newline:
            rest.append(piece)
            continue
        yield from ((line + b"\n") for line in b"".join([*rest, head]).split(b"\n"))
        rest = [tail] if tail else []
    if any(rest):
        yield b"".join(rest) + b"\n"
