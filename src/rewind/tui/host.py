"""What the program that starts the terminal UI lends to it: the project, and things that only it can do."""

from __future__ import annotations

import os

from rewind.controller import Controller
from rewind.paths import current_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Host:
    def __init__(self, project: str | None = None, copy: Callable[[str], object] | None = None,
                 light: bool = False, remember: Callable[[bool], object] | None = None) -> None:
        self.project = project
        self.copy = copy
        self.light = light  # the terminal's background, or what the person chose
        self.remember = remember

    @property
    def root(self) -> str:
        """The directory that would be protected."""
        return os.path.realpath(self.project or current_dir())

    def open(self) -> Opened:
        return Opened(self.project)


class Opened:
    """A controller for one piece of work: a connection to the store belongs to the thread that made it."""

    def __init__(self, project: str | None) -> None:
        self._project = project

    def __enter__(self) -> Controller:
        self._controller = Controller(self._project)
        return self._controller

    def __exit__(self, *error: object) -> None:
        self._controller.close()
