"""What must be true after any fault. The checks run in a child process, and so do the next commands, as a
user would type them, without starting Python again."""

from __future__ import annotations

import importlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple, Optional

from fault_points import KILL, Run
from fault_scenarios import Scenario
from fault_world import Facts, World

from hook_scene import wait_for_made
from rewind_cli import Result, differences, tree_state

_STEPS = 6  # no scenario leaves more steps to undo


class Wanted(NamedTuple):
    """The result of the command without a fault."""

    after: Facts
    forks: set[bytes]  # the contents, with each fork's own id replaced
    out: dict[str, bytes]
    home: set[str]


def what_is_wanted(world: World, before: Facts) -> Wanted:
    return Wanted(world.look(), {_anonymous(p) for p in world.forks()},
                  {p.name: p.read_bytes() for p in world.out.iterdir()}, _home(world))


def _anonymous(fork: Path) -> bytes:
    return fork.read_bytes().replace(fork.stem.encode(), b"ID")


def _home(world: World) -> set[str]:
    return {str(p.relative_to(world.home)) for p in world.home.rglob("*") if "__pycache__" not in p.parts}


def load_library() -> None:
    """Import everything in this process, because a child that imports it itself takes twice as long."""
    import rewind

    rooms = ("agents", "config", "store", "transcript", "snapshot", "checkpoint", "hooks", "install", "cli")
    for room in rooms:
        top = Path(rewind.__file__).parent
        for path in sorted((top / room).rglob("*.py")):
            if path.stem not in ("__init__", "tui", "ui", "watch"):
                importlib.import_module(".".join(("rewind", *path.relative_to(top).with_suffix("").parts)))


def check_in_child(world: World, scenario: Scenario, wanted: Wanted, run: Run, fault: str, *, way: int,
                   thorough: bool) -> str:
    """What is wrong, or an empty text. The child inherits the imported library, but no open database."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reading)
        _as_child(writing, Check(world, scenario, wanted, run, fault, way, thorough))
    os.close(writing)
    with open(reading, "rb") as file:
        said = file.read().decode("utf-8", "replace")
    _, status = os.waitpid(pid, 0)
    return said or (f"the check itself ended with {status}" if status else "")


def _as_child(writing: int, check: Check) -> None:
    code = 0
    try:
        check.everything()
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)
        ours = [f"{os.path.basename(f.filename)}:{f.lineno}" for f in frames[-6:]]
        os.write(writing, f"{type(error).__name__}: {error}"[:3000].encode("utf-8", "replace")
                 + f" [{' '.join(ours)}]".encode())
        code = 1
    finally:
        os._exit(code)


class Check:
    def __init__(self, world: World, scenario: Scenario, wanted: Wanted, run: Run, fault: str, way: int,
                 thorough: bool) -> None:
        self.world = world
        self.scenario = scenario
        self.wanted = wanted
        self.run = run
        self.fault = fault
        self.way = way  # odd: repeat the command after the fault; even: undo it
        self.thorough = thorough
        self.before = world.facts
        self.now = world.look()

    @property
    def done(self) -> bool:
        return not self.run.killed and self.run.code == 0

    def everything(self) -> None:
        os.chdir(self.world.project)
        os.environ.clear()
        os.environ.update(self.world.env)
        for key in ("CLAUDE_PROJECT_DIR", "CLAUDECODE"):
            del os.environ[key]
        sys.stdin = open(os.devnull)  # noqa: SIM115
        self.answer()
        self.project()
        self.records()
        self.conversations()
        self.bytes_are_kept()
        if self.done:
            self.complete()
        self.next_command()
        self.settle()
        self.tidy()
        if self.thorough:
            self.every_checkpoint()

    # right after the fault

    def answer(self) -> None:
        """A command prints one error and has a known exit code. A hook prints nothing, except at the start of
        a session, when it may say that the project is not protected."""
        run = self.run
        assert "Traceback" not in run.out + run.err, run
        if run.killed:
            return
        if self.scenario.hook:
            assert (run.code, run.err) == (0, ""), run
            if run.out:
                assert self.scenario.hook == "SessionStart", run
                assert re.fullmatch(r"Rewind: [^\n]+", json.loads(run.out)["systemMessage"]), run
            # On a full disk there is no room for a line in the log either.
            made = self.is_recorded() or self.world.logged() or self.fault in (KILL, "full")
            assert made, "neither a checkpoint nor a line in the log"
            return
        assert run.code in (0, 1, 3, 11, 13), run
        if run.code in (1, 11, 13):
            lines = [line for line in run.err.splitlines() if line.startswith("error: ")]
            assert len(lines) == 1, run

    def is_recorded(self) -> bool:
        return len(self.now.records) >= len(self.wanted.after.records)

    def project(self) -> None:
        before, now, after = self.before.tree, self.now.tree, self.wanted.after.tree
        if not self.scenario.moves:
            assert now == before, ("the project changed", differences(before, now))
        elif now not in (before, after):
            assert self.world.interrupted() or self.run.code == 3, (
                "half restored, and nobody knows", self.run, differences(after, now))
        assert self.now.git == self.before.git, "the user's git repository was touched"

    def records(self) -> None:
        for name, data in self.before.records.items():
            found = self.now.records.get(name)
            kept = found == data or (self._may_go(name) if found is None else (
                self.scenario.collects and _but_for_parent(found) == _but_for_parent(data)))
            assert kept, ("a record is gone or changed", name)

    def _may_go(self, name: str) -> bool:
        return self.scenario.collects and name not in self.wanted.after.names

    def conversations(self) -> None:
        for path, data in self.before.agent.items():
            found = self.now.agent.get(path)
            after = self.wanted.after.agent.get(path)
            if found == data:
                continue
            allowed = self.scenario.rewrites or self.scenario.changes_home or path.endswith(
                tuple(self.before.forks))
            assert allowed and found in (after, data), ("a file of the agent changed", path)
            if path.endswith(".jsonl"):  # a fork that is renamed has its title at the end
                kept = any(one.startswith(data) for one in self._kept_transcripts())
                assert kept, ("a transcript is nowhere any more", path)
        for fork in self.world.forks():
            assert fork.name in self.before.forks or _anonymous(fork) in self.wanted.forks, (
                "a fork that is not complete", fork.name)

    def _kept_transcripts(self) -> list[bytes]:
        state = self.world.state
        tops = (self.world.home, state / "transcript-backup", state / "trash")
        return [p.read_bytes() for top in tops for p in top.rglob("*.jsonl")]

    def bytes_are_kept(self) -> None:
        """The content of each file must be in the project or in a checkpoint."""
        present = {what[3] for what in self.now.tree.values() if what[0] == "file"}
        missing = {path: what[3] for path, what in self.before.tree.items()
                   if what[0] == "file" and what[3] not in present}
        if missing:
            stored = self._stored()
            lost = [path for path, content in missing.items() if content not in stored]
            assert not lost, ("bytes that are nowhere any more", lost)

    def _stored(self) -> set[str]:
        from rewind.checkpoint.records.source import Source
        from rewind.controller import Controller
        from rewind.snapshot.trees.tree import DIR

        controller = Controller(str(self.world.project), forgiving=True)
        found: set[str] = set()
        for record in controller.list_checkpoints(backups=True):
            with Source(controller.state, record) as source:
                todo = [record.tree]
                while todo:
                    for entry in source.tree(todo.pop()).entries.values():
                        if entry.kind == DIR:
                            todo.append(entry.ref)
                        else:
                            found.add(entry.ref.hex())
        controller.close()
        return found

    def complete(self) -> None:
        """The command reported success, so everything must be done."""
        after = self.wanted.after
        if self.scenario.hook:
            return
        assert self.now.tree == after.tree, ("said to be done", differences(after.tree, self.now.tree))
        assert len(self.now.records) == len(after.records), "said to be done, but there is no checkpoint"
        assert len(self.now.forks) == len(after.forks), "said to be done, but there is no fork"
        if "could not be copied" not in self.run.err:
            # The next command removes temporary files.
            there = [path for path in self.now.agent if "rewind-tmp" not in path]
            assert len(there) == len(after.agent), "said to be done, but a file beside it is missing"
        assert not self.world.interrupted()
        mine = str(self.world.transcript.relative_to(self.world.home))
        assert self.now.agent[mine] == after.agent[mine]
        for name, data in self.wanted.out.items():
            assert (self.world.out / name).read_bytes() == data, ("said to be done", name)
        if self.scenario.changes_home:
            missing = self.wanted.home - _home(self.world)
            # Rewind also works without the link or a saved tier. A warning says that they are missing.
            if "could not be made" in self.run.err:
                missing = {path for path in missing if not path.startswith(".local")}
            if "The tier was not saved" in self.run.err:
                missing.discard(".rewind/config.json")
            assert not missing, ("said to be done", sorted(missing)[:5])

    # the next commands

    def call(self, *args: str, codes: Optional[tuple[int, ...]] = (0,)) -> Result:
        from rewind.cli.main import main

        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = main(list(args))
        result = Result(code, out.getvalue(), err.getvalue())
        assert code != 70 and "Traceback" not in result.out + result.err, (args, result)
        assert codes is None or code in codes, (args, result)
        return result

    def next_command(self) -> None:
        if not self.scenario.protected and not (self.world.state / "store.json").exists():
            return
        said = self.call("list", "--all")
        if self.world.interrupted():
            assert "undo-restore" in said.out + said.err, ("nobody says that it was interrupted", said)
        found = self.call("validate", "--deep", "--json", codes=None)
        for problem in found.data["problems"]:
            assert "interrupted" in problem and "`rewind " in problem, problem

    def settle(self) -> None:
        if self.scenario.settles == "event":
            self._next_event()
        elif self.scenario.is_step:
            self._settle_step()
        else:
            self._repeat()
            self._as_wanted()

    def _repeat(self) -> None:
        self.call(*self.scenario.arguments(self.world), codes=self.scenario.again)

    def _as_wanted(self) -> None:
        now, after = self.world.look(), self.wanted.after
        assert now.tree == after.tree, ("repeated", differences(after.tree, now.tree))
        assert len(now.records) >= len(after.records)
        if self.scenario.collects:
            assert now.names == after.names, (now.names, after.names)
        if not self.scenario.is_step:
            assert len(now.forks) == len(after.forks), (now.forks, after.forks)
        for path, data in after.agent.items():
            if path in self.before.agent and not path.endswith(".jsonl"):
                assert now.agent.get(path) == data, path
        for name, data in self.wanted.out.items():
            assert (self.world.out / name).read_bytes() == data, name
        if self.scenario.changes_home:
            assert not self.wanted.home - _home(self.world), sorted(self.wanted.home - _home(self.world))[:5]

    def _settle_step(self) -> None:
        """Finish the step by repeating it, then undo it. Or undo it as it is."""
        steps = len(self.before.history["entries"])
        if self.way % 2 or len(self.world.history()["entries"]) == steps:
            finished = self._finish()
            self._as_wanted()
            if finished and self.run.killed:
                self._chat_as_wanted()
        for _ in range(_STEPS):
            if len(self.world.history()["entries"]) <= steps:
                break
            self.call("undo-restore", "--force")
        now = self.world.look()
        assert now.tree == self.before.tree, ("taken back", differences(self.before.tree, now.tree))
        mine = str(self.world.transcript.relative_to(self.world.home))
        assert now.agent[mine] == self.before.agent[mine], "the transcript did not come back"
        assert not self.world.interrupted()

    def _chat_as_wanted(self) -> None:
        """The conversation must also be restored, and only once."""
        now, after = self.world.look(), self.wanted.after
        assert len(now.forks) == len(after.forks), ("finished", now.forks, after.forks)
        mine = str(self.world.transcript.relative_to(self.world.home))
        assert now.agent[mine] == after.agent[mine], "finished, but the transcript is not as it should be"

    def _finish(self) -> bool:
        """Finish the step as the hint says, with `restore CHECKPOINT`, or repeat the command. Returns False
        if everything was done already."""
        entries = self.world.history()["entries"]
        half_done = entries[-1] if entries and entries[-1].get("in_progress") else None
        if half_done and half_done["checkpoint"] and self.scenario.args[0] in ("back", "undo"):
            self.call("restore", half_done["checkpoint"], "--force")
            return True
        if self.run.code == 3 and self.scenario.rewrites:
            # The conversation is cut already. Only the code of the named checkpoint is missing.
            self.call("restore", entries[-1]["checkpoint"], "--code-only", "--force")
            return True
        now, done = self.world.look(), self.wanted.after.tree
        if now.history != self.before.history and not half_done and now.tree == done:
            return False  # it was killed after everything was done
        self._repeat()
        return True

    def _next_event(self) -> None:
        world = self.world
        done = subprocess.run(world.hook_command("stop"), input=world.payload("Stop", prompt=2, extra="next"),
                              env=world.env, cwd=world.project, capture_output=True, check=False, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), done
        wait_for_made(world.home, world.project)
        assert (world.state / "store.json").exists() or not self.scenario.protected
        if self.scenario.protected:
            assert len(world.look().records) > len(self.before.records), world.logged()

    def tidy(self) -> None:
        """After the next checkpoint, no leftovers remain, and the checkpoint can be restored."""
        if self.scenario.changes_home:
            assert not self.world.leftovers(), self.world.leftovers()
            return
        if not (self.world.state / "store.json").exists():
            self.call("init")
        now = tree_state(self.world.project)
        self.call("save", "afterwards")
        assert tree_state(self.world.project) == now, "a save must not touch the project"
        assert self.call("validate", "--deep", "--json").data["ok"] is True
        assert not self.world.leftovers(), ("left behind", self.world.leftovers())
        self._restores("last", now)

    def _restores(self, name: str, wanted: dict[bytes, tuple[object, ...]]) -> None:
        target = self.world.out / "elsewhere"
        self.call("restore", name, "--to", str(target))
        found = tree_state(target)
        uncovered = [path for path in wanted if path.startswith((b"node_modules", b"huge.log"))
                     and path not in found]
        assert differences({p: w for p, w in wanted.items() if p not in uncovered}, found) == {}, name
        shutil.rmtree(target)

    def every_checkpoint(self) -> None:
        there = self.world.look().names
        for name, tree in self.world.trees.items():
            if name in there:
                self._restores(name, tree)


def _but_for_parent(record: bytes) -> dict[str, object]:
    """A record without its parent. When a collection removes a checkpoint, its children get its parent."""
    data = dict(json.loads(record))
    return {key: value for key, value in data.items() if key not in ("parent", "check")}
