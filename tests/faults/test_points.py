"""Faults at single system calls of the real program: a sample of what `scripts/torture faults` tries."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from fault_check import check_in_child
from fault_points import (
    KILL,
    SHORT,
    Point,
    Run,
    has_strace,
    inject,
    is_change,
    points_of,
    short_write_library,
    steady_paths,
)
from fault_run import LOST, MISSED, SURVIVED, Stage
from fault_scenarios import SCENARIOS, scenario
from fault_world import World, quick_place
from torture import PARTS, write_section
from torture_faults import Results

from rewind_cli import PROGRAM

pytestmark = pytest.mark.slow

needs_strace = pytest.mark.skipif(not has_strace(), reason="NOT TESTED: no strace here")
SAMPLE = 16
SAMPLED = ("save", "restore", "undo-restore", "redo", "back", "back --both --in-place", "hook: prompt", "gc",
           "init", "revert")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    with quick_place(tmp_path) as found:
        yield found


@needs_strace
@pytest.mark.parametrize("name", SAMPLED)
def test_a_command_survives_a_fault_at_any_call(name: str, place: Path) -> None:
    stage = Stage(scenario(name), place / "w", PROGRAM, short_write_library(place))
    step = max(1, len(stage.points) // SAMPLE)
    tried = [stage.attempt(point, number, thorough=number % 5 == 0)
             for number, point in enumerate(stage.points[SAMPLED.index(name) % step::step])]
    stage.close()
    assert [f"{t.point}: {t.why}" for t in tried if t.outcome == LOST] == []
    assert sum(t.outcome == SURVIVED for t in tried) > len(tried) * 3 // 4


# whether a fault is one

@needs_strace
@pytest.mark.parametrize("fault", [KILL, "EIO", SHORT])
def test_a_fault_is_what_its_name_says(fault: str, tmp_path: Path) -> None:
    """A tracer that kills nobody would make every command look as if it survived."""
    out = tmp_path / "out"
    program = f"import os; fd = os.open({str(out)!r}, os.O_WRONLY | os.O_CREAT)\n" \
              "for text in (b'one.', b'two.', b'three.'):\n    try: print(os.write(fd, text), flush=True)\n" \
              "    except OSError as error: print(error.errno, flush=True)\n"
    library = short_write_library(tmp_path)
    if fault == SHORT and not library:
        pytest.skip("NOT TESTED: no C compiler here")
    # The second write to the file. One to the standard output is a write too, but for the short ones.
    point = Point("write", 2 if fault == SHORT else 3, fault)
    done = inject(point, [sys.executable, "-I", "-S", "-c", program], dict(os.environ), tmp_path,
                  tmp_path / "log", library=library)
    assert done.hit
    wanted = {KILL: (True, b"one.", "4\n"), "EIO": (False, b"one.three.", "4\n5\n6\n"),
              SHORT: (False, b"one.twthree.", "4\n2\n6\n")}[fault]
    assert (done.killed, out.read_bytes(), done.out) == wanted


@needs_strace
def test_a_kill_that_did_not_come_is_not_counted(tmp_path: Path) -> None:
    never = Point("write", 9, KILL)
    done = inject(never, ["sh", "-c", "echo alive"], dict(os.environ), tmp_path, tmp_path / "log")
    assert (done.hit, done.out) == ("", "alive\n")


# whether a loss would be seen

def _lose_record(world: World) -> None:
    shutil.rmtree(world.state / "checkpoints" / world.marks["manual"])


def _change_project(world: World) -> None:
    (world.project / "secret").write_text("other\n")


def _lose_mode(world: World) -> None:
    (world.project / "secret").chmod(0o644)


def _cut_transcript(world: World) -> None:
    world.transcript.write_bytes(world.transcript.read_bytes()[:-1])


def _half_a_fork(world: World) -> None:
    (world.transcript.parent / "0b7c1c52-5d0e-4a63-9b8a-2f1d3a6c9e41.jsonl").write_bytes(b"{}\n")


def _litter(world: World) -> None:
    (world.home / ".claude" / ".x.rewind-tmp").write_bytes(b"")


def _touch_git(world: World) -> None:
    (world.project / ".git" / "HEAD").write_text("ref: refs/heads/other\n")


def _lose_content(world: World) -> None:
    path = world.state / "objects.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()  # else its WAL has what is lost here
    data = bytearray(path.read_bytes())
    for at in range(8192, len(data), 97):
        data[at] ^= 0xFF
    path.write_bytes(data)


HARMS: list[Callable[[World], None]] = [
    _lose_record, _change_project, _lose_mode, _cut_transcript, _half_a_fork, _litter, _touch_git,
    _lose_content]


def found_by_the_checks(stage: Stage, run: Run, fault: str) -> str:
    return check_in_child(stage.world, stage.scenario, stage.wanted, run, fault, way=0, thorough=False)


@needs_strace
def test_the_checks_see_every_kind_of_loss(place: Path) -> None:
    stage = Stage(scenario("config"), place / "w", PROGRAM)
    stage.world.thaw()
    killed = Run(-9, "", "", "")
    assert found_by_the_checks(stage, killed, KILL) == ""
    for harm in HARMS:
        stage.world.thaw()
        harm(stage.world)
        assert found_by_the_checks(stage, killed, KILL) != "", harm.__name__


LIES = ((0, ""), (1, ""), (1, "error: a\nerror: b\n"), (70, "error: a\n"),
        (1, "Traceback (most recent call last)"))


@needs_strace
def test_the_checks_see_a_lie(place: Path) -> None:
    """Nothing was done: 0 would be a false claim, and anything else needs its one sentence."""
    stage = Stage(scenario("save"), place / "w", PROGRAM)
    for code, err in LIES:
        stage.world.thaw()
        said = Run(code, "", err, "")
        assert found_by_the_checks(stage, said, "EIO") != "", (code, err)


# the driver

def test_every_scenario_has_a_name_of_its_own() -> None:
    assert len({s.name for s in SCENARIOS}) == len(SCENARIOS)
    assert set(SAMPLED) <= {s.name for s in SCENARIOS}


def test_calls_that_change_nothing_are_no_points(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(f"""7 openat(AT_FDCWD<{tmp_path}>, "{tmp_path}/a", O_RDONLY) = 3<{tmp_path}/a>
7 openat(AT_FDCWD<{tmp_path}>, "{tmp_path}/a", O_WRONLY|O_CREAT, 0600) = 3<{tmp_path}/a>
7 write(3<{tmp_path}/a>, "abc", 3) = 3
7 write(1<pipe:[1]>, "abc", 3) = 3
8 write(3<{tmp_path}/a>, "abc", 3) = 3
7 fsync(3<{tmp_path}/a>) = 0
7 rename("{tmp_path}/a", "{tmp_path}/b") = 0
""")
    found = {str(point) for point in points_of(log, tmp_path)}
    assert {"openat#2 KILL", "openat#2 ENOSPC", "write#1 EIO", "write#1 SHORT", "fsync#1 KILL", "fsync#1 EIO",
            "rename#1 EACCES"} <= found
    assert not {"openat#1 EIO", "write#2 EIO", "rename#1 KILL"} & found


def test_a_call_that_another_process_comes_to_first_is_no_point(tmp_path: Path) -> None:
    """strace would have it fail there."""
    log = tmp_path / "log"
    log.write_text(f"""7 openat(AT_FDCWD</>, "/usr/lib/a", O_RDONLY) = 3</usr/lib/a>
8 openat(AT_FDCWD</>, "{tmp_path}/a", O_WRONLY|O_CREAT, 0600) = 3<{tmp_path}/a>
8 openat(AT_FDCWD</>, "{tmp_path}/b", O_WRONLY|O_CREAT, 0600) = 3<{tmp_path}/b>
""")
    assert {point.number for point in points_of(log, tmp_path)} == {2}


def test_a_file_of_the_same_name_in_every_run_has_a_count_of_its_own(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    text = """7 openat(AT_FDCWD<{0}>, "/usr/lib/a", O_RDONLY) = 3</usr/lib/a>
7 openat(AT_FDCWD<{0}>, "{0}/lock", O_RDWR|O_CREAT, 0600) = 3<{0}/lock>
7 openat(AT_FDCWD<{0}>, "{0}/.{1}.tmp", O_WRONLY|O_CREAT, 0600) = 3<{0}/.{1}.tmp>
7 mkdir("{0}/20261119_064317_001", 0700) = 0
7 rename("{0}/.{1}.tmp", "{0}/lock") = 0
"""
    for log, pid in ((first, 70), (second, 80)):
        log.write_text(text.format(tmp_path, pid))
    steady = steady_paths([first, second], tmp_path)
    points = points_of(second, tmp_path, steady=steady)
    assert steady == {"lock"}
    assert {(p.call, p.number, p.path) for p in points} == {
        ("openat", 1, "lock"), ("openat", 3, ""), ("mkdir", 1, ""), ("rename", 1, "lock")}
    assert "openat#1 lock EIO" in {str(point) for point in points}


@needs_strace
@pytest.mark.parametrize("fault", [KILL, "EIO"])
def test_a_fault_is_that_of_the_file_that_it_names(fault: str, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    program = f"import os\nfor name in 'abab':\n    try: os.close(os.open({str(tmp_path)!r} + '/' + name," \
              " os.O_WRONLY | os.O_CREAT)); print(name, flush=True)\n" \
              "    except OSError as error: print(error.errno, flush=True)\n"
    done = inject(Point("openat", 2, fault, "a"), [sys.executable, "-I", "-S", "-c", program],
                  dict(os.environ), tmp_path / "project", tmp_path / "log")
    assert done.hit and is_change(done.hit, tmp_path)
    assert done.out == {KILL: "a\nb\n", "EIO": "a\nb\n5\nb\n"}[fault]


def test_of_many_calls_alike_some_are_points_from_the_first_to_the_last(tmp_path: Path) -> None:
    log = tmp_path / "log"
    lib = f"{tmp_path}/home/.lib-1.tmp"
    log.write_text("".join(f'7 chmod("{lib}/{number}.py", 0644) = 0\n' for number in range(100))
                   + "".join(f'7 chmod("{lib}/{number}.js", 0644) = 0\n' for number in range(2))
                   + f'7 chmod("{tmp_path}/home/settings.json", 0644) = 0\n')
    every = points_of(log, tmp_path)
    some = points_of(log, tmp_path, thin=3)
    assert len({point.number for point in every}) == 103
    assert {point.number for point in some} == {1, 51, 100, 101, 102, 103}
    assert {point.fault for point in some} == {point.fault for point in every} and set(some) <= set(every)


def test_results_are_taken_up_again_unless_the_program_changed(tmp_path: Path) -> None:
    path = tmp_path / "faults.jsonl"
    first = Results(path, "one", resume=False)
    first.add(command="save", points=9)
    first.add(command="save", point="write#1 EIO", outcome=SURVIVED, why="")
    first.add(command="save", point="write#2 EIO", outcome=MISSED, why="")
    again = Results(path, "one", resume=True)
    assert again.done == {"save": {"write#1 EIO": SURVIVED, "write#2 EIO": MISSED}}
    assert again.sizes == {"save": 9}
    assert Results(path, "another", resume=True).done == {}
    assert Results(path, "another", resume=False).done == {}


def test_a_report_goes_between_its_markers(tmp_path: Path) -> None:
    file = tmp_path / "reliability.md"
    file.write_text("before\n<!-- torture:faults -->\nold\n<!-- /torture:faults -->\nafter\n")
    write_section(file, "faults", ["| new |"])
    assert file.read_text() == "before\n<!-- torture:faults -->\n| new |\n<!-- /torture:faults -->\nafter\n"
    with pytest.raises(SystemExit):
        write_section(file, "other", [])
    assert "faults" in PARTS
