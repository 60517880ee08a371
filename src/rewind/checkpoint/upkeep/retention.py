"""Which checkpoints are kept: automatic ones are thinned out with age, and all must fit the disk budget."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Set
from typing import TYPE_CHECKING

from rewind.checkpoint.conversations.links import body_of, header_of, links_of, newest_versions
from rewind.checkpoint.operation_log.lineage import Lineage, here_in_all_places, lineage
from rewind.checkpoint.operation_log.operations import KEPT_STEPS
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
UNKNOWN = b""  # among the needed objects: one is lost, so it is unknown what that one refers to
_FILL = 0.8  # over the cap, collect down to this part of it
_JUMP = _DAY  # a longer gap between two checkpoints may come from a wrong clock
_PROOF = _DAY  # after such a gap, the time is believed once the store has been used for this long
_FEW, _SHARE = 20, 4  # thinning deletes at most 20 checkpoints at once, or a fourth of all


def thin(records: list[Record], now: float, settings: Settings, kept: set[str]) -> list[Record]:
    """The checkpoints that the policy deletes; `kept` are names that it must keep."""
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
    """The time that thinning uses. `made` are the times of the checkpoints, in their order.

    A clock may jump ahead by weeks: a resumed virtual machine, a second system, an empty battery. Then every
    checkpoint looks old. So a gap of more than a day counts only after the store has been used for a day
    since. Until then, time continues from the last checkpoint before the gap.
    """
    start = clock
    for at in reversed(made):
        if not 0 <= start - at <= _JUMP:
            # A clock that went back makes nothing look older.
            believed = start - at < 0 or clock - start >= _PROOF
            return clock if believed else at + (clock - start)
        start = at
    return clock


def bounded_share(gone: list[Record], total: int) -> list[Record]:
    """The oldest of what would be thinned (`gone` is newest first), limited to a part of all checkpoints. If
    something is wrong, there are days to notice it."""
    return gone[-max(_FEW, total // _SHARE):]


def never_collected(records: list[Record], in_use: set[str]) -> set[str]:
    """The newest checkpoints, the manual ones, and those that the last restores need to be undone."""
    newest = {r.name for r in records[-KEPT_NEWEST:]}
    return newest | {r.name for r in records if r.kind == "manual"} | in_use


def backups_in_use(state: State) -> set[str]:
    """The last backups, the pinned checkpoints, those that the places stand on, those where a line forks, and
    those that the last operations need."""
    records = state.timeline.all()
    backups = [r.name for r in records if r.kind == "backup"]
    in_use = {r.name for r in records if r.data.get("pinned")}
    in_use |= set(backups[-KEPT_STEPS:]) | here_in_all_places(state) | lineage(state).fork_points()
    return in_use | _needed_by_operations(state, records)


def _needed_by_operations(state: State, records: list[Record]) -> set[str]:
    return {name for place in {state.place, *(r.place for r in records)}
            for name in state.operations(place).in_use()}


def needed_because(state: State) -> dict[str, tuple[str, bool]]:
    """For checkpoints that a person wants to delete: why one is needed, and whether even --force keeps it."""
    records = state.timeline.all()
    used = _needed_by_operations(state, records)
    return {**dict.fromkeys(used, ("an operation could no longer be undone", False)),
            **{r.name: ("it is pinned", True) for r in records if r.data.get("pinned")},
            **dict.fromkeys(here_in_all_places(state), ("the project stands on it", True))}


def keep_newest(records: list[Record], number: int, in_use: set[str]) -> list[Record]:
    """`gc --keep N`: manual checkpoints count like the others, because a person asks."""
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
    # Agents delete old transcripts. The newest version of each is kept here, if there is room.
    spared = kept | {record.name for record in newest_versions(records).values()}
    gone = bounded_share(thin(records, now, state.settings, spared), len(records))
    return gone + _over_budget(state, records, {r.name for r in gone}, kept)


def _over_budget(state: State, records: list[Record], gone: set[str], kept: set[str]) -> list[Record]:
    cap = int(state.settings.get("storage.maxSizeMb") * (1 << 20))
    pushed = repository_bytes(state)
    # Deleting checkpoints does not make the repository smaller, so it takes at most half of their room.
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
    """The bytes of the checkpoints that no policy deletes, estimated as in `_over_budget`."""
    records = state.timeline.all()
    kept = never_collected(records, backups_in_use(state))
    chosen = [r for r in records if r.name in kept]
    sizes = state.objects.sizes()
    added = mark(state, chosen, set())
    return sum(sizes.get(oid, 0) for oid in added) + sum(archive_size(state, r) for r in chosen)


def reparent_children(state: State, parents: Lineage, name: str, going: Set[str]) -> None:
    """Before a checkpoint is deleted, make its children point to the nearest ancestor that stays. The newest
    is deleted first, so a killed process leaves no child that points to a deleted checkpoint."""
    heir = next((r.name for r in parents.line(name) if r.name != name and r.name not in going), None)
    for child in parents.children.get(name, ()):
        record = parents.records[child]
        if child not in going and record.version >= FORMAT and state.files.is_reserved(child):
            renewed = Record({**record.data, "parent": heir})
            state.timeline.write(renewed)


def sweep_kept_conversations(state: State) -> None:
    """Delete forks in the trash and backups of rewritten transcripts that are old and that no operation
    needs."""
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
    """Add everything that these records refer to to `live`. Returns what was new."""
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
    """Links refer to earlier ones: if one is known, so are all before it."""
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
