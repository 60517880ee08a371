"""`rewind push`: sends the checkpoints and conversations of a project to a remote. Each store pushes only to
refs of its own, which only move forward. So no push is forced, and two stores never conflict."""

from __future__ import annotations

import os
import time

from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record, iso_time
from rewind.checkpoint.remote.known import LOCK, Remote, Remotes
from rewind.checkpoint.remote.names import CHECKPOINTS, CONVERSATIONS, own_ref, tracked_in
from rewind.checkpoint.remote.push.fast_import import FastImport
from rewind.checkpoint.remote.push.outbox import Outbox
from rewind.checkpoint.remote.push.sent import Sent
from rewind.checkpoint.remote.repository import GitAnswer, Progress, Repository
from rewind.checkpoint.share.giving.conversations import OutConversation
from rewind.checkpoint.share.giving.left_out import LeftOut, Policy
from rewind.checkpoint.share.giving.outgoing import Outgoing, checkpoint_id
from rewind.errors import RemoteFailed
from rewind.lock import Lock

_SLICE = 250  # checkpoints that are sent at once: if a later slice fails, the earlier ones have arrived
_UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


class Pushed:
    """What was sent, or would be. `left_out` are files; `secrets` were masked in conversations."""

    def __init__(self) -> None:
        self.checkpoints = 0
        self.conversations = 0
        self.bytes = 0
        self.left_out: list[LeftOut] = []
        self.secrets: list[tuple[str, str, int]] = []  # session, kind, turn


def own_records(state: State) -> list[Record]:
    """The checkpoints that this store made. Those of others are pushed by the others."""
    return [record for record in state.timeline.all() if not record.imported and "shared" not in record.data]


class Push:
    """`with Push(state, "origin") as push: push.write(); push.send()`, or `push.plan()`."""

    def __init__(self, state: State, name: str | None = None, policy: Policy | None = None, *,
                 ask: bool = False, progress: Progress | None = None) -> None:
        self.state = state
        self.remotes = Remotes(state)
        self.remote: Remote = self.remotes.find(name)
        self.policy = policy or Policy()
        self.repository = Repository.of(state, ask=ask)
        self.pushed = Pushed()
        self._progress = progress
        self._lock = Lock(state.project.path(LOCK), "push", in_line=True)

    def __enter__(self) -> Push:
        self._lock.__enter__()
        try:
            self.repository.open(self.remotes.all)
            self.repository.sweep()
            self.repository.sweep_incoming()
            self._refs = self.repository.refs("refs/rewind/")
            self.written = self.repository.checkpoints(self._own(CHECKPOINTS))
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._lock.close()

    def _ref(self, what: str) -> str:
        return own_ref(self.remotes.writer, what)

    def _own(self, what: str) -> str:
        return self._refs.get(self._ref(what), "")

    def plan(self) -> Pushed:
        """Count, and search for secrets. Nothing is written."""
        records, new, conversations = self._choose()
        with Outgoing(self.state, records, self.policy, conversations) as outgoing:
            for one in outgoing.checkpoints({record.name for record in new}):
                for _ in one.changed_since(one.parent):
                    pass
            self._note_left_out(outgoing, conversations)
        self.pushed.checkpoints = len(new) + len(self._not_there())
        self.pushed.conversations = len(conversations)
        return self.pushed

    def _choose(self) -> tuple[list[Record], list[Record], list[OutConversation]]:
        """All of our checkpoints, those not in our repository yet, and the conversations that have grown."""
        records = own_records(self.state)
        store_id = self.state.store_info["id"]
        new = [record for record in records if checkpoint_id(store_id, record) not in self.written]
        self._sent = Sent(self.repository.path, self._own(CONVERSATIONS), self.policy)
        return records, new, self._sent.grown(self.state, records, new)

    def write(self) -> None:
        """Write what is new into our own repository."""
        records, new, conversations = self._choose()
        if not new and not conversations:
            return
        with Outgoing(self.state, records, self.policy, conversations) as outgoing:
            with FastImport(self.repository, self._lock.fd) as fast:
                if new:
                    names = {record.name for record in new}
                    Outbox(fast, self._ref(CHECKPOINTS), self.written).write(outgoing, names, self._progress)
                tip = self._write_conversations(fast, conversations) if conversations else ""
            self._note_left_out(outgoing, conversations)
        if self.written:
            self._refs[self._ref(CHECKPOINTS)] = list(self.written.values())[-1].decode()
        if tip:
            self._refs[self._ref(CONVERSATIONS)] = tip
            self._sent.save(tip)

    def _write_conversations(self, fast: FastImport, conversations: list[OutConversation]) -> str:
        from rewind.checkpoint.remote.push.conversation_outbox import write_conversations

        self.pushed.conversations, tip = write_conversations(
            fast, self._ref(CONVERSATIONS), self._own(CONVERSATIONS).encode(), conversations,
            int(time.time()))
        return tip.decode()

    def _note_left_out(self, outgoing: Outgoing, conversations: list[OutConversation]) -> None:
        self.pushed.left_out = outgoing.left_out
        self.pushed.secrets = [(one.session, secret.kind, secret.turn)
                               for one in conversations for secret in one.secrets]

    def _not_there(self) -> list[str]:
        """The commits that the remote lacks, as far as we know, oldest first."""
        there = tracked_in(self._refs, self.remote.name).get(self._ref(CHECKPOINTS), "")
        commits = [commit.decode() for commit in self.written.values()]
        return commits[commits.index(there) + 1:] if there in commits else commits

    def send(self) -> Pushed:
        missing = self._not_there()
        self.pushed.checkpoints = len(missing)
        for commit in missing[_SLICE - 1:-1:_SLICE]:
            self._send(f"{commit}:{self._ref(CHECKPOINTS)}")
        refs = [self._ref(what) for what in (CONVERSATIONS, CHECKPOINTS) if self._own(what)]
        if refs:
            self._send(*(f"{name}:{name}" for name in refs))
        self.remotes.note(self.remote, pushedAt=iso_time(time.time()))
        self.repository.tidy()
        return self.pushed

    def _send(self, *refspecs: str) -> None:
        answer = self._git_push(*refspecs)
        rejected = [line for line in answer.out.splitlines() if line.startswith("!")]
        if any("fetch first" in line or "non-fast-forward" in line for line in rejected):
            self._take_new_writer_id()
            answer = self._git_push(*(spec.replace(self._old, self.remotes.writer) for spec in refspecs))
            rejected = [line for line in answer.out.splitlines() if line.startswith("!")]
        if rejected:
            reason = answer.reason() if "remote" in answer.err else rejected[0].rpartition("\t")[2]
            raise RemoteFailed(remote=self.remote.name, command="push", reason=reason)
        answer.check()
        self.pushed.bytes += _bytes_sent(answer.err)

    def _git_push(self, *refspecs: str) -> GitAnswer:
        return self.repository.run_with_remote(self.remote, "push", "--porcelain", "--no-verify",
                                               "--progress", self.remote.name, *refspecs,
                                               progress=self._progress)

    def _take_new_writer_id(self) -> None:
        """A copy of this store, perhaps on another machine, has pushed under the same writer id. Checkpoints
        that both have pushed have the same id, so nobody takes them twice."""
        self._old = self.remotes.writer
        self.remotes.data["writer"] = os.urandom(16).hex()
        own = f"refs/rewind/{self._old}/"
        moved = {name.replace(self._old, self.remotes.writer): commit for name, commit in self._refs.items()
                 if name.startswith(own)}
        lines = "".join(f"create {name} {commit}\n" for name, commit in moved.items())
        self.repository.git.run("update-ref", "--stdin", data=lines.encode())
        self.remotes.save()
        self._refs.update(moved)


def _bytes_sent(err: str) -> int:
    """From `Writing objects: 100% (5/5), 1.20 KiB | 1.20 MiB/s, done.`"""
    for line in err.splitlines():
        if line.startswith("Writing objects: 100%"):
            words = line.partition("), ")[2].split()
            if len(words) > 1 and words[1] in _UNITS and words[0].replace(".", "", 1).isdigit():
                return int(float(words[0]) * _UNITS[words[1]])
    return 0
