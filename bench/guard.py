"""Measures how well the guard judges lists of shell commands: `python bench/guard.py FILE...`

Each command is run for real in a scratch project, once in each storage mode, and its effect on the store is
compared with the guard's verdict. The author of a list may put "OK " before a command to mark it as harmless.
The mark is ignored, because only the effect counts. After "NL ", each `\\n` in the command is a line end.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from rewind.fast import quickjson
from rewind.hooks.handle import BLOCK, handle

# Lines with programs that a machine may not have: whether they would damage the store (project, global mode).
ABSENT = {"docker run": (True, False), "npx": (True, False), "sudo": (True, False), "fd ": (True, False),
          "rsync -a --delete $HOME": (True, False), "mkdir -p ../fresh": (True, False),
          "OK rsync": (False, False), "OK docker": (False, False), "OK prettier": (False, False),
          "find . -type f -print0 | xargs -0 dos2unix": (False, False)}
DERIVED = ("rewind.log", "lock", "scan-cache.db", "hook-state.json", "session.json", "upkeep")
RECIPE = "clean:\n\tgit clean -fdxq\n"


class Scene:
    """A project with a few checkpoints, made once and copied for each command."""

    def __init__(self, top: Path, mode: str) -> None:
        self.top, self.mode = top / mode, mode
        self.work = self.top / "W"
        self.project = self.work / "guard" / "p"
        self.home = self.work / "home"
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(self.home), "W": str(self.work),
                        "NO_COLOR": "1",
                        "TMPDIR": str(self.work / "tmp"), "GIT_CONFIG_NOSYSTEM": "1", "CLAUDECODE": "1"}
        for name in ("src", "build", "node_modules", "docs"):
            (self.project / name).mkdir(parents=True)
            (self.project / name / "a.py").write_text("a = 1\n")
        for folder in (self.home / ".local", self.work / "guard" / "other", self.work / "tmp"):
            folder.mkdir(parents=True)
        (self.project / "Makefile").write_text(RECIPE)
        (self.project / "package.json").write_text('{"scripts": {"clean": "git clean -fdxq"}}')
        (self.project / ".gitignore").write_text("build\nnode_modules\n")
        self.run("git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -qm first")
        self.rewind("init", "--mode", mode)
        for i in range(3):
            (self.project / "src" / "a.py").write_text(f"a = {i}\n")
            self.rewind("save", f"work {i}")
        self.state = Path(quickjson.loads(self.rewind("status", "--json"))["state"])
        shutil.copytree(self.work, self.top / "first", symlinks=True)
        self.whole = self.store()

    def rewind(self, *words: str) -> str:
        program = str(Path(__file__).parents[1] / "bin" / "rewind")
        done = subprocess.run([sys.executable, program, *words], cwd=self.project, env=self.environ,
                              check=True, capture_output=True, text=True)
        return done.stdout

    def run(self, command: str) -> None:
        try:
            subprocess.run(["bash", "-c", command], cwd=self.project, env=self.environ, timeout=60,
                           check=False, stdin=subprocess.DEVNULL, capture_output=True)
        except subprocess.TimeoutExpired:
            pass

    def store(self) -> dict[str, str]:
        """The files of the state that cannot be made again: content, owner, and whether they are usable."""
        found = {}
        for path in [*self.state.rglob("*"), self.home / ".rewind" / "known-stores.json"]:
            derived = path.name.startswith(DERIVED) or path.name.endswith(("-shm", "-wal"))
            if path.is_file() and not derived:
                status = path.stat()
                usable = status.st_mode & 0o600 == 0o600
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                found[str(path)] = f"{digest} {status.st_uid} {usable}"
        return found

    def damaged(self, command: str) -> bool:
        for start, expected in ABSENT.items():
            if command.startswith(start):
                return expected[self.mode == "global"]
        self.renew()
        self.run(plain(command))
        return self.store() != self.whole

    def renew(self) -> None:
        while self.work.exists():  # a process that a command left running may change files meanwhile
            shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.top / "first", self.work, symlinks=True)

    def stopped(self, command: str) -> bool:
        self.renew()
        text = plain(command).replace("$W", str(self.work))  # an agent's shell does not have this variable
        payload = {"session_id": "s", "cwd": str(self.project), "tool_name": "Bash", "tool_use_id": "t",
                   "hook_event_name": "PreToolUse", "tool_input": {"command": text},
                   "transcript_path": str(self.home / ".claude" / "projects" / "x" / "s.jsonl")}
        os.environ["HOME"] = str(self.home)
        return handle("pre-tool-use", quickjson.dumps(payload).encode(), self.environ).code == BLOCK


def plain(command: str) -> str:
    if command.startswith("NL "):
        return command[3:].replace("\\n", "\n")
    return command.removeprefix("OK ")


def main(files: list[str]) -> None:
    lines = [line for file in files for line in Path(file).read_text().splitlines() if line]
    commands = list(dict.fromkeys(lines))
    with tempfile.TemporaryDirectory() as folder:
        for mode in ("project", "global"):
            report(Scene(Path(folder).resolve(), mode), commands)


def report(scene: Scene, commands: list[str]) -> None:
    rows = [(scene.damaged(command), scene.stopped(command), command) for command in commands]
    harm, fine = [r for r in rows if r[0]], [r for r in rows if not r[0]]
    print(f"{scene.mode}: {len(harm)} of {len(rows)} commands damage the store; the guard stops"
          f" {sum(r[1] for r in harm)} of them, and {sum(r[1] for r in fine)} of the {len(fine)} others")
    for title, wrong in (("not stopped", [r for r in harm if not r[1]]),
                         ("stopped, harmless", [r for r in fine if r[1]])):
        for _, _, command in wrong:
            print(f"  {title}: {command}")


if __name__ == "__main__":
    main(sys.argv[1:])
