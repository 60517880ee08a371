"""`pins.json`: files that an agent edited by name. They are captured from then on, whatever the rules say."""

from __future__ import annotations

from rewind import jsonfile
from rewind.checkpoint.records.seal import sealed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.project.state import State

_MOST = 10_000


def pin(state: State, paths: list[str]) -> None:
    """Add these paths. A file that is only new does no harm here. The caller holds the lock."""
    pins = [p.decode("utf-8", "surrogateescape") for p in state.pins()]
    fresh = [path for path in paths if path not in pins]
    if fresh:
        data = {"format": 1, "pins": (pins + fresh)[-_MOST:]}
        jsonfile.write(state.project.path("pins.json"), sealed(data))
