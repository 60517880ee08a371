"""`validate --deep --repair`: whatever happens to a file of the store is found or does no harm, what has
another copy comes back, and what has none costs nobody else anything."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from chat_scene import Scene
from cli.conftest import InProcess, cli, two  # noqa: F401
from rewind.controller import Controller
from rewind.store.blobs import oid_of
from rewind_cli import Rewind, differences, tree_state

BIG = bytes(range(256)) * 20_000  # 5 MB: stored in pieces


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda fd: None)


def settle(state: Path) -> None:
    """Everything in one file, so that damage to it is damage."""
    for name in ("objects.db", "scan-cache.db"):
        if (state / name).exists():
            with closing(sqlite3.connect(state / name)) as db:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def ruin_object(state: Path, *contents: bytes, row: bool = False) -> None:
    """`row`: it is not there at all."""
    with closing(sqlite3.connect(state / "objects.db", isolation_level=None)) as db:
        for content in contents:
            oid = hashlib.sha256(content).digest()
            (data,) = db.execute("SELECT data FROM objects WHERE id=?", (oid,)).fetchone()
            if row:
                db.execute("DELETE FROM objects WHERE id=?", (oid,))
            else:
                db.execute("UPDATE objects SET data=? WHERE id=?", (bytes(b ^ 0x55 for b in data), oid))
        db.execute("VACUUM")  # no old page has it any more
    settle(state)


def object_of(rewind: Rewind, name: str, path: bytes = b"") -> bytes:
    """The content of the tree object of a directory of a checkpoint."""
    controller = Controller(str(rewind.project))
    with controller.source(controller.find(name)) as source:
        tree = source.record.tree
        for part in filter(None, path.split(b"/")):
            tree = source.tree(tree).entries[part].ref
        return source.blobs.get(tree)


# what has another copy

def test_a_file_that_is_in_the_project_still_comes_back_from_there(two: Rewind) -> None:  # noqa: F811
    ruin_object(two.state, b"# two\n")
    assert two.run("validate", "--deep").code == 20
    plan = two.json("validate", "--deep", "--repair", "--dry-run", code=20)
    assert [r["how"] for r in plan["rescued"]] == ["from the project"] and plan["lost"] == []
    assert two.run("validate", "--deep").code == 20, "a dry run changes nothing"
    done = two.json("validate", "--deep", "--repair", "--yes")
    assert done["ok"] is True and done["rescued"] == plan["rescued"] and done["lost"] == []
    assert two.json("validate", "--deep")["ok"] is True
    (two.project / "README.md").write_text("something else\n")
    two.ok("restore", "last")
    assert (two.project / "README.md").read_text() == "# two\n"


def test_a_directory_that_is_as_it_was_comes_back_from_the_project(two: Rewind) -> None:  # noqa: F811
    ruin_object(two.state, object_of(two, "last", b"src"), row=True)
    assert two.json("validate", code=20)["affected"][0]["paths"] == [{"path": "src"}]
    assert two.json("validate", "--deep", "--repair", "--yes")["lost"] == []
    assert two.json("validate", "--deep")["ok"] is True


def test_pieces_of_a_large_file_come_back_and_so_does_their_list(cli: InProcess) -> None:  # noqa: F811
    (cli.project / "big").write_bytes(BIG)
    cli.init()
    with closing(sqlite3.connect(cli.state / "objects.db", isolation_level=None)) as db:
        db.execute("DELETE FROM objects WHERE id IN (?, ?)", (
            hashlib.sha256(BIG[:4 << 20]).digest(), _list_of_pieces(cli)))
        db.execute("VACUUM")
    settle(cli.state)
    assert cli.run("validate").code == 20
    assert len(cli.json("validate", "--deep", "--repair", "--yes")["rescued"]) == 2
    (cli.project / "big").unlink()
    cli.ok("restore", "last")
    assert (cli.project / "big").read_bytes() == BIG


def _list_of_pieces(rewind: Rewind) -> bytes:
    controller = Controller(str(rewind.project))
    return next(entry.ref for path, entry in controller.files("last") if path == b"big")


@pytest.fixture
def names(cli: InProcess, monkeypatch: pytest.MonkeyPatch) -> list[str]:  # noqa: F811
    """Files of a first checkpoint that is large enough to be compressed afterwards, and is."""
    monkeypatch.setattr("rewind.checkpoint.save.save._later", lambda state, chore: None)
    (cli.project / "large").write_bytes(bytes(10 << 20))
    names = [f"file{number}" for number in range(30)]
    for name in names:
        (cli.project / name).write_bytes(random.Random(name).randbytes(1500).hex().encode())
    cli.init()
    with closing(Controller(str(cli.project))) as controller:
        controller.pack()
    settle(cli.state)
    with closing(sqlite3.connect(cli.state / "objects.db")) as db:
        assert db.execute("SELECT count(*) FROM objects WHERE substr(data, 1, 1)=x'03'").fetchone()[0] >= 30
    return names


def ruin_bundles(state: Path) -> None:
    with closing(sqlite3.connect(state / "objects.db", isolation_level=None)) as db:
        db.execute("UPDATE bundles SET data=x'01ffff'")
        db.execute("VACUUM")
    settle(state)


def test_what_was_in_a_damaged_bundle_comes_back_from_the_project(
        cli: InProcess, names: list[str]) -> None:  # noqa: F811
    before = tree_state(cli.project)
    ruin_bundles(cli.state)
    assert cli.run("validate", "--deep").code == 20
    assert cli.json("validate", "--deep", "--repair", "--yes")["lost"] == []
    assert cli.json("validate", "--deep")["ok"] is True
    for name in names:
        (cli.project / name).unlink()
    cli.ok("restore", "last")
    assert tree_state(cli.project) == before
    cli.ok("gc")
    assert cli.json("validate", "--deep")["ok"] is True


def test_of_a_damaged_bundle_only_what_has_no_other_copy_is_lost(
        cli: InProcess, names: list[str]) -> None:  # noqa: F811
    (cli.project / names[3]).write_text("another version\n")
    ruin_bundles(cli.state)
    done = cli.json("validate", "--deep", "--repair", "--yes", code=3)
    assert [path["path"] for lost in done["lost"] for path in lost["paths"]] == [names[3]]
    (cli.project / names[5]).unlink()
    cli.run("restore", "last", "--skip-missing")
    assert (cli.project / names[5]).exists()


def test_bundles_are_read_out_of_a_database_that_sqlite_cannot_read(
        cli: InProcess, names: list[str]) -> None:  # noqa: F811
    before = tree_state(cli.project)
    with open(cli.state / "objects.db", "r+b") as file:
        file.write(b"no database" * 30)
    for name in names:
        (cli.project / name).unlink()
    assert cli.json("validate", "--deep", "--repair", "--yes")["lost"] == []
    cli.ok("restore", "last")
    assert tree_state(cli.project) == before


def test_an_exported_checkpoint_is_a_copy(two: Rewind, tmp_path: Path) -> None:  # noqa: F811
    file = tmp_path / "one.tar.gz"
    two.ok("export", "prev", str(file))
    ruin_object(two.state, b"# one\n", object_of(two, "prev"))
    done = two.json("validate", "--deep", "--repair", "--yes", code=3)
    assert len(done["lost"]) == 1
    done = two.json("validate", "--deep", "--repair", "--yes", "--from", str(file))
    assert done["lost"] == [] and two.json("validate", "--deep")["ok"] is True
    two.ok("restore", "prev")
    assert (two.project / "README.md").read_text() == "# one\n"


def test_a_checkpoint_that_is_an_archive_is_a_copy(two: Rewind) -> None:  # noqa: F811
    two.ok("restore", "prev")
    two.ok("config", "--set", "storage.format=archive")
    two.save("an archive of the first state")
    two.ok("restore", two.names()[1])
    ruin_object(two.state, b"# one\n", row=True)
    assert two.json("validate", "--deep", "--repair", "--yes")["lost"] == []
    assert two.json("validate", "--deep")["ok"] is True


@pytest.fixture
def talk(cli: InProcess) -> Scene:  # noqa: F811
    scene = Scene(cli)
    scene.do("first", a="1")
    scene.first = scene.save().name
    scene.do("second", a="2")
    scene.second = scene.save().name
    settle(cli.state)
    return scene


@pytest.mark.parametrize("what", ["header", "pieces", "links", "all"])
def test_a_conversation_comes_back_from_the_transcript(talk: Scene, what: str) -> None:
    with closing(sqlite3.connect(talk.cli.state / "objects.db", isolation_level=None)) as db:
        for name in (talk.first, talk.second):
            snapshot = json.loads((talk.cli.state / "checkpoints" / name / "metadata.json").read_text()
                                  )["transcript"]["snapshot"]
            lost = {"header": [snapshot["header"]], "links": [snapshot["body"]]}
            lost["pieces"] = _link(talk.cli.state, snapshot["body"])["pieces"]
            lost["all"] = [oid for some in list(lost.values()) for oid in some]
            db.executemany("DELETE FROM objects WHERE id=?", [(bytes.fromhex(oid),) for oid in lost[what]])
            if what == "all":
                break  # the first link is lost with what it names: its pieces are found by what it says
        db.execute("VACUUM")
    settle(talk.cli.state)
    assert talk.cli.run("validate").code == 20
    done = talk.cli.json("validate", "--deep", "--repair", "--yes")
    assert done["lost"] == [] and {r["how"] for r in done["rescued"]} == {"from the transcript"}
    assert talk.cli.json("validate", "--deep")["ok"] is True


def _link(state: Path, oid: str) -> dict[str, Any]:
    from rewind.store.objects import ObjectStore

    store = ObjectStore(str(state / "objects.db"))
    try:
        found: dict[str, Any] = json.loads(store.get(bytes.fromhex(oid)))
        return found
    finally:
        store.close()


def test_what_is_only_in_the_wal_is_read_out_of_it(two: Rewind) -> None:  # noqa: F811
    path = two.state / "objects.db"
    with closing(sqlite3.connect(path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM objects").fetchall()
        (two.project / "README.md").write_text("# three\n")
        two.save("three")
        rows = Path(f"{path}-wal").read_bytes()
        good = path.read_bytes()
    path.write_bytes(b"no database".ljust(100) + good[100:])
    Path(f"{path}-wal").write_bytes(rows)
    (two.project / "README.md").write_text("# four\n")
    assert two.json("validate", "--deep", "--repair", "--yes")["lost"] == []
    two.ok("restore", "last")
    assert (two.project / "README.md").read_text() == "# three\n"


def test_what_was_packed_is_found_on_the_pages_that_it_was_on_before(
        cli: InProcess, names: list[str]) -> None:  # noqa: F811
    with closing(sqlite3.connect(cli.state / "objects.db", isolation_level=None)) as db:
        db.execute("PRAGMA secure_delete=OFF")  # which some builds of SQLite turn on
        db.execute("UPDATE bundles SET data=x'01ffff'")
    for name in names:
        (cli.project / name).unlink()
    assert cli.json("validate", "--deep", "--repair", "--yes")["lost"] == []


@pytest.mark.parametrize("where", ["project", "archive"])
def test_rules_come_back(two: Rewind, tmp_path: Path, where: str) -> None:  # noqa: F811
    file = tmp_path / "two.tar.gz"
    two.ok("export", "last", str(file))
    controller = Controller(str(two.project))
    rules = controller.state.objects.get(controller.find("last").rules)
    controller.close()
    if where == "archive":
        two.ok("config", "--set", "maxFileSizeMb=7")  # the rules in force are others now
    ruin_object(two.state, rules)
    assert two.run("validate", "--deep").code == 20
    copies = ["--from", str(file)] if where == "archive" else []
    assert two.json("validate", "--deep", "--repair", "--yes", *copies)["lost"] == []
    two.ok("restore", "last")


def test_a_turn_that_was_taken_back_in_place_comes_back_from_the_backup(talk: Scene) -> None:
    talk.cli.ok("back", "1", "--in-place")
    snapshot = json.loads((talk.cli.state / "checkpoints" / talk.second / "metadata.json").read_text()
                          )["transcript"]["snapshot"]
    with closing(sqlite3.connect(talk.cli.state / "objects.db", isolation_level=None)) as db:
        pieces = _link(talk.cli.state, snapshot["body"])["pieces"]
        db.executemany("DELETE FROM objects WHERE id=?", [(bytes.fromhex(oid),) for oid in pieces])
        db.execute("VACUUM")
    settle(talk.cli.state)
    assert talk.cli.run("validate").code == 20
    assert talk.cli.json("validate", "--deep", "--repair", "--yes")["lost"] == []


@pytest.mark.parametrize("data", ["text", 7])
def test_an_object_that_is_not_even_bytes_is_repaired_like_any_other(two: Rewind, data: object) -> None:  # noqa: F811
    oldest = two.names()[1]
    with closing(sqlite3.connect(two.state / "objects.db", isolation_level=None)) as db:
        db.execute("UPDATE objects SET data=? WHERE id IN (?, ?)",
                   (data, oid_of(b"# one\n"), oid_of(b"# two\n")))
    settle(two.state)
    done = two.json("validate", "--deep", "--repair", "--yes", code=3)
    assert [lost["checkpoint"] for lost in done["lost"]] == [oldest]
    (two.project / "README.md").write_text("something else\n")
    two.ok("restore", two.names()[0])
    assert (two.project / "README.md").read_text() == "# two\n"
    assert [p["checkpoint"] for p in two.json("validate", "--deep", code=20)["affected"]] == [oldest]


# what has none

def test_what_is_lost_costs_one_file_of_one_checkpoint(two: Rewind) -> None:  # noqa: F811
    newest, oldest = two.names()
    ruin_object(two.state, b"# one\n")
    done = two.json("validate", "--deep", "--repair", "--yes", code=3)
    assert done["rescued"] == [] and [x["checkpoint"] for x in done["lost"]] == [oldest]
    assert done["lost"][0]["paths"] == [{"path": "README.md"}]
    (aside,) = (two.state / "quarantine").rglob("objects/*")
    assert aside.name == hashlib.sha256(b"# one\n").hexdigest()
    assert "incomplete: 1 file missing" in two.ok("list").out
    shown = {c["name"]: c["incomplete"] for c in two.json("list")["checkpoints"]}
    assert shown == {newest: None, oldest: "1 file missing"}
    assert "incomplete: 1 file missing" in two.ok("show", oldest).out
    assert two.json("show", oldest)["incomplete"]["paths"] == [{"path": "README.md"}]
    two.ok("restore", newest)
    before = tree_state(two.project)
    said = two.fails(20, "restore", oldest, hint="--skip-missing")
    assert "incomplete" in said and "1 file missing" in said
    assert differences(before, tree_state(two.project)) == {}


def test_the_rest_of_an_incomplete_checkpoint_can_be_restored(two: Rewind, tmp_path: Path) -> None:  # noqa: F811
    oldest = two.names()[1]
    ruin_object(two.state, b"# one\n")
    two.json("validate", "--deep", "--repair", "--yes", code=3)
    two.save()
    (two.project / "src/app.py").write_text("changed\n")
    done = two.json("restore", oldest, "--skip-missing", code=3)
    assert done["remaining"] == [{"path": "README.md", "reason": "missing"}]
    assert (two.project / "README.md").read_text() == "# two\n", "what is missing stays as it is"
    assert (two.project / "src/app.py").read_text().startswith("line 1\n")
    assert not (two.project / "new.txt").exists()
    two.ok("undo-restore")
    assert (two.project / "new.txt").exists()
    target = tmp_path / "there"
    two.fails(20, "restore", oldest, "--to", str(target))
    shutil.rmtree(target, ignore_errors=True)
    done = two.json("restore", oldest, "--skip-missing", "--to", str(target), code=3)
    assert (target / "src/app.py").exists() and not (target / "README.md").exists()


def test_a_lost_directory_stays_as_it_is(two: Rewind) -> None:  # noqa: F811
    oldest = two.names()[1]
    (two.project / "src/app.py").write_text("other\n")
    (two.project / "src/later.py").write_text("later\n")
    two.save()
    ruin_object(two.state, object_of(two, oldest, b"src"))
    two.json("validate", "--deep", "--repair", "--yes", code=3)
    done = two.json("restore", oldest, "--skip-missing", code=3)
    assert done["remaining"] == [{"path": "src", "reason": "missing"}]
    assert sorted(p.name for p in (two.project / "src").iterdir()) == ["app.py", "later.py"]
    assert (two.project / "README.md").read_text() == "# one\n"


@pytest.mark.parametrize("repaired", [True, False])
def test_the_next_checkpoint_heals_what_it_meets(two: Rewind, repaired: bool) -> None:  # noqa: F811
    """Also where nobody asked for a repair: a look is enough to know what is damaged."""
    oldest = two.names()[1]
    ruin_object(two.state, b"# one\n", b"# two\n")
    two.run("validate", "--deep", *(["--repair", "--yes"] if repaired else []))
    (two.project / "README.md").write_text("# one\n")
    two.save()
    two.ok("restore", oldest)
    if repaired:
        assert not (two.state / "damage.json").exists()
        assert two.json("validate", "--deep")["ok"] is True


def test_files_that_did_not_change_are_healed_by_the_next_checkpoint_too(two: Rewind) -> None:  # noqa: F811
    os.utime(two.project / "src/app.py", (1_700_000_000, 1_700_000_000))
    two.save()
    two.save("so that the scan knows the file")
    ruin_object(two.state, (two.project / "src/app.py").read_bytes())
    assert two.run("validate", "--deep").code == 20
    two.save()
    assert not (two.state / "damage.json").exists()
    assert two.json("validate", "--deep")["ok"] is True


def test_gc_deletes_nothing_that_a_lost_directory_may_have_named(two: Rewind) -> None:  # noqa: F811
    oldest = two.names()[1]
    tree = object_of(two, oldest)
    ruin_object(two.state, tree)
    two.json("validate", "--deep", "--repair", "--yes", code=3)
    two.ok("gc", "--keep", "2")
    with closing(sqlite3.connect(two.state / "objects.db", isolation_level=None)) as db:
        assert db.execute("SELECT 1 FROM objects WHERE id=?", (oid_of(b"# one\n"),)).fetchone()
        db.execute("INSERT INTO objects(id, data) VALUES(?, ?)", (oid_of(tree), b"\0" + tree))
    two.ok("restore", oldest)
    assert (two.project / "README.md").read_text() == "# one\n"


# records and the other files

@pytest.mark.parametrize("what", ["index", "ids"])
def test_a_damaged_record_is_made_again(two: Rewind, what: str) -> None:  # noqa: F811
    newest, oldest = two.names()
    file = two.state / "checkpoints" / newest / "metadata.json"
    good = file.read_bytes()
    if what == "index":
        file.write_bytes(b"\0" * len(good))
        _keep_time(file, two)
    else:
        forget_index(two.state)
        file.write_bytes(b"#" * 20 + good[20:])
    assert two.run("validate", "--deep").code == 20
    done = two.json("validate", "--deep", "--repair", "--yes")
    assert newest in done["rescued"][0]["what"]
    if what != "ids":
        assert json.loads(file.read_bytes()) == json.loads(good)
    assert two.json("validate", "--deep")["ok"] is True
    two.ok("restore", oldest)
    two.ok("restore", newest)
    assert (two.project / "README.md").read_text() == "# two\n"


def forget_index(state: Path) -> None:
    for file in state.glob("scan-cache.db*"):
        file.unlink()


def _keep_time(file: Path, rewind: Rewind) -> None:
    with closing(sqlite3.connect(rewind.state / "scan-cache.db")) as db:
        (stamp,) = db.execute("SELECT stamp FROM records WHERE name=?", (file.parent.name,)).fetchone()
    os.utime(file, ns=(int(stamp.split()[0]),) * 2)


def test_a_deleted_record_comes_back_from_the_index(two: Rewind) -> None:  # noqa: F811
    newest = two.names()[0]
    file = two.state / "checkpoints" / newest / "metadata.json"
    good = file.read_bytes()
    file.unlink()
    assert newest in two.json("validate", code=20)["problems"][0]
    two.json("validate", "--deep", "--repair", "--yes")
    assert json.loads(file.read_bytes()) == json.loads(good)


def test_a_changed_word_in_a_record_is_found(two: Rewind) -> None:  # noqa: F811
    file = two.state / "checkpoints" / two.names()[0] / "metadata.json"
    file.write_bytes(file.read_bytes().replace(b'"two"', b'"twp"'))
    (problem,) = two.json("validate", "--deep", code=20)["problems"]
    assert "not as it was written" in problem


def test_a_list_of_forks_in_which_a_number_changed_is_kept(talk: Scene) -> None:
    talk.cli.ok("back", "1")
    file = talk.cli.state / "branches.json"
    good = file.read_bytes()
    file.write_bytes(good.replace(b'"cutAt": ', b'"cutAt": 1'))
    assert talk.cli.run("validate", "--deep").code == 20
    talk.cli.json("validate", "--deep", "--repair", "--yes")
    assert b'"cutAt": 1' in file.read_bytes() and talk.cli.json("validate", "--deep")["ok"] is True


def test_a_backup_of_a_transcript_is_watched_over(talk: Scene) -> None:
    talk.cli.ok("back", "1", "--in-place")
    assert talk.cli.json("validate", "--deep")["ok"] is True
    (backup,) = (talk.cli.state / "transcript-backup").iterdir()
    data = bytearray(backup.read_bytes())
    data[len(data) // 2] ^= 1
    backup.write_bytes(bytes(data))
    (problem,) = talk.cli.json("validate", "--deep", code=20)["problems"]
    assert backup.name in problem


# archives

@pytest.fixture
def archived(cli: InProcess) -> InProcess:  # noqa: F811
    cli.init()
    cli.ok("config", "--set", "storage.format=archive")
    for name in ("a", "b", "c"):
        (cli.project / name).write_bytes(random.Random(name).randbytes(60_000))
    cli.save("first")
    return cli


def _archive(rewind: Rewind, name: str) -> Path:
    return rewind.state / "checkpoints" / name / "snapshot.tar.gz"


def test_a_damaged_archive_is_made_again_from_the_project(archived: InProcess) -> None:
    file = _archive(archived, archived.names()[0])
    good = file.read_bytes()
    file.write_bytes(good[:len(good) // 2])
    assert archived.run("validate", "--deep").code == 20
    assert archived.json("validate", "--deep", "--repair", "--yes")["lost"] == []
    assert archived.json("validate", "--deep")["ok"] is True
    (archived.project / "a").unlink()
    archived.ok("restore", "last")
    assert len((archived.project / "a").read_bytes()) == 60_000


def test_the_rules_of_an_archive_that_is_made_again_come_from_the_store(archived: InProcess) -> None:
    archived.ok("config", "--set", "maxFileSizeMb=7")  # those in force are others now
    _archive(archived, archived.names()[0]).unlink()
    assert archived.json("validate", "--deep", "--repair", "--yes")["lost"] == []


def test_a_damaged_archive_is_made_again_from_another_checkpoint(archived: InProcess) -> None:
    first = archived.names()[0]
    archived.save("the same")
    (archived.project / "a").write_text("other")
    _archive(archived, first).unlink()
    done = archived.json("validate", "--deep", "--repair", "--yes")
    assert "which holds the same" in done["rescued"][0]["how"]
    archived.ok("restore", first)


def test_a_damaged_archive_is_made_again_from_an_exported_checkpoint(
        archived: InProcess, tmp_path: Path) -> None:
    first, file = archived.names()[0], tmp_path / "first.tar.gz"
    archived.ok("export", first, str(file))
    (archived.project / "a").write_text("other")
    _archive(archived, first).unlink()
    assert archived.json("validate", "--deep", "--repair", "--yes", "--from", str(file))["lost"] == []
    archived.ok("restore", first)
    assert len((archived.project / "a").read_bytes()) == 60_000


def test_what_comes_before_the_damage_in_an_archive_is_kept(archived: InProcess) -> None:
    first = archived.names()[0]
    for name in ("a", "b", "c"):
        (archived.project / name).unlink()
    (archived.project / "later").write_text("later\n")
    file = _archive(archived, first)
    file.write_bytes(file.read_bytes()[:100_000])
    done = archived.json("validate", "--deep", "--repair", "--yes", code=3)
    assert done["lost"][0]["files"] == 2
    assert archived.fails(20, "restore", first).endswith("2 files missing")
    archived.json("restore", first, "--skip-missing", code=3)
    assert len((archived.project / "a").read_bytes()) == 60_000
    assert (archived.project / "later").exists(), "what came after the damage is unknown, so nothing goes"
    assert list((archived.state / "quarantine").rglob("snapshot.tar.gz"))


def test_a_damaged_conversation_of_an_archive_comes_back_from_the_transcript(cli: InProcess) -> None:  # noqa: F811
    cli.init()
    cli.ok("config", "--set", "storage.format=archive")
    talk = Scene(cli)
    talk.say("first", *(f"turn {n} {random.Random(n).getrandbits(4000):x}" for n in range(20)))
    name = talk.save().name
    file = cli.state / "checkpoints" / name / "transcript.jsonl.gz"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0x11
    data[len(data) // 3] ^= 0x11
    file.write_bytes(bytes(data))
    assert cli.run("validate", "--deep").code == 20
    assert cli.json("validate", "--deep", "--repair", "--yes")["lost"] == []
    assert cli.json("validate", "--deep")["ok"] is True


def test_a_lost_record_and_its_archive_outlive_the_next_checkpoint(archived: InProcess) -> None:
    """The directory looks like one that a killed process left; the index knows better."""
    name = archived.names()[0]
    file = archived.state / "checkpoints" / name / "metadata.json"
    good = file.read_bytes()
    file.unlink()
    archived.save("after the loss")
    archived.ok("gc", "--keep", "5")
    assert _archive(archived, name).exists()
    archived.json("validate", "--deep", "--repair", "--yes")
    assert json.loads(file.read_bytes()) == json.loads(good)
    archived.ok("restore", name)


def test_a_record_without_an_index_comes_back_from_its_archive(archived: InProcess) -> None:
    name = archived.names()[0]
    file = archived.state / "checkpoints" / name / "metadata.json"
    good = json.loads(file.read_bytes())
    file.write_bytes(bytes(file.stat().st_size))
    forget_index(archived.state)
    archived.json("validate", "--deep", "--repair", "--yes")
    found = json.loads(file.read_bytes())
    assert (found["description"], found["code"]["tree"]) == (good["description"], good["code"]["tree"])
    archived.ok("restore", name)


@pytest.mark.parametrize("column, text", [
    ("brief", "[1, 2]"), ("brief", "{}"), ("summary", "{}"), ("summary", "7"),
    ("summary", '{"sequence": "x"}'), ("brief", "null")])
def test_a_rotten_index_is_made_anew(two: Rewind, column: str, text: str) -> None:  # noqa: F811
    good = two.json("list")["checkpoints"]
    with closing(sqlite3.connect(two.state / "scan-cache.db", isolation_level=None)) as db:
        db.execute(f"UPDATE records SET {column}=?", (text,))
    assert two.json("list")["checkpoints"] == good and len(two.names()) == 2
    two.ok("restore", "prev")
