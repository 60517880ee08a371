"""Runs Rewind as a user does, as a real process, and describes directories so that they can be compared."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

from forked import run_forked

CHECKOUT = Path(__file__).resolve().parents[1]
PROGRAM = CHECKOUT / "bin" / "rewind"
NOBODY = 65534
STATE = os.path.join(".agent", "rewind")

# What is at each path. Two directories with equal descriptions have equal contents.
Tree = dict[bytes, tuple[Any, ...]]
Arg = Union[str, bytes, Path]

_COMMAND = [sys.executable, "-I", "-S", str(PROGRAM)]
_BECOME_NOBODY = (
    f"import os, sys; os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY});"
    " os.execv(sys.argv[1], sys.argv[1:])"
)


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def data(self) -> dict[str, Any]:
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


def clean_env(home: Path) -> dict[str, str]:
    """An environment without the settings of the person who runs the tests."""
    kept = {k: v for k, v in os.environ.items()
            if not k.startswith(("REWIND_", "GIT_", "CLAUDE", "FACTORY", "PYTHON", "XDG_"))}
    return {**kept, "HOME": str(home), "REWIND_HOME": str(home / ".rewind"), "LC_ALL": "C.UTF-8",
            "GIT_CONFIG_GLOBAL": str(home / "gitconfig"), "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com",
            "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com",
            "GIT_OPTIONAL_LOCKS": "0"}


class Rewind:
    """The program in one project. It must never show a traceback."""

    def __init__(self, project: Path, home: Path, prefix: Optional[list[str]] = None,
                 program: Path = PROGRAM) -> None:
        self.project = project
        self.home = home
        self.env = clean_env(home)
        self._state: Optional[Path] = None
        self.command = [*(prefix or [sys.executable]), "-I", "-S", str(program)]

    @property
    def state(self) -> Path:
        """The state directory, or the last known one. Before there is one, the usual directory in the
        project."""
        self._state = state_of(self.project, self.home, self._state)
        return self._state

    def run(self, *args: Arg, env: Optional[Mapping[str, str]] = None,
            cwd: Optional[Path] = None, timeout: float = 120) -> Result:
        done = self._forked(args, env or {}, cwd or self.project, timeout) or subprocess.run(
            [*self.command, *args], cwd=cwd or self.project, env={**self.env, **(env or {})},
            stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)
        result = Result(done.returncode, done.stdout.decode("utf-8", "surrogateescape"),
                        done.stderr.decode("utf-8", "surrogateescape"))
        assert "Traceback" not in result.out + result.err, (args, result)
        assert result.code >= 0 and result.code != 70, (args, result)
        return result

    def _forked(self, args: tuple[Arg, ...], changed: Mapping[str, str], cwd: Path,
                timeout: float) -> Optional[subprocess.CompletedProcess[bytes]]:
        if self.command != _COMMAND:
            return None
        return run_forked(PROGRAM, [os.fsdecode(arg) for arg in args], {**self.env, **changed}, changed, cwd,
                          timeout)

    def ok(self, *args: Arg) -> Result:
        result = self.run(*args)
        assert result.code == 0, (args, result)
        return result

    def json(self, command: str, *args: Arg, code: int = 0) -> dict[str, Any]:
        result = self.run(command, "--json", *args)
        assert result.code == code, (command, args, result)
        return result.data

    def fails(self, code: int, *args: Arg, hint: Optional[str] = None) -> str:
        """The command must fail with this code, one error line and a hint. Returns the error line."""
        human = self.run(*args)
        assert human.code == code, (args, human)
        lines = human.err.splitlines()
        errors = [line for line in lines if line.startswith("error: ")]
        assert len(errors) == 1, (args, human)
        assert any(line.startswith("hint: ") for line in lines), (args, human)
        if hint is not None:
            assert hint in human.err, (args, human)
        return errors[0]

    def fails_with_json(self, code: int, command: str, *args: Arg) -> dict[str, Any]:
        result = self.run(command, "--json", *args)
        assert result.code == code, (command, args, result)
        error = json.loads(result.err)["error"]
        assert error["exitCode"] == code and error["message"] and error["code"], error
        assert isinstance(error["hint"], str), error
        assert result.out.strip() == "", result
        return dict(error)

    def init(self, mode: str = "") -> None:
        self.ok("init", *(["--mode", mode] if mode else []))

    def save(self, description: str = "saved by a test") -> str:
        return str(self.json("save", description)["checkpoint"])

    def names(self, *, backups: bool = False) -> list[str]:
        found = self.json("list", *(["--all"] if backups else []))["checkpoints"]
        return [str(c["name"]) for c in found]

    def plan(self, name: str) -> dict[str, Any]:
        plan = self.json("restore", name, "--dry-run")
        assert plan["dryRun"] is True
        return plan


def state_of(project: Path, home: Path, last: Optional[Path] = None) -> Path:
    from rewind.errors import RewindError
    from rewind.paths import open_project

    try:
        found = open_project(str(project), str(home / ".rewind"))
    except (OSError, RewindError):
        found = None
    return Path(found.state) if found else last or project / STATE


def steps_of(state: Path) -> list[dict[str, Any]]:
    """The steps that are not undone, oldest first, including an interrupted redo."""
    from rewind.checkpoint.operation_log.operations import FILE, Operations

    operations = Operations(str(state / FILE), "main")
    half_done = operations.interrupted()
    return [{"checkpoint": op.checkpoint, "in_progress": op is half_done} for op in operations.undoable()]


def is_interrupted(state: Path) -> bool:
    from rewind.checkpoint.operation_log.operations import FILE, Operations

    return Operations(str(state / FILE), "main").interrupted() is not None


def interrupt(state: Path) -> None:
    """Make the last operation look as if its process was killed before its end."""
    log = state / "operations.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    assert json.loads(lines[-1])["event"] == "end"
    log.write_bytes(b"".join(lines[:-1]))


def paths_of(items: list[dict[str, Any]]) -> set[bytes]:
    """The paths in a list of a JSON answer (`written`, `deleted`, `kept`, …)."""
    import base64

    return {base64.b64decode(i["path_b64"]) if "path_b64" in i else i["path"].encode()
            for i in items}


# descriptions of directories

def tree_state(folder: Union[Path, bytes]) -> Tree:
    """What is at every path, without `.git` directories and Rewind's own state."""
    top = os.fsencode(folder)
    return dict(_entries(top, b""))


def _entries(top: bytes, below: bytes) -> Iterator[tuple[bytes, tuple[Any, ...]]]:
    for name in sorted(os.listdir(os.path.join(top, below))):
        path = os.path.join(below, name)
        if name == b".git" or path in (os.fsencode(STATE), b".agent/rewind-store"):
            continue
        if path == b".agent" and os.listdir(os.path.join(top, path)) in ([], [b"rewind"], [b"rewind-store"]):
            continue  # made by `init`, not by the user
        full = os.path.join(top, path)
        info = os.lstat(full)
        mode = stat.S_IMODE(info.st_mode)
        if stat.S_ISLNK(info.st_mode):
            yield path, ("link", os.readlink(full))
        elif stat.S_ISDIR(info.st_mode):
            yield path, ("dir", oct(mode))
            yield from _entries(top, path)
        elif stat.S_ISREG(info.st_mode):
            yield path, ("file", oct(mode), info.st_size, _hash(full))
        else:
            yield path, ("other", oct(info.st_mode))


def _hash(path: bytes) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def differences(was: Tree, now: Tree) -> dict[bytes, tuple[Any, Any]]:
    """Only the paths that differ, so that a failure is easy to read."""
    return {p: (was.get(p), now.get(p)) for p in sorted({*was, *now}) if was.get(p) != now.get(p)}


def mtimes(folder: Path) -> dict[bytes, int]:
    top = os.fsencode(folder)
    return {path: os.lstat(os.path.join(top, path)).st_mtime_ns for path in tree_state(top)}


# git

def git(folder: Path, *args: Arg, home: Path) -> str:
    done = subprocess.run(["git", *args], cwd=folder, env=clean_env(home), check=True,
                          stdin=subprocess.DEVNULL, capture_output=True)
    return done.stdout.decode("utf-8", "surrogateescape")


def git_state(folder: Path) -> dict[str, tuple[int, str]]:
    """The time and hash of every file below `.git`, except Rewind's marker. None of them may change."""
    found = {}
    for at, _, files in os.walk(folder / ".git"):
        for name in files:
            if name == "rewind-store":
                continue
            path = os.path.join(at, name)
            info = os.lstat(path)
            found[os.path.relpath(path, folder)] = (info.st_mtime_ns, _hash(os.fsencode(path)))
    return found


def git_status(folder: Path, home: Path) -> str:
    return git(folder, "status", "--porcelain=v2", "-z", "--untracked-files=all", home=home)


# a user who is not root, so that permissions matter

def _reachable(prefix: list[str], program: Path) -> bool:
    probe = ("import sys, sqlite3; assert sys.version_info >= (3, 9);"
             " sys.path.insert(0, sys.argv[1]); import rewind.errors")
    source = str(program.parent.parent / "src")
    return subprocess.run([*prefix, "-I", "-S", "-c", probe, source], cwd="/",
                          capture_output=True).returncode == 0


@contextmanager
def as_ordinary_user(program: Path) -> Iterator[Optional[Rewind]]:
    """Rewind run by a user who is not root, in a project that this user owns. Yields None if that is
    impossible. The program is a copy, because another user may not be allowed to read the checkout."""
    top = Path(tempfile.mkdtemp(prefix="rewind-test-")).resolve()
    try:
        project, home = top / "project", top / "home"
        project.mkdir()
        home.mkdir()
        if os.geteuid() != 0:
            yield Rewind(project, home)
            return
        top.chmod(0o755)
        for folder in (project, home):
            os.chown(folder, NOBODY, NOBODY)
        yield next((Rewind(project, home, prefix, program) for prefix in _nobody_prefixes()
                    if _reachable(prefix, program)), None)
    finally:
        _force_remove(top)


def _nobody_prefixes() -> list[list[str]]:
    pythons = [sys.executable, os.path.realpath(sys.executable), "/usr/bin/python3",
               "/usr/local/bin/python3"]
    return [[sys.executable, "-I", "-S", "-c", _BECOME_NOBODY, python]
            for python in dict.fromkeys(pythons) if os.path.exists(python)]


def chown_all(folder: Path, uid: int = NOBODY) -> None:
    """Give files that a test made as root to the ordinary user."""
    if os.geteuid() == 0:
        for at, dirs, files in os.walk(folder):
            for name in (*dirs, *files):
                os.chown(os.path.join(at, name), uid, uid, follow_symlinks=False)


def _force_remove(top: Path) -> None:
    for at, dirs, _ in os.walk(top):
        for name in dirs:
            path = os.path.join(at, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)
    shutil.rmtree(top)
