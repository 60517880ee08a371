"""The title of a conversation: from its title lines, else from its first prompt.

Lists and forks all use this, so that they agree. Claude Code searches for titles only at the head and the
tail of a file, and writes them again as it grows. This does the same, so that a gigabyte is not read for a
title.
"""

from __future__ import annotations

from rewind.agents.profile import holds, pick
from rewind.transcript.read.lines import events_forward, lines_backward, parse, size_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from rewind.agents.profile import Profile
    from rewind.transcript.read.entries import Entry
    from rewind.transcript.read.lines import Event

FORK_PREFIX = "[Fork] "  # of a fork's title in the agent's own list; Rewind shows titles without it
_LONGEST = 80
_LOOKED_AT = 256 << 10


def plain_title(title: str) -> str:
    """Without the prefixes of forks."""
    while title.startswith(FORK_PREFIX):
        title = title[len(FORK_PREFIX):]
    return title


def shortened(text: str) -> str:
    """One line of a text, short enough for a title."""
    text = " ".join(text[:_LONGEST * 4].split())
    return text if len(text) <= _LONGEST else text[:_LONGEST - 1].rstrip() + "…"


def read_title(file: BinaryIO, profile: Profile, size: int | None = None, first: str | None = None) -> str:
    """`first` is the first prompt, if the caller knows it."""
    size = size_of(file) if size is None else size
    seen: list[list[tuple[str, str]]] = [[] for _ in profile.titles]  # of each kind: (text, entry)
    for event in ends_backward(file, size):
        for number, kind in enumerate(profile.titles):
            text = pick(event.data, kind["field"]) if holds(kind["line"], event.data) else None
            if isinstance(text, str):
                entry = pick(event.data, kind.get("entry"))
                seen[number].append((text.strip(), entry if isinstance(entry, str) else ""))
    for found in seen:
        # The latest counts, and an empty title removes the one before.
        ours = (text for text, entry in found if not entry or _holds_entry(file, profile, entry, size))
        title = next(ours, "")
        if title:
            return title
    return shortened(first_prompt(file, profile, size) if first is None else first)


def ends_backward(file: BinaryIO, size: int) -> Iterator[Event]:
    """The objects at the tail of the file, then those at its head, latest first."""
    tail = size
    for offset, raw in lines_backward(file, size):
        yield from reversed(parse(offset, raw))
        tail = offset
        if size - offset > _LOOKED_AT:
            break
    head = []
    for event in events_forward(_opening(file), 0, tail):
        if event.offset > _LOOKED_AT:
            break
        head.append(event)
    yield from reversed(head)


def _opening(file: BinaryIO) -> BinaryIO:
    """Only the beginning, if the conversation would otherwise be read completely (`oplog_view`)."""
    found: Callable[[], BinaryIO] | None = getattr(file, "opening", None)
    return file if found is None else found()


def _holds_entry(file: BinaryIO, profile: Profile, id: str, size: int) -> bool:
    """Whether this entry is in the file. Older versions of Claude Code wrote summaries of *other*
    conversations into it, which name an entry of those. The bytes are searched, because it may be any
    entry."""
    import mmap

    wanted = id.encode("utf-8", "replace")
    with mmap.mmap(file.fileno(), min(size, size_of(file)), access=mmap.ACCESS_READ) as view:
        at = view.find(wanted)
        while at >= 0:
            start, end = view.rfind(b"\n", 0, at) + 1, view.find(b"\n", at)
            end = len(view) if end < 0 else end
            if any(pick(event.data, profile.lines["id"]) == id for event in parse(start, view[start:end])):
                return True
            at = view.find(wanted, end)
    return False


def first_prompt(file: BinaryIO, profile: Profile, size: int) -> str:
    """The first prompt with a text, usually in one of the first lines."""
    opening = _opening(file)
    found = _first_prompt(opening, profile, min(size, size_of(opening)))
    return found or (_first_prompt(file, profile, size) if opening is not file else "")


def _first_prompt(file: BinaryIO, profile: Profile, size: int) -> str:
    from rewind.transcript.read.entries import entry_of
    from rewind.transcript.read.prompts import YES, prompt_text

    waiting: list[tuple[Entry, str]] = []  # slash commands that wait for an answer
    for event in events_forward(file, 0, size):
        entry = entry_of(event, profile)
        if entry is None:
            continue
        for other, text in waiting if entry.speaker else ():
            other.resolve_if_answered(entry.speaker)
            if other.is_prompt:
                return text
        waiting = [] if entry.speaker else waiting
        text = prompt_text(event.data, profile) if entry.prompt else ""
        if text.strip():
            if entry.prompt == YES:
                return text
            waiting.append((entry, text))
    return ""
