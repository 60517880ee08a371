"""Asks what a remote has, and fetches it into a temporary repository, where it is counted and measured. Only
what was accepted moves to our own repository."""

from __future__ import annotations

import os
import subprocess

from rewind.checkpoint.records.record import is_hex
from rewind.checkpoint.remote.known import Remote
from rewind.checkpoint.remote.names import parse_ref, tracked_in, tracking_ref
from rewind.checkpoint.remote.repository import INCOMING, Progress, Repository
from rewind.errors import RemoteRefused
from rewind.files import make_private_dir

MOST_REFS = 20_000
MOST_OBJECTS = 20_000_000
MOST_BYTES = 64 << 30  # unpacked
DEFAULT_MB = 8192  # of one fetch, packed
_BAD = ("fsck error", "did not send all necessary objects", "invalid index-pack output", "inflate",
        "pack has bad object", "SHA1 COLLISION", "unresolved delta", "pack is corrupted")
_LAST_WRITE = 64 << 10
_HEADER = 12  # bytes of a pack: four letters, version, number of objects


def refs_there(repository: Repository, remote: Remote) -> dict[str, str]:
    """Name -> commit, of Rewind's refs; others below `refs/rewind/` are ignored."""
    answer = repository.run_with_remote(remote, "ls-remote", remote.name, "refs/rewind/*",
                                        most_bytes=64 << 20)
    answer.check()
    lines = answer.out.splitlines()
    if len(lines) > MOST_REFS:
        raise RemoteRefused(remote=remote.name, reason=f"it has {len(lines):,} refs.")
    found = {}
    for line in lines:
        commit, _, name = line.partition("\t")
        if parse_ref(name) and (is_hex(commit, 40) or is_hex(commit, 64)):
            found[name] = commit
    return found


class Quarantine:
    """`with Quarantine(…)`: a temporary bare repository beside ours, which can read the objects of ours."""

    def __init__(self, repository: Repository, remote: Remote, *, ask: bool = False) -> None:
        self.remote = remote
        self.ours = repository
        # Threads of the page's server may pull at the same time.
        name = f"{repository.path}{INCOMING}{os.getpid()}-{os.urandom(4).hex()}"
        self.repository = Repository(name, ask=ask)
        self.bytes = 0
        self.found_bad = False  # git refused an object

    def __enter__(self) -> Quarantine:
        self.repository.open([self.remote], tracks=False)
        info = os.path.join(self.repository.path, "objects", "info")
        make_private_dir(info)
        with open(os.path.join(info, "alternates"), "wb") as file:
            file.write(os.fsencode(os.path.join(self.ours.path, "objects")) + b"\n")
        return self

    def __exit__(self, *error: object) -> None:
        self.repository.remove()

    def fetch(self, refs: dict[str, str], *, max_mb: int = DEFAULT_MB,
              progress: Progress | None = None) -> None:
        """Fetch these refs. Git itself checks the form of every object."""
        answer = self.repository.run_with_remote(
            self.remote, "fetch", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--progress",
            "--stdin", self.remote.name, progress=progress, most_bytes=max_mb << 20,
            data="".join(f"{name}:{name}\n" for name in sorted(refs)).encode())
        if answer.code:
            self._refuse_if_bad(answer.err, max_mb)
        answer.check()
        self._measure(max_mb)

    def _refuse_if_bad(self, err: str, max_mb: int) -> None:
        if self._largest() >= (max_mb << 20) - _LAST_WRITE:  # git does not say that it was cut off
            raise RemoteRefused(
                remote=self.remote.name, reason=f"it sends more than {max_mb} MB.",
                hint="Nothing was changed. If you expect that much, repeat with a larger --max-size-mb.")
        for line in err.splitlines():
            if any(sign in line for sign in _BAD):
                self.found_bad = True
                raise RemoteRefused(remote=self.remote.name, reason=f"git refuses it ({line.strip()}).")

    def _largest(self) -> int:
        folder = os.path.join(self.repository.path, "objects", "pack")
        return max((os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)), default=0)

    def _packs(self) -> list[str]:
        folder = os.path.join(self.repository.path, "objects", "pack")
        return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".pack"))

    def _measure(self, max_mb: int) -> None:
        """Count the objects and their unpacked size before any of them is read."""
        count = self.bytes = 0
        for pack in self._packs():
            self.bytes += os.path.getsize(pack)
            with open(pack, "rb") as file:
                count += int.from_bytes(file.read(_HEADER)[8:], "big")
        if count > MOST_OBJECTS:
            raise RemoteRefused(remote=self.remote.name, reason=f"it sends {count:,} objects.")
        limit = min(MOST_BYTES, (max_mb << 20) * 16)
        if self._unpacked() > limit:
            raise RemoteRefused(remote=self.remote.name,
                                reason=f"unpacked, what it sends is larger than {limit >> 20:,} MB.")

    def _unpacked(self) -> int:
        total = 0
        for pack in self._packs():
            with open(pack[:-5] + ".idx", "rb") as index:
                listed = subprocess.Popen(self.repository.command("show-index"), stdin=index,
                                          stdout=subprocess.PIPE, cwd=self.repository.path,
                                          env=self.repository.env)
                assert listed.stdout
                names = b"".join(line.split(b" ")[1] + b"\n" for line in listed.stdout)
                listed.stdout.close()
                listed.wait()
            out = self.repository.git.run("cat-file", "--batch-check=%(objectsize)", data=names)
            total += sum(int(line) for line in out.split() if line.isdigit())
        return total

    def accept(self, refs: dict[str, str]) -> None:
        """Move the packs to our repository, then the refs. A crash in between leaves unused packs."""
        target = os.path.join(self.ours.path, "objects", "pack")
        for pack in self._packs():
            stem = pack[:-5]
            for end in (".pack", ".rev", ".idx"):  # the index last: with it, the pack exists
                if os.path.exists(stem + end):
                    os.rename(stem + end, os.path.join(target, os.path.basename(stem) + end))
        track(self.ours, self.remote, refs)


def track(repository: Repository, remote: Remote, refs: dict[str, str]) -> None:
    """Remember what the remote has."""
    lines = "".join(f"update {tracking_ref(remote.name, name)} {commit}\n" for name, commit in refs.items())
    repository.git.run("update-ref", "--stdin", data=lines.encode())


def tracked(repository: Repository, remote: Remote) -> dict[str, str]:
    """The same as `refs_there`, as of the last push or pull."""
    return tracked_in(repository.refs(f"refs/rewind/remotes/{remote.name}/"), remote.name)


def forget(repository: Repository, remote: Remote) -> None:
    names = repository.refs(f"refs/rewind/remotes/{remote.name}/")
    repository.git.run("update-ref", "--stdin", data="".join(f"delete {name}\n" for name in names).encode())
