"""The command line in this process, where an attack is on what is read and not on the process."""

from __future__ import annotations

from cli.conftest import cli  # noqa: F401 - the fixture
