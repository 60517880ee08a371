"""Moving a store between the project and global storage: whole at every moment, whatever kills it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rewind.paths import find_project
from rewind_cli import CHECKOUT, Rewind, differences, git, tree_state

pytestmark = pytest.mark.slow

# The two directories are on one file system here, so the copy is asked for; each copied file takes a moment,
# for the killer to find one.
_MOVE = """
import sys, time
sys.path.insert(0, {source!r})
from rewind.checkpoint.project import move_store as moving
from rewind.controller import Controller
if {copies}:
    moving._rename = lambda old, new, store_id: False
    was = moving._copy_one
    def slowly(*args):
        time.sleep({pause})
        was(*args)
    moving._copy_one = slowly
print("ready", flush=True)
Controller({root!r}).move_store({mode!r})
"""


@pytest.fixture
def stored(rewind: Rewind) -> Rewind:
    git(rewind.project, "init", "-q", home=rewind.home)
    for number in range(8):
        (rewind.project / f"{number}.bin").write_bytes(random.Random(number).randbytes(30_000))
        rewind.init() if number == 0 else rewind.save(f"number {number}")
    return rewind


def move(rewind: Rewind, mode: str, *, copies: bool = True, pause: float = 0.0) -> subprocess.Popen[bytes]:
    code = _MOVE.format(source=str(CHECKOUT / "src"), root=str(rewind.project), mode=mode, copies=copies,
                        pause=pause)
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", code], env=rewind.env,
                               stdout=subprocess.PIPE)
    assert process.stdout and process.stdout.readline() == b"ready\n"
    process.stdout.close()
    return process


def mode_of(rewind: Rewind) -> str:
    found = find_project(str(rewind.project), str(rewind.home / ".rewind"))
    assert found
    return found.mode


def stores(rewind: Rewind) -> list[Path]:
    return [path for path in (rewind.project / ".agent" / "rewind",
                              *(rewind.home / ".rewind" / "storage").glob("*")) if path.is_dir()]


@pytest.mark.parametrize("copies", [False, True], ids=["renamed", "copied"])
def test_a_store_is_moved_there_and_back(stored: Rewind, copies: bool) -> None:
    names, was = stored.names(), tree_state(stored.project)
    for mode in ("project", "global"):
        assert move(stored, mode, copies=copies).wait() == 0
        assert mode_of(stored) == mode and len(stores(stored)) == 1
        assert stored.names() == names and stored.json("validate", "--deep")["ok"] is True
    assert differences(was, tree_state(stored.project)) == {} and not (stored.project / ".agent").exists()
    (stored.project / "0.bin").unlink()
    stored.ok("restore", names[0], "--code-only", "--force")
    assert differences(was, tree_state(stored.project)) == {}


def test_killed_at_any_moment_one_whole_store_is_found(stored: Rewind) -> None:
    names = stored.names()
    chance = random.Random(16)
    killed = 0
    begun = time.monotonic()
    assert move(stored, "project", pause=0.004).wait() == 0
    whole = time.monotonic() - begun
    for number in range(25):
        mode = "project" if mode_of(stored) == "global" else "global"
        process = move(stored, mode, pause=0.004)
        time.sleep(chance.random() * whole)
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        assert stored.names() == names, number
        assert stored.json("validate")["ok"] is True, number
        if number % 5 == 4:
            assert stored.json("validate", "--deep")["ok"] is True, number
            stored.ok("config", "--set", f"storage.mode={mode}")
            assert mode_of(stored) == mode and len(stores(stored)) == 1
            names.insert(0, stored.save(f"after {number}"))
    assert killed > 5, "the test can fail"


def test_a_move_that_was_killed_goes_on_where_it_was(stored: Rewind) -> None:
    process = move(stored, "project", pause=0.05)
    half = stored.project / ".agent" / "rewind"
    while not any(half.glob("checkpoints/*/metadata.json")):
        time.sleep(0.01)
    process.kill()
    process.wait()
    kept = next(half.glob("checkpoints/*/metadata.json"))
    inode = kept.stat().st_ino
    assert mode_of(stored) == "global"
    assert move(stored, "project").wait() == 0
    assert kept.stat().st_ino == inode and mode_of(stored) == "project"


def test_what_is_in_the_way_is_not_touched(stored: Rewind) -> None:
    other = stored.project / ".agent" / "rewind"
    other.mkdir(parents=True)
    (other / "theirs").write_text("theirs")
    assert "something else" in stored.fails(1, "config", "--set", "storage.mode=project")
    assert (other / "theirs").read_text() == "theirs" and mode_of(stored) == "global"


def test_config_moves_and_says_where_to(stored: Rewind) -> None:
    names = stored.names()
    dry = stored.json("config", "--set", "storage.mode=project", "--dry-run")
    assert dry["moved"] is True and mode_of(stored) == "global"
    answer = stored.json("config", "--set", "storage.mode=project")
    assert answer["state"] == str(stored.project / ".agent" / "rewind") and answer["moved"] is True
    assert stored.json("config", "--set", "storage.mode=project")["moved"] is False
    assert stored.names() == names
    stored.fails(1, "config", "--set", "storage.mode=elsewhere")
    stored.fails(2, "config", "--set", "storage.mode=global", "--set", "ignored=all")


def test_a_hook_that_waited_while_the_store_was_moved_saves_into_the_new_one(stored: Rewind) -> None:
    process = move(stored, "project", pause=0.03)
    time.sleep(0.1)
    payload = {"session_id": "s-1", "cwd": str(stored.project), "hook_event_name": "UserPromptSubmit",
               "prompt": "Go on", "prompt_id": "p",
               "transcript_path": str(stored.home / ".claude/projects/-p/s-1.jsonl")}
    entry = CHECKOUT / "src" / "rewind" / "hooks" / "start.py"
    done = subprocess.run([sys.executable, "-I", "-S", str(entry), "user-prompt-submit"], cwd="/",
                          env={**stored.env, "CLAUDECODE": "1"}, input=json.dumps(payload).encode())
    assert process.wait() == 0 and done.returncode == 0
    assert mode_of(stored) == "project" and len(stored.names()) == 9


def test_a_store_of_before_is_offered_the_move(rewind: Rewind) -> None:
    rewind.init("project")
    said = rewind.run("init")
    assert said.code == 0 and "rewind config --set storage.mode=global" in said.err
    rewind.ok("config", "--set", "storage.mode=global")
    assert mode_of(rewind) == "global" and os.listdir(rewind.project / ".agent") == ["rewind-store"]


def test_a_global_store_of_the_version_before_is_found(rewind: Rewind, tmp_path: Path) -> None:
    """It was named by the path, and there was no marker."""
    from rewind.paths import old_global_state

    rewind.init()
    old = Path(old_global_state(str(rewind.project), str(rewind.home / ".rewind")))
    rewind.state.rename(old)
    index = rewind.home / ".rewind" / "known-stores.json"
    data = json.loads(index.read_text())
    for entry in data["stores"].values():
        entry.pop("marked")
    index.write_text(json.dumps(data))
    (rewind.project / ".agent" / "rewind-store").unlink()
    (name,) = rewind.names()
    assert rewind.state == old and (rewind.project / ".agent" / "rewind-store").exists()
    os.rename(rewind.project, tmp_path / "moved")
    assert Rewind(tmp_path / "moved", rewind.home).names() == [name]
