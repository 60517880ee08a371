"""A push that is killed loses nothing, and two at once do not meet."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from pathlib import Path

import pytest

from rewind_cli import Rewind, git

pytestmark = pytest.mark.slow  # many processes of git


@pytest.fixture
def bare(tmp_path: Path, home: Path) -> Path:
    git(tmp_path, "init", "-q", "--bare", str(tmp_path / "bare.git"), home=home)
    return tmp_path / "bare.git"


@pytest.fixture
def here(project: Path, home: Path, bare: Path) -> Rewind:
    rewind = Rewind(project, home)
    for n in range(300):
        (project / f"file{n}.py").write_text(f"value = {n}\n" * 20)
    rewind.init()
    rewind.ok("remote", "add", "origin", str(bare))
    return rewind


def start(rewind: Rewind) -> subprocess.Popen[bytes]:
    quiet = subprocess.DEVNULL
    return subprocess.Popen([*rewind.command, "push"], cwd=rewind.project, env=rewind.env,
                            start_new_session=True, stdin=quiet, stdout=quiet, stderr=quiet)


def commits(bare: Path, home: Path) -> int:
    return int(git(bare, "rev-list", "--all", "--count", home=home))


@pytest.mark.parametrize("seed", range(3))
def test_killed_at_any_moment_the_next_push_sends_the_rest(here: Rewind, bare: Path, seed: int) -> None:
    chance = random.Random(seed)
    for n in range(4):
        (here.project / "file1.py").write_text(f"changed {n}\n")
        here.save(f"change {n}")
        process = start(here)
        try:
            process.wait(chance.uniform(0.05, 1.5))
        except subprocess.TimeoutExpired:
            # Once with git, and once so that git goes on without Rewind.
            (os.killpg if n % 2 else os.kill)(process.pid, signal.SIGKILL)
            process.wait()
    here.ok("push")
    assert commits(bare, here.home) == 5
    for repository in (bare, here.state / "remote.git"):
        git(repository, "fsck", "--strict", "--full", home=here.home)
    assert here.json("remote", "status")["remotes"][0]["notPushed"] == 0


def test_what_a_killed_git_left_is_swept_away(here: Rewind, bare: Path) -> None:
    here.ok("push")
    ours = here.state / "remote.git"
    writer = json.loads((here.state / "remotes.json").read_text())["writer"]
    left = [ours / f"refs/rewind/{writer}/checkpoints.lock", ours / "objects/pack/tmp_pack_x",
            ours / "packed-refs.lock", ours / "fast_import_crash_1",
            here.state / "remote.git.incoming-999999999-ab/HEAD"]
    alive = here.state / f"remote.git.incoming-{os.getpid()}-ab"  # of a process that downloads
    alive.mkdir()
    for path in left:
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    (here.project / "file1.py").write_text("changed\n")
    here.save()
    assert here.json("push")["checkpoints"] == 1
    assert not [path for path in left if path.exists()] and alive.exists()


def test_loose_objects_of_many_pushes_are_packed_and_nothing_is_lost(here: Rewind, bare: Path) -> None:
    here.ok("push")
    ours = here.state / "remote.git" / "objects"
    assert list(ours.glob("??/*")) or list(ours.glob("pack/*.pack"))
    names = "\n".join(str(ours.parent / "many" / f"{n}") for n in range(3000))
    (ours.parent / "many").mkdir()
    for n in range(3000):
        (ours.parent / "many" / f"{n}").write_text(f"content {n}\n")
    subprocess.run(["git", "hash-object", "-w", "--stdin-paths"], cwd=ours.parent, input=names.encode(),
                   check=True, stdout=subprocess.DEVNULL, env=here.env)
    (here.project / "file1.py").write_text("changed\n")
    here.save()
    here.ok("push")
    reachable = git(ours.parent, "rev-list", "--all", "--objects", home=here.home).split("\n")
    assert not [line for line in reachable if line and (ours / line[:2] / line[2:40]).exists()]
    git(ours.parent, "fsck", "--full", home=here.home)


def test_two_projects_push_to_one_remote_at_once(here: Rewind, bare: Path, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    other = Rewind(folder, here.home)
    other.init()
    other.ok("remote", "add", "origin", str(bare))
    for n in range(3):
        for rewind in (here, other):
            (rewind.project / "a.txt").write_text(f"{n}\n")
            rewind.save()
        assert [process.wait() for process in [start(here), start(other)]] == [0, 0]
    assert commits(bare, here.home) == 8
    assert here.json("pull")["checkpoints"] == 4 and other.json("pull")["checkpoints"] == 4
    git(bare, "fsck", "--strict", "--full", home=here.home)


def test_two_pushes_of_one_project_at_once_take_turns(here: Rewind, bare: Path) -> None:
    assert [process.wait() for process in [start(here), start(here)]] == [0, 0]
    assert commits(bare, here.home) == 1
