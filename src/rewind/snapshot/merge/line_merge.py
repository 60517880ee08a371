"""A three-way merge by lines with the same result as git's: the same lines, the same conflicts, and the same
text between conflict markers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.snapshot.diff.linediff import changed_blocks
from rewind.snapshot.diff.textdiff import lines_of
from rewind.snapshot.merge.conflict_markers import ends_in_cr, with_markers

if TYPE_CHECKING:
    from rewind.snapshot.diff.linediff import Block

MARKERS, OURS, THEIRS = "markers", "ours", "theirs"  # what to do with a conflict
_CONFLICT, _OURS, _THEIRS, _SAME = "conflict", OURS, THEIRS, "same"
_NEAR = 3  # conflicts with at most this many lines between them are shown as one


class Merged:
    """`data` is the result, with conflicts handled as `how` said. `conflicts` are their places in ours: the
    number of the first line, counted from 1, and how many lines."""

    def __init__(self, data: bytes, conflicts: list[tuple[int, int]]) -> None:
        self.data = data
        self.conflicts = conflicts


def merge(base: bytes, ours: bytes, theirs: bytes, *, how: str = MARKERS,
          labels: tuple[str, str] = ("", "")) -> Merged:
    """Only for text: a binary file merges as one value. `labels` name our side and theirs in the markers."""
    files = _Files(lines_of(base), lines_of(ours), lines_of(theirs))
    mine, yours = changed_blocks(files.base, files.ours), changed_blocks(files.base, files.theirs)
    if not mine:
        return Merged(theirs, [])
    if not yours:
        return Merged(ours, [])
    regions = _joined(_refined(files, _regions(files, mine, yours)))
    conflicts = [(r.ours_at + 1, r.ours_end - r.ours_at) for r in regions if r.kind == _CONFLICT]
    return Merged(_text(files, regions, how, labels), conflicts)


class _Files:
    def __init__(self, base: list[bytes], ours: list[bytes], theirs: list[bytes]) -> None:
        self.base = base
        self.ours = ours
        self.theirs = theirs


class _Region:
    """A part that differs from the base, and from which side its lines are taken."""

    __slots__ = ("kind", "ours_at", "ours_end", "theirs_at", "theirs_end")

    def __init__(self, kind: str, ours_at: int, ours_end: int, theirs_at: int, theirs_end: int) -> None:
        self.kind = kind
        self.ours_at, self.ours_end = ours_at, ours_end
        self.theirs_at, self.theirs_end = theirs_at, theirs_end


def _regions(files: _Files, mine: list[Block], yours: list[Block]) -> list[_Region]:
    """Both lists of blocks as one, in the order of the base. Blocks that overlap or touch are a conflict,
    unless they make the same change."""
    found: list[_Region] = []
    m = y = 0
    while m < len(mine) or y < len(yours):
        one, other = mine[m] if m < len(mine) else None, yours[y] if y < len(yours) else None
        if one and (other is None or one[1] < other[0]):
            shift = other[2] - other[0] if other else len(files.theirs) - len(files.base)
            _append(found, _Region(_OURS, one[2], one[3], one[0] + shift, one[1] + shift))
            m += 1
        elif other and (one is None or other[1] < one[0]):
            shift = one[2] - one[0] if one else len(files.ours) - len(files.base)
            _append(found, _Region(_THEIRS, other[0] + shift, other[1] + shift, other[2], other[3]))
            y += 1
        elif one and other:
            if one[:2] != other[:2] or files.ours[one[2]:one[3]] != files.theirs[other[2]:other[3]]:
                _append(found, _overlap(one, other))
            m += one[1] <= other[1]
            y += other[1] <= one[1]
    return found


def _overlap(one: Block, other: Block) -> _Region:
    """From the first line that either side changed to the last, on both sides."""
    start, end = min(one[0], other[0]), max(one[1], other[1])
    return _Region(_CONFLICT, one[2] - (one[0] - start), one[3] + (end - one[1]),
                   other[2] - (other[0] - start), other[3] + (end - other[1]))


def _append(regions: list[_Region], region: _Region) -> None:
    """Regions that touch on either side become one. It is a conflict if their kinds differ."""
    last = regions[-1] if regions else None
    if last is None or (region.ours_at > last.ours_end and region.theirs_at > last.theirs_end):
        regions.append(region)
        return
    if last.kind != region.kind:
        last.kind = _CONFLICT
    last.ours_end, last.theirs_end = region.ours_end, region.theirs_end


def _refined(files: _Files, regions: list[_Region]) -> list[_Region]:
    """Conflicts are reduced to the lines in which both sides differ."""
    found: list[_Region] = []
    for region in regions:
        ours = files.ours[region.ours_at:region.ours_end]
        theirs = files.theirs[region.theirs_at:region.theirs_end]
        if region.kind != _CONFLICT or not ours or not theirs:
            found.append(region)
            continue
        at, other = region.ours_at, region.theirs_at
        blocks = changed_blocks(ours, theirs)
        found += [_Region(_CONFLICT, a + at, b + at, c + other, d + other) for a, b, c, d in blocks]
        if not blocks:
            region.kind = _SAME
            found.append(region)
    return found


def _joined(regions: list[_Region]) -> list[_Region]:
    found: list[_Region] = []
    for region in regions:
        last = found[-1] if found else None
        if (last and last.kind == region.kind == _CONFLICT
                and region.ours_at - last.ours_end <= _NEAR):
            last.ours_end, last.theirs_end = region.ours_end, region.theirs_end
        else:
            found.append(region)
    return found


def _text(files: _Files, regions: list[_Region], how: str, labels: tuple[str, str]) -> bytes:
    """The result, written out."""
    parts: list[bytes] = []
    at = 0
    for region in regions:
        if region.kind != _SAME:
            parts += files.ours[at:region.ours_at]
            parts += _lines(files, region, how, labels)
            at = region.ours_end
    return b"".join([*parts, *files.ours[at:]])


def _lines(files: _Files, region: _Region, how: str, labels: tuple[str, str]) -> list[bytes]:
    kind = how if region.kind == _CONFLICT else region.kind
    ours = files.ours[region.ours_at:region.ours_end]
    theirs = files.theirs[region.theirs_at:region.theirs_end]
    if kind == _OURS:
        return ours
    if kind == _THEIRS:
        return theirs
    return with_markers(ours, theirs, labels, b"\r\n" if _wants_cr(files, region) else b"\n")


def _wants_cr(files: _Files, region: _Region) -> bool:
    """Markers end as the lines before them do, on both sides and in the base."""
    asked = ((files.ours, max(0, region.ours_at - 1)), (files.theirs, max(0, region.theirs_at - 1)),
             (files.base, 0))
    found = None
    for lines, at in asked:
        found = ends_in_cr(lines, at)
        if found is False:
            return False
    return bool(found)
