"""A simulated machine: an empty home, a PATH that the test controls, and agents that call hooks."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

from rewind_cli import CHECKOUT, Result, clean_env

TOOLS = ("sh", "dirname", "cat", "date", "env", "true", "false")
FOREIGN = """{
    "model": "opus",
    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}
}
"""


class Machine:
    def __init__(self, top: Path, home: str = "home") -> None:
        self.top = top
        self.home = top / home
        self.home.mkdir(parents=True)
        self.bin = top / "bin"
        self.bin.mkdir()
        for tool in TOOLS:
            self.bin.joinpath(tool).symlink_to(shutil.which(tool) or f"/bin/{tool}")
        self.add_tool("git")
        self.add_python()
        self.checkout = CHECKOUT
        self.env = {**clean_env(self.home), "PATH": f"{self.home}/.local/bin:{self.bin}"}
        del self.env["REWIND_HOME"]
        self.system = self.home / ".rewind" / "system"
        self.shim = self.system / "smart-checkpoint"
        self.link = self.home / ".local" / "bin" / "rewind"

    def add_tool(self, name: str) -> None:
        found = shutil.which(name)
        if found:
            self.bin.joinpath(name).symlink_to(found)

    def add_python(self, name: str = "python3") -> None:
        """The Python that runs the tests, as a script. A link to it would not find its library."""
        python = self.bin / name
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        python.chmod(0o755)

    # commands

    def run(self, *command: object, cwd: Optional[Path] = None, stdin: bytes = b"",
            env: Optional[dict[str, str]] = None, timeout: float = 120) -> Result:
        done = subprocess.run([str(word) for word in command], cwd=cwd or self.top, input=stdin,
                              env={**self.env, **(env or {})}, capture_output=True, timeout=timeout)
        result = Result(done.returncode, done.stdout.decode("utf-8", "surrogateescape"),
                        done.stderr.decode("utf-8", "surrogateescape"))
        assert "Traceback" not in result.out + result.err, (command, result)
        return result

    def install_sh(self, *options: str, cwd: Optional[Path] = None) -> Result:
        return self.run("/bin/sh", self.checkout / "install.sh", *options, cwd=cwd)

    def installed(self, *options: str) -> Result:
        result = self.install_sh(*options)
        assert result.code == 0, result
        return result

    def rewind(self, *args: object, cwd: Optional[Path] = None) -> Result:
        """The installed command."""
        return self.run(self.link, *args, cwd=cwd)

    def checkout_rewind(self, *args: object, cwd: Optional[Path] = None) -> Result:
        return self.run(sys.executable, "-I", "-S", self.checkout / "bin" / "rewind", *args, cwd=cwd)

    def answering(self, *command: object, answers: list[str], timeout: float = 60) -> Result:
        """Run the command on a terminal, and answer each question that ends with `] `."""
        master, slave = pty.openpty()
        process = subprocess.Popen([str(word) for word in command], cwd=self.top, stdin=slave,
                                   env={**self.env, "NO_COLOR": "1"}, stdout=slave, stderr=slave,
                                   start_new_session=True)
        os.close(slave)
        seen, left, until = "", list(answers), time.monotonic() + timeout
        try:
            for piece in _pieces(master, until):
                seen += piece
                if left and seen.endswith("] "):
                    os.write(master, left.pop(0).encode() + b"\n")
            code = process.wait(max(1.0, until - time.monotonic()))
        finally:
            process.kill()
            process.wait()
            os.close(master)
        assert not left, (seen, left)
        return Result(code, seen, "")

    # another version

    def other_version(self, version: str) -> Machine:
        """The same machine, with a checkout of another version."""
        copy = self.top / f"checkout-{version}"
        if not copy.exists():
            skip = shutil.ignore_patterns("__pycache__")
            shutil.copytree(CHECKOUT / "src", copy / "src", ignore=skip)
            shutil.copytree(CHECKOUT / "bin", copy / "bin", ignore=skip)
            shutil.copy(CHECKOUT / "install.sh", copy / "install.sh")
            file = copy / "src" / "rewind" / "__init__.py"
            file.write_text("".join(f'__version__ = "{version}"\n' if line.startswith("__version__") else line
                                    for line in file.read_text().splitlines(keepends=True)))
        self.checkout = copy
        return self

    # agents

    def has_claude(self, settings: Optional[str] = FOREIGN) -> Path:
        folder = self.home / ".claude"
        folder.mkdir(exist_ok=True)
        if settings is not None:
            (folder / "settings.json").write_text(settings)
        return folder / "settings.json"

    def has_droid(self) -> Path:
        (self.home / ".factory" / "sessions").mkdir(parents=True, exist_ok=True)
        return self.home / ".factory" / "settings.json"

    def git_project(self, name: str = "project") -> Path:
        folder = self.top / name
        folder.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=folder, env=clean_env(self.home), check=True)
        (folder / "app.py").write_text("print(1)\n")
        return folder

    def commands_for(self, settings: Path, event: str) -> list[str]:
        groups = json.loads(settings.read_text())["hooks"].get(event, [])
        return [hook["command"] for group in groups for hook in group["hooks"]
                if "smart-checkpoint" in hook["command"]]

    def prompt(self, project: Path, text: str = "do it", settings: Optional[Path] = None) -> None:
        """Act like Claude Code at UserPromptSubmit: the shell runs the command in its settings."""
        settings = settings or self.home / ".claude" / "settings.json"
        transcript = self.home / ".claude" / "projects" / "-p" / "0b7c1c52-5d0e-4a63-9b8a-2f1d3a6c9e41.jsonl"
        payload = {"session_id": transcript.stem, "transcript_path": str(transcript), "cwd": str(project),
                   "hook_event_name": "UserPromptSubmit", "prompt": text, "prompt_id": text}
        commands = self.commands_for(settings, "UserPromptSubmit")
        assert len(commands) == 1, commands
        done = self.run("/bin/sh", "-c", commands[0], cwd=project, stdin=json.dumps(payload).encode(),
                        env={"CLAUDE_PROJECT_DIR": str(project), "CLAUDECODE": "1"})
        assert (done.code, done.out, done.err) == (0, "", ""), done

    def checkpoints(self, project: Path) -> list[dict[str, Any]]:
        done = self.checkout_rewind("list", "--json", cwd=project)
        assert done.code == 0, done
        return list(done.data["checkpoints"])


def _pieces(master: int, until: float) -> Iterator[str]:
    while time.monotonic() < until:
        if select.select([master], [], [], 0.2)[0]:
            try:
                data = os.read(master, 65536)
            except OSError:
                return  # on Linux, the other end is closed
            if not data:
                return
            yield data.decode("utf-8", "replace").replace("\r\n", "\n")


def everything(folder: Path) -> dict[str, Any]:
    """Every path with its bytes, for a comparison before and after."""
    return {str(path.relative_to(folder)): os.readlink(path) if path.is_symlink()
            else path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}
