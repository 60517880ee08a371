"""When the next collection is due. Every save asks, so this file does not import the collection."""

from __future__ import annotations

import time

from rewind.checkpoint.project.state import State

_DAY = 86400.0


def is_due(state: State) -> bool:
    """Whether a collection should start now. Asked after every checkpoint, so it must be cheap."""
    cap = int(state.settings.get("storage.maxSizeMb") * (1 << 20))
    rows = state.derived.query("SELECT value FROM facts WHERE key='collected'")
    last = rows[0][0] if rows else 0.0
    since = time.time() - last
    if state.settings.get("storage.format") == "archive":
        from rewind.checkpoint.upkeep.disk_use import disk_use

        over = disk_use(state) > cap
    else:
        over = state.objects.size_on_disk() > cap
    if not rows:
        note_collection(state)
        return over
    # A negative age means that the clock was ahead then. One collection too many is better than none.
    return since < 0 or since > _DAY or (over and since > 60)


def note_collection(state: State) -> None:
    state.derived.write([("INSERT OR REPLACE INTO facts VALUES('collected', ?)", [(time.time(),)])])
