"""What others made long ago is not old here."""

from __future__ import annotations

from typing import Any

from rewind.checkpoint.records.record import Record, iso_time, timestamp
from rewind.checkpoint.upkeep.retention import thin, trusted_now
from rewind.config.load import load_settings

NOW = timestamp("2026-11-16T12:00:00Z")
YEARS = 3 * 365 * 86400


def record(number: int, created: float, **more: Any) -> Record:
    return Record({"name": f"20261116_100000_{number:03d}", "sequence": number, "kind": "auto",
                   "createdAt": iso_time(created), "trigger": {}, "place": "@theirs", **more})


def test_shared_checkpoints_are_not_thinned_by_their_age_elsewhere(tmp_path: Any) -> None:
    settings = load_settings(str(tmp_path), None)
    added = {"id": "0" * 32, "addedAt": iso_time(NOW - 60)}
    theirs = [record(number, NOW - YEARS + number, shared=added) for number in range(50)]
    ours = [record(number, NOW - YEARS + number) for number in range(50)]
    assert thin(theirs, NOW, settings, set()) == []
    assert thin(ours, NOW, settings, set())


def test_a_time_in_the_future_does_not_move_the_clock() -> None:
    theirs = record(1, NOW + YEARS, shared={"id": "0" * 32, "addedAt": iso_time(NOW - 60)})
    assert trusted_now([theirs.added], NOW) == NOW
