"""What the command that starts the terminal UI gives to it: the project, and functions that only it has."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rewind.controller import Controller
from rewind.paths import current_dir


@dataclass
class Host:
    project: str | None = None
    copy: Callable[[str], object] | None = None
    light: bool = False  # the terminal's background, or what the person chose
    remember: Callable[[bool], object] | None = None

    @property
    def root(self) -> str:
        """The directory that would be protected."""
        return os.path.realpath(self.project or current_dir())

    @contextmanager
    def open(self) -> Iterator[Controller]:
        """A controller for one piece of work: a connection to the store belongs to the thread that made
        it."""
        controller = Controller(self.project)
        try:
            yield controller
        finally:
            controller.close()
