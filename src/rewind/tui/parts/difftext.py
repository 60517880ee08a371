"""A difference as lines for a person: counts for each file, then the patch. Their number is limited."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Optional

from rich.text import Text

from rewind.controller import LINK, Difference, hunk_lines, hunks
from rewind.controller import comparing as c
from rewind.tui.parts.screen_words import path, signed
from rewind.words import plural, safe_lines

if TYPE_CHECKING:
    from rewind.snapshot.diff.compare import Comparison

# Which part of a difference a line belongs to: the path, and the id of the hunk; "" is the whole file.
Part = Optional[tuple[bytes, str]]

_STYLES = {"hunk": "cyan", "+": "green", "-": "red", " ": "", "note": "dim"}
_REMARKS = {c.BINARY: "binary", c.LARGE: "too large to be shown", c.UNREADABLE: "cannot be read now",
            c.SAME: "its mode changed", c.DIRECTORY: "directory"}


@dataclass
class Changed:
    """Counts first, then the patch. `parts` says what each line of the patch belongs to."""

    files: int
    counted: int  # how many of them, from the first
    counts: list[Text] = field(default_factory=list)
    patch: list[Text] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    paths: list[bytes] = field(default_factory=list)  # of the counts, in their order
    added: int = 0
    removed: int = 0

    def add(self, line: Text, part: Part = None) -> None:
        self.patch.append(line)
        self.parts.append(part)

    def summary(self) -> Text:
        if not self.files:
            return Text("No files changed.", "dim")
        at_least = "at least " if self.counted < self.files else ""
        return Text.assemble(at_least, signed(self.added, self.removed), " in ", plural(self.files, "file"))


def changed(difference: Difference, most_files: int, most_lines: int) -> Changed:
    files = len(difference.changes)
    found = Changed(files, min(files, most_files))
    for name, old, new in difference.changes[:most_files]:
        one = c.compare(name, old, new, difference.old.content, difference.new.content)
        _count(found, one)
        if len(found.patch) < most_lines:
            _add_patch(found, one, most_lines)
    if found.files > most_files:
        found.counts.append(Text(f"… and {found.files - most_files:,} more", "dim"))
    if len(found.patch) >= most_lines or found.files > most_files:
        del found.patch[most_lines:], found.parts[most_lines:]
        found.add(Text("… the rest is left out", "dim"))
    return found


def _count(found: Changed, one: Comparison) -> None:
    added, removed = one.counts or (0, 0)
    found.added += added
    found.removed += removed
    sign, style = ("+", "green") if one.old is None else ("−", "red") if one.new is None else ("~", "yellow")
    line = Text.assemble((sign, style), " ", path(one.path), "  ")
    found.paths.append(one.path)
    found.counts.append(line.append(signed(added, removed)) if one.verdict == c.TEXT
                        else line.append(_REMARKS[one.verdict], "dim"))


def _add_patch(found: Changed, one: Comparison, most: int) -> None:
    if found.patch:
        found.add(Text(""))
    whole = (one.path, "")
    found.add(Text(path(one.path), "bold underline"), whole)
    mode = _mode(one)
    if mode:
        found.add(Text(mode, "dim"), whole)
    if one.verdict == c.SAME and mode:
        return
    if one.verdict != c.TEXT:
        found.add(Text(_REMARKS[one.verdict], "dim"), whole)
        return
    is_link = any(entry and entry.kind == LINK for entry in (one.old, one.new))
    for hunk in hunks(one.old_lines, one.new_lines, one.blocks):
        for kind, line in hunk_lines(hunk):
            shown = safe_lines(line.decode("utf-8", "backslashreplace"))
            found.add(Text(shown[:2000], _STYLES[kind]), whole if is_link else (one.path, hunk.id))
        if len(found.patch) > most:
            return


def _mode(one: Comparison) -> str:
    if one.old is None or one.new is None or one.old.mode == one.new.mode:
        return ""
    return f"mode {one.old.mode:o} → {one.new.mode:o}"
