"""A cut without abandoned branches, for clients that cannot be told which branch to resume."""

from __future__ import annotations

from typing import BinaryIO

from rewind.agents.profile import Profile
from rewind.transcript.place.cut import Cut
from rewind.transcript.read.chain import follow, parent_of
from rewind.transcript.read.entries import Entry, entry_of
from rewind.transcript.read.leaf import named_leaf
from rewind.transcript.read.lines import events_forward


def kept_ranges(file: BinaryIO, profile: Profile, cut: Cut) -> list[tuple[int, int]]:
    """Everything before the cut, except the subtrees of prompts that are not ancestors of its leaf.

    Keeping only the ancestors would lose results of parallel tool calls and the summary of a compaction,
    which are leaves beside the chain.
    """
    entries: list[Entry] = []
    leaves: list[tuple[int, int]] = []
    next_speaker = ""
    for event in events_forward(file, 0, cut.offset):
        entry = entry_of(event, profile)
        if entry:
            entries.append(entry)
        elif named_leaf(event, profile):
            leaves.append((event.offset, event.end))  # the leaf of the original is not that of the fork
    for entry in reversed(entries):
        entry.resolve_if_answered(next_speaker)
        next_speaker = entry.speaker or next_speaker
    dropped = _dropped(entries, cut.leaf or "", profile)
    gone = [(e.offset, e.end) for e in entries if e.id in dropped]
    return _without(cut.offset, sorted(gone + leaves))


def _dropped(entries: list[Entry], leaf: str, profile: Profile) -> set[str]:
    by_id = {entry.id: entry for entry in entries}
    main = [entry for entry in entries if entry.is_main]

    def main_before(offset: int) -> Entry | None:
        return next((e for e in reversed(main) if e.offset < offset), None)

    ancestors = {entry.id for entry in follow(by_id.get(leaf), by_id.get, main_before, profile)}
    dropped: set[str] = set()
    for entry in entries:  # parents precede their children
        if entry.id in ancestors:
            continue
        parent = parent_of(entry, by_id.get, main_before, profile)
        if entry.is_prompt or (parent and parent.id in dropped):
            dropped.add(entry.id)
    for entry in reversed(main):
        # The client continues at the last entry. So a branch that ends there and does not contain the leaf is
        # dropped as well, even if no prompt began it.
        if entry.id in dropped:
            continue
        beyond = list(follow(entry, by_id.get, main_before, profile))
        ids = [e.id for e in beyond]
        leads = leaf in ids
        beyond = beyond[:ids.index(leaf)] if leads else beyond
        if leads and not any(e.is_compaction for e in beyond):
            break
        dropped |= {e.id for e in beyond} - ancestors
    return dropped


def _without(end: int, gone: list[tuple[int, int]]) -> list[tuple[int, int]]:
    kept = []
    at = 0
    for start, stop in gone:
        if start > at:
            kept.append((at, start))
        at = max(at, stop)
    if at < end:
        kept.append((at, end))
    return kept
