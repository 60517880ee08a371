"""How kinds of transcripts other than `jsonl-tree` are read: what a file's name says, how several files are
read as one conversation, what a line says.

`names`, `conversation` and `prompts` read a `jsonl-tree` themselves, so saving a checkpoint of one loads
nothing from here.
"""

from __future__ import annotations

from rewind.agents.profile import OPLOG, SQLITE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO, Protocol

    from rewind.agents.profile import Profile
    from rewind.jsonfile import JsonObject

    class Reading(Protocol):
        def session_id_of(self, path: str) -> str:
            """The session that a file belongs to. Empty if only the content of a missing file says it."""

        def path_beside(self, original: str, session_id: str) -> str:
            """The file of a new session, in the directory of another one. Always the same for an id."""

        def whole(self, file: BinaryIO, path: str) -> BinaryIO:
            """The conversation that ends in this file, to be read as one file. Closing it closes `file`."""

        def content_of(self, data: JsonObject, profile: Profile) -> Any:
            """What a line says: a text, or a list of blocks in the form of Claude Code's."""


def reading_of(profile: Profile) -> Reading:
    if profile.kind == SQLITE:
        from rewind.transcript.kinds import sqlite_reading

        return sqlite_reading
    if profile.kind == OPLOG:
        from rewind.transcript.kinds import oplog_reading

        return oplog_reading
    from rewind.transcript.kinds import rollout_reading

    return rollout_reading
