"""The torture tree: a small project that is hard to restore, with things that tools lose and damage to
each."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional

Change = Callable[[bytes], object]
# What is at each path. If two of these are equal, nothing was lost.
Contents = dict[bytes, tuple[object, ...]]

LONG_AGO = 1_500_000_000
LARGE = 3 << 20


@dataclass(frozen=True)
class Property:
    """Something that a restore should bring back. If `tracked`, it is committed to the user's repository.
    `look` replaces the usual comparison of kind, mode and content."""

    name: str
    what: str
    make: Change
    damage: Change
    paths: tuple[bytes, ...]
    tracked: bool = False
    look: Optional[Callable[[bytes], tuple[object, ...]]] = None


def contents(root: bytes, prop: Property) -> Contents:
    look = prop.look or _kind_mode_content
    found: Contents = {}
    for path in prop.paths:
        full = os.path.join(root, path)
        found[path] = look(full)
        if prop.look is None and os.path.isdir(full) and not os.path.islink(full):
            found.update(_inside(full))
    return found


def build(root: Path, properties: list[Property], env: dict[str, str]) -> None:
    """Make the tree in a git repository of the user's, and commit the tracked part."""
    root.mkdir()
    raw = os.fsencode(root)
    (root / "README.md").write_text("A project.\n")
    (root / ".gitignore").write_text("*.ignored\nignored/\n.env\n")
    _git(root, env, "init", "-q")
    for prop in properties:
        if prop.tracked:
            prop.make(raw)
    _git(root, env, "add", "-A")
    _git(root, env, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "-m", "Start")
    for prop in properties:
        if not prop.tracked:
            prop.make(raw)


def _git(root: Path, env: dict[str, str], *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, env=env, check=True, capture_output=True)


def _write(path: bytes, text: bytes, mode: int = 0o644) -> Change:
    def change(root: bytes) -> None:
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as file:
            file.write(text)
        os.chmod(full, mode)

    return change


def _all(*changes: Change) -> Change:
    def change(root: bytes) -> None:
        for one in changes:
            one(root)

    return change


def _mode(path: bytes, mode: int) -> Change:
    return lambda root: os.chmod(os.path.join(root, path), mode)


def _remove(path: bytes) -> Change:
    def change(root: bytes) -> None:
        # A command in a shell, so that no tool of an agent knows about it.
        subprocess.run([b"rm", b"-rf", b"--", os.path.join(root, path)], check=True)

    return change


def _link(path: bytes, target: bytes) -> Change:
    def change(root: bytes) -> None:
        full = os.path.join(root, path)
        if os.path.lexists(full):
            os.unlink(full)
        os.symlink(target, full)

    return change


def _age(path: bytes) -> Change:
    return lambda root: os.utime(os.path.join(root, path), (LONG_AGO, LONG_AGO))


def _folder(path: bytes) -> Change:
    return lambda root: os.makedirs(os.path.join(root, path))


def _nested(root: bytes) -> None:
    """A repository inside the project, with a committed file, a changed one and a new one."""
    inner = os.path.join(root, b"nested")
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for path in (b"kept.txt", b"dirty.txt"):
        _write(path, b"committed\n")(inner)
    where = Path(os.fsdecode(inner))
    _git(where, env, "init", "-q")
    _git(where, env, "add", "-A")
    _git(where, env, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "-m", "Inner")
    _write(b"dirty.txt", b"changed, not committed\n")(inner)
    _write(b"new.txt", b"not added\n")(inner)


def _become_folder(root: bytes) -> None:
    full = os.path.join(root, b"kind.txt")
    os.unlink(full)
    os.makedirs(full)
    _write(b"kind.txt/inside.txt", b"in the way\n")(root)


def _kind_mode_content(full: bytes) -> tuple[object, ...]:
    try:
        info = os.lstat(full)
    except (FileNotFoundError, NotADirectoryError):
        return ("nothing",)
    if stat.S_ISLNK(info.st_mode):
        return ("link", os.readlink(full))
    if stat.S_ISDIR(info.st_mode):
        return ("folder", stat.S_IMODE(info.st_mode))
    with open(full, "rb") as file:
        return ("file", stat.S_IMODE(info.st_mode), hashlib.sha256(file.read()).hexdigest())


def _inside(folder: bytes) -> Contents:
    found: Contents = {}
    for at, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != b".git"]
        for name in [*folders, *names]:
            full = os.path.join(at, name)
            found[os.path.relpath(full, os.path.dirname(folder))] = _kind_mode_content(full)
    return found


def _identity(full: bytes) -> tuple[object, ...]:
    info = os.stat(full)
    return (info.st_ino, info.st_mtime_ns)


def _modified_at(full: bytes) -> tuple[object, ...]:
    return (int(os.stat(full).st_mtime),)


def _repository(full: bytes) -> tuple[object, ...]:
    """Git's own files in the user's `.git`, with their content. Files that a tool adds do not count."""
    found = []
    for at, _, names in os.walk(full):
        for name in names if at != full else _GITS_OWN.intersection(names):
            path = os.path.join(at, name)
            with open(path, "rb") as file:
                found.append((os.path.relpath(path, full), hashlib.sha256(file.read()).hexdigest()))
    return tuple(sorted(found))


def _do_nothing(root: bytes) -> None:
    pass


# Git's own files at the top of its directory. Everything in the directories below is git's.
_GITS_OWN = {b"HEAD", b"config", b"description", b"index", b"packed-refs", b"ORIG_HEAD", b"FETCH_HEAD",
             b"MERGE_HEAD", b"COMMIT_EDITMSG", b"shallow"}
_LATIN, _LINE = b"caf\xe9.txt", b"two\nlines.txt"
_A, _B = b"as it was\n", b"damaged by an agent\n"

PROPERTIES = [
    Property("edited", "tracked file edited", _write(b"a.txt", _A), _write(b"a.txt", _B), (b"a.txt",), True),
    Property("untracked", "untracked file edited", _write(b"new/u.txt", _A), _write(b"new/u.txt", _B),
             (b"new/u.txt",)),
    Property("deleted", "tracked file deleted by a shell command", _write(b"gone/t.txt", _A),
             _remove(b"gone"), (b"gone/t.txt",), True),
    Property("deleted-new", "untracked file deleted by a shell command", _write(b"lost/u.txt", _A),
             _remove(b"lost"), (b"lost/u.txt",)),
    Property("created", "file made since is gone again", _do_nothing, _write(b"later/l.txt", _B),
             (b"later/l.txt",)),
    Property("ignored", "git-ignored file edited", _write(b".env", b"KEY=old\n"), _write(b".env", b"KEY=\n"),
             (b".env",)),
    Property("ignored-gone", "git-ignored file deleted", _write(b"db.ignored", _A), _remove(b"db.ignored"),
             (b"db.ignored",)),
    Property("nested", "nested repository: edited, deleted", _nested,
             _all(_write(b"nested/kept.txt", _B), _write(b"nested/dirty.txt", _B),
                  _remove(b"nested/new.txt")), (b"nested",)),
    Property("empty", "empty directory removed", _folder(b"empty"), _remove(b"empty"), (b"empty",)),
    Property("executable", "executable bit taken away", _write(b"run.sh", _A, 0o755), _mode(b"run.sh", 0o644),
             (b"run.sh",), True),
    Property("mode", "odd mode (0600) changed", _write(b"key.pem", _A, 0o600), _mode(b"key.pem", 0o644),
             (b"key.pem",)),
    Property("link", "symbolic link pointed elsewhere", _link(b"link", b"README.md"),
             _link(b"link", b"a/b/c"), (b"link",), True),
    Property("kind", "file replaced by a directory", _write(b"kind.txt", _A), _become_folder,
             (b"kind.txt",), True),
    Property("newline", "name with a line end in it, edited", _write(_LINE, _A), _write(_LINE, _B), (_LINE,)),
    Property("latin", "name that is not UTF-8, edited", _write(_LATIN, _A), _write(_LATIN, _B), (_LATIN,)),
    Property("large", "untracked file of 3 MB cut short",
             _write(b"large.bin", bytes(range(256)) * (LARGE >> 8)), _write(b"large.bin", b""),
             (b"large.bin",)),
    Property("mtime", "the edited file has its old time again",
             _all(_write(b"old.txt", _A), _age(b"old.txt")), _write(b"old.txt", _B),
             (b"old.txt",), True, _modified_at),
    Property("untouched", "a file that nobody touched is not written again", _write(b"still.txt", _A),
             _do_nothing, (b"still.txt",), True, _identity),
    Property("git", "HEAD, index, refs and objects of the user are as they were", _do_nothing, _do_nothing,
             (b".git",), True, _repository),
]


def supported(scratch: Path) -> list[Property]:
    """Those that the file system here supports. Some do not have names that are not UTF-8, for example."""
    found = []
    for prop in PROPERTIES:
        scratch.mkdir()
        try:
            prop.make(os.fsencode(scratch))
        except OSError:
            continue
        else:
            found.append(prop)
        finally:
            shutil.rmtree(scratch)
    return found
