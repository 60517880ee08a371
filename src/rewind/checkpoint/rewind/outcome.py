"""The result of going back."""

from __future__ import annotations

from rewind.checkpoint.rewind.effects import outside
from rewind.checkpoint.rewind.files.file_plan import RestorePlan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.conversations.bring_back import ConversationPlan, ConversationResult
    from rewind.checkpoint.records.record import Record
    from rewind.checkpoint.rewind.destination import Destination


class Outcome:
    """What was done. `remaining` are the paths that still differ from the checkpoint, with the reason."""

    def __init__(self, found: Destination) -> None:
        self.command = found.command
        self.operation = ""  # its id; empty if there was nothing to do
        self.record: Record | None = found.record
        self.exact = found.exact
        self.about = found.about  # which turns were reverted or applied, in words
        self.code: RestorePlan | None = None  # None: the code was not touched
        self.backup: Record | None = None
        self.kept_copy: Record | None = None  # what was written to files while they were replaced
        self.conversation: ConversationResult | None = None
        self.left: ConversationPlan | None = found.conversation  # the conversation that was cut, and where
        self.session: str | None = found.conversation.session_id if found.conversation else None
        self.prompts = found.prompts
        self.boundary = found.boundary
        self.start_anew = found.start_anew
        self.lacks_conversation = found.lacks_conversation
        self.can_redo = False
        self.for_agent = ""  # what to tell the agent, because its conversation does not mention the change
        self.notes = list(found.notes)
        self.outside = outside.changes(found.effects)  # (sign, path) of files outside the project
        self.remaining: list[tuple[bytes, str]] = []

    @property
    def plan(self) -> RestorePlan:
        """What was done to files; an empty plan if the code was not touched."""
        return self.code or RestorePlan(self.record.name if self.record else "")

    @property
    def complete(self) -> bool:
        return not self.remaining and not self.lacks_conversation

    @property
    def failed(self) -> bool:
        """Whether something in the plan could not be done. Repeating the command may do it."""
        return len(self.remaining) > len(self.plan.conflicts)

    @property
    def resume(self) -> str:
        """The command that continues the conversation."""
        return self.conversation.fork["resume"] if self.conversation and self.conversation.fork else ""
