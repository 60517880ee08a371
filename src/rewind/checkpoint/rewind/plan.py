"""`plan(Request) -> Plan`: what going to a target would do, shown by every interface before it is done."""

from __future__ import annotations

from rewind.checkpoint.rewind.effects import outside
from rewind.checkpoint.rewind.files.plan_code import plan_code, planned
from rewind.checkpoint.rewind.resolve import resolve
from rewind.checkpoint.rewind.undo_and_redo import refuse_unsaved
from rewind.fast.sha256 import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Record
    from rewind.checkpoint.rewind.destination import Destination
    from rewind.checkpoint.rewind.files.file_plan import RestorePlan
    from rewind.checkpoint.rewind.target import Request
    from rewind.snapshot.diff.compare import Comparison
    from rewind.snapshot.trees.tree import TreeEntry
    from rewind.transcript.place.cut import Cut
    from rewind.transcript.read.entries import Prompt
    from rewind.transcript.turns.turn_index import TurnIndex

_COMPARED = ("write", "delete", "chmod")  # what can be shown line by line


class Plan:
    """`code` is what would happen to files; None if the code stays as it is. Two plans that do the same have
    the same `digest`."""

    def __init__(self, found: Destination, code: RestorePlan | None) -> None:
        self.request = found.request
        self.command = found.command
        self.record: Record | None = found.record
        self.exact = found.exact
        self.about = found.about
        self.code = code
        conversation = found.conversation
        self.source: str | None = conversation.session_id if conversation else None
        self.session = None if found.start_anew else self.source
        self.in_place = found.in_place
        self.cut: Cut | None = conversation.cut if conversation else None
        self.prompts: list[Prompt] = found.prompts
        self.boundary = found.boundary
        self.turn = found.turn
        self.total = found.total
        self.index: TurnIndex | None = found.index
        self.start_anew = found.start_anew
        self.undoes = [op.id for op in found.undoes]
        self.redoes = found.redoes.id if found.redoes else ""
        self.intention = ""  # which operations it undoes or redoes, in words
        self.notes = [*(code.notes if code else []), *found.notes]
        self.no_conversation = found.no_conversation
        self.outside = outside.changes(found.effects)  # (sign, path) of files outside the project
        self.digest = digest(found, code)

    def all_notes(self) -> list[str]:
        """All notes, including why there is no conversation to continue, if so."""
        anew = self.start_anew
        text = f"{anew.message} {anew.hint}" if anew else ""
        return [*self.notes, text] if text and text not in self.notes else self.notes


def digest(found: Destination, code: RestorePlan | None) -> str:
    conversation = found.conversation
    cut = conversation.cut if conversation else None
    parts = [found.command, found.request.key(), found.record.name if found.record else None,
             conversation.original if conversation else None, cut and (cut.offset, cut.leaf), found.in_place,
             [op.id for op in found.undoes], found.redoes and found.redoes.id, len(found.prompts),
             found.total, outside.key(found.effects)]
    changes = code.changes if code else []
    lines = [repr((c.action, c.path, _entry(c.target), _entry(c.before))) for c in changes]
    return sha256("\n".join([repr(parts), *sorted(lines)]).encode()).hex()[:32]


def _entry(entry: object) -> tuple[object, ...] | None:
    return None if entry is None else tuple(getattr(entry, key) for key in ("kind", "mode", "size", "ref"))


def make_plan(state: State, request: Request, *, force: bool = False) -> Plan:
    """Nothing is written and nothing is locked. What `apply` would refuse is refused here as well, or
    noted."""
    with resolve(state, request) as found:
        code, snapshot = plan_code(state, found.code) if found.code else (None, None)
        if code and snapshot and not force:
            refuse_unsaved(state, found, code, snapshot)
        plan = Plan(found, code)
        if found.undoes or found.redoes:
            from rewind.checkpoint.rewind.operation_words import intention

            by_id = {op.id: op for op in state.operations().all}
            plan.intention = intention(found.undoes, found.redoes, by_id)
        if found.conversation or found.effects:
            from rewind.checkpoint.rewind.conversation.carry_out import preview_notes

            plan.notes += preview_notes(state, found)
        return plan


def preview(state: State, request: Request, path: bytes) -> Comparison | None:
    """What the plan would do to one path: the current file compared with its future content, even if that
    checkpoint is not made yet. None if the plan leaves the path alone."""
    from rewind.snapshot.diff.compare import compare
    from rewind.snapshot.scan.live import read_live

    def read_now(path: bytes, entry: TreeEntry, limit: int) -> bytes | None:
        return read_live(state.root, path, limit)

    with resolve(state, request) as found:
        if found.code is None:
            return None
        with found.code.open(state) as source:
            plan, _ = planned(state, found.code, source)
            change = next((one for one in plan.changes if one.path == path and one.action in _COMPARED), None)
            return compare(path, change.before, change.target, read_now, source.read) if change else None
