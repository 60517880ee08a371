"""Files made to be opened by somebody else: refused as a whole, told, and nothing has changed."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import tarfile
from pathlib import Path
from typing import Any, Callable

import pytest

from attacks.tar_members import Change, Members, added, member
from cli.conftest import InProcess
from rewind_cli import Rewind, tree_state

SECOND = "checkpoints/000002.json"
OTHER = "0" * 32


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with two checkpoints of one line."""
    top = tmp_path_factory.mktemp("shared")
    (top / "home").mkdir()
    (top / "project" / "src").mkdir(parents=True)
    rewind = Rewind(top / "project", top / "home")
    (rewind.project / "src/a.txt").write_text("one\n")
    (rewind.project / "b.txt").write_text("b\n")
    rewind.init()
    (rewind.project / "src/a.txt").write_text("two\n")
    first = rewind.json("save", "two")["checkpoint"]
    file = top / "shared.tar.gz"
    rewind.ok("share", "last", str(file))
    assert first
    return _with_two(file, top)


def _with_two(file: Path, top: Path) -> Path:
    """The one checkpoint, and another one after it that changes nothing."""
    found = read(file)
    second = {**json.loads(dict(_named(found))["checkpoints/000001.json"]), "entries": []}
    second = {**second, "parent": second["id"], "id": OTHER}
    at = next(n for n, (info, _) in enumerate(found) if info.name == "checkpoints/000001.json")
    found.insert(at + 1, member(SECOND, json.dumps(second).encode()))
    write(top / "two.tar.gz", found)
    return top / "two.tar.gz"


def read(file: Path) -> Members:
    with tarfile.open(file) as tar:
        return [(info, tar.extractfile(info).read() if info.isreg() else b"")  # type: ignore[union-attr]
                for info in tar]


def write(file: Path, members: Members) -> None:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    file.write_bytes(gzip.compress(raw.getvalue(), mtime=0))


def _named(members: Members) -> list[tuple[str, bytes]]:
    return [(info.name, data) for info, data in members]


def json_in(name: str, change: Callable[[dict[str, Any]], None]) -> Change:
    def changed(found: Members) -> Members:
        result = []
        for info, data in found:
            if info.name == name:
                value = json.loads(data)
                change(value)
                data = json.dumps(value).encode()
                info.size = len(data)
            result.append((info, data))
        return result
    return changed


def entry(*values: Any) -> Change:
    return json_in(SECOND, lambda value: value["entries"].append(list(values)))


def meta(**values: Any) -> Change:
    return json_in(SECOND, lambda value: value.update(values))


EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
ATTACKS: dict[str, Change] = {
    "a path that leads out": entry("f", "../escaped", 0o644, 0, EMPTY),
    "an absolute path": entry("f", "/escaped", 0o644, 0, EMPTY),
    "a path into git": entry("u", ".git/config", "secret"),
    "a path into git in capitals": entry("d", ".Git", 0o755),
    "a path with a zero byte": entry("x", "a\0b"),
    "an empty path": entry("x", ""),
    "nothing between two slashes": entry("x", "src//a.txt"),
    "a name that is too long": entry("d", "n" * 300, 0o755),
    "a path that is too deep": entry("x", "/".join("d" * 500)),
    "the state of Rewind": entry("d", "src/.agent/rewind", 0o755),
    "the mark of a store": entry("u", ".agent/rewind-store", "secret"),
    "below a file": entry("x", "b.txt/below"),
    "in no directory": entry("f", "nosuch/a", 0o644, 0, EMPTY),
    "a link out": entry("l", "out", "../../etc"),
    "an absolute link": entry("l", "out", "/etc/passwd"),
    "a link into git": entry("l", "hooks", ".git/hooks"),
    "a link with a zero byte": entry("l", "out", "a\0b"),
    "a link and a directory that differ by case": entry("l", "SRC", "b.txt"),
    "a huge size": entry("f", "huge", 0o644, 1 << 60, EMPTY),
    "a negative size": entry("f", "less", 0o644, -1, EMPTY),
    "a mode out of range": entry("f", "mode", 1 << 20, 0, EMPTY),
    "a digest that is none": entry("f", "odd", 0o644, 0, "../../etc/passwd"),
    "content that is not there": entry("f", "odd", 0o644, 3, "ab" * 32),
    "content of another size": entry("f", "odd", 0o644, 7, EMPTY),
    "an unknown kind": entry("h", "hard", "/etc/passwd"),
    "a malformed entry": entry(),
    "a reason with a newline": entry("u", "odd", "a\nb"),
    "a path that is a number": entry("x", 7),
    "its own parent": meta(parent=OTHER),
    "a parent that is not there": meta(parent="1" * 32),
    "an id that is a path": meta(id="../../../../etc/cron.d/evil00000"),
    "an id that is a number": meta(id=7),
    "the same id twice": json_in(SECOND, lambda value: value.update(id=value["parent"], parent=None)),
    "a lane that is a path": meta(lane="../../places"),
    "a kind that is none": meta(kind="evil"),
    "a time that is none": meta(createdAt="yesterday"),
    "entries that are none": meta(entries="all"),
    "a checkpoint that is a list": lambda found: [
        (info, data) if info.name != SECOND else member(SECOND, b"[]") for info, data in found],
    "JSON that is none": lambda found: [
        (info, data) if info.name != SECOND else member(SECOND, b"{") for info, data in found],
    "JSON that is too deep": lambda found: [
        (info, data) if info.name != SECOND else member(SECOND, b"[" * 200_000) for info, data in found],
    "a session that is a path": json_in("share.json", lambda value: value.update(
        conversations=[{"session": "../../evil", "agent": "claude", "lines": 1}])),
    "a conversation that is not there": json_in("share.json", lambda value: value.update(
        conversations=[{"session": "0123456789", "agent": "claude", "lines": 1}])),
    "a newer format": json_in("share.json", lambda value: value.update(format=99)),
    "no format": json_in("share.json", lambda value: value.pop("format")),
    "no manifest": lambda found: found[1:],
    "no checkpoints": lambda found: [one for one in found if not one[0].name.startswith("checkpoints/")],
    "another file to look at than to open": lambda found: [
        (info, data) if info.name != "files/b.txt" else member("files/b.txt", b"B\n", mode=info.mode)
        for info, data in found],
    "a file in `files` that is in no checkpoint": lambda found: [
        part for one in found for part in (
            [one, member("files/extra", b"x")] if one[0].name == "files/b.txt" else [one])],
    "an object under a false name": added(member("objects/" + "cd" * 32, b"x")),
    "a member beside": added(member("evil/x")),
    "a traversal by tar": added(member("files/../../escaped")),
    "a hard link by tar": added(member("files/h", b"", type=tarfile.LNKTYPE, linkname="/etc/passwd")),
    "a link out by tar": added(member("files/l", b"", type=tarfile.SYMTYPE, linkname="/etc")),
    "a device by tar": added(member("files/d", b"", type=tarfile.CHRTYPE)),
}


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("where", ["empty", "project"])
def test_a_hostile_file_changes_nothing_and_is_told(shared: Path, cli: InProcess, tmp_path: Path, attack: str,
                                                    where: str) -> None:
    hostile = tmp_path / "hostile.tar.gz"
    write(hostile, ATTACKS[attack](read(shared)))
    if where == "project":
        (cli.project / "mine.txt").write_text("mine\n")
        cli.init()
    before = tree_state(tmp_path), cli.run("list", "--all", "--json").out
    found = cli.run("open", str(hostile))

    assert found.code == 1 and found.err.startswith("error: "), found
    after = tree_state(tmp_path), cli.run("list", "--all", "--json").out
    assert _content(after[0]) == _content(before[0]) and after[1] == before[1]
    assert not (tmp_path.parent / "escaped").exists()


def _content(tree: dict[bytes, Any]) -> dict[bytes, Any]:
    """Without what every command touches: locks, caches and SQLite's own files."""
    passing = (b"lock", b"-wal", b"-shm", b"scan-cache.db")
    return {path: what for path, what in tree.items() if not path.endswith(passing)}


def test_the_file_that_they_are_made_from_is_fine(shared: Path, rewind: Rewind, tmp_path: Path) -> None:
    assert rewind.json("open", str(shared))["count"] == 2
    assert (rewind.project / "src/a.txt").read_text() == "two\n"


def test_a_file_that_is_cut_short_is_refused(shared: Path, rewind: Rewind, tmp_path: Path) -> None:
    data = shared.read_bytes()
    for length in (0, 10, len(data) // 2, len(data) - 1):
        (tmp_path / "short.tar.gz").write_bytes(data[:length])
        assert rewind.run("open", str(tmp_path / "short.tar.gz")).code == 1
    assert not list(rewind.project.iterdir())


@pytest.mark.slow
def test_a_bomb_is_refused(shared: Path, rewind: Rewind, tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.tar.gz"
    with open(bomb, "wb") as file:
        subprocess.run("head -c 200000000 /dev/zero | gzip -9", shell=True, check=True, stdout=file)
    assert rewind.run("open", str(bomb)).code == 1
    assert not list(rewind.project.iterdir())
