"""Rows measured for real, with sizes so small that they say nothing but that everything runs."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from bench import field
from bench.command import chosen, measure_row
from bench.machine import describe
from bench.peers import registry
from bench.peers.peer import Missing, Peer
from bench.result import Line, make_result, save
from bench.rows.registry import ROWS
from bench.rows.row import GROUPS, Amount, Contest, Curve, Outcome, Row, Skipped, Unfaithful
from bench.workplace import Grow, Workplace

CHECKOUT = Path(__file__).resolve().parents[2]
ROW = {row.name: row for row in ROWS}


class Absent(Peer):
    def __init__(self, *_: object) -> None:
        raise Missing("it is not installed")


@pytest.fixture
def tiny(place: Workplace) -> Workplace:
    grow = Grow(checkpoints=(2, 4), transcript=(60_000, 120_000), forks=(1, 3), files=(20, 60))
    place.options = replace(place.options, files=60, sizes=(20, 60), untracked=(20, 40), listed=3, grow=grow)
    return place


@pytest.mark.slow
def test_growth_rows_give_a_curve_for_each_command_at_each_size(tiny: Workplace) -> None:
    for name, of, commands in (("growth-checkpoints", (2, 4), {"list", "save", "restore"}),
                               ("growth-forks", (1, 3), {"forks", "sessions", "back"}),
                               ("growth-transcript", (60_000, 120_000), {"sessions", "save", "back"}),
                               ("growth-files", (20, 60), {"save", "memory", "first-memory"})):
        found = ROW[name].run(tiny)
        assert isinstance(found, list) and all(isinstance(curve, Curve) for curve in found)
        assert {curve.name.split("-", 1)[1] for curve in found} == commands
        for curve in found:
            assert tuple(step.size for step in curve.steps) == of
            assert all(step.amount.value > 0 for step in curve.steps)


@pytest.mark.slow
def test_everyone_is_measured_in_turns_and_who_is_absent_is_named(
    tiny: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {name: registry.PEERS[name] for name in ("opencode", "gemini-cli", "shadow-git")}
    monkeypatch.setattr(field, "PEERS", {**kept, "absent": Absent})
    found = [contest for name in ("peers-first", "peers-edit-1", "peers-restore")
             for contest in measure_row(ROW[name], tiny).findings]
    assert [contest.operation for contest in found] == ["first", "store", "edit-1", "growth", "restore-50"]
    for contest in found:
        assert isinstance(contest, Contest)
        assert set(contest.amounts) == {"rewind", *kept}
        assert contest.absent == {"absent": "it is not installed"}
    for contest in found[:3]:
        assert all(amount.value > 0 for amount in contest.amounts.values())


@pytest.mark.slow
def test_a_ratio_row_compares_with_the_fastest_peer(tiny: Workplace) -> None:
    for name in ("edit-1", "revert-1k", "untracked"):
        line = measure_row(ROW[name], tiny)
        assert not line.problem
        outcome = line.findings[0]
        assert isinstance(outcome, Outcome)
        assert outcome.ratio == pytest.approx(outcome.ours.value / outcome.other.value)


@pytest.mark.parametrize("error, verdict", [(Unfaithful("wrong"), "FAIL"), (Skipped("no tool"), "SKIP")])
def test_a_row_that_goes_wrong_does_not_end_the_run(tiny: Workplace, error: Exception, verdict: str) -> None:
    def run(_: Workplace) -> Outcome:
        raise error

    line = measure_row(Row("x", "x", 1.0, run), tiny)
    assert line.verdict == verdict
    assert str(error) in line.problem + line.skipped


def test_rows_are_chosen_by_name_and_by_group() -> None:
    assert chosen(None, None) == ROWS
    assert {row.group for row in ROWS} == set(GROUPS)
    names = [row.name for row in chosen(["edit-1"], ["growth"])]
    assert names[0] == "edit-1" and len(names) == 5 and all(name.startswith("growth-") for name in names[1:])
    with pytest.raises(SystemExit, match="no row nonsense"):
        chosen(["nonsense"], None)


def test_the_machine_is_described_without_a_name(place: Workplace) -> None:
    found = describe(place.spawner, place.options.python, place.root)
    assert found["python"].startswith("3.") and found["git"][0].isdigit() and found["cores"] >= 1
    assert platform.node() not in json.dumps(found) or len(platform.node()) < 4


def test_the_page_is_drawn_by_the_script_from_a_file(place: Workplace, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "benchmarks.md").write_text((CHECKOUT / "docs" / "benchmarks.md").read_text())
    line = Line(ROW["edit-1"], [Outcome(0.5, Amount(1, "ms", 1, 3), Amount(2, "ms", 2, 3))])
    machine = describe(place.spawner, place.options.python, place.root)
    save(make_result([line], place.options, machine), tmp_path / "result.json")
    done = subprocess.run([sys.executable, str(CHECKOUT / "scripts" / "bench"), "--from",
                           str(tmp_path / "result.json"), "--report", "--docs", str(docs)],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "0.500" in done.stdout
    assert "bench-ratios.svg" in (docs / "benchmarks.md").read_text()
    assert (docs / "images" / "bench-ratios.svg").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name, library", [("ui", "uvicorn"), ("tui", "textual")])
def test_an_interface_is_waited_for_until_it_is_there(tiny: Workplace, name: str, library: str) -> None:
    pytest.importorskip(library)
    found = ROW[name].run(tiny)
    assert isinstance(found, Outcome) and found.ours.value > 0 and found.other.value > 0
