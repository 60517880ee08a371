"""`rewind pull`: adds what others have pushed, as lanes beside the project's own. Nothing is overwritten."""

from __future__ import annotations

import time

from rewind.checkpoint.project.locked import locked
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record, iso_time
from rewind.checkpoint.remote.known import LOCK, Remote, Remotes
from rewind.checkpoint.remote.names import CHECKPOINTS, CONVERSATIONS, own_ref, writer_of
from rewind.checkpoint.remote.pull.fetch import DEFAULT_MB, Quarantine, refs_there, tracked
from rewind.checkpoint.remote.pull.inbox import Inbox, Objects
from rewind.checkpoint.remote.repository import Progress, Repository
from rewind.checkpoint.rewind.effects.continued import fork_was_continued
from rewind.checkpoint.share.giving.outgoing import checkpoint_id
from rewind.checkpoint.share.taking.conversations import ReceivedConversation
from rewind.checkpoint.share.taking.incoming import Checked
from rewind.checkpoint.share.taking.take_over import Added, add, check_incoming
from rewind.errors import ArchiveRefused, FormatTooNew, RemoteFailed, RemoteRefused, RewindError
from rewind.lock import Lock
from rewind.transcript.names import is_session_id


class Pulled:
    """`records` are the new checkpoints, oldest first for each writer; after a dry run only their number is
    known. `refused` are the writers from whom nothing was taken, with the reasons."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.conversations: list[ReceivedConversation] = []
        self.checkpoints = 0
        self.bytes = 0
        self.notes: list[str] = []
        self.refused: dict[str, str] = {}

    def take(self, added: Added) -> None:
        self.records += added.records
        self.conversations += [one for one in added.conversations if one.path]
        self.notes += added.notes


class _Writer:
    """What one writer has, checked. `lane` is the name of its line here."""

    def __init__(self, lane: str, inbox: Inbox, checked: Checked) -> None:
        self.lane = lane
        self.inbox = inbox
        self.checked = checked


def pull(state: State, name: str | None = None, *, everything: bool = False, dry_run: bool = False,
         ask: bool = False, max_mb: int | None = None, own_line: bool = False,
         progress: Progress | None = None) -> Pulled:
    """`everything`: also what was pulled or pushed before and is no longer here. `own_line`: their line
    becomes that of this project, which has none yet."""
    remotes = Remotes(state)
    remote = remotes.find(name)
    repository = Repository.of(state, ask=ask)
    with Lock(state.project.path(LOCK), "pull", in_line=True):
        repository.open(remotes.all)
        repository.sweep()
        repository.sweep_incoming()
    known = {} if everything else tracked(repository, remote)
    mine = f"refs/rewind/{remotes.writer}/"
    there = {ref: commit for ref, commit in refs_there(repository, remote).items()
             if everything or not ref.startswith(mine)}
    new = {ref: commit for ref, commit in there.items() if known.get(ref) != commit}
    pulling = _Pull(state, repository, remote, known, ask=ask, max_mb=max_mb or DEFAULT_MB, progress=progress)
    pulled = pulling.run(new, dry_run, own_line)
    if pulled.refused and {writer_of(ref) for ref in there} <= set(pulled.refused):
        raise RemoteRefused(remote=remote.name, reason=next(iter(pulled.refused.values())))
    if not dry_run:
        with Lock(state.project.path(LOCK), "pull", in_line=True):
            remotes.note(remote, pulledAt=iso_time(time.time()))
    return pulled


class _Pull:
    """Downloads and checks without the lock, because this may take long, then adds under the lock."""

    def __init__(self, state: State, repository: Repository, remote: Remote, known: dict[str, str], *,
                 ask: bool, max_mb: int, progress: Progress | None) -> None:
        self._state = state
        self._repository = repository
        self._remote = remote
        self._known = known
        self._ask = ask
        self._max_mb = max_mb
        self._progress = progress
        self._pulled = Pulled()

    def run(self, refs: dict[str, str], dry_run: bool, own_line: bool) -> Pulled:
        """If a writer is refused, the others are fetched again without it, so nothing of it stays here."""
        refused = self._pulled.refused
        while sound := {ref: commit for ref, commit in refs.items() if writer_of(ref) not in refused}:
            before = len(refused)
            with Quarantine(self._repository, self._remote, ask=self._ask) as quarantine:
                if self._fetch(quarantine, sound):
                    self._take(quarantine, sound, dry_run, own_line)
            if len(refused) == before:
                break
        return self._pulled

    def _fetch(self, quarantine: Quarantine, refs: dict[str, str]) -> bool:
        """False if git refused or could not read an object. Its writer is then found and refused."""
        try:
            quarantine.fetch(refs, max_mb=self._max_mb, progress=self._progress)
        except (RemoteRefused, RemoteFailed) as error:
            if isinstance(error, RemoteRefused) and not quarantine.found_bad:
                raise
            self._find_bad(refs, error)
            return False
        self._pulled.bytes = quarantine.bytes
        return True

    def _find_bad(self, refs: dict[str, str], error: RewindError) -> None:
        found: dict[str, str] = {}
        writers = sorted({writer_of(ref) for ref in refs})
        if len(writers) == 1 and isinstance(error, RemoteRefused):
            found[writers[0]] = str(error.fields["reason"])
        for writer in writers if len(writers) > 1 else ():
            own = {ref: commit for ref, commit in refs.items() if writer_of(ref) == writer}
            with Quarantine(self._repository, self._remote, ask=self._ask) as alone:
                try:
                    alone.fetch(own, max_mb=self._max_mb, progress=self._progress)
                except (RemoteRefused, RemoteFailed) as reason:
                    found[writer] = str(reason.fields["reason"])
        if not found or (len(found) == len(writers) and isinstance(error, RemoteFailed)):
            raise error  # no writer caused it, or the remote cannot be reached
        self._pulled.refused.update(found)

    def _take(self, quarantine: Quarantine, refs: dict[str, str], dry_run: bool, own_line: bool) -> None:
        pulled = self._pulled
        with Objects(quarantine.repository) as objects:
            reader = _Reader(self._state, quarantine, objects, self._known)
            writers = reader.read_all(refs, pulled.refused)
            if any(writer_of(ref) in pulled.refused for ref in refs):
                return
            pulled.checkpoints = sum(writer.inbox.count for writer in writers)
            if dry_run:
                return
            with Lock(self._state.project.path(LOCK), "pull", in_line=True):
                Remotes(self._state).find(self._remote.name)  # it may have been removed since
                for writer in writers:
                    lane = "" if own_line and len(writers) == 1 else writer.lane
                    _add(self._state, reader, writer, lane, pulled)
                quarantine.accept(refs)


def _add(state: State, reader: _Reader, writer: _Writer, lane: str, pulled: Pulled) -> None:
    """Checkpoints that the check relied on may have been collected since. Then it is checked again."""
    with locked(state, "pull"):
        if reader.is_outdated():
            reader.check_again(writer)
        added = add(state, writer.inbox, writer.checked, lane=lane)
        pulled.take(added)
        _archive_shorter(state, [one for one in added.conversations if one.is_new])


def _archive_shorter(state: State, received: list[ReceivedConversation]) -> None:
    """A longer version of a conversation came as a new session: archive the shorter one, unless somebody went
    on in it."""
    forks = state.forks()
    for one in received:
        for known in [b for b in forks.all if (b.get("shared") or {}).get("session") == one.origin]:
            if known["sessionId"] != one.session and not known.get("archived") \
                    and not fork_was_continued(state, known):
                forks.change(known["sessionId"], {"archived": True})


class _Reader:
    """Checks everything that is new before any of it is added. A writer is refused for one bad object."""

    def __init__(self, state: State, quarantine: Quarantine, objects: Objects, known: dict[str, str]) -> None:
        self._state = state
        self._remote = quarantine.remote
        self._repository = quarantine.repository
        self._objects = objects
        self._known = known
        self._here = self._ids()

    def _ids(self) -> set[str]:
        store_id = self._state.store_info["id"]
        return {checkpoint_id(store_id, record) for record in self._state.timeline.all()}

    def read_all(self, refs: dict[str, str], refused: dict[str, str]) -> list[_Writer]:
        """The writers that passed the check; the others go to `refused`."""
        found = []
        for writer in sorted({writer_of(ref) for ref in refs}):
            try:
                found.append(self._read(writer, refs))
            except ArchiveRefused as error:
                refused[writer] = str(error.fields["reason"])
            except FormatTooNew as error:
                refused[writer] = f"{error.message} {error.hint}"
            except ValueError as error:
                refused[writer] = f"{error}."
        return found

    def is_outdated(self) -> bool:
        """Whether a checkpoint that may be a parent has been deleted since the check."""
        return not self._here <= self._ids()

    def check_again(self, writer: _Writer) -> None:
        writer.inbox.look_again(self._ids().__contains__)
        writer.checked = check_incoming(self._state, writer.inbox)

    def _read(self, writer: str, refs: dict[str, str]) -> _Writer:
        commits = self._repository.checkpoints(refs.get(own_ref(writer, CHECKPOINTS), ""))
        conversations = own_ref(writer, CONVERSATIONS)
        tip = refs.get(conversations, "")
        inbox = Inbox(self._remote.name, self._objects, commits, self._here.__contains__, tip.encode(),
                      self._sessions(tip, self._known.get(conversations, "")))
        return _Writer(f"{self._remote.name}-{writer[:8]}", inbox, check_incoming(self._state, inbox))

    def _sessions(self, new: str, old: str) -> list[str]:
        """The sessions whose conversation has changed."""
        if not new:
            return []
        words = ["diff-tree", "--name-only", "-z", old, new] if old else ["ls-tree", "--name-only", "-z", new]
        names = self._repository.git.run(*words).decode("utf-8", "replace").split("\0")[:-1]
        for name in names:
            if not is_session_id(name):
                raise ValueError("the id of a session in it is malformed")
        return names
