"""A library stays as long as a process runs from it, whatever is installed meanwhile."""

from __future__ import annotations

import compileall
import subprocess
import sys
from pathlib import Path

import pytest

from compiled_once import compile_dir
from rewind.install.machine.in_use import is_in_use
from rewind.install.machine.library import put_library
from rewind.install.machine.system import System
from rewind_cli import CHECKOUT

pytestmark = pytest.mark.slow


def test_a_library_is_pruned_once_no_process_runs_from_it(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compileall, "compile_dir", compile_dir)
    system = System(str(tmp_path / "home"))
    Path(system.folder).mkdir(parents=True)
    package, before = str(CHECKOUT / "src" / "rewind"), None
    for version in ("1", "2"):
        put_library(system, package, version, before, lambda library: None)
        before = system.library(version)
    server = Path(system.library("1"), "rewind", "server.py")
    server.write_text("import sys\nprint('here', flush=True)\nsys.stdin.read()\n")
    with subprocess.Popen([sys.executable, str(server)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline() == b"here\n"
        assert is_in_use(system.library("1")) and not is_in_use(system.library("2"))
        put_library(system, package, "3", before, lambda library: None)
        assert server.exists()
        assert process.stdin
        process.stdin.close()
        process.wait()
    put_library(system, package, "4", system.library("3"), lambda library: None)
    assert not server.exists()
