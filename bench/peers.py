"""What a user would otherwise have: opencode's git sequence, a full shadow repository, tar.gz."""

from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import Path

from bench.spawn import Spawner

# What opencode sets in its own git dir.
OPENCODE_CONFIG = {
    "feature.manyFiles": "true",
    "index.version": "4",
    "index.threads": "true",
    "core.untrackedCache": "true",
    "core.autocrlf": "false",
    "core.fsmonitor": "false",
    "core.quotepath": "false",
}


def git_path() -> str:
    found = shutil.which("git")
    if found is None:
        raise SystemExit("error: the benchmark needs git on PATH.")
    return found


def commit_tracked(spawner: Spawner, root: Path, untracked: tuple[str, ...]) -> None:
    """Makes root the user's own repository, with everything but `untracked` committed."""
    git = [git_path(), "-C", str(root)]
    spawner.run([*git, "init", "-q"])
    _configure(spawner, git, {"user.name": "Bench", "user.email": "bench@example.org"})
    _configure(spawner, git, {"gc.auto": "0"})
    spawner.run([*git, "add", "-A"])
    spawner.feed(
        [*git, "rm", "-q", "--cached", "--pathspec-from-file=-", "--pathspec-file-nul"],
        b"\0".join(os.fsencode(path) for path in untracked),
    )
    spawner.run([*git, "commit", "-q", "-m", "A tree to measure"])
    # A user's objects are packed sooner or later; a clone's are from the start.
    spawner.run([*git, "repack", "-q", "-a", "-d"])


def refresh_index(spawner: Spawner, root: Path) -> None:
    """A copied repository's index describes other inodes; git would read every file again."""
    spawner.run([git_path(), "-C", str(root), "update-index", "-q", "--refresh"])


class Opencode:
    """The snapshot sequence of opencode, on its own git dir that borrows the user's objects."""

    def __init__(self, spawner: Spawner, project: Path, git_dir: Path) -> None:
        self._spawner = spawner
        self._project = project
        self._git_dir = git_dir
        self._git = [git_path(), "--git-dir", str(git_dir), "--work-tree", str(project)]

    def init(self) -> str:
        self._spawner.run([*self._git, "init", "-q"])
        _configure(self._spawner, self._git, OPENCODE_CONFIG)
        user = self._project / ".git"
        (self._git_dir / "objects/info/alternates").write_text(f"{user / 'objects'}\n")
        shutil.copyfile(user / "index", self._git_dir / "index")
        return self.snapshot()

    def snapshot(self) -> str:
        os.chdir(self._project)
        changed, new = self._spawner.outputs(
            [*self._git, "diff-files", "--name-only", "-z"],
            [*self._git, "ls-files", "--others", "--exclude-standard", "-z"],
        )
        if changed or new:
            self._spawner.feed(
                [*self._git, "add", "--pathspec-from-file=-", "--pathspec-file-nul"],
                changed + new,
            )
        return self._spawner.output([*self._git, "write-tree"]).decode().strip()

    def restore(self, tree: str) -> None:
        """Its restore of a whole snapshot, which writes every file again."""
        os.chdir(self._project)
        self._spawner.run([*self._git, "read-tree", tree])
        self._spawner.run([*self._git, "checkout-index", "-a", "-f"])

    def revert(self, tree: str, paths: list[str]) -> None:
        """Its undo of a message: a snapshot for redo, then only the paths it knows to differ."""
        self.snapshot()
        self._spawner.output([*self._git, "ls-tree", "--name-only", tree, "--", *paths])
        self._spawner.run([*self._git, "checkout", tree, "--", *paths])


class ShadowRepository:
    """A second, complete git repository of the project, as several agents keep one."""

    def __init__(self, spawner: Spawner, project: Path, git_dir: Path) -> None:
        self._spawner = spawner
        self._project = project
        self.git_dir = git_dir
        self._git = [git_path(), "--git-dir", str(git_dir), "--work-tree", str(project)]

    def first(self) -> None:
        os.chdir(self._project)
        self._spawner.run([*self._git, "init", "-q"])
        self.commit()

    def commit(self) -> None:
        os.chdir(self._project)
        # gc.auto=0: a collection in the background would disturb whatever is timed next.
        settings = ["-c", "user.name=Bench", "-c", "user.email=bench@example.org"]
        settings += ["-c", "gc.auto=0"]
        self._spawner.run([*self._git, "add", "-A"])
        self._spawner.run([*self._git, *settings, "commit", "-q", "--allow-empty", "-m", "save"])

    def gc(self) -> None:
        self._spawner.run([*self._git, "gc", "-q"])

    def remove(self) -> None:
        shutil.rmtree(self.git_dir, ignore_errors=True)


def write_tar_gz(project: Path, archive: Path) -> int:
    """Size of one tar.gz of the project without `.git` and Rewind's state."""

    def wanted(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        return None if entry.name in ("./.git", "./.agent") else entry

    with tarfile.open(archive, "w:gz", compresslevel=6) as stream:
        stream.add(project, arcname=".", filter=wanted)
    return archive.stat().st_size


def _configure(spawner: Spawner, git: list[str], settings: dict[str, str]) -> None:
    for key, value in settings.items():
        spawner.run([*git, "config", key, value])
