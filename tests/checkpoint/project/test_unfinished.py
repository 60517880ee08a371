"""What killed processes leave outside of the state directory, or reserved in it, goes with the next save."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chat_scene import a_dead_pid
from checkpoint.rewind.killed import killed_after
from cli import conftest as in_process
from cli.conftest import InProcess
from make_transcripts import event_id
from rewind.checkpoint.project.unfinished import Unfinished
from rewind.paths import Project

cli = in_process.cli  # the fixture


@pytest.fixture
def temp(cli: InProcess, tmp_path: Path) -> Path:
    cli.init()
    folder = tmp_path / "agent"
    folder.mkdir()
    path = folder / f".{event_id(7)}.rewind-tmp"
    path.write_bytes(b"half a fork")
    return path


def note(cli: InProcess, text: bytes, pid: int) -> Path:
    path = cli.state / f"temporary-{pid}.unfinished"
    path.write_bytes(text)
    return path


def test_what_a_killed_process_was_writing_is_removed_by_the_next_save(cli: InProcess, temp: Path) -> None:
    left = note(cli, os.fsencode(temp), a_dead_pid())
    cli.save()
    assert not temp.exists() and not left.exists()


def test_what_a_living_process_writes_is_left_alone(cli: InProcess, temp: Path) -> None:
    kept = note(cli, os.fsencode(temp), os.getppid())
    cli.save()
    assert temp.exists() and kept.exists()


@pytest.mark.parametrize("name", ["precious.jsonl", ".rewind-tmp", "x.rewind-tmp", ".a b.rewind-tmp"])
def test_a_note_removes_nothing_that_has_no_temporary_name_of_ours(cli: InProcess, temp: Path,
                                                                   name: str) -> None:
    other = temp.with_name(name)
    other.write_bytes(b"precious")
    note(cli, os.fsencode(other), a_dead_pid())
    cli.save()
    assert other.read_bytes() == b"precious"


def test_a_note_neither_follows_links_nor_removes_directories(cli: InProcess, temp: Path) -> None:
    link, folder = temp.with_name(f".{event_id(8)}.rewind-tmp"), temp.with_name(f".{event_id(9)}.rewind-tmp")
    link.symlink_to(temp)
    folder.mkdir()
    for path in (link, folder):
        note(cli, os.fsencode(path), a_dead_pid())
        cli.save()
        assert os.path.lexists(path) and temp.exists()


@pytest.mark.parametrize("text", [b"", b"relative/.x.rewind-tmp", b"\0", b"/" * 20_000])
def test_a_note_that_says_nothing_useful_is_swept(cli: InProcess, temp: Path, text: bytes) -> None:
    left = note(cli, text, a_dead_pid())
    cli.save()
    assert not left.exists() and temp.exists()


def test_a_note_goes_with_its_file_and_stays_with_it(cli: InProcess, temp: Path) -> None:
    project = Project(str(cli.project), str(cli.state), str(cli.home))
    with Unfinished(project, str(temp)):
        assert list(cli.state.glob("*.unfinished"))
        temp.unlink()
    assert not list(cli.state.glob("*.unfinished"))
    temp.write_bytes(b"cannot be removed")
    with Unfinished(project, str(temp)):
        pass
    assert list(cli.state.glob("*.unfinished")), "the next writer tries again"


def test_a_reserved_name_without_a_record_goes_with_the_next_save(cli: InProcess) -> None:
    cli.init()
    for name in ("20200101_000000_001", "29990101_000000_001"):
        folder = cli.state / "checkpoints" / name
        folder.mkdir()
        (folder / ".metadata.json.1.tmp").write_bytes(b"{")
    cli.save()
    left = os.listdir(cli.state / "checkpoints")
    assert sorted(left) == sorted(cli.names()) and len(left) == 2


def test_what_was_killed_while_it_renewed_a_record_leaves_nothing_after_the_next_save(
        cli: InProcess) -> None:
    cli.init()
    name = cli.save()
    calls = 0
    while killed_after(calls, ["describe", name, f"try {calls}"], cli.project):
        calls += 1
        cli.save()
        assert list(cli.state.rglob("*.tmp")) == [], calls
    assert calls > 2 and cli.json("show", name)["description"] == f"try {calls}"
