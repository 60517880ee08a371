"""What a conversation is called: its own title lines, else its first prompt."""

from __future__ import annotations

from rewind.agents.profile import holds, pick
from rewind.transcript.lines import events_forward, lines_backward, parse, size_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from rewind.agents.profile import Profile

FORK_PREFIX = "[Fork] "
_LONGEST = 80
_LOOKED_AT = 256 << 10  # Claude Code looks for titles only at the head and the tail of a file, too


class Titles:
    """Collects title lines; the last of the best kind wins."""

    def __init__(self, profile: Profile, seen: list[str | None] | None = None) -> None:
        """`seen` goes on from what another one had collected."""
        self.profile = profile
        self._best: list[str | None] = list(seen) if seen else [None] * len(profile.titles)

    @property
    def seen(self) -> list[str | None]:
        return list(self._best)

    def see(self, data: dict[str, Any], *, backward: bool = False) -> None:
        for number, kind in enumerate(self.profile.titles):
            if (backward and self._best[number] is not None) or not holds(kind["line"], data):
                continue
            text = pick(data, kind["field"])
            if isinstance(text, str):
                self._best[number] = text.strip()  # an empty one clears it

    def best(self, otherwise: str) -> str:
        title = next((t for t in self._best if t), "")
        return title or shortened(otherwise)

    @property
    def found(self) -> bool:
        return any(self._best)


def shortened(text: str) -> str:
    """One line of it, to call a conversation by."""
    text = " ".join(text[:_LONGEST * 4].split())
    return text if len(text) <= _LONGEST else text[:_LONGEST - 1].rstrip() + "…"


def read_title(file: BinaryIO, profile: Profile, end: int | None = None) -> str:
    """The title, from the ends of the file alone: a gigabyte is not read for it."""
    from rewind.transcript.entries import entry_of
    from rewind.transcript.prompts import prompt_text

    size = size_of(file) if end is None else end
    titles = Titles(profile)
    for offset, raw in lines_backward(file, size):
        for event in reversed(parse(offset, raw)):
            titles.see(event.data, backward=True)
        if size - offset > _LOOKED_AT:
            break
    first = ""
    for event in events_forward(file, 0, size):
        if event.offset < size - _LOOKED_AT:  # else it is in what was looked at already
            titles.see(event.data, backward=True)
        entry = None if first else entry_of(event, profile)
        if entry and entry.prompt:
            first = prompt_text(event.data, profile)
        if event.offset > _LOOKED_AT or (first and titles.found):
            break
    return titles.best(first)
