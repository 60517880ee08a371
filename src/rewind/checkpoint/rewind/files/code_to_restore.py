"""Which code to restore: a checkpoint, or some paths of it."""

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
    """Which code to restore: a checkpoint, or some paths of it. `leaving` is what the undone operation had
    restored: files that it brought are deleted. `skip_missing` skips damaged content."""

    def __init__(self, record: Record, paths: list[bytes] | None = None, leaving: Record | None = None,
                 skip_missing: bool = False, named: bool = False) -> None:
        """`named`: a person named the paths, so an unknown path is an error."""
        self.named = named
        self.record = record
        self.paths = paths
        self.leaving = leaving
        self.skip_missing = skip_missing

    # Whether it is the current code with changes merged in, which is done completely or not at all.
    merges = False

    def open(self, state: State) -> Source:
        source = Source(state, self.record)
        source.skip_missing = self.skip_missing
        source.leaving = Source(state, self.leaving) if self.leaving else None
        return source

    def create_checkpoint(self, state: State, draft: Draft, plan: RestorePlan, before: str) -> None:
        """Only a merge makes its checkpoint here. The operation begins next; `before` has the code as it is
        now."""

    def for_agent(self, plan: RestorePlan) -> str:
        """What the person should tell the agent, because the conversation does not mention the change."""
        return ""


def incomplete_error(state: State, record: Record) -> CheckpointIncomplete | None:
    """The error for a checkpoint that is known to lack something; None if it is complete."""
    missing = state.damage().checkpoints.get(record.name)
    lost = record.code.get("lost")
    if not missing and isinstance(lost, int):
        missing = MissingContent(lost, [])
    return CheckpointIncomplete(checkpoint=record.name, lacks=missing.text) if missing else None


def intact_record(state: State, name: str) -> Record | None:
    """A checkpoint by its name, if it exists and can be read."""
    try:
        record = state.files.read(name) if name else None
        if record:
            with Source(state, record) as source:
                source.tree(record.tree)
        return record
    except RewindError:
        return None
