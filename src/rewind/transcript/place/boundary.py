"""Where the Nth-latest prompt begins: `back N` keeps what is strictly before it."""

from __future__ import annotations

from rewind.agents.registry import profile_for
from rewind.errors import NotEnoughPrompts, UsageError
from rewind.transcript.kinds import kind_of
from rewind.transcript.place.cut import Cut
from rewind.transcript.read.chain import Tail
from rewind.transcript.read.conversation import open_conversation
from rewind.transcript.read.entries import OTHER, read_prompt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from rewind.agents.profile import Profile
    from rewind.transcript.read.entries import Entry, Prompt


class BoundaryResult:
    """`prompts` are those that a cut at `boundary` removes, newest last."""

    def __init__(self, cut: Cut, prompts: list[Prompt], resumable: bool) -> None:
        self.cut = cut
        self.boundary = cut.offset
        self.prompts = prompts
        self.resumable = resumable  # something was said before the cut, so the agent can continue there


def find_boundary_by_user_prompts(transcript: str, n: int, profile: Profile | None = None) -> BoundaryResult:
    """Reads from the end, so a long file costs no more than a short one."""
    if n <= 0:
        raise UsageError(f"Cannot go back {n} prompts.", hint="Use a number of at least 1.")
    profile = profile or profile_for(transcript)
    with open_conversation(transcript, profile) as file:
        return boundary_in(file, n, profile)


def boundary_in(file: BinaryIO, n: int, profile: Profile) -> BoundaryResult:
    chain = Tail(file, profile).chain()
    taken: list[Entry] = []
    for entry in chain:
        if entry.is_prompt:
            taken.append(entry)
            if len(taken) == n:
                break
    if len(taken) < n:
        raise NotEnoughPrompts(found=len(taken), wanted=n)
    leaf = next(chain, None)
    start = kind_of(profile).start_of_prompt(file, profile, taken[-1].offset)
    cut = Cut(start, leaf.id if leaf else "").marked(file)
    return BoundaryResult(cut, [read_prompt(file, e, profile) for e in reversed(taken)],
                          _was_anything_said(leaf, chain))


def _was_anything_said(leaf: Entry | None, chain: Iterator[Entry]) -> bool:
    return leaf is not None and (leaf.role != OTHER or any(e.role != OTHER for e in chain))
