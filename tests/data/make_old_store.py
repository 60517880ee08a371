"""Makes `old-store.tar.gz`: a project with a history as the version before `operations.jsonl` left it.

    python tests/data/make_old_store.py CHECKOUT_OF_67e3dbe tests/data/old-store.tar.gz

In the archive: `project/` with its state, `home/` with one conversation and its forks, and `expected.json`:
the files of each checkpoint and what the last step had replaced. `/old-store` in JSON is where it was made.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

TOP = Path("/tmp/old-store")
WRITTEN_AS = "/old-store"
SESSION = "0b7c1c52-5d0e-4a63-9b8a-2f1d3a6c9e41"


class Old:
    def __init__(self, checkout: Path) -> None:
        self.program = checkout / "bin" / "rewind"
        self.project, self.home = TOP / "project", TOP / "home"
        self.project.mkdir(parents=True)
        self.folder = self.home / ".claude" / "projects" / str(self.project).replace("/", "-")
        self.folder.mkdir(parents=True)
        (self.home / ".claude" / "sessions").mkdir()
        self.transcript = self.folder / f"{SESSION}.jsonl"
        self.expected: dict[str, dict[str, str]] = {}
        self.leaf: Any = None
        self.count = 0

    def run(self, *args: str) -> dict[str, Any]:
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "REWIND_HOME": str(self.home / ".rewind")}
        done = subprocess.run([sys.executable, "-I", "-S", str(self.program), args[0], "--json", *args[1:]],
                              cwd=self.project, env=env, check=True, capture_output=True)
        found = json.loads(done.stdout)
        assert isinstance(found, dict)
        for name in (found.get("backup"), (found.get("code") or {}).get("backup"), found.get("created") and
                     found.get("checkpoint")):
            if name:
                self.expected[name] = self.files
        return found

    def tree(self) -> dict[str, str]:
        return {str(p.relative_to(self.project)): p.read_text() for p in sorted(self.project.rglob("*"))
                if p.is_file() and ".agent" not in p.parts}

    def do(self, *args: str) -> dict[str, Any]:
        self.files = self.tree()
        return self.run(*args)

    def say(self, text: str) -> None:
        for kind, content in (("user", text), ("assistant", [{"type": "text", "text": f"Answer to {text}"}])):
            self.count += 1
            uuid = f"{self.count:08x}-1111-4222-8333-444444444444"
            line = {"parentUuid": self.leaf, "isSidechain": False, "type": kind, "uuid": uuid,
                    "version": "2.1.325", "sessionId": SESSION,
                    "timestamp": f"2026-03-01T10:00:{self.count:02d}.000Z",
                    "message": {"role": kind, "content": content}}
            self.leaf = uuid
            with open(self.transcript, "a") as file:
                file.write(json.dumps(line) + "\n")

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.project / f"{name}.txt").write_text(text)


def make(checkout: Path, out: Path) -> None:
    shutil.rmtree(TOP, ignore_errors=True)
    old = Old(checkout)
    old.write(a="1")
    old.do("init")
    for number in (2, 3, 4):
        old.say(f"prompt {number}")
        old.write(a=str(number), **{f"new{number}": str(number)})
        old.do("save", f"turn {number}")
    second = old.run("list")["checkpoints"][-2]["name"]
    old.write(unsaved="u")
    old.do("restore", second)
    old.write(b="in the fork's future")
    old.do("save", "another branch")
    old.do("undo")
    old.do("redo")
    old.write(c="unsaved, too")
    before = old.tree()
    done = old.do("back", "1", "--both", "--session", SESSION)
    old.run("forks", "rename", done["fork"]["session_id"], "try it so")
    summary = {"checkpoints": old.expected, "before": before, "now": old.tree(),
               "fork": done["fork"]["session_id"],
               "order": [c["name"] for c in old.run("list", "--all")["checkpoints"]]}
    (TOP / "expected.json").write_text(json.dumps(summary, indent=1))
    database = sqlite3.connect(old.project / ".agent" / "rewind" / "objects.db")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    with tarfile.open(out, "w:gz") as archive:
        for path in sorted(TOP.rglob("*")):
            _add(archive, path)
    shutil.rmtree(TOP)


def _add(archive: tarfile.TarFile, path: Path) -> None:
    name = str(path.relative_to(TOP)).replace(str(TOP).replace("/", "-"), "SESSIONS")
    if path.name.endswith(("-wal", "-shm", ".log")) or path.name.startswith("scan-cache"):
        return
    info = archive.gettarinfo(str(path), name)
    info.uid = info.gid = info.mtime = 0
    info.uname = info.gname = ""
    if not path.is_file():
        archive.addfile(info)
        return
    data = path.read_bytes()
    if path.suffix == ".json":
        data = data.replace(str(TOP).encode(), WRITTEN_AS.encode()).replace(
            str(TOP).replace("/", "-").encode(), b"SESSIONS")
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))


if __name__ == "__main__":
    make(Path(sys.argv[1]), Path(sys.argv[2]))
