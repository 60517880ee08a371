"""What the checkpoints do not hold, in words: part of `rewind status`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rewind.cli.open_and_answer import note
from rewind.cli.output.style import paint
from rewind.controller import Reasons
from rewind.words import explain, plural, safe, shown

if TYPE_CHECKING:
    from rewind.checkpoint.status import Status
    from rewind.config.load import Settings

# The most worrying first, with what can be done about them.
_HINTS = {
    Reasons.UNREADABLE: "Make them readable, for example with chmod.",
    Reasons.TOO_LARGE: "`rewind config --set maxFileSizeMb=…` captures larger files.",
    Reasons.IGNORED_LARGE:
        "`rewind config --set ignored=all` captures everything that git ignores. The settings"
        " ignoredFileMaxKb, ignoredDirMaxFiles and ignoredDirMaxMb define what is small.",
    Reasons.IGNORED: "`rewind config --set ignored=small` captures small ones.",
    Reasons.PINS_ONLY: "", Reasons.CHANGED: "", Reasons.TOO_DEEP: "", Reasons.SPECIAL: "",
    Reasons.SKIP_LIST: "A line such as `!node_modules/` in .rewindignore captures one of them.",
}
# Headings that say more than the reason for a single path.
_HEADINGS = {Reasons.TOO_LARGE: "larger than maxFileSizeMb ({maxFileSizeMb} MB)",
             Reasons.IGNORED: "ignored by git (the setting `ignored` is {ignored})",
             Reasons.SKIP_LIST: "caches and dependency trees (built-in list and .rewindignore)"}


def count(uncovered: list[tuple[bytes, bytes]]) -> str:
    """One line for `rewind status`. Caches and dependencies can be made again, so they are counted apart."""
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
    values = {key: value for key, value, _ in settings.items()}
    hints = []
    for reason in _in_order({reason for _, reason in status.uncovered}):
        paths = [path for path, why in status.uncovered if why == reason]
        print(f"{paint(_heading(reason, values), 'bold')}  ({len(paths):,})")
        if reason == Reasons.SKIP_LIST and not everything:
            hints.append("To list caches and dependency trees as well: rewind status --unprotected --all")
        else:
            for path in paths:
                real = os.path.join(os.fsencode(status.project.root), path)
                print(f"  {shown(path)}{'/' if os.path.isdir(real) and not os.path.islink(real) else ''}")
        hints += [_HINTS[reason]] if _HINTS.get(reason) else []
    for hint in hints:
        note(hint)


def _in_order(reasons: set[bytes]) -> list[bytes]:
    return [reason for reason in _HINTS if reason in reasons] + sorted(reasons - _HINTS.keys())


def _heading(reason: bytes, values: dict[str, object]) -> str:
    if reason in _HEADINGS:
        return _HEADINGS[reason].format(**values)
    return safe(explain(reason.decode("ascii", "replace")))
