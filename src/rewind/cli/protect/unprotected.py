"""What the checkpoints do not hold, in words: part of `rewind status`."""

from __future__ import annotations

import os
import stat
import sys

from rewind.cli.output.style import safe, shown, style_for
from rewind.cli.parse.session import note
from rewind.controller import Reasons
from rewind.words import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.project.status import Status
    from rewind.config.load import Settings

# In the order of how much they should worry: (reason, what it means, what can be done).
_REASONS = (
    (Reasons.UNREADABLE, "not readable", "Make them readable, for example with chmod."),
    (Reasons.TOO_LARGE, "larger than maxFileSizeMb ({maxFileSizeMb} MB)",
     "`rewind config --set maxFileSizeMb=…` captures larger files."),
    (Reasons.IGNORED_LARGE, "ignored by git and not small",
     "`rewind config --set ignored=all` captures everything that git ignores. The settings"
     " ignoredFileMaxKb, ignoredDirMaxFiles and ignoredDirMaxMb define what is small."),
    (Reasons.IGNORED, "ignored by git (the setting `ignored` is {ignored})",
     "`rewind config --set ignored=small` captures small ones."),
    (Reasons.PINS_ONLY, "only files that the agent edited are captured in here", ""),
    (Reasons.CHANGED, "changed while a late checkpoint was being made", ""),
    (Reasons.TOO_DEEP, "nested more deeply than Rewind looks", ""),
    (Reasons.SPECIAL, "not a file, link or directory", ""),
    (Reasons.SKIP_LIST, "caches and dependency trees (built-in list and .rewindignore)",
     "A line such as `!node_modules/` in .rewindignore captures one of them."),
)


def count(uncovered: list[tuple[bytes, bytes]]) -> str:
    """One line for `rewind status`; what can be made again is nothing to worry about."""
    again = sum(reason == Reasons.SKIP_LIST for _, reason in uncovered)
    rest = len(uncovered) - again
    if not rest:
        return f"only caches and dependencies ({plural(again, 'path')})" if again else "nothing"
    more = f", and {again:,} caches and dependencies" if again else ""
    return f"{plural(rest, 'path')}{more}; `rewind status --unprotected` says why"


def show(status: Status, settings: Settings, everything: bool) -> None:
    if not status.uncovered:
        print("Everything is protected.")
        return
    paint = style_for(sys.stdout)
    values = {key: value for key, value, _ in settings.items()}
    hints = []
    for reason, meaning, hint in _grouped(status.uncovered):
        paths = [path for path, why in status.uncovered if why == reason]
        print(f"{paint(meaning.format(**values), 'bold')}  ({len(paths):,})")
        if reason == Reasons.SKIP_LIST and not everything:
            hints.append("To list caches and dependency trees as well: rewind status --unprotected --all")
        else:
            _print_paths(paths, status.project.root)
        hints += [hint] if hint else []
    for hint in hints:
        note(hint)


def _grouped(uncovered: list[tuple[bytes, bytes]]) -> list[tuple[bytes, str, str]]:
    present = {reason for _, reason in uncovered}
    known = [row for row in _REASONS if row[0] in present]
    others = sorted(present - {row[0] for row in _REASONS})
    return known + [(reason, safe(reason.decode("ascii", "replace")), "") for reason in others]


def _print_paths(paths: list[bytes], root: str) -> None:
    for path in paths:
        print(f"  {shown(path)}{'/' if _is_dir(os.fsencode(root) + b'/' + path) else ''}")


def _is_dir(path: bytes) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False
