"""Watchman in a project, as a user has it: when it is asked, and what happens when it missed something."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewind.controller import Controller
from rewind_cli import CHECKOUT, Rewind
from watchman_server import PROGRAM, WatchmanServer

needs_watchman = pytest.mark.skipif(
    PROGRAM is None, reason="Watchman is missing. On Debian: apt-get install watchman")

LOADED = """
import sys
sys.path.insert(0, sys.argv[1])
from rewind.controller import Controller
controller = Controller(sys.argv[2])
if sys.argv[3:]:
    from rewind.checkpoint.save import capture
    capture.LARGE = int(sys.argv[3])
controller.save("by a test")
controller.close()
print(*sorted(name for name in sys.modules if "watch" in name))
"""


def use(rewind: Rewind, monitor: str) -> None:
    rewind.ok("config", "--global", "--set", f"scan.monitor={monitor}")


def modules(rewind: Rewind, *large: str) -> list[str]:
    """What a save loads; a project is large from so many files on."""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", LOADED, str(CHECKOUT / "src"),
                           str(rewind.project), *large], env=rewind.env, capture_output=True, text=True,
                          timeout=60)
    assert not done.stderr, done
    return done.stdout.split()


def facts(rewind: Rewind) -> str:
    controller = Controller(str(rewind.project))
    try:
        return controller.state.cache.monitored()
    finally:
        controller.close()


@pytest.fixture
def server(tmp_path: Path, rewind: Rewind, monkeypatch: pytest.MonkeyPatch) -> Iterator[WatchmanServer]:
    server = WatchmanServer(tmp_path / "watchman")
    server.start()
    fake_program(rewind, tmp_path)  # whatever happens, nobody else's is started
    monkeypatch.setenv("PATH", rewind.env["PATH"])
    monkeypatch.setenv("WATCHMAN_SOCK", server.socket)
    rewind.env["WATCHMAN_SOCK"] = server.socket
    yield server
    server.stop()


@pytest.fixture
def small(rewind: Rewind) -> Rewind:
    (rewind.project / "src").mkdir()
    (rewind.project / "src" / "file").write_text("one")
    rewind.init()
    return rewind


def fake_program(rewind: Rewind, tmp_path: Path) -> Path:
    """A `watchman` that notes that it was started, and is of no use."""
    folder, note = tmp_path / "bin", tmp_path / "started"
    folder.mkdir()
    (folder / "watchman").write_text(f"#!/bin/sh\necho started >> {note}\n")
    (folder / "watchman").chmod(0o755)
    rewind.env.update(PATH=f"{folder}:{rewind.env['PATH']}", WATCHMAN_SOCK=str(tmp_path / "none"))
    return note


def test_a_small_project_loads_nothing_of_it(small: Rewind) -> None:
    assert modules(small) == []
    use(small, "off")
    assert modules(small, "0") == []


def test_a_large_project_without_watchman_only_looks_for_its_socket(small: Rewind, tmp_path: Path) -> None:
    note = fake_program(small, tmp_path)
    assert modules(small, "0") == ["rewind.checkpoint.save.watching", "rewind.snapshot.watchman",
                                   "rewind.snapshot.watchman.where"]
    assert not note.exists(), "a server was started"


def test_a_project_cannot_have_watchman_started(small: Rewind) -> None:
    (small.state / "config.json").write_text('{"scan": {"monitor": "watchman"}}')
    assert "scan.monitor cannot be set by a project" in small.run("save").err


def test_where_it_is_wanted_it_is_started_and_not_each_time(small: Rewind, tmp_path: Path) -> None:
    note = fake_program(small, tmp_path)
    use(small, "watchman")
    small.save()
    small.save()
    assert note.read_text() == "started\n"


def test_the_socket_of_one_that_was_killed_does_not_keep_it_from_being_started(small: Rewind,
                                                                               tmp_path: Path) -> None:
    note = fake_program(small, tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(small.env["WATCHMAN_SOCK"])
    use(small, "watchman")
    small.save()
    assert note.read_text() == "started\n"


@needs_watchman
def test_a_large_project_asks_the_watchman_that_runs(small: Rewind, server: WatchmanServer) -> None:
    assert facts(small) == ""
    modules(small, "0")
    assert json.loads(facts(small))["scans"] == 0
    modules(small, "0")
    assert json.loads(facts(small))["scans"] == 0, "it has just crawled, as it was asked to"
    modules(small, "0")
    assert json.loads(facts(small))["scans"] == 1


@needs_watchman
def test_checkpoints_are_what_they_are_without_it(small: Rewind, server: WatchmanServer) -> None:
    use(small, "watchman")
    for number in range(4):
        (small.project / "src" / f"new{number}").write_text("x")
        name = small.save()
        assert differs(small, name) == []
    first = small.names()[-1]
    small.ok("restore", first)
    assert not (small.project / "src" / "new0").exists()
    small.ok("undo-restore")
    assert (small.project / "src" / "new3").exists()
    assert differs(small, small.save()) == []


def differs(rewind: Rewind, name: str) -> list[str]:
    """From the project as it is, which a diff looks at without Watchman."""
    found = rewind.json("diff", name)
    return [path for kind in ("added", "modified", "deleted", "renamed") for path in found[kind]]


def write_behind(rewind: Rewind, text: str) -> None:
    """Through a second name outside the project, of which Watchman hears nothing."""
    outside = rewind.home / "outside"
    if not outside.exists():
        os.link(rewind.project / "src" / "file", outside)
    outside.write_text(text)


@pytest.fixture
def blind(small: Rewind, server: WatchmanServer, monkeypatch: pytest.MonkeyPatch) -> Rewind:
    """A project in which Watchman has missed a change, and a checkpoint with the old content."""
    use(small, "watchman")
    os.utime(small.project / "src" / "file", (1, 1))
    small.save()
    _settle(small)
    write_behind(small, "two")
    name = small.save()
    assert small.ok("cat", f"{name}:src/file").out == "one"
    return small


def _settle(rewind: Rewind) -> None:
    """Until the scan does not look again at what is new of itself."""
    controller = Controller(str(rewind.project))
    try:
        for _ in range(100):
            if controller.state.cache.unsettled() == [b""] and controller.state.scanned.query(
                    "SELECT 1 FROM dirs WHERE path=x'' AND sig!=x''"):
                return
            time.sleep(0.1)
            controller.save("until it is settled")
    finally:
        controller.close()
    raise AssertionError("still not settled")


@needs_watchman
def test_a_restore_finds_what_watchman_missed_and_loses_nothing(blind: Rewind) -> None:
    first = blind.names()[-1]
    (blind.project / "other").write_text("told")
    blind.ok("restore", first)
    assert (blind.project / "src" / "file").read_text() == "one"
    log = (blind.state / "rewind.log").read_text()
    assert "Watchman missed changes" in log and '"src/file"' in log
    blind.ok("undo-restore")
    assert (blind.project / "src" / "file").read_text() == "two"


@needs_watchman
def test_validate_finds_it_and_doctor_says_so_until_it_is_asked_again(blind: Rewind) -> None:
    found = blind.run("validate", "--json")
    assert found.code == 1 and "src/file" in found.out
    assert blind.run("validate").code == 0
    said = blind.run("doctor", "--json").data["checks"]
    told = next(one for one in said if one["name"] == "watchman")
    assert told["status"] == "warning" and "src/file" in told["message"]
    assert blind.ok("cat", f"{blind.save()}:src/file").out == "two"
    subprocess.run(told["fix"].partition(": ")[2], shell=True, check=True)
    blind.save()
    assert json.loads(facts(blind))["scans"] >= 0


@needs_watchman
def test_after_that_every_save_looks_at_everything(blind: Rewind) -> None:
    blind.run("validate")
    blind.save()
    _settle(blind)
    write_behind(blind, "three")
    assert blind.ok("cat", f"{blind.save()}:src/file").out == "three"


def test_doctor_recommends_it_for_many_files(small: Rewind, monkeypatch: pytest.MonkeyPatch) -> None:
    from rewind.install.doctor.doctor import examine
    from rewind.snapshot.scan.cache import ScanCache

    monkeypatch.setenv("WATCHMAN_SOCK", str(small.home / "none"))
    for files, expected in ((49_999, 0), (50_000, 1)):
        monkeypatch.setattr(ScanCache, "files", lambda cache, files=files: files)
        found = [one for one in examine(small.env["REWIND_HOME"], str(small.project), small.env)
                 if one.name == "watchman"]
        assert len(found) == expected
        assert all("watchman watch-project" in one.fix for one in found)
