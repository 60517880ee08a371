"""All tools at the same work, in one interleaved run: a table of absolute times."""

from __future__ import annotations

import os
from typing import Callable

from bench.field import Field, field_of, gather, warm_up
from bench.floor import floors
from bench.measure import Sample, interleave, settle
from bench.peers.peer import Peer
from bench.peers.registry import FLOOR
from bench.rows.row import Amount, Contest, Finding, Row, Runner, Unfaithful, megabytes, milliseconds
from bench.trees import fingerprint
from bench.workplace import Workplace

FIRST_ROUNDS = 5


def _contest(field: Field, operation: str, what: str, taken: dict[str, Sample]) -> Contest:
    amounts = {name: milliseconds(sample) for name, sample in taken.items()}
    return Contest(operation, what, amounts, dict(field.absent), dict(field.versions))


def _sizes(field: Field, operation: str, what: str, sizes: dict[str, float]) -> Contest:
    amounts: dict[str, Amount] = {name: megabytes(size) for name, size in sizes.items()}
    return Contest(operation, what, amounts, dict(field.absent), dict(field.versions))


def _first(place: Workplace) -> list[Finding]:
    field = gather(place)
    sizes: dict[str, float] = {}

    def start_over(name: str) -> None:
        field.peers[name].wait_until_idle(place.options.settle)  # else it would slow down the next one
        sizes[name] = field.peers[name].stored()
        field.peers[name].remove()
        os.sync()

    os.sync()
    rounds = min(FIRST_ROUNDS, place.options.rounds)
    taken = interleave(_actions(field, lambda peer: peer.first), rounds, after=start_over)
    return [_contest(field, "first", "first snapshot", taken),
            _sizes(field, "store", "stored after the first snapshot", sizes)]


def _actions(field: Field, choose: Callable[[Peer], Callable[[], object]]) -> dict[str, Callable[[], object]]:
    return {name: choose(peer) for name, peer in field.peers.items()}


def _snapshot(count: int, operation: str, what: str) -> Runner:
    def run(place: Workplace) -> list[Finding]:
        field = field_of(place)
        warm_up(place, field)
        settle(place.options.settle)
        actions = _actions(field, lambda peer: peer.snapshot)
        if not count:
            root = next(iter(field.roots.values()))
            actions.update((FLOOR, walk) for walk in floors(place, place.repository(), root).values())

        def edit() -> None:
            if count:
                field.edits.apply(count, *field.roots.values())
                settle(place.options.settle)

        before = {name: peer.stored() for name, peer in field.peers.items()}
        taken = interleave(actions, place.options.rounds, before=edit)
        found: list[Finding] = [_contest(field, operation, what, taken)]
        if count == 1:
            grown = {name: (peer.stored() - before[name]) / place.options.rounds
                     for name, peer in field.peers.items()}
            found.append(_sizes(field, "growth", "stored more for each one-file snapshot", grown))
        return found

    return run


def _restore(place: Workplace) -> Contest:
    field = field_of(place)
    warm_up(place, field)
    marks = {name: peer.mark() for name, peer in field.peers.items()}
    wanted = {name: fingerprint(root) for name, root in field.roots.items()}

    def edit() -> None:
        field.edits.apply(50, *field.roots.values())
        settle(place.options.settle)

    def check(name: str) -> None:
        if fingerprint(field.roots[name]) != wanted[name]:
            raise Unfaithful(f"{name}: the tree differs from the snapshot after a restore")

    actions = {name: _restoring(peer, marks[name]) for name, peer in field.peers.items()}
    taken = interleave(actions, max(3, place.options.rounds // 2), before=edit, after=check)
    return _contest(field, "restore-50", "restore of 50 edited files", taken)


def _restoring(peer: Peer, mark: str) -> Callable[[], object]:
    return lambda: peer.restore(mark)


ROWS = [
    Row("peers-first", "everyone: the first snapshot, and what it stores", None, _first, "peers"),
    Row("peers-unchanged", "everyone: nothing changed", None,
        _snapshot(0, "unchanged", "snapshot, nothing changed"), "peers"),
    Row("peers-edit-1", "everyone: 1 file edited, and what each such snapshot stores", None,
        _snapshot(1, "edit-1", "snapshot, 1 file edited"), "peers"),
    Row("peers-edit-50", "everyone: 50 files edited", None,
        _snapshot(50, "edit-50", "snapshot, 50 files edited"), "peers"),
    Row("peers-restore", "everyone: 50 edited files brought back", None, _restore, "peers"),
]
