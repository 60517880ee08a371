"""Whole copies: `tar` with zstd, `rsync` with hard links to the previous copy, and the size of a tar.gz."""

from __future__ import annotations

import tarfile
from pathlib import Path

from bench.peers.peer import Peer, tool
from bench.spawn import Spawner


class TarZstd(Peer):
    """A complete archive for every snapshot. A restore empties the project and extracts the archive."""

    def __init__(self, spawner: Spawner, project: Path, store: Path) -> None:
        super().__init__(spawner, project, store)
        self._tar, self._zstd, self._find = tool("tar"), tool("zstd"), tool("find", "findutils")
        self._count = 0

    def version(self) -> str:
        return _version(self._spawner, self._tar, -1)

    def first(self) -> str:
        self.store.mkdir()
        return self.snapshot()

    def snapshot(self) -> str:
        self._count += 1
        archive = str(self.store / f"{self._count}.tar.zst")
        self._spawner.run(
            [self._tar, "-I", f"{self._zstd} -q -T0", "-cf", archive, "-C", str(self._project), "."]
        )
        return archive

    def restore(self, mark: str) -> None:
        self._spawner.run([self._find, str(self._project), "-mindepth", "1", "-delete"])
        self._spawner.run([self._tar, "-I", self._zstd, "-xpf", mark, "-C", str(self._project)])


class RsyncLinks(Peer):
    """A directory for every snapshot. Unchanged files are hard links to those of the previous one."""

    def __init__(self, spawner: Spawner, project: Path, store: Path) -> None:
        super().__init__(spawner, project, store)
        self._rsync = tool("rsync")
        self._count = 0

    def version(self) -> str:
        return _version(self._spawner, self._rsync, 2)

    def first(self) -> str:
        self.store.mkdir()
        self._count = 0
        return self.snapshot()

    def snapshot(self) -> str:
        before, self._count = self.store / str(self._count), self._count + 1
        target = self.store / str(self._count)
        links = [f"--link-dest={before}"] if before.exists() else []
        self._spawner.run([self._rsync, "-aH", *links, f"{self._project}/", f"{target}/"])
        return str(target)

    def restore(self, mark: str) -> None:
        self._spawner.run([self._rsync, "-aH", "--delete", f"{mark}/", f"{self._project}/"])


def write_tar_gz(project: Path, archive: Path) -> int:
    """The size of one tar.gz of the project, without `.git` and Rewind's state."""

    def wanted(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        return None if entry.name in ("./.git", "./.agent") else entry

    with tarfile.open(archive, "w:gz", compresslevel=6) as stream:
        stream.add(project, arcname=".", filter=wanted)
    return archive.stat().st_size


def _version(spawner: Spawner, program: str, word: int) -> str:
    return spawner.output([program, "--version"]).decode().splitlines()[0].split()[word]
