"""`rewind export` and `rewind import`; the archive itself is tested in store/ and snapshot/."""

from __future__ import annotations

import gzip
import os
import subprocess
from pathlib import Path

import pytest

from rewind_cli import Rewind, differences, paths_of, tree_state


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "out.tar.gz"


@pytest.mark.parametrize("more", [[], ["--force"], ["--dry-run"]], ids=str)
@pytest.mark.parametrize("folder", ["missing", "missing/too", "README.md"])
def test_a_directory_that_is_not_there_is_named(two: Rewind, folder: str, more: list[str]) -> None:
    said = two.fails(1, "export", "last", f"{folder}/out.tar.gz", *more, hint="Make it first")
    assert said == f"error: There is no directory {two.project / folder}"


def test_an_exported_checkpoint_comes_back_as_a_new_one(two: Rewind, file: Path) -> None:
    exported = two.names()[1]
    before = tree_state(two.project)
    done = two.ok("export", "prev", str(file))
    assert done.out.endswith(f"from {exported}\n")
    assert file.stat().st_mode & 0o777 == 0o600
    done = two.ok("import", str(file))
    newest = two.names()[0]
    assert done.out == f"Imported as {newest}\n" and newest != exported
    assert tree_state(two.project) == before, "the project is not touched"
    assert two.json("diff", exported, newest)["modified"] == []
    record = two.json("show", newest)
    assert record["imported"]["name"] == exported and record["imported"]["createdAt"]
    assert record["description"] == "First checkpoint" and record["kind"] == "manual"
    assert exported in two.ok("show", newest).out
    assert two.json("validate", "--deep")["ok"] is True


def test_an_export_goes_to_another_project(two: Rewind, file: Path, tmp_path: Path) -> None:
    two.ok("export", "last", str(file))
    wanted = tree_state(two.project)
    other = tmp_path / "other"
    other.mkdir()
    two.ok("init", "-C", str(other))
    two.ok("import", "-C", str(other), str(file))
    two.ok("restore", "-C", str(other), "last")
    assert differences(wanted, tree_state(other)) == {}


def test_the_same_checkpoint_gives_the_same_bytes(two: Rewind, tmp_path: Path) -> None:
    for name in ("a", "b"):
        two.ok("export", "last", str(tmp_path / name))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_tar_can_read_it(two: Rewind, file: Path) -> None:
    two.ok("export", "last", str(file))
    listed = subprocess.run(["tar", "tzf", str(file)], capture_output=True, text=True, check=True)
    assert "files/src/app.py" in listed.stdout.splitlines()


def test_an_existing_file_is_replaced_only_when_forced(two: Rewind, file: Path) -> None:
    file.write_text("precious")
    two.fails(1, "export", "last", str(file), hint="--force")
    assert file.read_text() == "precious"
    two.ok("export", "last", str(file), "--force")
    assert gzip.decompress(file.read_bytes())
    assert sorted(os.listdir(file.parent)) == ["home", "out.tar.gz", "project"], "nothing is left over"


@pytest.mark.parametrize("kind", ["directory", "link", "fifo"])
def test_what_is_no_regular_file_is_never_replaced(two: Rewind, file: Path, kind: str) -> None:
    target = file.parent / "target"
    if kind == "directory":
        file.mkdir()
    elif kind == "link":
        target.write_text("precious")
        file.symlink_to(target)
    else:
        os.mkfifo(file)
    two.fails(1, "export", "last", str(file), "--force", hint="another file")
    assert kind != "link" or (file.is_symlink() and target.read_text() == "precious")


def test_a_failed_export_leaves_nothing(two: Rewind, file: Path) -> None:
    two.fails(1, "export", "last", str(file.parent / "no/such/folder/x"))
    two.fails(12, "export", "99", str(file))
    assert not file.exists()


def test_export_to_the_standard_output(rewind: Rewind, file: Path) -> None:
    rewind.init()
    done = subprocess.run([*rewind.command, "export", "last", "-"], cwd=rewind.project,
                          env=rewind.env, capture_output=True, check=True)
    file.write_bytes(done.stdout)
    rewind.ok("import", str(file))
    rewind.fails_with_json(2, "export", "last", "-")


def test_links_that_lead_out_are_said_and_need_permission(two: Rewind, file: Path) -> None:
    (two.project / "way").symlink_to("/etc")
    two.ok("save")
    done = two.ok("export", "last", str(file))
    assert "warning: 1 link" in done.err and "way" in done.err
    assert paths_of(two.json("export", "last", str(file), "--force")["linksOut"]) == {b"way"}
    before = two.names()
    assert "leads out" in two.fails(1, "import", str(file))
    assert two.names() == before
    two.ok("import", str(file), "--allow-links-out")


def test_export_dry_run_writes_nothing(two: Rewind, file: Path) -> None:
    assert two.json("export", "last", str(file), "--dry-run")["dryRun"] is True
    assert "would be written" in two.ok("export", "last", str(file), "--dry-run").out
    assert not file.exists()
    file.write_text("precious")
    two.fails(1, "export", "last", str(file), "--dry-run")


def test_import_dry_run_imports_nothing(two: Rewind, file: Path) -> None:
    two.ok("export", "last", str(file))
    size = (two.state / "objects.db").stat().st_size
    before = two.names()
    answer = two.json("import", str(file), "--dry-run")
    assert answer["fileCount"] == 3 and answer["imported"]["name"] == before[0]
    assert "would be imported" in two.ok("import", str(file), "--dry-run").out
    assert two.names() == before and (two.state / "objects.db").stat().st_size == size


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_a_file_that_is_not_there_is_simply_named(two: Rewind, dry: list[str]) -> None:
    before = two.names()
    assert two.fails(1, "import", "no-such.tar.gz", *dry) == "error: There is no file no-such.tar.gz"
    assert two.fails_with_json(1, "import", "no-such.tar.gz", *dry)["code"] == "file-not-there"
    assert two.names() == before


@pytest.mark.parametrize("damage", ["cut", "flipped", "text", "directory"])
def test_a_damaged_file_is_refused_as_a_whole(two: Rewind, file: Path, damage: str) -> None:
    (two.project / "new.txt").write_bytes(os.urandom(5000))
    two.ok("save")
    two.ok("export", "last", str(file))
    data = file.read_bytes()
    if damage == "cut":
        file.write_bytes(data[:-100])
    elif damage == "flipped":
        file.write_bytes(data[:2000] + bytes([data[2000] ^ 1]) + data[2001:])
    elif damage == "text":
        file.write_text("not an archive\n" * 100)
    else:
        file.unlink()
        file.mkdir()
    before = two.names()
    for dry in ([], ["--dry-run"]):
        said = two.fails(1, "import", str(file), *dry, hint="Nothing was imported")
        assert "Refusing to import" in said
    assert two.names() == before
    assert two.json("validate", "--deep")["ok"] is True


def test_a_size_limit_is_kept(two: Rewind, file: Path) -> None:
    (two.project / "big").write_bytes(bytes(3 << 20))
    two.ok("save")
    two.ok("export", "last", str(file))
    assert "more than" in two.fails(1, "import", str(file), "--max-size-mb", "1")
    two.ok("import", str(file), "--max-size-mb", "10")
    two.fails(2, "import", str(file), "--max-size-mb", "0")


def test_an_import_does_not_end_the_way_forward(two: Rewind, file: Path) -> None:
    two.ok("export", "last", str(file))
    two.ok("undo")
    two.ok("import", str(file))
    two.ok("redo")
    assert (two.project / "README.md").read_text() == "# two\n"
