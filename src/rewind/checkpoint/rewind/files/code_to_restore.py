"""Which code is to come back: a checkpoint, or some paths of it."""

from __future__ import annotations

from rewind.checkpoint.project.damage import MissingContent
from rewind.checkpoint.records.source import Source
from rewind.errors import CheckpointIncomplete, RewindError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Record
    from rewind.checkpoint.rewind.files.file_plan import RestorePlan
    from rewind.checkpoint.save.capture import Draft


class CodeToRestore:
    """Which code is to come back: a checkpoint, or some paths of it. `leaving` is what the step that is taken
    back had restored: what it had brought goes again. `skip_missing` goes on without what is damaged."""

    def __init__(self, record: Record, paths: list[bytes] | None = None, leaving: Record | None = None,
                 skip_missing: bool = False, named: bool = False) -> None:
        """`named`: a person named the paths, so one that nobody knows is a typing error."""
        self.named = named
        self.record = record
        self.paths = paths
        self.leaving = leaving
        self.skip_missing = skip_missing

    merges = False  # whether it is the code of now with something merged into it: all of it or nothing

    def open(self, state: State) -> Source:
        source = Source(state, self.record)
        source.skip_missing = self.skip_missing
        source.leaving = Source(state, self.leaving) if self.leaving else None
        return source

    def create_checkpoint(self, state: State, draft: Draft, plan: RestorePlan, before: str) -> None:
        """Only a merge has none yet. The operation begins now; `before` holds the code as it is."""

    def for_agent(self, plan: RestorePlan) -> str:
        """What the agent should be told, where the conversation says nothing of it."""
        return ""


def incomplete_error(state: State, record: Record) -> CheckpointIncomplete | None:
    """What to say when a checkpoint cannot be restored because it is known to lack something."""
    missing = state.damage().checkpoints.get(record.name)
    lost = record.code.get("lost")
    if not missing and isinstance(lost, int):
        missing = MissingContent(lost, [])
    return CheckpointIncomplete(checkpoint=record.name, lacks=missing.text) if missing else None


def intact_record(state: State, name: str) -> Record | None:
    """A checkpoint by its name, if it is there and can be read."""
    try:
        record = state.files.read(name) if name else None
        if record:
            with Source(state, record) as source:
                source.tree(record.tree)
        return record
    except RewindError:
        return None
