"""Why something that the walk found is not captured: it is on a list, ignored, too large, or not a plain
file.

What cannot be read, or changes while it is read, is skipped by `read.py` and `build.py`.
"""

from __future__ import annotations

from rewind.snapshot.rules.reason_codes import Reasons
from rewind.snapshot.scan import walk as w
from rewind.snapshot.scan.sqlite_files import companions, real_group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from rewind.snapshot.rules.rules import Rules

SKIP_LIST, IGNORED, IGNORED_LARGE = Reasons.SKIP_LIST, Reasons.IGNORED, Reasons.IGNORED_LARGE
SPECIAL, TOO_LARGE = Reasons.SPECIAL, Reasons.TOO_LARGE
REASON_OF_CLOSED = {w.CLOSED: SKIP_LIST, w.UNWANTED: IGNORED, w.TOO_BIG: IGNORED_LARGE}  # of directories


def reasons_of_files(listing: w.Listing, rules: Rules, fd: int) -> dict[bytes, bytes]:
    """Name -> why a file is not captured. The same holds for a SQLite database and all its journals."""
    verdicts = {row[0]: verdict for row, verdict in zip(listing.rows, listing.verdicts)
                if not w.is_dir_row(row)}
    sizes = {row[0]: row[1] for row in listing.rows if row[0] in verdicts}
    reasons = {name: _reason(rules, verdict, (sizes[name],)) for name, verdict in verdicts.items()
               if verdict != w.TAKE or sizes[name] > rules.max_bytes}
    groups = companions(verdicts)
    for main in set(groups.values()):
        members = [main, *(n for n, m in groups.items() if m == main)]
        reasons.update(_reasons_of_group(rules, members, verdicts, sizes, fd))
    return reasons


def _reasons_of_group(rules: Rules, members: list[bytes], verdicts: dict[bytes, int],
                      sizes: dict[bytes, int], fd: int) -> dict[bytes, bytes]:
    """A file that only has the name of a journal is judged alone, and does not affect the database."""
    def shared(name: bytes, group: list[bytes]) -> bytes:
        own = verdicts[name]
        return _reason(rules, own if own in (w.FORCED, w.SPECIAL) else verdicts[members[0]],
                       [sizes[n] for n in group])

    found = {name: shared(name, members) for name in members}
    if any(found.values()):  # this is rare; only then the files are read
        real = real_group(members, fd)
        found = {name: shared(name, real) if name in real else
                 found[name] and _reason(rules, verdicts[name], (sizes[name],)) for name in members}
    return found


def _reason(rules: Rules, verdict: int, sizes: Sequence[int]) -> bytes:
    if verdict == w.FORCED:
        return b""
    if verdict == w.SPECIAL:
        return SPECIAL
    if verdict == w.SKIP:
        return SKIP_LIST
    if verdict == w.SMALL_ONLY:
        if rules.policy == "none":
            return IGNORED
        if rules.policy == "small" and sum(sizes) > rules.file_bytes:
            return IGNORED_LARGE
    return TOO_LARGE if max(sizes) > rules.max_bytes else b""
