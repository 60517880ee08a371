"""Backup programs that store equal chunks once: restic, and borg without encryption (restic always
encrypts)."""

from __future__ import annotations

import json
from pathlib import Path

from bench.peers.peer import Peer, tool
from bench.spawn import Spawner


class Restic(Peer):
    def __init__(self, spawner: Spawner, project: Path, store: Path) -> None:
        quiet = Spawner({**spawner.env, "RESTIC_PASSWORD": "bench"}, spawner.scratch)
        super().__init__(quiet, project, store)
        self._restic = [tool("restic"), "--repo", str(store)]
        # From 0.17 on, a restore can also remove newer files.
        usage = quiet.output([self._restic[0], "restore", "--help"])
        self._clean = ["--delete"] if b"--delete" in usage else []

    def version(self) -> str:
        return self._spawner.output([self._restic[0], "version"]).decode().split()[1]

    def first(self) -> str:
        self._spawner.run([*self._restic, "init", "-q"])
        return self.snapshot()

    def snapshot(self) -> str:
        self._here()
        text = self._spawner.output([*self._restic, "backup", "--json", "."])
        return str(json.loads(text.splitlines()[-1])["snapshot_id"])

    def restore(self, mark: str) -> None:
        target = ["--target", str(self._project)]
        self._spawner.run([*self._restic, "restore", "-q", mark, *self._clean, *target])


class Borg(Peer):
    def __init__(self, spawner: Spawner, project: Path, store: Path) -> None:
        settings = {"BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK": "yes",
                    "BORG_RELOCATED_REPO_ACCESS_IS_OK": "yes"}
        super().__init__(Spawner({**spawner.env, **settings}, spawner.scratch), project, store)
        self._borg = tool("borg", "borgbackup")
        self._count = 0

    def version(self) -> str:
        return self._spawner.output([self._borg, "--version"]).decode().split()[-1]

    def first(self) -> str:
        self._spawner.run([self._borg, "init", "-e", "none", str(self.store)])
        return self.snapshot()

    def snapshot(self) -> str:
        self._here()
        self._count += 1
        mark = f"{self.store}::{self._count}"
        self._spawner.run([self._borg, "create", mark, "."])
        return mark

    def restore(self, mark: str) -> None:
        self._here()
        self._spawner.run([self._borg, "extract", mark])
