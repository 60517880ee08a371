"""One history kept twice: as checkpoints of a project, and as commits of a git repository somewhere else."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from random import Random
from typing import Optional, Union

from rewind.controller import Controller
from rewind_cli import clean_env
from text_versions import Texts

# What a path is: ("link", target) or ("file", executable, content).
What = Union[tuple[str, bytes], tuple[str, bool, bytes]]
Files = dict[bytes, What]
NAMES = [b"a", b"b.txt", b"caf\xe9", b"d", b"e f", b"\xc3\xa9"]


def put(top: Path, was: Files, now: Files) -> None:
    """Make a directory be as `now` says; it is as `was` says."""
    root = os.fsencode(top)
    for path in was:
        if was[path] != now.get(path):
            _remove(root, path)
    for path, what in now.items():
        if was.get(path) != what:
            _write(os.path.join(root, path), what)


def _remove(root: bytes, path: bytes) -> None:
    os.unlink(os.path.join(root, path))
    folder = os.path.dirname(path)
    while folder and not os.listdir(os.path.join(root, folder)):
        os.rmdir(os.path.join(root, folder))
        folder = os.path.dirname(folder)


def _write(path: bytes, what: What) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if what[0] == "link":
        os.symlink(what[1], path)
        return
    with open(path, "wb") as file:
        file.write(what[2])  # type: ignore[misc]
    os.chmod(path, 0o755 if what[1] else 0o644)


def look(top: Path) -> Files:
    """What is there, directories and our own things aside."""
    root, found = os.fsencode(top), {}
    for at, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in (b".git", b".agent")
                      and not os.path.islink(os.path.join(at, name))]
        links = [n for n in os.listdir(at) if os.path.islink(os.path.join(at, n))]
        for name in {*names, *links}:
            full = os.path.join(at, name)
            found[os.path.relpath(full, root)] = _what(full)
    return found


def _what(path: bytes) -> What:
    if os.path.islink(path):
        return ("link", os.readlink(path))
    with open(path, "rb") as file:
        return ("file", bool(os.stat(path).st_mode & 0o100), file.read())


class Editor:
    """Does to files what agents do, a few things in a turn."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.texts = Texts(random)

    def start(self) -> Files:
        count = self.random.choice([2, 4, 6])
        files: Files = {}
        for _ in range(count):
            self._add(files)
        return files

    def turn(self, files: Files) -> Files:
        files = dict(files)
        for _ in range(self.random.choice([1, 1, 2, 4])):
            act = self.random.choice([self._edit, self._edit, self._edit, self._edit, self._add, self._delete,
                                      self._rename, self._mode, self._binary, self._link, self._swap,
                                      self._rewrite])
            act(files)
        return files

    def _free(self, files: Files) -> Optional[bytes]:
        random = self.random
        path = b"/".join(random.choice(NAMES) for _ in range(random.choice([1, 1, 2, 3])))
        parts = path.split(b"/")
        if any(b"/".join(parts[:n]) in files for n in range(1, len(parts) + 1)):
            return None
        return None if any(other.startswith(path + b"/") for other in files) else path

    def _some(self, files: Files, kind: str = "file") -> Optional[bytes]:
        found = sorted(path for path, what in files.items() if what[0] == kind)
        return self.random.choice(found) if found else None

    def _text(self) -> bytes:
        return self.texts.data(self.texts.lines(self.random.choice([0, 1, 6, 20, 40])))

    def _add(self, files: Files) -> None:
        path = self._free(files)
        if path:
            files[path] = ("file", self.random.random() < 0.2, self._text())

    def _edit(self, files: Files) -> None:
        path = self._some(files)
        if path:
            _, mode, data = files[path]  # type: ignore[misc]
            lines = self.texts.edited(data.splitlines(keepends=True), self.random.choice([1, 1, 2]))
            files[path] = ("file", mode, self.texts.data(lines))

    def _rewrite(self, files: Files) -> None:
        path = self._some(files)
        if path:
            files[path] = ("file", False, self._text())

    def _delete(self, files: Files) -> None:
        if files:
            del files[self.random.choice(sorted(files))]

    def _rename(self, files: Files) -> None:
        path, free = self._some(files), self._free(files)
        if path and free and not free.startswith(path + b"/"):
            files[free] = files.pop(path)

    def _mode(self, files: Files) -> None:
        path = self._some(files)
        if path:
            _, mode, data = files[path]  # type: ignore[misc]
            files[path] = ("file", not mode, data)

    def _binary(self, files: Files) -> None:
        path = self._some(files)
        if path:
            files[path] = ("file", False, b"\0" + self._text())

    def _link(self, files: Files) -> None:
        path = self._some(files, "link") or self._some(files) if self.random.random() < 0.5 else None
        path = path or self._free(files)
        if path:
            files[path] = ("link", self.random.choice([b"a", b"nowhere", b"d/e f"]))

    def _swap(self, files: Files) -> None:
        """A file becomes a directory, or a directory a file."""
        nested = sorted({path.partition(b"/")[0] for path in files if b"/" in path})
        if nested and self.random.random() < 0.5:
            top = self.random.choice(nested)
            for path in [path for path in files if path.startswith(top + b"/")]:
                del files[path]
            files[top] = ("file", False, self._text())
            return
        path = self._some(files)
        if path:
            what = files.pop(path)
            files[path + b"/" + self.random.choice(NAMES)] = what


class TwoHistories:
    def __init__(self, project: Path, repository: Path, home: Path) -> None:
        self.project = project
        self.repository = repository
        self.home = home
        self.files: Files = {}
        self.names: list[str] = []  # checkpoints
        self.commits: list[str] = []
        repository.mkdir()
        self.git("init", "-q", "-b", "main")
        self.controller, _ = Controller.init(str(project), home=str(home / ".rewind"))

    def close(self) -> None:
        self.controller.close()
        shutil.rmtree(self.repository)

    def git(self, *args: str, ok: tuple[int, ...] = (0,)) -> bytes:
        done = self._git(*args)
        assert done.returncode in ok, (args, done)
        return done.stdout

    def _git(self, *args: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(["git", "-c", "core.autocrlf=false", "-c", "gc.auto=0", *args],
                              cwd=self.repository, env=clean_env(self.home), capture_output=True,
                              stdin=subprocess.DEVNULL)

    def become(self, files: Files) -> None:
        """A turn: both histories go on."""
        for top in (self.project, self.repository):
            put(top, self.files, files)
        self.files = files
        self.names.append(self.controller.save().record.name)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", str(len(self.commits)))
        self.commits.append(self.git("rev-parse", "HEAD").decode().strip())

    def go_to(self, turn: int) -> None:
        """Another line begins there; the old one keeps its checkpoints and commits."""
        self.controller.restore(self.names[turn], mode="code")
        self.git("checkout", "-q", "--detach", self.commits[turn])
        self.files = look(self.repository)

    def git_revert(self, *turns: int) -> Optional[set[bytes]]:
        return self._take("revert", turns, "--no-edit")

    def git_pick(self, *turns: int) -> Optional[set[bytes]]:
        return self._take("cherry-pick", turns, "--allow-empty")

    def _take(self, command: str, turns: tuple[int, ...], *options: str) -> Optional[set[bytes]]:
        """The paths in conflict, if there are any; then nothing is changed."""
        for turn in turns:
            # The default strategy of git before 2.50 looks for renames although it is told not to.
            strategy = "ort" if self._was_a_directory(command, turn) else "recursive"
            done = self._git(command, *options, f"--strategy={strategy}", "-X", "no-renames",
                             "-X", "diff-algorithm=myers", self.commits[turn])
            unmerged = {_plain(line.partition(b"\t")[2])
                        for line in self.git("ls-files", "-u", "-z").split(b"\0") if line}
            if done.returncode and unmerged:
                self.git(command, "--abort")
                self.git("clean", "-fdxq")  # it leaves what it had to put under another name
                return unmerged
            if done.returncode:  # nothing is left to take back
                assert b"nothing to commit" in done.stdout or b"is now empty" in done.stderr, done
                self._git(command, "--skip")
        return None


    def _was_a_directory(self, command: str, turn: int) -> bool:
        """Two files, with different modes, in place of one directory: only the default strategy sees that
        their modes are in conflict."""
        sides = [self._modes(f"{self.commits[turn]}{at}") for at in ("~1", "")]
        base, theirs = sides if command == "cherry-pick" else sides[::-1]
        ours = self._modes("HEAD")
        return any(path in ours and ours[path] != mode and any(one.startswith(path + b"/") for one in base)
                   for path, mode in theirs.items())

    def _modes(self, commit: str) -> dict[bytes, bytes]:
        lines = self.git("ls-tree", "-r", "-z", commit).split(b"\0")
        return {line.partition(b"\t")[2]: line[:6] for line in lines if line}


def _plain(path: bytes) -> bytes:
    """Without the suffix of a file that had to make room for a directory."""
    return path.partition(b"~")[0]
