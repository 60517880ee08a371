"""Opens a conversation, in however many files it is."""

from __future__ import annotations

from rewind.agents.profile import TREE
from rewind.transcript.read.lines import open_transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from rewind.agents.profile import Profile


def open_conversation(path: str, profile: Profile, identity: tuple[int, int] | None = None) -> BinaryIO:
    """The conversation that ends in this file, even if it began in others."""
    file = open_transcript(path, identity)
    if profile.kind == TREE:
        return file
    from rewind.transcript.kinds.reading import reading_of

    try:
        return reading_of(profile).whole(file, path)
    except BaseException:
        file.close()
        raise
