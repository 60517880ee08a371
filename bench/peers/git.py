"""git itself: the user's repository, and what all peers that use git have in common."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from bench.spawn import Spawner

# gc.auto=0, because a collection in the background would disturb the next measurement.
IDENTITY = ["-c", "user.name=Bench", "-c", "user.email=bench@example.org", "-c", "gc.auto=0"]


def git_path() -> str:
    found = shutil.which("git")
    if found is None:
        raise SystemExit("error: the benchmark needs git on PATH.")
    return found


def git_version(spawner: Spawner) -> str:
    return spawner.output([git_path(), "--version"]).decode().split()[2]


def commit_tracked(spawner: Spawner, root: Path, untracked: tuple[str, ...]) -> None:
    """Make `root` the user's own repository, with everything except `untracked` committed."""
    git = [git_path(), "-C", str(root)]
    spawner.run([*git, "init", "-q"])
    configure(spawner, git, {"user.name": "Bench", "user.email": "bench@example.org", "gc.auto": "0"})
    spawner.run([*git, "add", "-A"])
    # `git rm` would compare every path with every other.
    spawner.feed(
        [*git, "update-index", "--force-remove", "-z", "--stdin"],
        b"".join(os.fsencode(path) + b"\0" for path in untracked),
    )
    spawner.run([*git, "commit", "-q", "-m", "A tree to measure"])
    # A clone has packed objects from the start, and other repositories get them sooner or later.
    spawner.run([*git, "repack", "-q", "-a", "-d"])


def refresh_index(spawner: Spawner, root: Path) -> None:
    """The index of a copied repository has the inodes of the original, so git would read every file again."""
    spawner.run([git_path(), "-C", str(root), "update-index", "-q", "--refresh"])


def configure(spawner: Spawner, git: list[str], settings: dict[str, str]) -> None:
    for key, value in settings.items():
        spawner.run([*git, "config", key, value])


def committed(output: bytes) -> str:
    """The abbreviated hash in what `git commit` prints: `[main 1a2b3c4] message`."""
    return output.split(b"]", 1)[0].split()[-1].decode()
