"""What a scan leaves for the next one: the time from which to ask Watchman, and where to look in any case."""

from __future__ import annotations

from rewind.fast import quickjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_PATHS = 200  # to look at each time; with more, a walk is as fast


class MonitorState:
    """It is stored as JSON in the scan cache, in the same transaction as what the scan saw."""

    def __init__(self, clock: str, watch: str, prefix: str, ignored: list[str], warning: str, about: str,
                 walked: float, scans: int = 0, nested: list[str] | None = None,
                 failed: list[str] | None = None) -> None:
        self.clock = clock
        self.watch = watch  # the directory that Watchman watches
        self.prefix = prefix  # the project's path in it
        self.ignored = ignored  # paths in the project that Watchman does not look into
        self.warning = warning
        self.about = about  # identifies the directory and the pins
        self.walked = walked  # when the last whole walk was
        self.scans = scans  # how many there have been since then
        self.nested = nested or []  # nested repositories: Watchman does not look into their `.git`
        self.failed = failed or []  # directories that could not be read

    def dumps(self) -> str:
        """Empty if there is too much to look at each time."""
        return quickjson.dumps(vars(self)) if len(self.nested + self.failed) <= _MOST_PATHS else ""

    def after(self, clock: str, warning: str) -> MonitorState:
        return MonitorState(**{**vars(self), "clock": clock, "warning": warning, "scans": self.scans + 1})


def read_state(text: str) -> MonitorState | None:
    """None if there is nothing, or something that no version of Rewind has written."""
    try:
        found = quickjson.loads(text)
        state = MonitorState(**found)
        good = all(type(value) is type(getattr(_PATTERN, key)) for key, value in vars(state).items())
    except (ValueError, TypeError, RecursionError):
        return None
    paths = [*state.ignored, *state.nested, *state.failed] if good else []
    return state if good and all(isinstance(path, str) for path in paths) else None


_PATTERN: Any = MonitorState("", "", "", [], "", "", 0.0)
