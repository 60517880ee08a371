"""Rows measured for real, with sizes so small that they say nothing but that everything runs."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from bench import field, many, watchman
from bench.command import chosen, measure_row
from bench.machine import describe
from bench.peers import registry
from bench.peers.peer import Missing, Peer
from bench.result import RowResult, make_result, save
from bench.rows.registry import ROWS
from bench.rows.row import GROUPS, Amount, Contest, Curve, Outcome, Row, Unfaithful
from bench.skipped import Skipped
from bench.spawn import CommandFailed
from bench.trees import fingerprint
from bench.workplace import MAIN, Grow, Workplace

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).resolve().parents[2]
ROW = {row.name: row for row in ROWS}


class Absent(Peer):
    def __init__(self, *_: object) -> None:
        raise Missing("it is not installed")


@pytest.fixture
def tiny(place: Workplace) -> Workplace:
    grow = Grow(checkpoints=(2, 4), transcript=(60_000, 120_000), forks=(1, 3))
    files = {"1k": 20, MAIN: 60, "100k": 90}
    place.options = replace(place.options, files=files, untracked=(20, 40), sessions=2, history=8, listed=8,
                            grow=grow)
    return place


@pytest.mark.slow
def test_growth_rows_give_a_curve_for_each_command_at_each_size(tiny: Workplace) -> None:
    for name, of, commands in (("growth-checkpoints", (2, 4), {"list", "save", "restore"}),
                               ("growth-forks", (1, 3), {"forks", "sessions", "back"}),
                               ("growth-transcript", (60_000, 120_000), {"sessions", "save", "back"}),
                               ("memory", (20, 60, 90), {"hook", "save", "first"})):
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
    floors = {}
    for name in ("hook-1", "save-1", "restore", "back-both", "first-prompt", "untracked", "list", "hook-no"):
        outcome = outcome_of(name, tiny)
        assert outcome.ratio == pytest.approx(outcome.ours.value / outcome.other.value)
        floors[name] = outcome.floor
    assert floors["hook-no"] and floors["untracked"] is None
    if sys.platform == "linux":  # with GNU's find
        assert floors["restore"] and floors["first-prompt"]


def outcome_of(name: str, place: Workplace) -> Outcome:
    line = measure_row(ROW[name], place)
    assert not line.problem and isinstance(line.findings[0], Outcome)
    return line.findings[0]


def test_rewind_is_measured_as_the_installer_leaves_it(tiny: Workplace) -> None:
    home = tiny.root / "home"
    assert json.loads((home / ".rewind" / "config.json").read_text())["tier"] == "balanced"
    assert "smart-checkpoint" in (home / ".claude" / "settings.json").read_text()
    for script in (home / ".local" / "bin" / "rewind", home / ".rewind" / "system" / "smart-checkpoint"):
        text = script.read_text()
        assert tiny.options.python in text and str(home) in text and str(CHECKOUT) not in text
    rewind = tiny.small_project("installed")
    assert rewind.state.parent == home / ".rewind" / "storage"  # where it is by default
    before = rewind.count()
    rewind.prompt()()  # and until it is written
    assert rewind.count() == before + 1
    rewind.forget()
    with pytest.raises(CommandFailed, match="exited with 10"):
        rewind.count()


def test_a_measured_project_has_a_history_of_many_sessions(tiny: Workplace) -> None:
    pair = tiny.pair("1k")
    listed = json.loads(pair.hooked.output("list", "--all", "--json"))["checkpoints"]
    assert len({one["sessionId"] for one in listed}) >= tiny.options.sessions
    assert len(listed) >= tiny.options.history
    assert set(pair.tree.paths) <= set(fingerprint(pair.hooked.project))
    assert not (pair.hooked.project / many.WORKED_ON).exists()


def test_a_hook_that_makes_no_checkpoint_is_not_measured(tiny: Workplace) -> None:
    for name in ("hooked", "saved"):
        getattr(tiny.pair("1k"), name).run("config", "--set", "tier=minimal")
    line = measure_row(ROW["hook-1k"], tiny)
    assert line.verdict == "FAIL" and "checkpoints were made" in line.problem


def test_without_watchman_its_rows_are_skipped_with_the_reason(
    tiny: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchman.shutil, "which", lambda name: None)
    line = measure_row(ROW["hook-watchman"], tiny)
    assert line.verdict == "SKIP" and "Watchman is not installed" in line.skipped
    monkeypatch.setattr(watchman.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(watchman, "_SETTING", "scan.nonsense")
    line = measure_row(ROW["hook-watchman"], tiny)
    assert line.verdict == "SKIP" and "no setting scan.nonsense" in line.skipped


def test_without_the_real_repository_its_rows_are_skipped_with_the_reason(
    tiny: Workplace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    line = measure_row(ROW["django"], tiny)
    assert line.verdict == "SKIP" and "Django cannot be had" in line.skipped


@pytest.mark.parametrize("error, verdict", [(Unfaithful("wrong"), "FAIL"), (Skipped("no tool"), "SKIP")])
def test_a_row_that_goes_wrong_does_not_end_the_run(tiny: Workplace, error: Exception, verdict: str) -> None:
    def run(_: Workplace) -> Outcome:
        raise error

    line = measure_row(Row("x", "x", 1.0, run), tiny)
    assert line.verdict == verdict
    assert str(error) in line.problem + line.skipped


def test_rows_are_chosen_by_name_and_by_group() -> None:
    assert {row.group for row in chosen(None, None)} == {"speed"}
    assert {row.group for row in ROWS} == set(GROUPS) and chosen(None, GROUPS) == ROWS
    names = [row.name for row in chosen(["hook-1"], ["growth"])]
    assert names[0] == "hook-1" and len(names) == 4 and all(name.startswith("growth-") for name in names[1:])
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
    line = RowResult(ROW["hook-1"], [Outcome(0.5, Amount(1, "ms", 1, 3), Amount(2, "ms", 2, 3))])
    machine = describe(place.spawner, place.options.python, place.root)
    save(make_result([line], place.options, machine), tmp_path / "result.json")
    done = subprocess.run([sys.executable, str(CHECKOUT / "scripts" / "bench"), "--from",
                           str(tmp_path / "result.json"), "--document", "--docs", str(docs), "--before",
                           str(tmp_path / "result.json")],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "0.500" in done.stdout
    page = (docs / "benchmarks.md").read_text()
    assert "bench-ratios.svg" in page and "| what | before | ratio | budget |" in page
    assert (docs / "images" / "bench-ratios.svg").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name, library", [("ui", "uvicorn"), ("tui", "textual")])
def test_an_interface_is_waited_for_until_it_is_there(tiny: Workplace, name: str, library: str) -> None:
    pytest.importorskip(library)
    found = ROW[name].run(tiny)
    assert isinstance(found, Outcome) and found.ours.value > 0 and found.other.value > 0
