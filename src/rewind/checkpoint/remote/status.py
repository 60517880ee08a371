"""How much of this project a remote has, and what others pushed to it that is not here."""

from __future__ import annotations

from rewind.checkpoint.project.state import State
from rewind.checkpoint.remote.known import Remote, Remotes
from rewind.checkpoint.remote.names import CHECKPOINTS, own_ref, writer_of
from rewind.checkpoint.remote.pull.fetch import refs_there, tracked
from rewind.checkpoint.remote.push.push import own_records
from rewind.checkpoint.remote.repository import Repository
from rewind.checkpoint.share.giving.outgoing import checkpoint_id
from rewind.errors import RewindError


class RemoteStatus:
    """`there` is how many checkpoints of this store the remote has, `missing` how many it lacks. `writers` is
    how many other stores push to it, `news` how many of them have something new. `error` says why the remote
    could not be asked."""

    def __init__(self, remote: Remote) -> None:
        self.remote = remote
        self.there = self.missing = self.writers = self.news = 0
        self.error = ""


class Statuses:
    def __init__(self, state: State, *, ask: bool = False) -> None:
        self._remotes = Remotes(state)
        self._repository = Repository.of(state, ask=ask)
        if self._remotes.all:
            self._repository.open(self._remotes.all)
        store_id = state.store_info["id"]
        self._ids = {checkpoint_id(store_id, record) for record in own_records(state)}

    @property
    def disk_use(self) -> int:
        return self._repository.size_on_disk()

    def all(self, name: str | None) -> list[RemoteStatus]:
        return [self._one(remote) for remote in ([self._remotes.find(name)] if name else self._remotes.all)]

    def _one(self, remote: Remote) -> RemoteStatus:
        found = RemoteStatus(remote)
        known = tracked(self._repository, remote)
        try:
            there = refs_there(self._repository, remote)
        except RewindError as error:
            found.error = error.message
            there = known  # from the last push or pull
        own = own_ref(self._remotes.writer, CHECKPOINTS)
        pushed = self._pushed(there.get(own, ""), known.get(own, ""))
        found.there, found.missing = len(pushed), len(self._ids.difference(pushed))
        others = {ref: commit for ref, commit in there.items() if not ref.startswith(own.rpartition("/")[0])}
        found.writers = len(set(map(writer_of, others)))
        found.news = len({writer_of(ref) for ref, commit in others.items() if known.get(ref) != commit})
        return found

    def _pushed(self, there: str, known: str) -> dict[str, bytes]:
        """Our checkpoints that the remote has. They are in our repository as well, because we pushed them."""
        try:
            return self._repository.checkpoints(there)
        except RewindError:
            return self._repository.checkpoints(known)
