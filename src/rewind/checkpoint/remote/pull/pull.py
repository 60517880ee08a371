"""Brings what others have pushed: as lanes of their own, beside what is here. Nothing here is overwritten."""

from __future__ import annotations

import time

from rewind.checkpoint.conversations.known_forks import Branches
from rewind.checkpoint.records.record import iso_time
from rewind.checkpoint.remote.known import FOLDER, Remotes
from rewind.checkpoint.remote.names import CHECKPOINTS, CONVERSATIONS, own_ref, parse_ref
from rewind.checkpoint.remote.pull.fetch import DEFAULT_MB, Quarantine, refs_there, tracked
from rewind.checkpoint.remote.pull.inbox import Inbox, Objects
from rewind.checkpoint.remote.push.push import LOCK
from rewind.checkpoint.remote.push.written import written_checkpoints
from rewind.checkpoint.remote.repository import Repository
from rewind.checkpoint.share.giving.outgoing import checkpoint_id
from rewind.checkpoint.share.taking.arrive import add, look
from rewind.errors import ArchiveRefused, RemoteRefused
from rewind.files import Lock
from rewind.transcript.names import is_session_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Record
    from rewind.checkpoint.remote.repository import Progress
    from rewind.checkpoint.share.taking.arrive import Added
    from rewind.checkpoint.share.taking.conversations import Arrived
    from rewind.checkpoint.share.taking.incoming import Checked


class Pulled:
    """`records` are the new checkpoints, oldest first of each writer; in a dry run only their number is
    known."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.conversations: list[Arrived] = []
        self.checkpoints = 0
        self.bytes = 0
        self.notes: list[str] = []

    def take(self, added: Added) -> None:
        self.records += added.records
        self.conversations += [one for one in added.conversations if one.path]
        self.notes += added.notes


class _Writer:
    """What one writer has, checked; `lane` is what its line is called here."""

    def __init__(self, lane: str, inbox: Inbox, checked: Checked) -> None:
        self.lane = lane
        self.inbox = inbox
        self.checked = checked


def pull(state: State, name: str | None = None, *, everything: bool = False, dry_run: bool = False,
         ask: bool = False, max_mb: int | None = None, own_line: bool = False,
         progress: Progress | None = None) -> Pulled:
    """`everything`: also what was pulled or pushed before and is not here any more. `own_line`: theirs
    becomes the line of this project, which has none yet."""
    remotes = Remotes(state)
    remote = remotes.find(name)
    repository = Repository(state.project.path(FOLDER), ask=ask)
    pulled = Pulled()
    with Lock(state.project.path(LOCK), "pull", in_line=True):
        repository.open(remotes.all)
        repository.sweep()
        there = refs_there(repository, remote)
        known = {} if everything else tracked(repository, remote)
        mine = f"refs/rewind/{remotes.writer}/"
        new = {ref: commit for ref, commit in there.items()
               if known.get(ref) != commit and (everything or not ref.startswith(mine))}
        if new:
            with Quarantine(repository, remote, ask=ask) as quarantine:
                quarantine.fetch(new, max_mb=max_mb or DEFAULT_MB, progress=progress)
                pulled.bytes = quarantine.bytes
                with Objects(quarantine.repository) as objects:
                    reader = _Reader(state, quarantine, objects, known)
                    writers = reader.read_all(new)
                    pulled.checkpoints = sum(writer.inbox.count for writer in writers)
                    if dry_run:
                        return pulled
                    _add(state, writers, pulled, own_line)
                quarantine.accept(new)
        if not dry_run:
            remotes.note(remote, pulledAt=iso_time(time.time()))
    return pulled


def _add(state: State, writers: list[_Writer], pulled: Pulled, own_line: bool) -> None:
    with state.locked("pull"):
        for writer in writers:
            lane = "" if own_line and len(writers) == 1 else writer.lane
            pulled.take(add(state, writer.inbox, lane=lane, checked=writer.checked))
        _archive_shorter(state, [one for one in pulled.conversations if one.is_new])


def _archive_shorter(state: State, arrived: list[Arrived]) -> None:
    """A conversation that went on since it was last pulled has come as another session, for somebody may have
    gone on from the shorter one here. That one steps back."""
    branches = Branches(state)
    for one in arrived:
        for branch in [b for b in branches.all if (b.get("shared") or {}).get("session") == one.origin]:
            if branch["sessionId"] != one.session and not branch.get("archived"):
                branches.change(branch["sessionId"], {"archived": True})


class _Reader:
    """All that is new, checked before any of it is taken: one bad object, and nothing is."""

    def __init__(self, state: State, quarantine: Quarantine, objects: Objects, known: dict[str, str]) -> None:
        self._state = state
        self._remote = quarantine.remote
        self._repository = quarantine.repository
        self._objects = objects
        self._known = known
        store_id = state.store_info["id"]
        self._here = {checkpoint_id(store_id, record) for record in state.timeline.all()}

    def read_all(self, refs: dict[str, str]) -> list[_Writer]:
        writers = sorted({(parse_ref(ref) or ("",))[0] for ref in refs})
        try:
            return [self._read(writer, refs) for writer in writers]
        except ArchiveRefused as error:
            raise RemoteRefused(remote=self._remote.name, reason=str(error.fields["reason"]))
        except ValueError as error:
            raise RemoteRefused(remote=self._remote.name, reason=f"{error}.")

    def _read(self, writer: str, refs: dict[str, str]) -> _Writer:
        commits = written_checkpoints(self._repository, refs.get(own_ref(writer, CHECKPOINTS), ""))
        chats = own_ref(writer, CONVERSATIONS)
        tip = refs.get(chats, "")
        inbox = Inbox(self._remote.name, self._objects, commits, self._here.__contains__, tip.encode(),
                      self._sessions(tip, self._known.get(chats, "")))
        return _Writer(f"{self._remote.name}-{writer[:8]}", inbox, look(self._state, inbox))

    def _sessions(self, new: str, old: str) -> list[str]:
        """Those whose conversation has changed."""
        if not new:
            return []
        words = ["diff-tree", "--name-only", "-z", old, new] if old else ["ls-tree", "--name-only", "-z", new]
        names = self._repository.git.run(*words).decode("utf-8", "replace").split("\0")[:-1]
        for name in names:
            if not is_session_id(name):
                raise ValueError("the id of a session in it is malformed")
        return names
