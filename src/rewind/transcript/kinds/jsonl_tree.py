"""One file for each session, named by its id, in which a line names its parent or follows the one before it:
Claude Code, Droid, and every profile that says nothing else."""

from __future__ import annotations

import os

from rewind.transcript.names import SUFFIX, session_id_of
from rewind.transcript.place.cut import resolve_cut
from rewind.transcript.read.prompts import content_of
from rewind.transcript.write.content import (
    check_resumable,
    new_session_id,
    plan_content,
    write_session,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from rewind.agents.profile import Profile

__all__ = ["check_resumable", "content_of", "new_session_id", "path_beside", "plan_content", "resolve_cut",
           "session_id_of", "start_of_prompt", "turn_runs", "whole", "write_session"]


def path_beside(original: str, session_id: str) -> str:
    return os.path.join(os.path.dirname(original), session_id + SUFFIX)


def whole(file: BinaryIO, path: str) -> BinaryIO:
    return file


def start_of_prompt(file: BinaryIO, profile: Profile, offset: int) -> int:
    return offset


def turn_runs(file: BinaryIO) -> bool | None:
    return None
