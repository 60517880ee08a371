"""The disk space of a hundred checkpoints of one edit each, against git and against tar.gz."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from bench import trees
from bench.peers.archives import write_tar_gz
from bench.peers.shadow import ShadowRepository
from bench.rows.row import Outcome, Row, megabytes
from bench.workplace import Workplace, say


@dataclass(frozen=True)
class Sizes:
    ours: int
    shadow: int
    packed: int
    archive: int


@cache
def _sizes(place: Workplace) -> Sizes:
    project = place.copy("disk")
    edits = trees.Edits(place.repository(), seed=2)
    rewind = place.rewind(project)
    shadow = ShadowRepository(place.spawner, project, place.fresh("disk.git"))
    say(f"saving {place.options.commits} edits with both")
    rewind.init()
    shadow.first()
    for _ in range(place.options.commits):
        edits.apply(1, project)
        rewind.save()
        shadow.snapshot()
    rewind.wait_until_idle(place.options.settle)
    archive = write_tar_gz(project, place.fresh("tree.tar.gz"))
    ours, loose = trees.allocated_bytes(rewind.state), trees.allocated_bytes(shadow.store)
    shadow.gc()
    return Sizes(ours, loose, trees.allocated_bytes(shadow.store), archive)


def _against_shadow(place: Workplace) -> Outcome:
    sizes = _sizes(place)
    return Outcome(sizes.ours / sizes.shadow, megabytes(sizes.ours), megabytes(sizes.shadow))


def _against_packed(place: Workplace) -> Outcome:
    sizes = _sizes(place)
    return Outcome(sizes.ours / sizes.packed, megabytes(sizes.ours), megabytes(sizes.packed))


def _against_archives(place: Workplace) -> Outcome:
    sizes = _sizes(place)
    count = place.options.commits
    note = f"one archive of {megabytes(sizes.archive)}, times {count}"
    total = sizes.archive * count
    return Outcome(sizes.ours / total, megabytes(sizes.ours), megabytes(total), note)


ROWS = [
    Row("disk", "disk after 100 checkpoints ÷ shadow repository after `git gc`", 1.0, _against_packed),
    Row("disk-loose", "disk after 100 checkpoints ÷ shadow repository as it is", 0.7, _against_shadow),
    Row("disk-tar", "disk after 100 checkpoints ÷ tar.gz each time", 0.02, _against_archives),
]
