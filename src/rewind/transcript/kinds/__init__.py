"""How an agent keeps its conversations: one module for each kind of transcript, with the functions of `Kind`.

Most differences between agents are data, in their profiles. A kind is code for the rest: where a prompt
begins, what a fork contains. What a file's name says, and how several files are read as one conversation, is
in `reading`, which the files of `read/` use.
"""

from __future__ import annotations

from rewind.agents.profile import OPLOG, SQLITE, TREE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO, Protocol

    from rewind.agents.profile import Profile
    from rewind.transcript.place.cut import Cut, Trigger
    from rewind.transcript.write.content import Content, SessionNames

    class Kind(Protocol):
        def new_session_id(self) -> str: ...

        def start_of_prompt(self, file: BinaryIO, profile: Profile, offset: int) -> int:
            """Where to cut so that the prompt at this offset is removed, and nothing that came before it."""

        def resolve_cut(self, file: BinaryIO, profile: Profile, offset: int, trigger: Trigger) -> Cut:
            """The cut that a checkpoint stands for. `offset` is where the file ended at that time."""

        def turn_runs(self, file: BinaryIO) -> bool | None:
            """Whether the last turn is still running. None if the transcript does not say."""

        def check_resumable(self, file: BinaryIO, profile: Profile, cut: Cut) -> None:
            """Refuse a fork that the agent could not resume. Reads no more than it must."""

        def write_session(self, fd: int, file: BinaryIO, profile: Profile, content: Content,
                          names: SessionNames) -> None: ...


def kind_of(profile: Profile) -> Kind:
    if profile.kind == TREE:
        from rewind.transcript.kinds import jsonl_tree

        return jsonl_tree
    if profile.kind == SQLITE:
        from rewind.transcript.kinds import sqlite

        return sqlite
    if profile.kind == OPLOG:
        from rewind.transcript.kinds import jsonl_oplog

        return jsonl_oplog
    from rewind.transcript.kinds import jsonl_rollout

    return jsonl_rollout
