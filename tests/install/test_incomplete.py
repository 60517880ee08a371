"""An installation that could not do all of it says so, by its exit code as well."""

from __future__ import annotations

import pytest

from cli import conftest as in_process
from cli.conftest import InProcess
from rewind.errors import StateUnwritable
from rewind.install import installer

cli = in_process.cli  # the fixture


def test_a_command_that_could_not_be_linked_is_no_complete_installation(cli: InProcess) -> None:
    (cli.home / ".local").write_text("in the way\n")
    done = cli.run("install", "--yes", "--no-ui")
    assert done.code == 3 and done.err.count("could not be made") == 1
    assert (cli.home / ".local").read_text() == "in the way\n"
    assert "could not be made" in cli.run("install", "--yes", "--no-ui", "--json").data["warnings"][0]
    (cli.home / ".local").unlink()
    cli.ok("install", "--yes", "--no-ui")
    assert (cli.home / ".local" / "bin" / "rewind").exists()


def test_nor_is_one_whose_tier_could_not_be_written(cli: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: str, key: str, value: object, *, project: bool) -> None:
        raise StateUnwritable(reason="No space left on device", path=file)

    with monkeypatch.context() as patch:
        patch.setattr(installer, "set_value", full)
        done = cli.run("install", "--yes", "--no-ui")
    assert done.code == 3 and "The tier was not written down" in done.err
    cli.ok("install", "--yes", "--no-ui")
