"""A small project with all kinds of files and an agent's session, in which faults are tried.

It is made once and kept as a template. For each fault, it is copied to the same absolute path.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Optional

from make_transcripts import place
from rewind_cli import (
    CHECKOUT,
    PROGRAM,
    Rewind,
    Tree,
    clean_env,
    git,
    git_state,
    is_interrupted,
    steps_of,
    tree_state,
)

RECORDED = CHECKOUT / "tests" / "data" / "transcripts" / "claude" / "tui-3-prompts.jsonl"
SESSION = "03809132-3742-4e1e-ac36-ff2672e789df"
PROMPTS = ("49f4028a", "69f9cf2e", "7e1df900")  # the beginnings of the ids of its prompts
LONG_AGO = 1_700_000_000
SETTINGS = """{
    "model": "opus",
    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}
}
"""


class Facts(NamedTuple):
    """The project, the agent's files and the state at one moment."""

    tree: Tree
    git: dict[str, tuple[int, str]]
    names: list[str]
    records: dict[str, bytes]  # the bytes of each metadata.json
    agent: dict[str, bytes]  # every file of the agent's home
    forks: list[str]
    history: dict[str, Any]


class World:
    """`top/project` and `top/home`. `program` may be a copy of the checkout's."""

    def __init__(self, top: Path, program: Path = PROGRAM) -> None:
        self.top = top
        self.project = top / "project"
        self.home = top / "home"
        self.out = top / "out"
        self.template = top.with_name(top.name + ".template")
        self.program = program
        self.rewind = Rewind(self.project, self.home, program=program)
        self.state = self.rewind.state
        self.trees: dict[str, Tree] = {}  # checkpoint -> what a restore of it must give
        self.marks: dict[str, str] = {}  # name in scenarios -> checkpoint or fork
        self.transcript = Path()

    # the history

    def make(self, *, protected: bool = True) -> None:
        for folder in (self.project, self.home, self.out):
            folder.mkdir(parents=True)
        _write(self.home / ".rewind" / "config.json", '{"storage": {"mode": "project"}}')
        (self.home / ".claude").mkdir()
        (self.home / ".claude" / "settings.json").write_text(SETTINGS)
        (self.home / ".claude" / "sessions").mkdir()
        _first_files(self.project, self.home)
        self._talk(0)
        if protected:
            self._make_past()

    def _make_past(self) -> None:
        self.rewind.init()
        self._note("initial")
        self._talk(1)
        _second_files(self.project)
        self.mark("manual", self.rewind.save("after the first turn"))
        self.hook("UserPromptSubmit", prompt=1)
        self._note("second prompt")
        self._talk(2)
        _third_files(self.project)
        self.hook("Stop", prompt=1)
        self.hook("UserPromptSubmit", prompt=2)
        self._note("third prompt")
        self._talk(3)
        _write(self.project / "src" / "app.py", "print('the third turn')\n")
        self.hook("Stop", prompt=2)
        self._note("last")
        self.spoil()

    def spoil(self) -> None:
        """Make changes that no checkpoint holds yet."""
        _write(self.project / "src" / "app.py", "print('not saved')\n" * 50)
        _write(self.project / "fresh.txt", "only here\n")
        _write(self.project / ".env", "SECRET=not saved\n")
        (self.project / "src" / "deep" / "er" / "x.py").unlink(missing_ok=True)
        (self.project / "run.sh").chmod(0o700)

    def mark(self, what: str, name: str) -> None:
        self.marks[what] = name
        self.trees[name] = tree_state(self.project)

    def _note(self, what: str) -> None:
        self.mark(what, self.rewind.names()[0])

    def _talk(self, turns: int) -> None:
        """Write the transcript as the client has written it after this number of turns."""
        lines = RECORDED.read_bytes().replace(b"/home/dev/proj", os.fsencode(self.project)).splitlines(True)
        starts = [at for at, line in enumerate(lines) if b'"promptId":"' in line and b"please" in line
                  and b"tool_use_id" not in line]
        end = starts[turns] if turns < len(starts) else len(lines)
        self.transcript = place(self.home, "claude", self.project, b"".join(lines[:end]), SESSION)
        os.utime(self.transcript, (LONG_AGO, LONG_AGO))

    def droid_session(self) -> None:
        """Add a session of Droid with its settings file."""
        recorded = RECORDED.parents[1] / "droid" / "rpc_multiturn_session.jsonl"
        data = recorded.read_bytes().replace(b"/home/dev/hm/rpc/proj", os.fsencode(self.project))
        session = json.loads(data.splitlines()[0])["id"]
        self.transcript = place(self.home, "droid", self.project, data, session)
        self.transcript.with_suffix(".settings.json").write_text('{"model": "m", "tokenUsage": {}}')
        os.utime(self.transcript, (LONG_AGO, LONG_AGO))
        self.marks["droid"] = session

    # hooks

    def payload(self, event: str, *, prompt: int = 2, **more: Any) -> bytes:
        data = self.transcript.read_bytes()
        ids = [line.split(b'"promptId":"')[1][:36].decode() for line in RECORDED.read_bytes().splitlines()
               if b'"promptId":"' in line]
        found = next(id for id in ids if id.startswith(PROMPTS[prompt]))
        assert data or event == "SessionStart"
        return json.dumps({
            "session_id": SESSION, "transcript_path": str(self.transcript), "cwd": str(self.project),
            "hook_event_name": event, "prompt_id": found, "prompt": "PROMPT please", **more}).encode()

    def hook_command(self, action: str) -> list[str]:
        return ["/bin/sh", str(self.program.with_name("smart-checkpoint")), action]

    @property
    def env(self) -> dict[str, str]:
        return {**clean_env(self.home), "CLAUDE_PROJECT_DIR": str(self.project), "CLAUDECODE": "1",
                "REWIND_PYTHON": sys.executable, "PYTHONDONTWRITEBYTECODE": "1"}

    def hook(self, event: str, prompt: int) -> None:
        action = {"UserPromptSubmit": "user-prompt-submit", "Stop": "stop"}[event]
        done = subprocess.run(self.hook_command(action), input=self.payload(event, prompt=prompt),
                              env=self.env, cwd=self.project, capture_output=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), done

    def wait_for_others(self) -> None:
        """Wait until no process of this world's commands runs in the background. A hook returns before it has
        written everything."""
        end = time.monotonic() + 60
        while os.path.isdir("/proc") and any(_has_home(pid, self.home) for pid in os.listdir("/proc")):
            assert time.monotonic() < end, "a process in the background does not come to its end"
            time.sleep(0.005)

    # the template

    def freeze(self) -> None:
        self.facts = self.look()
        copy(self.top, self.template)

    def thaw(self) -> None:
        self.wait_for_others()
        remove(self.top)
        copy(self.template, self.top)
        self._keep_cache()

    def _keep_cache(self) -> None:
        """A copy of `objects.db` is another file, so Rewind would discard the scan cache. Write the new
        file's number into the cache to keep it."""
        cache, objects = self.state / "scan-cache.db", self.state / "objects.db"
        if cache.exists() and objects.exists():
            with contextlib.closing(sqlite3.connect(cache)) as db, db:
                (owner,) = db.execute("SELECT value FROM facts WHERE key='owner'").fetchone()
                owner = f"{owner.split()[0]} {objects.stat().st_ino}"
                db.execute("UPDATE facts SET value=? WHERE key='owner'", (owner,))

    def remove(self) -> None:
        self.wait_for_others()
        remove(self.top)
        remove(self.template)

    def look(self) -> Facts:
        records = self.state / "checkpoints"
        names = sorted(p.name for p in records.iterdir()) if records.is_dir() else []
        return Facts(
            self._tree(), {f"{folder} {path}": found for folder in (".", "nested")
                           for path, found in git_state(self.project / folder).items()}, names,
            {name: found for name in names if (found := _bytes(records / name / "metadata.json"))},
            {str(p.relative_to(self.home)): p.read_bytes() for p in self._agent_files()},
            [p.name for p in self.forks()], self.history())

    def _tree(self) -> Tree:
        found = tree_state(self.project)
        found.pop(b".agent", None)  # left by an interrupted `init`
        return found

    def _agent_files(self) -> Iterator[Path]:
        tops = (self.home / ".claude", self.home / ".factory")
        return (p for top in tops for p in sorted(top.rglob("*")) if p.is_file())

    def forks(self) -> list[Path]:
        return sorted(p for p in self.transcript.parent.glob("*.jsonl") if p != self.transcript)

    def history(self) -> dict[str, Any]:
        return {"entries": steps_of(self.state), "log": _bytes(self.state / "operations.jsonl")}

    def interrupted(self) -> bool:
        return is_interrupted(self.state)

    def logged(self) -> bytes:
        logs = (self.state / "rewind.log", self.home / ".rewind" / "rewind.log")
        return b"".join(_bytes(log) or b"" for log in logs)

    def leftovers(self) -> list[str]:
        """Rewind's temporary files in all places."""
        found = []
        for at, folders, files in os.walk(os.fsencode(self.top)):
            if b".git" in folders:
                folders.remove(b".git")
            found += [os.path.join(at, name) for name in files if _is_ours(name)]
            if os.path.basename(at) == b"staging" and files:
                found.append(at)
        empty = [os.fsencode(p) for p in (self.state / "checkpoints").glob("*")
                 if not (p / "metadata.json").exists()]
        return [os.fsdecode(p) for p in (*found, *empty)]


def _is_ours(name: bytes) -> bool:
    return (b"rewind-tmp" in name or name.startswith(b"temporary-") or name.endswith((b".tmp", b".part"))
            or b".lock.claim" in name)


def _has_home(pid: str, home: Path) -> bool:
    """Whether a process was started with this home, which only one world uses."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return b"HOME=" + os.fsencode(home) in file.read().split(b"\0")
    except OSError:  # it has ended, or is a process of another user
        return False


def _bytes(path: Path) -> Optional[bytes]:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


# files

def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _first_files(root: Path, home: Path) -> None:
    git(root, "init", "-q", "--template=", home=home)
    _write(root / ".gitignore", ".env\n*.log\nbuild/\n")
    _write(root / "src" / "app.py", "print('first')\n")
    _write(root / "src" / "deep" / "er" / "x.py", "x = 1\n")
    _write(root / "kind", "a file at first\n")
    _write(root / "gone.txt", "only at first\n")
    git(root, "add", ".", home=home)
    git(root, "commit", "-qm", "first", home=home)
    _write(root / ".env", "SECRET=1\n")
    _write(root / "build" / "out.log", "ignored and small\n")
    _write(root / "node_modules" / "x" / "index.js", "never captured\n")
    _write(root / "run.sh", "#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    _write(root / "secret", "for me\n")
    (root / "secret").chmod(0o600)
    (root / "empty").mkdir()
    (root / "link").symlink_to("src/app.py")
    (root / "dangling").symlink_to("nowhere")
    _write(root / "nested" / "inner.txt", "in a repository of its own\n")
    git(root / "nested", "init", "-q", "--template=", home=home)
    _write(root / "locked" / "file", "in a read-only directory\n")
    (root / "locked").chmod(0o555)
    with open(os.path.join(os.fsencode(root), b"not-utf8-\xff"), "wb") as file:
        file.write(b"\x00\xff" * 20_000)


def _second_files(root: Path) -> None:
    _write(root / "src" / "app.py", "print('second')\n")
    _write(root / "new.txt", "came second\n")
    (root / "gone.txt").unlink()
    _write(root / ".env", "SECRET=2\n")


def _third_files(root: Path) -> None:
    (root / "kind").unlink()
    _write(root / "kind" / "inside", "a directory now\n")
    (root / "link").unlink()
    (root / "link").symlink_to("new.txt")
    (root / "empty").rmdir()
    (root / "run.sh").chmod(0o644)
    (root / "locked").chmod(0o755)
    _write(root / "locked" / "file", "changed\n")
    (root / "locked").chmod(0o555)
    _write(root / "src" / "more" / "y.py", "y = 2\n")


# copies

def copy(source: Path, target: Path) -> None:
    subprocess.run(["cp", "-a", "--reflink=auto", str(source), str(target)], check=True)


def remove(path: Path) -> None:
    """Remove a directory, in which a detached process of the last command may still write."""
    for _ in range(50):
        if not path.exists():
            return
        if os.geteuid():
            subprocess.run(["chmod", "-R", "u+rwx", str(path)], check=False)
        shutil.rmtree(path, ignore_errors=True)
        if path.exists():
            time.sleep(0.05)
    raise OSError(f"{path} cannot be removed")


@contextmanager
def quick_place(fallback: Path) -> Iterator[Path]:
    """A directory in memory if possible, because thousands of copies are made and removed."""
    shm = Path("/dev/shm")
    if not os.access(shm, os.W_OK):
        yield fallback
        return
    place = shm / f"rewind-faults-{os.getpid()}"
    place.mkdir(mode=0o700)
    try:
        yield place
    finally:
        remove(place)
