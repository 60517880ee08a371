"""An agent that tries to get at the checkpoints.

The guard's tables are in `hooks/test_guard.py` (links, ancestors, `git clean`, wrappers, wildcards), and what
it cannot see in `docs/guard.md`. Here: what the store does when somebody got through all the same.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cli.conftest import InProcess, cli, two  # noqa: F401
from rewind.hooks.guard import Guard
from rewind_cli import differences, tree_state

EVIL = b"# evil\n"


@pytest.fixture(autouse=True)
def in_project(home: Path) -> None:
    """The store in the project: there an agent can get at it most easily."""
    (home / ".rewind").mkdir()
    (home / ".rewind" / "config.json").write_text('{"storage": {"mode": "project"}}')


def guard(rewind: InProcess) -> Guard:
    return Guard(str(rewind.project), str(rewind.state), str(rewind.home / ".rewind"))


@pytest.mark.parametrize("command", [
    "rm -rf @", "mv @ /tmp/gone", "cp evil.db @/objects.db", "ln -f evil @/objects.db",
    "ln -s @ r && rm -rf r/objects.db", "echo x > @/store.json", "cd @/.. && rm -rf ./*",
    "truncate -s 0 @/objects.db", "dd if=/dev/zero of=@/objects.db"])
def test_the_guard_sees_the_plain_attempts(two: InProcess, command: str) -> None:  # noqa: F811
    assert guard(two).command(command.replace("@", str(two.state)), str(two.project))


def test_changed_content_is_never_restored(two: InProcess) -> None:  # noqa: F811
    """Written over in the store, under the old name: the name is the hash of something else."""
    with closing(sqlite3.connect(two.state / "objects.db", isolation_level=None)) as db:
        oid = hashlib.sha256(b"# one\n").digest()
        db.execute("UPDATE objects SET data=? WHERE id=?", (b"\0" + EVIL, oid))
    before = tree_state(two.project)
    assert two.run("restore", "prev").code == 20
    assert differences(before, tree_state(two.project)) == {}
    assert two.run("validate", "--deep").code == 20


def test_a_hard_link_to_the_store_is_no_way_in_through_a_restore(two: InProcess) -> None:  # noqa: F811
    """A file of the project that is the object database under another name is replaced, not written."""
    (two.project / "README.md").unlink()
    os.link(two.state / "objects.db", two.project / "README.md")
    two.ok("restore", "prev")
    assert (two.project / "README.md").read_text() == "# one\n"
    assert two.json("validate", "--deep")["ok"] is True


def test_a_copy_of_the_state_in_the_project_is_no_state(two: InProcess) -> None:  # noqa: F811
    """`cp -r .agent copy`: the copy is files like any other, and nothing in it is trusted or run."""
    shutil.copytree(two.state, two.project / "copy" / ".agent" / "rewind")
    shutil.copytree(two.state, two.project / "plain-copy")
    two.save("with copies")
    assert two.json("validate", "--deep")["ok"] is True
    result = two.run("restore", "last", cwd=two.project / "copy")
    assert result.code == 1 and "init --trust" in result.err


def test_a_link_into_the_state_is_captured_as_a_link(two: InProcess, tmp_path: Path) -> None:  # noqa: F811
    (two.project / "way-in").symlink_to(".agent/rewind")
    two.save("with a link")
    store = (two.state / "store.json").read_bytes()
    two.ok("restore", "prev")
    two.ok("restore", "last")
    assert (two.project / "way-in").is_symlink() and (two.state / "store.json").read_bytes() == store
    files = two.json("show", "last", "--files")["files"]
    assert not [f for f in files if f["path"].startswith("way-in/")]
