"""Sessions of Claude Code, Droid, and every profile that does not name a kind: one file for each session,
named by its id. A line names its parent, or follows the line before it."""

from __future__ import annotations

from rewind.transcript.place.cut import resolve_cut
from rewind.transcript.write.content import (
    check_resumable,
    new_session_id,
    write_session,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from rewind.agents.profile import Profile

__all__ = ["check_resumable", "new_session_id", "resolve_cut", "start_of_prompt", "turn_runs",
           "write_session"]


def start_of_prompt(file: BinaryIO, profile: Profile, offset: int) -> int:
    return offset


def turn_runs(file: BinaryIO) -> bool | None:
    return None
