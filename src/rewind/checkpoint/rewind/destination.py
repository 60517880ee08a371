"""What a target means now: the checkpoint with the code, the cut of the conversation, and what happens to the
sessions that undone operations made."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rewind.checkpoint.conversations.bring_back import ConversationPlan
    from rewind.checkpoint.operation_log.line import Effect
    from rewind.checkpoint.operation_log.operations import Operation
    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Record
    from rewind.checkpoint.rewind.files.code_to_restore import CodeToRestore
    from rewind.checkpoint.rewind.target import Request
    from rewind.errors import NothingBeforeCut
    from rewind.transcript.read.entries import Prompt
    from rewind.transcript.turns.turn_index import TurnIndex

    Resolver = Callable[[State, Request, Any], "Destination"]


class Destination:
    """Close it after use, because the conversation may have a temporary file."""

    def __init__(self, command: str, request: Request) -> None:
        self.command = command
        self.request = request
        self.in_place = request.in_place
        self.code: CodeToRestore | None = None
        self.exact = True  # whether the code is exactly that of the moment
        self.conversation: ConversationPlan | None = None
        self.prompts: list[Prompt] = []  # that are dropped from the conversation, newest last
        self.boundary: int | None = None
        self.effects: list[Effect] = []
        self.undoes: list[Operation] = []
        self.redoes: Operation | None = None
        self.resumes: Operation | None = None  # the interrupted or failed operation that this finishes
        self.turn: int | None = None  # the first turn that is dropped
        self.total = 0  # turns of the session, if they were counted
        self.index: TurnIndex | None = None
        self.start_anew: NothingBeforeCut | None = None
        self.about = ""  # which turns are reverted or applied, in words
        self.lacks_conversation = False  # it was wanted but could not be restored
        self.no_conversation = ""  # why there is none, to tell the person before it is done
        self.notes: list[str] = []

    @property
    def record(self) -> Record | None:
        return self.code.record if self.code else None

    @property
    def checkpoint(self) -> str:
        """The name of the checkpoint whose code comes back; empty where the code stays as it is."""
        return self.record.name if self.record else ""

    def __enter__(self) -> Destination:
        return self

    def __exit__(self, *error: object) -> None:
        if self.conversation:
            self.conversation.close()
