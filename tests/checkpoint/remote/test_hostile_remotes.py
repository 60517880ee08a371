"""A remote is not trusted: whatever it holds, a pull changes nothing here, or takes what is sound."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import InProcess, cli  # noqa: F401  the fixture
from rewind_cli import git, tree_state

pytestmark = pytest.mark.slow  # many processes of git

WRITER = "f" * 32
ID, OTHER = "a" * 32, "b" * 32
CONTENT = b"hello\n"
DIGEST = hashlib.sha256(CONTENT).hexdigest()
META = {"format": 1, "id": ID, "parent": None, "lane": "main", "name": "20261116_101500_001",
        "createdAt": "2026-11-16T10:15:00.000Z", "kind": "auto", "description": "forged", "trigger": {},
        "session": None, "lines": None}
FILE = ["f", "a.txt", 0o644, len(CONTENT), DIGEST]


class Forge:
    """Writes commits into a bare repository that Rewind itself would never write."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.home = home
        git(folder.parent, "init", "-q", "--bare", str(folder), home=home)

    def commit(self, changes: list[Any], *, files: Any = (("files/a.txt", CONTENT),), subject: str = ID,
               ref: str = f"refs/rewind/{WRITER}/checkpoints", **meta: Any) -> None:
        listed = b"".join(json.dumps(change).encode() + b"\n" for change in changes)
        about = json.dumps({**META, **meta}).encode()
        stream = b"commit %s\ncommitter A <a@example.com> 1 +0000\ndata %d\n%s\n" % (
            ref.encode(), len(subject), subject.encode())
        for path, data in (*files, ("meta.json", about), ("changes.jsonl", listed)):
            stream += b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data)
        self.run("fast-import", "--quiet", "--force", data=stream)

    def run(self, *words: str, data: bytes = b"") -> str:
        done = subprocess.run(["git", *words], cwd=self.folder, input=data, capture_output=True, check=True)
        return done.stdout.decode().strip()


class Victim:
    """A project that pulls, and a picture of everything that a pull could change."""

    def __init__(self, cli: InProcess, forge: Forge) -> None:  # noqa: F811
        cli._monkeypatch.setattr(os, "fsync", lambda fd: None)
        self.cli = cli
        (cli.project / "own.txt").write_text("own\n")
        cli.init()
        cli.ok("remote", "add", "bad", str(forge.folder))
        cli.run("pull")  # makes the repository
        self.was = self.picture()

    def picture(self) -> tuple[Any, ...]:
        ours = self.cli.state / "remote.git"
        return (tree_state(self.cli.project), self.cli.names(backups=True),
                sorted(os.listdir(self.cli.state)), git(ours, "for-each-ref", home=self.cli.home),
                sorted(os.listdir(ours / "objects/pack")),
                sorted(str(path) for path in (self.cli.home / ".claude").rglob("*")))

    def refuses(self, *words: str) -> str:
        said = self.cli.fails(1, "pull", *words)
        assert self.picture() == self.was
        return said

    def takes(self, count: int) -> None:
        assert self.cli.json("pull")["checkpoints"] == count


@pytest.fixture
def forge(tmp_path: Path, home: Path) -> Forge:
    return Forge(tmp_path / "bad.git", home)


@pytest.fixture
def victim(cli: InProcess, forge: Forge) -> Victim:  # noqa: F811
    return Victim(cli, forge)


def test_what_the_forge_writes_would_be_taken_if_it_were_sound(forge: Forge, victim: Victim) -> None:
    forge.commit([FILE])
    victim.takes(1)


@pytest.mark.parametrize("path", ["../a.txt", "/etc/passwd", "a/../../b", ".git/hooks/pre-commit",
                                  ".GIT/config", "x/.git", "a\0b", "", ".", "a//b", "x" * 300,
                                  "d/" * 500 + "x"])
def test_a_path_that_leads_elsewhere(forge: Forge, victim: Victim, path: str) -> None:
    forge.commit([["f", path, 0o644, len(CONTENT), DIGEST]])
    assert "Refusing what the remote bad holds" in victim.refuses()


@pytest.mark.parametrize("changes", [
    [["l", "link", "../../outside"]], [["l", "link", "/etc/passwd"]], [["l", "link", ".git/config"]],
    [["f", "a.txt", -1, 6, DIGEST]], [["f", "a.txt", 0o644, 1 << 60, DIGEST]],
    [["f", "a.txt", 0o644, 6, "xyz"]], [["q", "a"]], ["nonsense"], [None],
    [["f", "no/directory", 0o644, len(CONTENT), DIGEST]],
    [FILE, ["l", "A.TXT", "own.txt"]],
])
def test_an_entry_that_makes_no_sense(forge: Forge, victim: Victim, changes: list[Any]) -> None:
    forge.commit(changes)
    victim.refuses()


@pytest.mark.parametrize("meta", [
    {"id": "../../x"}, {"id": OTHER}, {"parent": OTHER}, {"parent": ID}, {"lane": "../x"},
    {"createdAt": "then"}, {"kind": "evil"}, {"format": 99}, {"format": "1"}, {"parent": 7},
])
def test_a_description_that_makes_no_sense(forge: Forge, victim: Victim, meta: dict[str, Any]) -> None:
    forge.commit([FILE], **meta)
    victim.refuses()


def test_parents_in_a_ring(forge: Forge, victim: Victim) -> None:
    forge.run("fast-import", "--quiet", data=ring())
    victim.refuses()


def ring() -> bytes:
    """Two checkpoints, each of which calls the other one its parent."""
    stream, ref = b"", f"refs/rewind/{WRITER}/checkpoints".encode()
    for name, parent in ((ID, OTHER), (OTHER, ID)):
        about = json.dumps({**META, "id": name, "parent": parent}).encode()
        stream += b"commit %s\ncommitter A <a@example.com> 1 +0000\ndata 32\n%s\n" % (ref, name.encode())
        for path, data in ((b"meta.json", about), (b"changes.jsonl", json.dumps(FILE).encode() + b"\n"),
                           (b"files/a.txt", CONTENT)):
            stream += b"M 100644 inline %s\ndata %d\n%s\n" % (path, len(data), data)
    return stream


def test_content_that_is_another_or_missing(forge: Forge, victim: Victim) -> None:
    forge.commit([FILE], files=(("files/a.txt", b"HELLO\n"),))
    victim.refuses()
    forge.commit([FILE], files=())
    assert "missing" in victim.refuses()
    forge.commit([FILE], files=(("files/a.txt/b", CONTENT),))
    victim.refuses()


def test_commits_that_are_no_checkpoints(forge: Forge, victim: Victim) -> None:
    forge.commit([FILE], subject="Merge branch 'main'")
    assert "no checkpoint" in victim.refuses()
    forge.run("update-ref", f"refs/rewind/{WRITER}/checkpoints", forge.run("hash-object", "-w", "--stdin"))
    victim.refuses()


def test_refs_outside_our_names_are_not_looked_at(forge: Forge, victim: Victim) -> None:
    for ref in (f"refs/rewind/{WRITER}/other", "refs/rewind/short/checkpoints", "refs/heads/main",
                f"refs/rewind/{WRITER}/checkpoints/deep", f"refs/rewind/{WRITER.upper()}/checkpoints"):
        forge.commit([FILE], ref=ref)
    victim.takes(0)
    assert victim.picture() == victim.was


@pytest.mark.parametrize("name", [b"..", b".git", b".", b"a/b"])
def test_trees_that_git_itself_does_not_accept(forge: Forge, victim: Victim, name: bytes) -> None:
    blob = forge.run("hash-object", "-w", "--stdin", data=CONTENT)
    bad = forge.run("hash-object", "-w", "--literally", "-t", "tree", "--stdin",
                    data=b"100644 " + name + b"\0" + bytes.fromhex(blob))
    top = forge.run("hash-object", "-w", "--literally", "-t", "tree", "--stdin",
                    data=b"40000 files\0" + bytes.fromhex(bad))
    text = f"tree {top}\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n\n{ID}\n".encode()
    commit = forge.run("hash-object", "-w", "--literally", "-t", "commit", "--stdin", data=text)
    forge.run("update-ref", f"refs/rewind/{WRITER}/checkpoints", commit)
    victim.refuses()


def test_an_object_that_is_damaged(forge: Forge, victim: Victim) -> None:
    forge.commit([FILE])
    blob = forge.run("hash-object", "--stdin", data=CONTENT)
    path = forge.folder / "objects" / blob[:2] / blob[2:]
    path.chmod(0o600)
    path.write_bytes(b"not an object")
    victim.refuses()


def test_more_than_is_accepted_is_cut_off(forge: Forge, victim: Victim) -> None:
    data = os.urandom(3 << 20)
    entry = ["f", "a.txt", 0o644, len(data), hashlib.sha256(data).hexdigest()]
    forge.commit([entry], files=(("files/a.txt", data),))
    assert "more than 1 MB" in victim.refuses("--max-size-mb", "1")
    victim.takes(1)


def test_little_that_becomes_much_is_refused_before_it_is_read(forge: Forge, victim: Victim) -> None:
    data = bytes(40 << 20)
    entry = ["f", "a.txt", 0o644, len(data), DIGEST]
    forge.commit([entry], files=(("files/a.txt", data),))
    assert "larger than" in victim.refuses("--max-size-mb", "1")


def test_a_tree_of_ten_thousand_million_files_costs_nothing(forge: Forge, victim: Victim) -> None:
    """Each level holds the one below ten times."""
    tree = forge.run("mktree", data=f"100644 blob {forge.run('hash-object', '-w', '--stdin')}\tx\n".encode())
    for _ in range(10):
        tree = forge.run("mktree", data="".join(f"040000 tree {tree}\td{n}\n" for n in range(10)).encode())
    about, changes = json.dumps(META).encode(), json.dumps(FILE).encode() + b"\n"
    parts = {"meta.json": forge.run("hash-object", "-w", "--stdin", data=about),
             "changes.jsonl": forge.run("hash-object", "-w", "--stdin", data=changes)}
    listed = f"040000 tree {tree}\tfiles\n"
    listed += "".join(f"100644 blob {oid}\t{path}\n" for path, oid in parts.items())
    top = forge.run("mktree", data=listed.encode())
    commit = forge.run("commit-tree", top, "-m", ID)
    forge.run("update-ref", f"refs/rewind/{WRITER}/checkpoints", commit)
    assert "missing" in victim.refuses()


def test_conversations_with_names_that_lead_elsewhere(forge: Forge, victim: Victim) -> None:
    for name in ("%2e%2e", "-rf", "a b", "x" * 300):
        forge.commit([], files=((f"{name}/meta.json", b"{}"),), ref=f"refs/rewind/{WRITER}/conversations")
        victim.refuses()


def test_a_planted_configuration_is_not_used(forge: Forge, victim: Victim, tmp_path: Path) -> None:
    forge.commit([FILE])
    ours, sign = victim.cli.state / "remote.git", tmp_path / "executed"
    with open(ours / "config", "a") as file:
        file.write(f'[core]\n\tsshCommand = touch {sign}\n\tfsmonitor = touch {sign}\n'
                   f'[remote "bad"]\n\tuploadpack = touch {sign}; git-upload-pack\n')
    (ours / "hooks").mkdir(exist_ok=True)
    hook = ours / "hooks" / "reference-transaction"
    hook.write_text(f"#!/bin/sh\ntouch {sign}\n")
    hook.chmod(0o755)
    victim.takes(1)
    victim.cli.ok("push")
    assert not sign.exists()


# one bad writer among others

SOUND = "e" * 32


def sound_writer(forge: Forge) -> None:
    forge.commit([FILE], subject=OTHER, id=OTHER, ref=f"refs/rewind/{SOUND}/checkpoints")


def takes_the_others(victim: Victim, reason: str) -> None:
    """Twice: the bad one is refused again, and what is here already is not taken again."""
    for count in (1, 0):
        pulled = victim.cli.run("pull", "--json")
        found = json.loads(pulled.out)
        assert pulled.code == 3 and found["checkpoints"] == count
        [refused] = found["refused"]
        assert refused["writer"] == WRITER and reason in refused["reason"]
    said = victim.cli.run("pull")
    assert said.code == 3 and f"Nothing was taken from the writer {WRITER}" in said.err
    ours = victim.cli.state / "remote.git"
    assert WRITER not in git(ours, "for-each-ref", home=victim.cli.home)


def test_a_writer_with_a_bad_path_is_refused_and_the_others_are_taken(forge: Forge, victim: Victim) -> None:
    sound_writer(forge)
    forge.commit([["f", "../a.txt", 0o644, len(CONTENT), DIGEST]])
    takes_the_others(victim, "is not allowed")
    ours = victim.cli.state / "remote.git"
    bad = forge.run("rev-parse", f"refs/rewind/{WRITER}/checkpoints")
    assert subprocess.run(["git", "cat-file", "-e", bad], cwd=ours, check=False).returncode


def test_a_writer_with_an_object_that_git_refuses(forge: Forge, victim: Victim) -> None:
    sound_writer(forge)
    blob = forge.run("hash-object", "-w", "--stdin", data=CONTENT)
    tree = forge.run("hash-object", "-w", "--literally", "-t", "tree", "--stdin",
                     data=b"100644 ..\0" + bytes.fromhex(blob))
    text = f"tree {tree}\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n\n{ID}\n".encode()
    commit = forge.run("hash-object", "-w", "--literally", "-t", "commit", "--stdin", data=text)
    forge.run("update-ref", f"refs/rewind/{WRITER}/checkpoints", commit)
    takes_the_others(victim, "git refuses it")


def test_a_writer_with_an_object_that_the_remote_cannot_read(forge: Forge, victim: Victim) -> None:
    sound_writer(forge)
    data = b"only theirs\n"
    entry = ["f", "a.txt", 0o644, len(data), hashlib.sha256(data).hexdigest()]
    forge.commit([entry], files=(("files/a.txt", data),))
    blob = forge.run("hash-object", "--stdin", data=data)
    path = forge.folder / "objects" / blob[:2] / blob[2:]
    path.chmod(0o600)
    path.write_bytes(b"not an object")
    takes_the_others(victim, "git")


def test_a_writer_of_a_later_version(forge: Forge, victim: Victim) -> None:
    sound_writer(forge)
    forge.commit([FILE], format=99)
    takes_the_others(victim, "99")


def test_a_dry_run_says_who_would_be_refused(forge: Forge, victim: Victim) -> None:
    sound_writer(forge)
    forge.commit([["f", "/etc/passwd", 0o644, len(CONTENT), DIGEST]])
    found = victim.cli.run("pull", "--dry-run", "--json")
    assert found.code == 3 and json.loads(found.out)["checkpoints"] == 1
    assert victim.picture() == victim.was


def test_a_clone_takes_the_sound_writers(forge: Forge, victim: Victim, tmp_path: Path) -> None:
    sound_writer(forge)
    forge.commit([["f", "../a.txt", 0o644, len(CONTENT), DIGEST]])
    found = victim.cli.run("clone", str(forge.folder), str(tmp_path / "cloned"), "--json")
    assert found.code == 3 and json.loads(found.out)["refused"][0]["writer"] == WRITER
    assert (tmp_path / "cloned" / "a.txt").read_bytes() == CONTENT
