"""Agents in every work tree of one repository. Their hooks are real processes that start at the same
moment."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Optional

from hook_scene import entry_command, wait_for_late
from rewind_cli import Rewind, clean_env, git, tree_state

TREES = ("main", "one", "two", "three")


class Crowd:
    """A protected repository with three linked work trees, two beside it and one inside. Each has different
    changes."""

    def __init__(self, rewind: Rewind, files: int = 40, hook: Optional[list[str]] = None) -> None:
        self.rewind = rewind
        self.hook = hook or [str(part) for part in entry_command("user-prompt-submit")]
        main = rewind.project
        for number in range(files):
            (main / f"d{number % 20}").mkdir(exist_ok=True)
            (main / f"d{number % 20}" / f"{number}.txt").write_text(f"{number}\n" * 30)
        (main / ".gitignore").write_text("/.trees\n")
        git(main, "init", "-q", home=rewind.home)
        git(main, "add", "-A", home=rewind.home)
        git(main, "commit", "-qm", "one", home=rewind.home)
        rewind.init()
        self.trees = {"main": main, "one": main.parent / "one", "two": main.parent / "two",
                      "three": main / ".trees" / "three"}
        for name, tree in self.trees.items():
            if name != "main":
                git(main, "worktree", "add", "-q", str(tree), home=rewind.home)
            self.change(name, "first")
            assert rewind.run("save", "first", cwd=tree).code == 0  # Rewind now knows this work tree

    def change(self, name: str, text: str) -> None:
        tree = self.trees[name]
        for number in range(5):
            (tree / f"d{number}" / f"{number}.txt").write_text(f"{text} in {name} {number}\n")
        (tree / f"only-in-{name}.txt").write_text(f"{text}\n")

    def files(self, name: str) -> dict[bytes, tuple[Any, ...]]:
        return files_in(self.trees[name])

    def prompts_of(self, name: str, count: int) -> list[str]:
        return [f"{name} {number}" for number in range(count) if TREES[number % len(TREES)] == name]

    def fire(self, count: int) -> list[float]:
        """Send `count` prompts at once, to all work trees in turn, and wait for their checkpoints. Returns
        how long each hook took, in seconds."""
        env, began, took = self._env(), {}, []
        for number in range(count):
            name = TREES[number % len(TREES)]
            with self._payload(name, number) as payload:
                hook = subprocess.Popen(self.hook, stdin=payload, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, cwd=self.trees[name], env=env)
            began[hook.pid] = time.monotonic(), hook
        while began:
            pid, status = os.wait()
            if pid not in began:
                continue  # the process that saved for a hook of an earlier test
            at, hook = began.pop(pid)
            took.append(time.monotonic() - at)
            hook.returncode = os.waitstatus_to_exitcode(status)
            assert hook.returncode == 0
        for tree in self.trees.values():
            wait_for_late(self.rewind, tree)
        return took

    def _env(self) -> dict[str, str]:
        return {**clean_env(self.rewind.home), "CLAUDECODE": "1", "CLAUDE_PID": str(os.getpid()),
                "CLAUDE_PROJECT_DIR": str(self.rewind.project)}

    def _payload(self, name: str, number: int) -> Any:
        transcript = self.rewind.home / ".claude" / "projects" / "-p" / f"{name}.jsonl"
        file = tempfile.TemporaryFile()  # noqa: SIM115
        file.write(json.dumps({"session_id": f"session-{name}", "cwd": str(self.trees[name]),
                               "hook_event_name": "UserPromptSubmit", "transcript_path": str(transcript),
                               "prompt": f"{name} {number}", "prompt_id": f"{name} {number}"}).encode())
        file.seek(0)
        return file

    # the result

    def prompts(self, name: str) -> list[str]:
        """The prompts for which this work tree has a checkpoint."""
        return [str(record["trigger"]["promptId"]) for record in self.records(name)]

    def records(self, name: str) -> list[dict[str, Any]]:
        state = self.rewind.state / "checkpoints"
        found = (json.loads(path.read_text()) for path in state.glob("*/metadata.json"))
        return [record for record in found if record["place"] == name
                and record["trigger"].get("event") == "UserPromptSubmit"]

    def content(self, record: dict[str, Any], folder: Path) -> dict[bytes, tuple[Any, ...]]:
        target = folder / record["name"]
        tree = self.trees[record["place"]]
        done = self.rewind.run("restore", record["name"], "--to", str(target), cwd=tree)
        assert done.code == 0, done
        return files_in(target)

    def late(self) -> int:
        return sum(record["trigger"].get("late") is True for name in TREES for record in self.records(name))

    def trees_of(self, name: str) -> set[str]:
        """The trees of this work tree's checkpoints. There is one, because no file changed meanwhile."""
        return {str(record["code"]["tree"]) for record in self.records(name)}

    def numbers(self) -> list[int]:
        state = self.rewind.state / "checkpoints"
        return sorted(json.loads(path.read_text())["sequence"] for path in state.glob("*/metadata.json"))


def files_in(tree: Path) -> dict[bytes, tuple[Any, ...]]:
    return {path: what for path, what in tree_state(tree).items()
            if not path.startswith((b".git/", b".trees")) and path != b".git"}
