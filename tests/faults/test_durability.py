"""The order in which things reach the disk, seen from outside: a power cut at any moment leaves no checkpoint
without its content, and takes none that `save` has reported."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fault_points import has_strace, trace
from fault_world import World
from fsync_order import EXISTING, Step, at, steps_of

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not has_strace(), reason="NOT TESTED: no strace here")]


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path / "w")
    world.make()
    return world


def run(world: World, *args: str) -> list[Step]:
    EXISTING.clear()
    EXISTING.update(os.path.join(at, name) for at, _, names in os.walk(world.top) for name in names)
    log = world.top.with_name("strace")
    done = trace([*world.rewind.command, *args], world.env, world.project, log)
    assert done.code == 0, done
    return steps_of(log)


def content(steps: list[Step], step: Step, world: World) -> list[str]:
    """What of the store's own content would be lost if the power failed right before this step. An empty file
    is nothing to lose."""
    filled = {s.path for s in steps[:steps.index(step)] if s.call == "pwrite64"}
    return [p for p in step.dirty | (step.loose & filled) if p.startswith(str(world.state / "objects.db"))
            and not p.endswith("-shm")]


def record(steps: list[Step]) -> Step:
    """The rename by which a checkpoint comes to be."""
    return at(steps, "rename", "/metadata.json")


def end(steps: list[Step]) -> Step:
    return steps[-1]


def test_a_checkpoints_content_is_on_disk_before_its_record_is_named(world: World) -> None:
    steps = run(world, "save", "x")
    made = record(steps)
    assert content(steps, made, world) == []
    assert not [p for p in made.dirty if ".metadata.json." in p], "the record itself must be synced, too"
    written = [s for s in steps[:steps.index(made)] if s.path.endswith("objects.db-wal")]
    assert [s.call for s in written][-1] == "fdatasync"
    later = [s for s in steps[steps.index(made) + 1:] if s.call == "pwrite64" and "objects.db" in s.path]
    assert later == []


def test_a_checkpoint_that_save_reported_survives_a_power_cut(world: World) -> None:
    steps = run(world, "save", "x")
    folder = os.path.dirname(record(steps).path)
    lost = {p for p in end(steps).dirty | end(steps).loose if p.startswith(str(world.state / "checkpoints"))}
    assert lost == set(), "the record's name, and that of its directory"
    assert folder not in end(steps).loose


def test_the_first_checkpoint_is_durable_with_everything_that_leads_to_it(tmp_path: Path) -> None:
    world = World(tmp_path / "w")
    world.make(protected=False)
    steps = run(world, "init")
    assert content(steps, record(steps), world) == []
    derived = ("scan-cache.db", "objects.db-", "rewind.log", "/lock", ".lock")
    left = {p for p in end(steps).dirty | end(steps).loose
            if p.startswith(str(world.top)) and not any(part in p for part in derived)}
    assert left == set(), "a directory that is made is as durable as what lies in it"


def test_an_archive_is_on_disk_before_its_record_is_named(world: World) -> None:
    world.rewind.ok("config", "--set", "storage.format=archive")
    steps = run(world, "save", "x")
    made = record(steps)
    folder = os.path.dirname(made.path)
    assert not [p for p in made.dirty if p.startswith(folder)]


def test_a_backup_and_the_mark_are_on_disk_before_a_restore_touches_the_project(world: World) -> None:
    steps = run(world, "restore", world.marks["manual"], "--code-only", "--force")
    state = str(world.state)
    inside = [s for s in steps if s.path.startswith(str(world.project)) and not s.path.startswith(state)
              and s.call in ("rename", "renameat", "unlinkat", "rmdir", "mkdirat", "symlinkat", "fchmod")]
    marks = [s for s in steps if s.call == "write" and s.path.endswith("operations.jsonl")]
    first, last = inside[0], inside[-1]
    assert steps.index(record(steps)) < steps.index(marks[0]) < steps.index(first)
    assert content(steps, first, world) == []
    for name in ("metadata.json", "operations.jsonl"):
        assert not [p for p in first.dirty | first.loose if p.endswith(name)], name
    assert steps.index(marks[-1]) > steps.index(last), "the mark goes when all is done"


def test_a_transcript_is_replaced_when_backup_and_history_are_on_disk(world: World) -> None:
    steps = run(world, "back", "1", "--in-place", "--force")
    replaced = at(steps, "rename", f"/{world.transcript.name}")
    kept = [p for p in replaced.dirty | replaced.loose if "transcript-backup" in p or p.endswith((
        "operations.jsonl", ".rewind-tmp"))]
    assert [p for p in kept if not p.endswith(".rewind-tmp")] == []
    assert not [p for p in replaced.dirty if p.endswith(".rewind-tmp")], "the new content, too"
    assert not [p for p in end(steps).loose if p.endswith(world.transcript.name)]


def test_a_collection_removes_a_record_before_its_content(world: World) -> None:
    for number in range(3):
        (world.project / "big").write_bytes(os.urandom(50_000))
        world.rewind.save(str(number))
    steps = run(world, "gc", "--keep", "1")
    gone = [n for n, s in enumerate(steps) if s.call == "unlink" and s.path.endswith("metadata.json")]
    content = [n for n, s in enumerate(steps) if s.call == "pwrite64" and "objects.db-wal" in s.path]
    assert gone and max(gone) < max(content)
    noted = [n for n in content if n < min(gone)]
    assert noted, "the highest name that goes is noted before it is free again"
