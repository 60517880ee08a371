"""Timing in turns, medians, caches, memory: what every row relies on."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from bench import cold
from bench.measure import Sample, interleave
from bench.memory import peak_bytes
from bench.spawn import CommandFailed, adopt_orphans
from bench.trees import Edits, TreeSpec, allocated_bytes, fingerprint, plan_tree, write_files
from bench.workplace import Workplace


def test_contenders_take_turns_and_each_round_starts_with_another() -> None:
    said: list[str] = []
    taken = interleave({"a": lambda: said.append("a"), "b": lambda: said.append("b")}, 3,
                       before=lambda: said.append("|"), ready=lambda who: said.append(f"<{who}"),
                       after=lambda who: said.append(f"{who}>"))
    turn = {"a": ["<a", "a", "a>"], "b": ["<b", "b", "b>"]}
    assert said == ["|", *turn["a"], *turn["b"], "|", *turn["b"], *turn["a"], "|", *turn["a"], *turn["b"]]
    assert {who: len(sample.values) for who, sample in taken.items()} == {"a": 3, "b": 3}


@pytest.mark.slow
def test_the_processor_time_of_what_was_started_is_counted(place: Workplace) -> None:
    taken = interleave({"busy": place.bare_python, "idle": lambda: None}, 2)
    assert all(taken["busy"].cpu) and taken["idle"].cpu == (0, 0)


def test_what_goes_on_alone_is_waited_for_and_not_part_of_the_time() -> None:
    said: list[str] = []

    def action() -> object:
        said.append("begun")
        return lambda: said.append("written")

    taken = interleave({"a": action, "b": lambda: said.append("b")}, 1)
    assert said == ["begun", "written", "b"]
    assert taken["a"].whole[0] > taken["a"].values[0] and taken["a"].until_the_end.values == taken["a"].whole


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="orphans cannot be adopted here")
def test_the_process_that_a_hook_leaves_is_adopted_and_its_time_counts(place: Workplace) -> None:
    rewind = place.small_project("left", 4)
    adopt_orphans()
    try:
        taken = interleave({"hook": rewind.prompt}, 2)["hook"]
    finally:
        adopt_orphans(False)
    assert rewind.count() == 3 and min(taken.cpu) > 5
    with pytest.raises(ChildProcessError):
        os.waitpid(json.loads((rewind.state / "hook-state.json").read_text())["left"], os.WNOHANG)


def test_the_95th_percentile_of_twenty_rounds_is_the_slowest() -> None:
    sample = Sample(tuple(float(value) for value in range(20, 0, -1)))
    assert sample.median == 10.5
    assert sample.p95 == 20.0
    assert Sample(tuple(float(value) for value in range(100))).p95 == 95.0


def test_a_cache_is_dropped_by_other_means_where_the_system_does_not_allow_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Never the real switch: it would slow down whatever else runs here.
    monkeypatch.setattr(cold, "SWITCH", str(tmp_path / "no" / "such" / "switch"))
    dropped: list[int] = []
    (tmp_path / "file").write_bytes(b"x" * 5000)
    os.symlink("nowhere", tmp_path / "link")
    monkeypatch.setattr(os, "posix_fadvise", lambda fd, *_: dropped.append(os.fstat(fd).st_size),
                        raising=False)
    monkeypatch.setattr(os, "POSIX_FADV_DONTNEED", 4, raising=False)
    assert cold.cool(tmp_path) == cold.CONTENT_ONLY
    assert dropped == [5000]
    monkeypatch.delattr(os, "posix_fadvise")
    with pytest.raises(cold.CannotCool):
        cold.cool(tmp_path)


def test_dropping_everything_writes_the_switch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    switch = tmp_path / "switch"
    monkeypatch.setattr(cold, "SWITCH", str(switch))
    assert cold.cool(tmp_path) == cold.EVERYTHING
    assert switch.read_text() == "3\n"


def test_peak_memory_is_that_of_the_command_and_not_of_who_starts_it(place: Workplace) -> None:
    ballast = bytearray(os.urandom(1 << 20)) * 120  # this process is large now
    python = place.options.python
    small = peak_bytes(place.spawner, python, [python, "-I", "-S", "-c", "pass"])
    large = peak_bytes(place.spawner, python, [python, "-I", "-S", "-c", "x = bytearray(b'x') * (64 << 20)"])
    assert len(ballast) > small
    assert small + (60 << 20) < large < small + (80 << 20)
    with pytest.raises(CommandFailed):
        peak_bytes(place.spawner, python, [python, "-c", "raise SystemExit(3)"])


def test_hard_links_take_their_room_once(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"x" * 100_000)
    before = allocated_bytes(tmp_path)
    os.link(tmp_path / "one", tmp_path / "two")
    assert allocated_bytes(tmp_path) == before
    (tmp_path / "three").write_bytes(b"x" * 100_000)
    assert allocated_bytes(tmp_path) >= before + 100_000


def test_the_same_seed_gives_the_same_tree_and_the_same_edits(tmp_path: Path) -> None:
    spec = TreeSpec(60, 300)
    trees = [plan_tree(tmp_path / name, spec) for name in ("a", "b")]
    for tree in trees:
        write_files(tree, spec)
    first = fingerprint(tmp_path / "a")
    assert len(first) > 60 and first == fingerprint(tmp_path / "b")
    edited = Edits(trees[0], seed=1).apply(5, tmp_path / "a", tmp_path / "b")
    assert fingerprint(tmp_path / "a") == fingerprint(tmp_path / "b")
    changed = {path for path, was in first.items() if fingerprint(tmp_path / "a")[path] != was}
    assert changed == set(edited) and len(edited) == 5
