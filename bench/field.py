"""All tools that are compared, each with a copy of the same tree, and why others are missing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench import trees
from bench.measure import settle
from bench.peers.peer import Missing, Peer
from bench.peers.registry import OURS, PEERS
from bench.peers.rewind import Ours
from bench.spawn import CommandFailed
from bench.workplace import Workplace, say


@dataclass
class Field:
    """Which tools take part, in which directories, and why others do not."""

    peers: dict[str, Peer]
    roots: dict[str, Path]
    absent: dict[str, str]
    versions: dict[str, str]
    edits: trees.Edits

    def drop(self, name: str, reason: str) -> None:
        say(f"{name} is OUT: {reason}")
        self.absent[name] = reason
        for table in (self.peers, self.roots, self.versions):
            table.pop(name, None)


_fields: dict[Workplace, Field] = {}


def field_of(place: Workplace) -> Field:
    """All contenders after their first snapshot, with no background work left. Made once for a run."""
    if place not in _fields:
        _fields[place] = _make(place)
    return _fields[place]


def gather(place: Workplace) -> Field:
    """All contenders, before their first snapshot."""
    field = Field({}, {}, {}, {}, trees.Edits(place.repository(), seed=4))
    for name in (OURS, *PEERS):
        root = place.copy(name)
        try:
            peer = make_peer(place, name, root)
            field.versions[name] = peer.version()
        except (Missing, CommandFailed) as reason:
            field.drop(name, str(reason))
            continue
        field.peers[name], field.roots[name] = peer, root
    return field


def make_peer(place: Workplace, name: str, root: Path) -> Peer:
    if name == OURS:
        return Ours(place.rewind(root))
    return PEERS[name](place.spawner, root, place.fresh(f"{name}-store"))


def _make(place: Workplace) -> Field:
    field = gather(place)
    for name, peer in list(field.peers.items()):
        say(f"first snapshot: {name}")
        try:
            peer.first()
            peer.wait_until_idle(place.options.settle)
        except (CommandFailed, OSError, ValueError) as problem:
            field.drop(name, str(problem)[:300])
    return field


def warm_up(place: Workplace, field: Field) -> None:
    """Make snapshots with all of them until none has a recently changed file to read again."""
    for _ in range(2):
        settle(place.options.settle)
        for peer in field.peers.values():
            peer.snapshot()
