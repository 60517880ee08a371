"""What is written to a file while a restore replaces it has a checkpoint of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewind.checkpoint.records.record import Record
from rewind.checkpoint.rewind.files.kept_copies import ONLY_THESE, kept_note, trees_of
from rewind.controller import Controller
from rewind.snapshot.apply.applier import Applier
from rewind.snapshot.trees.change import Change
from rewind.snapshot.trees.listing import every_path
from rewind.snapshot.trees.tree import FILE, Tree, TreeEntry
from rewind.store.blobs import oid_of
from rewind_cli import Rewind


def test_the_trees_of_some_files_know_of_nothing_else() -> None:
    stored: dict[bytes, bytes] = {}

    def put(blob: bytes) -> bytes:
        stored[oid_of(blob)] = blob
        return oid_of(blob)

    files = {path: TreeEntry(FILE, 0o644, 1, bytes(32)) for path in (b"a", b"b/c", b"b/d/e")}
    root = trees_of(files, put)
    trees = {oid: Tree.decode(blob) for oid, blob in stored.items()}
    assert {tree.partial for tree in trees.values()} == {ONLY_THESE}
    found = dict(every_path(root, trees.__getitem__))
    assert {path: entry for path, entry in found.items() if entry.kind == FILE} == files


def test_a_note_names_some_of_the_files_and_the_checkpoint_last() -> None:
    note = kept_note(Record({"name": "20261115_101502_003"}), [b"a", b"b", b"c", b"d", b"e"])
    assert "a, b, c and 2 more" in note and note.endswith("rewind restore 20261115_101502_003")


@pytest.fixture
def controller(project: Path, home: Path) -> Iterator[Controller]:
    (project / "src").mkdir()
    (project / "src" / "a.txt").write_text("first")
    (project / "other.txt").write_text("the same")
    controller, _ = Controller.init(str(project), mode="project")
    yield controller
    controller.close()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["objects", "archive"])
def test_what_is_written_during_a_restore_can_be_restored(
        controller: Controller, project: Path, home: Path, monkeypatch: pytest.MonkeyPatch,
        form: str) -> None:
    rewind, path = Rewind(project, home), project / "src" / "a.txt"
    rewind.ok("config", "--set", f"storage.format={form}")
    path.write_text("second")
    (project / "new.txt").write_text("new")
    controller.close()
    controller = Controller(str(project))
    first = rewind.names()[-1]
    real = Applier._matches_plan

    def meddled(self: Applier, change: Change) -> bool:
        planned = real(self, change)
        if (project / ".agent" / "rewind" / "staging").exists() and change.path == b"src/a.txt":
            path.write_text("in the last moment")
        return planned

    with monkeypatch.context() as patch:
        patch.setattr(Applier, "_matches_plan", meddled)
        done = controller.restore(first, mode="code")
    controller.close()
    assert path.read_text() == "first" and not (project / "new.txt").exists()
    assert done.kept_copy and done.complete and done.notes[-1].endswith(done.kept_copy.name)
    rewind.ok("validate", "--deep")
    plan = rewind.plan(done.kept_copy.name)
    assert [item["path"] for item in plan["written"]] == ["src/a.txt"] and plan["deleted"] == []
    rewind.ok("restore", done.kept_copy.name)
    assert path.read_text() == "in the last moment" and (project / "other.txt").read_text() == "the same"
    rewind.ok("undo-restore")
    rewind.ok("undo-restore")
    assert path.read_text() == "second" and (project / "new.txt").read_text() == "new"
    rewind.ok("gc")
    rewind.ok("validate", "--deep")


def test_a_restore_that_nobody_disturbs_keeps_nothing(controller: Controller, project: Path) -> None:
    (project / "src" / "a.txt").write_text("second")
    controller.save()
    done = controller.restore("prev", mode="code")
    assert done.kept_copy is None and done.notes == []
