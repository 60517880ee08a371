"""How a kind of transcript is read, other than one file of lines for each session: what the name of a file
says, how several files are read as one, what a line says. `names`, `conversation` and `prompts` know how a
`jsonl-tree` is read, and do not come here: saving a checkpoint of one loads no module for it."""

from __future__ import annotations

from rewind.agents.profile import OPLOG, SQLITE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO, Protocol

    from rewind.agents.profile import Profile
    from rewind.jsonfile import JsonObject

    class Reading(Protocol):
        def session_id_of(self, path: str) -> str:
            """The session that a file belongs to; empty where only the file tells, and it is gone."""

        def path_beside(self, original: str, session_id: str) -> str:
            """The file of a new session, in the directory of another one; always the same for an id."""

        def whole(self, file: BinaryIO, path: str) -> BinaryIO:
            """The conversation that ends in this file as one run of lines. Takes the file over."""

        def content_of(self, data: JsonObject, profile: Profile) -> Any:
            """What a line says: a text, or a list of blocks such as Claude Code has them."""


def reading_of(profile: Profile) -> Reading:
    if profile.kind == SQLITE:
        from rewind.transcript.kinds import sqlite_reading

        return sqlite_reading
    if profile.kind == OPLOG:
        from rewind.transcript.kinds import oplog_reading

        return oplog_reading
    from rewind.transcript.kinds import rollout_reading

    return rollout_reading
