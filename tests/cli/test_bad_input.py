"""Whatever is wrong: one clear sentence, a hint, the right exit code, and nothing lost."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import sqlite3
import struct
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import InProcess
from rewind_cli import Rewind, chown_all, differences, tree_state

pytestmark = pytest.mark.slow

COMMANDS_WITH_A_CHECKPOINT = (["show"], ["restore"], ["jump"], ["diff"], ["restore", "--dry-run"])
COMMANDS_WITHOUT = (["save"], ["list"], ["status"], ["diff"], ["undo"], ["redo"], ["undo-restore"],
                    ["gc"], ["validate"])


@pytest.fixture
def saved(rewind: Rewind) -> Rewind:
    """Two checkpoints, and a tree that has moved on."""
    (rewind.project / "src").mkdir()
    (rewind.project / "src/a.txt").write_text("one\n")
    (rewind.project / "blob.bin").write_bytes(os.urandom(50_000))
    rewind.init()
    (rewind.project / "src/a.txt").write_text("two\n")
    rewind.save("second")
    (rewind.project / "src/a.txt").write_text("three\n")
    return rewind


@pytest.fixture
def shared(cli: InProcess, made_once: Rewind) -> Rewind:
    """For what must not change anything: one project for many questions, asked in this process."""
    return cli.elsewhere(made_once.project, made_once.home)


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Rewind:
    top = tmp_path_factory.mktemp("shared")
    (top / "project").mkdir()
    (top / "home").mkdir()
    rewind = Rewind(top / "project", top / "home")
    (rewind.project / "a.txt").write_text("one\n")
    rewind.init()
    (rewind.project / "a.txt").write_text("two\n")
    rewind.save("second")
    return rewind


def check_untouched(rewind: Rewind, code: int, *args: str, hint: str | None = None) -> str:
    before = tree_state(rewind.project)
    said = rewind.fails(code, *args, hint=hint)
    assert differences(before, tree_state(rewind.project)) == {}
    return said


# not initialised

@pytest.mark.parametrize("args", [*COMMANDS_WITHOUT, *([*c, "last"] for c in
                                                       COMMANDS_WITH_A_CHECKPOINT)], ids=" ".join)
def test_a_directory_that_is_not_initialised_is_exit_10(rewind: Rewind, args: list[str]) -> None:
    check_untouched(rewind, 10, *args, hint="rewind init")
    assert not (rewind.project / ".agent").exists()


def test_not_initialised_is_an_object_for_programs(rewind: Rewind) -> None:
    error = rewind.fails_with_json(10, "list")
    assert error["code"] == "not-initialised"


def test_the_search_for_a_project_stops_at_home(saved: Rewind) -> None:
    """A state directory left in HOME by accident does not make everything below it one project."""
    shutil.copytree(saved.project / ".agent", saved.home / ".agent")
    below = saved.home / "work"
    below.mkdir()
    Rewind(below, saved.home).fails(10, "list")


def test_a_subdirectory_of_a_project_is_the_project(saved: Rewind) -> None:
    result = saved.run("list", "--json", cwd=saved.project / "src")
    assert len(result.data["checkpoints"]) == 2


@pytest.mark.parametrize("command", ["list", "status", "doctor", "init", "undo-restore", "sessions list"])
def test_a_current_directory_that_is_gone_is_told(saved: Rewind, command: str) -> None:
    """A restore may have removed it."""
    line = f'cd "$1" && rmdir "$1" && shift && exec "$@" {command}'
    gone = saved.project / "gone"
    gone.mkdir()
    done = subprocess.run(["sh", "-c", line, "sh", str(gone), *saved.command], env=saved.env, text=True,
                          capture_output=True)
    assert done.returncode == 1 and done.stderr.splitlines() == [
        "error: The directory that you are in does not exist any more.",
        "hint: Go to one that does, or name the project with `--project`."]


def test_with_the_project_named_a_current_directory_that_is_gone_is_no_matter(saved: Rewind) -> None:
    gone = saved.project / "gone"
    gone.mkdir()
    line = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    subprocess.run(["sh", "-c", line, "sh", str(gone), *saved.command, "restore", "last", "--project",
                    str(saved.project), "--", "src"], env=saved.env, check=True, capture_output=True)


# names

@pytest.mark.parametrize("command", COMMANDS_WITH_A_CHECKPOINT, ids=" ".join)
def test_an_unknown_name_is_exit_12(shared: Rewind, command: list[str]) -> None:
    for name in ("20200101_000000_001", "20200101", "99", "0", "nonsense", "../../etc", "last ",
                 "20200101_000000_001/x", "١٢٣٤٥"):
        check_untouched(shared, 12, *command, name)


def test_an_unknown_name_is_an_object_for_programs(shared: Rewind) -> None:
    assert shared.fails_with_json(12, "restore", "20200101_000000_001")["code"]


def test_an_ambiguous_prefix_is_exit_12_and_says_so(shared: Rewind) -> None:
    prefix = shared.names()[0][:8]  # of the same day, or this test ran over midnight
    said = check_untouched(shared, 12, "restore", prefix)
    assert "2" in said or "ambiguous" in said


def test_a_unique_prefix_number_and_word_name_the_same(shared: Rewind) -> None:
    newest, oldest = shared.names()
    assert shared.json("show", "last")["name"] == newest
    assert shared.json("show", "2")["name"] == newest
    assert shared.json("show", "prev")["name"] == oldest
    assert shared.json("show", "1")["name"] == oldest


def test_a_path_that_the_checkpoint_does_not_hold_is_exit_12(shared: Rewind) -> None:
    check_untouched(shared, 12, "restore", "last", "--", "no/such/file")


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", ".agent/rewind/store.json", ".git/config"])
def test_a_path_outside_the_project_is_refused(shared: Rewind, path: str) -> None:
    before = tree_state(shared.project)
    result = shared.run("restore", "last", "--", path)
    assert result.code in (1, 2, 12), result
    assert "error: " in result.err
    assert differences(before, tree_state(shared.project)) == {}


def test_there_is_nothing_to_undo_or_redo(shared: Rewind) -> None:
    check_untouched(shared, 12, "undo-restore")
    check_untouched(shared, 12, "redo")


# usage

@pytest.mark.parametrize("args", [
    ["frobnicate"], ["restore"], ["save", "a", "b"], ["restore", "last", "--no-such-option"],
    ["gc", "--keep", "many"], ["gc", "--keep", "-1"], ["gc", "--keep"],
    ["list", "extra"], ["config", "--set", "no-equals-sign"], ["init", "--mode", "sideways"],
    ["restore", "last", "--code-only", "--context-only"], ["export", "last"], ["import"],
    ["--no-such-option"], ["diff", "1", "2", "3"],
], ids=" ".join)
def test_wrong_usage_is_exit_2(shared: Rewind, args: list[str]) -> None:
    check_untouched(shared, 2, *args)


def test_wrong_usage_with_json_is_an_object(shared: Rewind) -> None:
    shared.fails_with_json(2, "gc", "--keep", "many")


@pytest.mark.parametrize("setting", ["noSuchKey=1", "maxFileSizeMb=large", "maxFileSizeMb=-1",
                                     "ignored=maybe", "=1", "storage=1"])
def test_a_wrong_setting_is_refused_and_not_written(shared: Rewind, setting: str) -> None:
    config = shared.state / "config.json"
    before = config.read_bytes() if config.exists() else None
    result = shared.run("config", "--set", setting)
    assert result.code in (1, 2) and "error: " in result.err, result
    assert (config.read_bytes() if config.exists() else None) == before


@pytest.mark.parametrize("text", ["", "{", "[]", '{"maxFileSizeMb": "x"}', '{"nonsense": 1}', "\xff\0"])
def test_a_broken_config_file_is_named(saved: Rewind, text: str) -> None:
    (saved.state / "config.json").write_text(text)
    result = saved.run("validate", "--json")
    assert "config.json" in result.out + result.err, result
    assert result.code != 0


# a damaged store

CORRUPT = {"empty": b"", "cut": b'{"name": ', "not-json": b"\xff\xfe\0", "list": b"[]",
           "no-code": b'{"format": 1}', "wrong-types": None, "deep": b"[" * 100_000}


@pytest.mark.parametrize("kind", CORRUPT)
def test_corrupt_metadata_is_exit_20_and_the_others_still_work(saved: Rewind, kind: str) -> None:
    newest, oldest = saved.names()
    file = saved.state / "checkpoints" / newest / "metadata.json"
    content = CORRUPT[kind]
    if content is None:
        data = json.loads(file.read_bytes())
        content = json.dumps({**data, "sequence": "x", "code": [], "createdAt": 5}).encode()
    file.write_bytes(content)
    check_untouched(saved, 20, "restore", newest)
    check_untouched(saved, 20, "show", newest)
    assert saved.fails_with_json(20, "restore", newest)["exitCode"] == 20
    result = saved.run("list", "--json")
    assert oldest in [c["name"] for c in result.data["checkpoints"]]
    found = saved.run("validate", "--deep", "--json")
    assert found.code != 0 and newest in found.out
    saved.save("after the damage")
    saved.ok("restore", oldest)
    assert (saved.project / "src/a.txt").read_text() == "one\n"


def test_gc_does_not_throw_away_what_a_corrupt_record_may_need(saved: Rewind) -> None:
    newest, _ = saved.names()
    file = saved.state / "checkpoints" / newest / "metadata.json"
    content = file.read_bytes()
    file.write_bytes(b"{")
    saved.run("gc", "--keep", "1")
    file.write_bytes(content)
    assert saved.json("validate", "--deep")["ok"] is True
    saved.ok("restore", newest)
    assert (saved.project / "src/a.txt").read_text() == "two\n"


@pytest.mark.parametrize("what", ["truncated", "emptied", "not-sqlite", "removed"])
def test_a_ruined_objects_db_is_exit_20_and_touches_nothing(saved: Rewind, what: str) -> None:
    database = saved.state / "objects.db"
    _settle(database)
    (newest, _) = saved.names()
    if what == "removed":
        database.unlink()
    else:
        size = database.stat().st_size
        database.write_bytes({"truncated": database.read_bytes()[:size // 2 + 100], "emptied": b"",
                              "not-sqlite": b"this is not a database\n" * 500}[what])
    check_untouched(saved, 20, "restore", newest)
    found = saved.run("validate", "--deep", "--json")
    assert found.code != 0, found
    _save_or_say(saved)


def test_every_bit_flip_in_objects_db_is_found_and_never_handed_on(saved: Rewind) -> None:
    """Flipped at many places: a restore gives the right bytes or says that the store is damaged."""
    database = saved.state / "objects.db"
    _settle(database)
    (newest, _) = saved.names()
    saved.ok("restore", newest)
    wanted = tree_state(saved.project)
    _settle(database)
    good = database.read_bytes()
    refused = 0
    for number in range(12):
        where = (len(good) - 1) * number // 11
        bad = bytearray(good)
        bad[where] ^= 0x40
        database.write_bytes(bytes(bad))
        for suffix in ("-wal", "-shm"):
            Path(str(database) + suffix).unlink(missing_ok=True)
        target = saved.project.parent / f"out{number}"
        result = saved.run("restore", newest, "--to", str(target))
        assert result.code in (0, 20, 1), (where, result)
        if result.code:
            assert "error: " in result.err and "hint: " in result.err, (where, result)
            refused += 1
        else:
            assert differences(wanted, tree_state(target)) == {}, where
        deep = saved.run("validate", "--deep", "--json")
        assert deep.code in (0, 1, 20), (where, deep)
        if result.code:
            assert deep.code != 0, f"restore fails but validate sees nothing, byte {where}"
    assert refused, "no flip hit anything; the test is too weak"


def test_a_flipped_object_hurts_only_what_needs_it(saved: Rewind) -> None:
    newest, _ = saved.names()
    _flip_object(saved.state / "objects.db", hashlib.sha256(b"two\n").digest())
    before = tree_state(saved.project)
    said = saved.fails(20, "restore", newest)
    assert "damaged" in said
    assert differences(before, tree_state(saved.project)) == {}
    found = saved.run("validate", "--deep", "--json")
    assert found.code == 20 and newest in found.out and "src/a.txt" in found.out
    saved.ok("restore", "prev")
    assert (saved.project / "src/a.txt").read_text() == "one\n"


def test_a_damaged_scan_cache_is_only_a_slower_start(saved: Rewind) -> None:
    for content in (b"", b"garbage" * 1000):
        (saved.state / "scan-cache.db").write_bytes(content)
        name = saved.save()
        saved.ok("restore", "prev")
        saved.ok("restore", name)
        assert (saved.project / "src/a.txt").read_text() == "three\n"


@pytest.mark.parametrize("file", ["operations.jsonl", "pins.json", "store.json"])
@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": 1}', '{"entries": 5, "pins": 7}'])
def test_a_corrupt_state_file_is_named_and_nothing_is_touched(
        saved: Rewind, file: str, text: str) -> None:
    saved.ok("restore", "last")
    (saved.state / file).write_text(text)
    before = tree_state(saved.project)
    result = saved.run("restore", "prev")
    if result.code:
        assert result.code == 20, result
        assert file in result.err and "error: " in result.err and "hint: " in result.err, result
        assert differences(before, tree_state(saved.project)) == {}
    else:
        assert (saved.project / "src/a.txt").read_text() == "one\n"


def _settle(database: Path) -> None:
    """Everything in the one file, so that damage to it is damage."""
    with closing(sqlite3.connect(database)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _flip_object(database: Path, oid: bytes) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as db:
        (data,) = db.execute("SELECT data FROM objects WHERE id=?", (oid,)).fetchone()
        bad = bytearray(data)
        bad[-1] ^= 1
        db.execute("UPDATE objects SET data=? WHERE id=?", (bytes(bad), oid))


def _save_or_say(rewind: Rewind) -> None:
    result = rewind.run("save", "after the damage")
    assert result.code in (0, 1, 20), result
    assert result.code == 0 or ("error: " in result.err and "hint: " in result.err), result


# a newer Rewind was here

def test_a_checkpoint_of_a_newer_format_is_refused_and_the_others_work(saved: Rewind) -> None:
    newest, oldest = saved.names()
    file = saved.state / "checkpoints" / newest / "metadata.json"
    data = json.loads(file.read_bytes())
    file.write_text(json.dumps({**data, "format": 99}))
    said = check_untouched(saved, 1, "restore", newest, hint="pgrade")
    assert "newer" in said and "99" in said
    saved.ok("restore", oldest)


def test_a_store_of_a_newer_format_is_refused_as_a_whole(saved: Rewind) -> None:
    file = saved.state / "store.json"
    data = json.loads(file.read_bytes())
    file.write_text(json.dumps({**data, "format": 99}))
    for args in (["list"], ["save"], ["restore", "last"], ["gc"]):
        assert "newer" in check_untouched(saved, 1, *args, hint="pgrade")


def test_an_objects_db_of_a_newer_format_is_refused(saved: Rewind) -> None:
    with closing(sqlite3.connect(saved.state / "objects.db")) as db:
        db.execute("PRAGMA user_version=99")
    assert "newer" in check_untouched(saved, 1, "restore", "last", hint="pgrade")


def test_unknown_fields_in_a_record_are_kept(saved: Rewind) -> None:
    (newest, _) = saved.names()
    file = saved.state / "checkpoints" / newest / "metadata.json"
    data = json.loads(file.read_bytes())
    file.write_text(json.dumps({**data, "fromTheFuture": {"x": 1}}))
    saved.ok("restore", newest)
    assert json.loads(file.read_bytes())["fromTheFuture"] == {"x": 1}


# what the system refuses

def test_an_unreadable_file_does_not_stop_a_checkpoint_and_is_named(user: Rewind) -> None:
    (user.project / "secret").write_text("x")
    (user.project / "plain").write_text("x")
    chown_all(user.project)
    (user.project / "secret").chmod(0)
    user.init()
    answer = user.json("save", "with an unreadable file")
    assert answer["code"]["uncovered"]
    assert "secret" in user.ok("status", "--unprotected").out


def _user_with_two(user: Rewind) -> None:
    (user.project / "a.txt").write_text("one\n")
    chown_all(user.project)
    user.init()
    (user.project / "a.txt").write_text("two\n")


def test_a_read_only_state_directory_is_one_sentence(user: Rewind) -> None:
    _user_with_two(user)
    for at, dirs, files in os.walk(user.state):
        for name in (*dirs, *files):
            path = Path(at, name)
            path.chmod(0o500 if path.is_dir() else 0o400)
    user.state.chmod(0o500)
    for args in (["save"], ["restore", "last"], ["undo"], ["gc"]):
        check_untouched(user, 1, *args)
    assert len(user.json("list")["checkpoints"]) == 1, "readers need no permission to write"
    user.ok("diff", "last")
    user.ok("show", "last")


def test_a_read_only_project_is_restored_in_part_or_not_at_all_and_says_so(user: Rewind) -> None:
    """Files that another user owns in a directory of theirs cannot be replaced."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    folder = user.project / "theirs"
    folder.mkdir()
    (folder / "file").write_text("then\n")
    _user_with_two(user)
    name = user.save()
    (folder / "file").write_text("now\n")
    for path in (folder, folder / "file"):
        os.chown(path, 0, 0)
    (user.project / "a.txt").write_text("three\n")
    result = user.run("restore", "--json", name)
    assert result.code == 3, result
    assert "theirs/file" in result.out + result.err
    assert (user.project / "a.txt").read_text() == "two\n"
    assert (folder / "file").read_text() == "now\n"


def test_a_project_in_an_unwritable_directory_cannot_be_initialised(user: Rewind) -> None:
    user.project.chmod(0o555)
    said = user.fails(1, "init", "--mode", "project")
    assert str(user.project) in said or "ermission" in said
    assert not (user.project / ".agent").exists()


@pytest.fixture
def small_disk(tmp_path: Path, home: Path) -> Iterator[Rewind]:
    at = tmp_path / "small"
    at.mkdir()
    made = os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(at)], capture_output=True).returncode == 0
    if not made:
        pytest.skip("mounting a small file system needs root")
    try:
        yield Rewind(at, home)
    finally:
        subprocess.run(["umount", str(at)], check=True)


def _fill_disk(folder: Path, leave: int) -> Path:
    ballast = folder / ".agent" / "ballast"
    ballast.parent.mkdir(exist_ok=True)
    free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
    ballast.write_bytes(bytes(max(0, free - leave)))
    return ballast


@pytest.mark.parametrize("leave", [0, 4096, 20_000, 100_000, 200_000])
def test_a_full_disk_is_one_sentence_and_loses_nothing(small_disk: Rewind, leave: int) -> None:
    root = small_disk.project
    (root / "a.bin").write_bytes(os.urandom(300_000))
    (root / ".rewindignore").write_text(".agent/\n")
    small_disk.init("project")
    (first,) = small_disk.names()
    saved = tree_state(root)
    (root / "a.bin").write_bytes(os.urandom(300_000))
    ballast = _fill_disk(root, leave)
    for args in (["save"], ["restore", first]):
        check_untouched(small_disk, 1, *args)
    ballast.unlink()
    damaged = tree_state(root)
    assert small_disk.json("validate", "--deep")["ok"] is True
    small_disk.ok("restore", first)
    assert differences(saved, tree_state(root)) == {}
    small_disk.ok("undo-restore")
    assert differences(damaged, tree_state(root)) == {}


# somebody else's state directory

@pytest.fixture
def planted(rewind: Rewind, tmp_path: Path) -> Rewind:
    """A clone that brings a `.agent/rewind/` made on another machine."""
    other_home = tmp_path / "other-home"
    other_home.mkdir()
    other = Rewind(rewind.project, other_home)
    (rewind.project / "a.txt").write_text("one\n")
    other.init("project")
    (rewind.project / "a.txt").write_text("two\n")
    return rewind


@pytest.mark.parametrize("args", [*COMMANDS_WITHOUT, *([*c, "last"] for c in
                                                       COMMANDS_WITH_A_CHECKPOINT), ["init"]],
                         ids=" ".join)
def test_a_planted_store_is_not_used(planted: Rewind, args: list[str]) -> None:
    state = tree_state(planted.state)
    check_untouched(planted, 1, *args, hint="rewind init --trust")
    assert tree_state(planted.state) == state, "not even written to"


def test_a_planted_store_is_used_once_trusted(planted: Rewind) -> None:
    planted.ok("init", "--trust")
    planted.ok("restore", planted.names()[-1])
    assert (planted.project / "a.txt").read_text() == "one\n"


def test_a_state_directory_that_is_a_symlink_is_not_followed(rewind: Rewind, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (rewind.project / ".agent").symlink_to(outside)
    result = rewind.run("init", "--mode", "project")
    assert result.code == 1 and "error: " in result.err, result
    assert list(outside.iterdir()) == []


FILE, LINK, DIR = b"f", b"l", b"d"
Entries = list[tuple[bytes, bytes, int, Any]]  # name, kind, mode, content | target | entries


class Forger:
    """Puts objects of its own making into a store, and points its newest record at them."""

    def __init__(self, rewind: Rewind) -> None:
        self.rewind = rewind
        self.db = sqlite3.connect(rewind.state / "objects.db", isolation_level=None)

    def put(self, data: bytes) -> bytes:
        oid = hashlib.sha256(data).digest()
        self.db.execute("INSERT OR IGNORE INTO objects(id, data) VALUES(?, ?)", (oid, b"\0" + data))
        return oid

    def tree(self, entries: Entries) -> bytes:
        """One directory in the format's own bytes, whatever its names are."""
        records, inline = [], []
        for _, kind, mode, what in entries:
            ref, size = bytes(32), 0
            if kind == FILE:
                ref, size = self.put(what), len(what)
            elif kind == LINK:
                inline.append(what)
                size = len(what)
            else:
                ref = what if isinstance(what, bytes) else self.tree(what)
            records.append(struct.pack(">cHQ32s", kind, mode, size, ref))
        texts = [*(name for name, *_ in entries), *inline]
        return self.put(b"tree1 \n" + struct.pack(">I", len(entries)) + b"".join(records)
                        + b"".join(text + b"\0" for text in texts))

    def plant(self, entries: Entries | bytes) -> str:
        tree = entries if isinstance(entries, bytes) else self.tree(entries)
        name = self.rewind.names()[0]
        file = self.rewind.state / "checkpoints" / name / "metadata.json"
        data = json.loads(file.read_bytes())
        data["code"]["tree"] = tree.hex()
        file.write_text(json.dumps(data))
        self.db.close()
        return name


EVIL = b"#!/bin/sh\ntouch evil\n"
HOSTILE: dict[str, Entries] = {
    "parent": [(b"..", DIR, 0o755, [(b"x", FILE, 0o644, EVIL)])],
    "parent-path": [(b"../x", FILE, 0o644, EVIL)],
    "absolute": [(b"/absolute/x", FILE, 0o644, EVIL)],
    "slash": [(b"a/../../x", FILE, 0o644, EVIL)],
    "git-hook": [(b".git", DIR, 0o755, [(b"hooks", DIR, 0o755, [(b"post-commit", FILE, 0o755, EVIL)])])],
    "git-hook-in-capitals": [(b".GIT", DIR, 0o755, [(b"config", FILE, 0o644, EVIL)])],
    "git-hook-as-path": [(b".git/hooks/post-commit", FILE, 0o755, EVIL)],
    "git-file": [(b".git", FILE, 0o644, b"gitdir: /evil\n")],
    "nested-git": [(b"lib", DIR, 0o755, [(b".git", DIR, 0o755, [(b"config", FILE, 0o644, EVIL)])])],
    "current": [(b".", DIR, 0o755, [(b"x", FILE, 0o644, EVIL)])],
    "empty-name": [(b"", FILE, 0o644, EVIL)],
    "our-state": [(b".agent", DIR, 0o755, [(b"rewind", DIR, 0o755, [
        (b"config.json", FILE, 0o644, b'{"maxFileSizeMb": 1}')])])],
    "twice": [(b"a.txt", LINK, 0o777, b".."), (b"a.txt", DIR, 0o755, [(b"x", FILE, 0o644, EVIL)])],
    "unknown-kind": [(b"a.txt", b"z", 0o644, bytes(32))],
    "missing-object": [(b"a.txt", DIR, 0o755, b"\x01" * 32)],
}


@pytest.fixture
def outside_world(planted: Rewind) -> Iterator[Rewind]:
    """Trusted, in a git repository, and watched: nothing but the project may change."""
    subprocess.run(["git", "init", "-q"], cwd=planted.project, env=planted.env, check=True)
    planted.ok("init", "--trust")
    yield planted


def _world(rewind: Rewind) -> dict[str, Any]:
    git = {p.relative_to(rewind.project): p.read_bytes()
           for p in (rewind.project / ".git").rglob("*") if p.is_file()}
    config = rewind.state / "config.json"
    return {"git": git, "beside": sorted(os.listdir(rewind.project.parent)),
            "tree": tree_state(rewind.project),
            "config": config.read_bytes() if config.exists() else None}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_names_in_a_trusted_store_are_refused(outside_world: Rewind, kind: str) -> None:
    rewind = outside_world
    name = Forger(rewind).plant(HOSTILE[kind])
    before = _world(rewind)
    rewind.fails(20, "restore", name)
    rewind.fails(20, "restore", name, "--force")
    assert _world(rewind) == before
    target = rewind.project.parent / "there"
    result = rewind.run("restore", name, "--to", str(target))
    assert result.code == 20, result
    shutil.rmtree(target, ignore_errors=True)
    assert _world(rewind) == before
    for args in (["diff", name], ["validate", "--deep"],
                 ["export", name, str(rewind.project.parent / "out.tar.gz")]):
        rewind.run(*args)
    (rewind.project.parent / "out.tar.gz").unlink(missing_ok=True)
    assert _world(rewind) == before


def test_a_link_planted_in_one_checkpoint_is_not_written_through_by_the_next(
        outside_world: Rewind, tmp_path: Path) -> None:
    rewind = outside_world
    target = tmp_path / "target"
    target.mkdir()
    (rewind.project / "way").symlink_to(target)
    name = Forger(rewind).plant([(b"way", DIR, 0o755, [(b"x", FILE, 0o644, EVIL)])])
    rewind.ok("restore", name)
    assert list(target.iterdir()) == []
    assert (rewind.project / "way/x").read_bytes() == EVIL


def test_a_tree_deeper_than_any_directory_is_one_sentence(outside_world: Rewind) -> None:
    forger = Forger(outside_world)
    tree = forger.tree([(b"x", FILE, 0o644, EVIL)])
    for _ in range(1500):
        tree = forger.tree([(b"d", DIR, 0o755, tree)])
    name = forger.plant(tree)
    before = tree_state(outside_world.project)
    for args in (["restore", name], ["diff", name], ["validate", "--deep"]):
        result = outside_world.run(*args)
        assert result.code in (1, 3, 20), (args, result)
    assert differences(before, tree_state(outside_world.project)) == {}


def test_a_tree_that_repeats_itself_without_end_is_refused(outside_world: Rewind) -> None:
    """Twenty small objects that stand for 10 ** 20 files."""
    forger = Forger(outside_world)
    tree = forger.tree([(b"x", FILE, 0o644, EVIL)])
    for _ in range(20):
        tree = forger.tree([(b"%d" % n, DIR, 0o755, tree) for n in range(10)])
    name = forger.plant(tree)
    before = tree_state(outside_world.project)
    limit = ["sh", "-c", 'ulimit -v 2000000; exec "$@"', "sh"]
    command = [*limit, *outside_world.command, "restore", name]
    done = subprocess.run(command, cwd=outside_world.project, env=outside_world.env,
                          capture_output=True, timeout=90)
    assert done.returncode in (1, 20) and b"error: " in done.stderr, done
    assert differences(before, tree_state(outside_world.project)) == {}


def test_an_object_that_unpacks_to_more_than_it_may_is_refused(outside_world: Rewind) -> None:
    import zlib

    forger = Forger(outside_world)
    packer = zlib.compressobj(1)
    packed = b"".join(packer.compress(bytes(1 << 20)) for _ in range(100)) + packer.flush()
    oid = b"\x07" * 32
    forger.db.execute("INSERT INTO objects(id, data) VALUES(?, ?)", (oid, b"\x01" + packed))
    record = struct.pack(">cHQ32s", FILE, 0o644, 100 << 20, oid)
    name = forger.plant(forger.put(b"tree1 \n" + struct.pack(">I", 1) + record + b"bomb\0"))
    check_untouched(outside_world, 20, "restore", name)


def test_hostile_text_in_a_record_does_not_reach_the_terminal(outside_world: Rewind) -> None:
    rewind = outside_world
    name = rewind.names()[0]
    file = rewind.state / "checkpoints" / name / "metadata.json"
    data = json.loads(file.read_bytes())
    file.write_text(json.dumps({**data, "description": "\x1b]0;owned\x07\x1b[2J\nfake line"}))
    for args in (["list"], ["show", name]):
        assert "\x1b" not in rewind.ok(*args).out


def test_names_that_are_not_utf8_come_with_their_bytes(rewind: Rewind) -> None:
    rewind.init()
    odd = b"odd-\xff\n\x1b[31m"
    with open(os.path.join(os.fsencode(rewind.project), odd), "w") as file:
        file.write("x")
    (item,) = rewind.json("restore", "last", "--dry-run")["deleted"]
    assert base64.b64decode(item["path_b64"]) == odd
    (item,) = rewind.json("diff", "last")["added"]
    assert base64.b64decode(item["path_b64"]) == odd
    assert "\x1b" not in rewind.ok("restore", "last", "--dry-run").out
