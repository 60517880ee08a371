"""What is kept: old automatic checkpoints thin out with age, and the disk budget holds."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Set
from typing import TYPE_CHECKING

from rewind.checkpoint.conversations.links import body_of, header_of, links_of, newest_versions
from rewind.checkpoint.log.lineage import Lineage, here_in_all_places, lineage
from rewind.checkpoint.log.operations import KEPT_STEPS
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import FORMAT, Record
from rewind.checkpoint.upkeep.disk_use import archive_size, disk_use, repository_bytes
from rewind.config.load import Settings
from rewind.errors import StoreDamaged
from rewind.snapshot.trees.tree import CHUNKED, DIR, FILE, Tree, decode_pieces
from rewind.store.objects import ObjectStore

if TYPE_CHECKING:
    from rewind.snapshot.scan.build import Progress

KEPT_NEWEST = 20
_HOUR, _DAY = 3600.0, 86400.0
UNKNOWN = b""  # among what is reached: something that is lost, and so is what it pointed at
_FILL = 0.8  # over the cap, collect down to this part of it
_JUMP = _DAY  # a longer gap between two checkpoints may be the clock's doing
_PROOF = _DAY  # of use after such a gap: then the time is believed
_FEW, _SHARE = 20, 4  # thinning takes at most so many at once, or one in so many


def thin(records: list[Record], now: float, settings: Settings, kept: set[str]) -> list[Record]:
    """The checkpoints that the policy lets go; `kept` are names that it may not."""
    all_until = now - settings.get("retention.keepAllHours") * _HOUR
    hourly_until = now - settings.get("retention.hourlyDays") * _DAY
    daily_until = now - settings.get("retention.dailyDays") * _DAY
    seen: set[tuple[str, str, int]] = set()
    gone = []
    for record in reversed(records):  # the newest of each hour or day is the one that stays
        at = record.added
        if at >= all_until:
            continue
        if at >= hourly_until:
            slot = (record.place, "hour", int(at // _HOUR))
        elif at >= daily_until:
            slot = (record.place, "day", int(at // _DAY))
        else:
            slot = None
        if slot is not None and slot not in seen:
            seen.add(slot)
        elif record.name not in kept:
            gone.append(record)
    return gone


def trusted_now(made: list[float], clock: float) -> float:
    """The time that thinning goes by. `made` are the times of the checkpoints, in their order.

    A clock may jump ahead by weeks: a virtual machine that was resumed, a second system, an empty battery.
    One that does makes every checkpoint look old. So a gap of more than a day counts only once the store has
    been in use for a day after it; until then, time goes on from the last checkpoint before the gap.
    """
    start = clock
    for at in reversed(made):
        if not 0 <= start - at <= _JUMP:
            believed = start - at < 0 or clock - start >= _PROOF  # what goes back makes nothing look older
            return clock if believed else at + (clock - start)
        start = at
    return clock


def bounded_share(gone: list[Record], total: int) -> list[Record]:
    """Of what would be thinned (newest first), no more than a part of all at once, the oldest first: whatever
    the reason is wrong by, somebody has days to notice."""
    return gone[-max(_FEW, total // _SHARE):]


def never_collected(records: list[Record], in_use: set[str]) -> set[str]:
    """The newest, those a person asked for, and what the last restores need for their way back."""
    newest = {r.name for r in records[-KEPT_NEWEST:]}
    return newest | {r.name for r in records if r.kind == "manual"} | in_use


def backups_in_use(state: State) -> set[str]:
    """Where each place stands, where its line forks, what is pinned, and what the last operations need."""
    records = state.timeline.all()
    backups = [r.name for r in records if r.kind == "backup"]
    in_use = {r.name for r in records if r.data.get("pinned")}
    in_use |= set(backups[-KEPT_STEPS:]) | here_in_all_places(state) | lineage(state).fork_points()
    return in_use | _needed_by_operations(state, records)


def _needed_by_operations(state: State, records: list[Record]) -> set[str]:
    return {name for place in {state.place, *(r.place for r in records)}
            for name in state.operations(place).in_use()}


def needed_because(state: State) -> dict[str, tuple[str, bool]]:
    """For what a person wants to delete: why it is kept, and whether it is kept in any case."""
    records = state.timeline.all()
    used = _needed_by_operations(state, records)
    return {**dict.fromkeys(used, ("an operation could no longer be undone", False)),
            **{r.name: ("it is pinned", True) for r in records if r.data.get("pinned")},
            **dict.fromkeys(here_in_all_places(state), ("the project stands on it", True))}


def keep_newest(records: list[Record], number: int, in_use: set[str]) -> list[Record]:
    """`gc --keep N`: a person asks, so manual checkpoints count like the rest."""
    shown = [r for r in records if r.kind != "backup"]
    kept = {r.name for r in (shown[-number:] if number else [])} | in_use
    return [r for r in records if r.name not in kept]


def choose(state: State, keep: int | None) -> list[Record]:
    """The checkpoints that a collection now would delete."""
    records = state.timeline.all()
    in_use = backups_in_use(state)
    if keep is not None:
        return keep_newest(records, keep, in_use)
    kept = never_collected(records, in_use)
    now = trusted_now([r.added for r in records], time.time())
    # An agent deletes its transcripts after a while; here the newest version of each stays, if there is room.
    spared = kept | {record.name for record in newest_versions(records).values()}
    gone = bounded_share(thin(records, now, state.settings, spared), len(records))
    return gone + _over_budget(state, records, {r.name for r in gone}, kept)


def _over_budget(state: State, records: list[Record], gone: set[str], kept: set[str]) -> list[Record]:
    cap = int(state.settings.get("storage.maxSizeMb") * (1 << 20))
    pushed = repository_bytes(state)
    # Deleting checkpoints does not make it smaller, so it takes at most half of the room from them.
    cap = max(cap - pushed, cap // 2)
    if disk_use(state) - pushed <= cap:
        return []
    sizes = state.objects.sizes()
    live: set[bytes] = set()
    left = [r for r in records if r.name not in gone]
    order = [r for r in left if r.name in kept] + [r for r in reversed(left) if r.name not in kept]
    total = 0
    for i, record in enumerate(order):
        added = mark(state, [record], live)
        total += sum(sizes.get(oid, 0) for oid in added) + archive_size(state, record)
        if total > cap * _FILL and record.name not in kept:
            return order[i:]
    return []


def protected_bytes(state: State) -> int:
    """What the checkpoints take that no policy deletes; an estimate, as `_over_budget` counts."""
    records = state.timeline.all()
    kept = never_collected(records, backups_in_use(state))
    chosen = [r for r in records if r.name in kept]
    sizes = state.objects.sizes()
    added = mark(state, chosen, set())
    return sum(sizes.get(oid, 0) for oid in added) + sum(archive_size(state, r) for r in chosen)


def reparent_children(state: State, parents: Lineage, name: str, going: Set[str]) -> None:
    """Before a checkpoint goes, its children point to the nearest ancestor that stays. Who deletes the newest
    ones first leaves no child behind that a killed process had not come to."""
    heir = next((r.name for r in parents.line(name) if r.name != name and r.name not in going), None)
    for child in parents.children.get(name, ()):
        record = parents.records[child]
        if child not in going and record.version >= FORMAT and state.files.is_reserved(child):
            renewed = Record({**record.data, "parent": heir})
            state.timeline.write(renewed)


def sweep_kept_conversations(state: State) -> None:
    """Deleted forks and backups of rewritten transcripts, once they are old and no step leads to them."""
    import shutil

    operations = state.operations()
    operations.forget_oldest()
    in_use = {os.path.basename(str(effect[key])) for op in operations.all for effect in op.effects
              for key in ("trash", "backup", "put", "kept", "of") if effect.get(key)}
    now = trusted_now([r.added for r in state.timeline.all()], time.time())
    oldest = now - state.settings.get("retention.dailyDays") * _DAY
    for folder in (state.project.path("trash"), state.project.path("transcript-backup")):
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            path = os.path.join(folder, name)
            if name in in_use or os.lstat(path).st_mtime > oldest:
                continue
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)


def mark(state: State, records: Iterable[Record], live: set[bytes],
         progress: Progress | None = None) -> list[bytes]:
    """Add to `live` everything these records reach; returns what was new."""
    added: list[bytes] = []
    records = list(records)
    for record in records:
        _mark_outside(state.objects, record, live, added)
    todo = [r for r in records if r.format == "objects"]
    for number, record in enumerate(todo):
        _add([record.rules], live, added)
        _mark_tree(state.objects, record.tree, live, added)
        _mark_conversation(state.objects, record, live, added)
        if progress:
            progress("Looking at checkpoints", number + 1, len(todo))
    return added


def _add(oids: Iterable[bytes], live: set[bytes], added: list[bytes]) -> None:
    fresh = [oid for oid in oids if oid not in live]
    live.update(fresh)
    added.extend(fresh)


def _mark_outside(store: ObjectStore, record: Record, live: set[bytes], added: list[bytes]) -> None:
    if record.data.get("outside"):
        from rewind.checkpoint.records.outside import object_ids

        _add(object_ids(store, record), live, added)


def _mark_tree(store: ObjectStore, root: bytes, live: set[bytes], added: list[bytes]) -> None:
    pending = [root]
    while pending:
        oid = pending.pop()
        if oid in live:
            continue
        live.add(oid)
        added.append(oid)
        if oid in store.lost:
            live.add(UNKNOWN)
            continue
        for entry in Tree.decode(store.get(oid)).entries.values():
            if entry.kind == DIR:
                pending.append(entry.ref)
            elif entry.kind in (FILE, CHUNKED) and entry.ref not in live:
                live.add(entry.ref)
                added.append(entry.ref)
                if entry.kind == CHUNKED and entry.ref in store.lost:
                    live.add(UNKNOWN)
                elif entry.kind == CHUNKED:
                    _add((oid for _, oid in decode_pieces(store.get(entry.ref))), live, added)


def _mark_conversation(store: ObjectStore, record: Record, live: set[bytes], added: list[bytes]) -> None:
    """Later links refer to earlier ones: from the first that is known, all before it are, too."""
    header, body = header_of(record), body_of(record)
    if header is None or body is None:
        return
    found = [header]
    try:
        for link in links_of(store, body):
            if link.oid in live:
                break
            found += [link.oid, *link.pieces]
    except StoreDamaged:
        if not store.lost:
            raise  # `validate` has not seen it yet
        live.add(UNKNOWN)
    _add(found, live, added)
