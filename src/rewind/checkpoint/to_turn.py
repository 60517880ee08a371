"""Rewind a conversation to a turn, which is kept: the turns after it are left out, and with `both` the code
is as it was before the next prompt."""

from __future__ import annotations

import hashlib

from rewind.agents.profile import pick
from rewind.checkpoint import restore as going_back
from rewind.checkpoint.branches import Branches
from rewind.checkpoint.chat import ChatPlan
from rewind.checkpoint.code_for import code_at_prompt
from rewind.checkpoint.go_back import BackPlan, about_code, rewind_back
from rewind.checkpoint.running import TurnRunning
from rewind.checkpoint.turn_codes import TurnCodes
from rewind.checkpoint.which_session import recorded_session
from rewind.errors import NOT_FOUND, ChangedSincePlan, RewindError
from rewind.transcript.boundary import BoundaryResult, Prompt
from rewind.transcript.chain import Tail
from rewind.transcript.cut import Cut
from rewind.transcript.entries import entry_of
from rewind.transcript.lines import end_of_lines, events_forward, open_transcript
from rewind.transcript.liveness import is_busy
from rewind.transcript.turn_index import open_turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from rewind.agents.profile import Profile
    from rewind.checkpoint.code_for import CodeAt
    from rewind.checkpoint.go_back import Back
    from rewind.checkpoint.plan import RestorePlan
    from rewind.checkpoint.state import State
    from rewind.snapshot.build import Progress
    from rewind.transcript.find import SessionFile
    from rewind.transcript.turn_index import TurnIndex
    from rewind.transcript.turn_tree import Row

_LONGEST_NAME = 200


class TurnNotFound(RewindError):
    """This session has {total} turns, so there is no turn {turn}."""

    exit_code = NOT_FOUND
    hint = "Choose one of its turns."


class CompactedAway(RewindError):
    """{agent} cannot go on from a turn before a compaction."""

    hint = "Choose a turn after the compaction."


class TurnPlan:
    """What rewinding to a turn means. `stamp` tells this plan from that of another moment."""

    def __init__(self, turn: int, total: int, back: BackPlan, index: TurnIndex) -> None:
        self.turn = turn
        self.total = total
        self.back = back
        self.index = index
        self.both = False

    @property
    def drops(self) -> int:
        return self.total - self.turn

    @property
    def code(self) -> CodeAt | None:
        return self.back.code

    @property
    def code_plan(self) -> RestorePlan | None:
        return self.back.code_plan

    @property
    def cut(self) -> Cut:
        return self.back.chat.cut

    @property
    def stamp(self) -> str:
        cut, code = self.cut, self.code
        parts = [self.index.path, self.turn, self.total, cut.offset, cut.leaf, self.both,
                 code.record.name if code else None]
        return _digest(repr(parts).encode() + (plan_digest(self.code_plan) if self.code_plan else b""))


def plan_digest(plan: RestorePlan) -> bytes:
    """The same for two plans that do the same to the same files."""
    lines = [repr((c.action, c.path, _entry(c.target), _entry(c.before))) for c in plan.changes]
    return _digest("\n".join([plan.checkpoint, *sorted(lines)]).encode()).encode()


def _entry(entry: object) -> tuple[object, ...] | None:
    return None if entry is None else tuple(getattr(entry, key) for key in ("kind", "mode", "size", "ref"))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def refuse_if_busy(state: State, session: SessionFile) -> None:
    """Half a turn is nothing to branch off from."""
    if is_busy(session.profile, session.session_id, recorded_session(state, session.session_id)):
        raise TurnRunning(agent=session.profile.title)


def plan_to_turn(state: State, session: SessionFile, turn: int, *, both: bool,
                 plan_code: bool = True) -> TurnPlan:
    refuse_if_busy(state, session)
    index = open_turns(session.path, session.profile, state.derived)
    rows = index.turns(turn, index.total)
    if not rows or rows[0].turn != turn:
        raise TurnNotFound(turn=turn, total=index.total)
    compaction = session.profile.compaction
    if compaction and not compaction["resumable"] and any(c > rows[0].offset for c in index.compactions):
        raise CompactedAway(agent=session.profile.title)
    dropped = rows[1:]
    boundary, chat = _chat(session, dropped)
    chat.turns = turn
    plan = TurnPlan(turn, index.total, BackPlan(boundary, chat, False), index)
    plan.both = both
    if both:
        _add_code(state, session, plan, rows[0], dropped, plan_code)
    return plan


def _chat(session: SessionFile, dropped: list[Row]) -> tuple[BoundaryResult, ChatPlan]:
    """Cut where the next prompt begins; its parent is what the agent goes on from."""
    with open_transcript(session.path) as file:
        if dropped:
            cut = Cut(dropped[0].offset, _parent_of(file, session.profile, dropped[0]))
        else:
            cut = Cut(end_of_lines(file))
        cut = cut.marked(file)
    prompts = [Prompt(row.prompt, row.offset, row.uuid) for row in dropped]
    return (BoundaryResult(cut, prompts, True),
            ChatPlan(session.profile, session.path, session.path, cut))


def _parent_of(file: BinaryIO, profile: Profile, row: Row) -> str | None:
    """The entry before a prompt on its branch; None where the order of the file is all there is."""
    if profile.links == "file-order":
        return None
    event = next(events_forward(file, row.offset), None)
    entry = entry_of(event, profile) if event else None
    chain = Tail(file, profile, row.offset).chain_of(entry)
    next(chain, None)
    before = next(chain, None)
    return before.id if before else ""


def _add_code(state: State, session: SessionFile, plan: TurnPlan, row: Row, dropped: list[Row],
              plan_code: bool) -> None:
    back = plan.back
    if dropped:
        back.code = code_at_prompt(state, session, dropped[0].offset)
        back.notes += [note for note in [about_code(back.code)] if note]
    else:
        back.code = TurnCodes(state, session).after_last(row.offset, _join_of(session, row))
        if back.code is None:
            back.notes.append("The code stays as it is: nothing came after this turn.")
    if back.code and plan_code:
        back.code_plan = going_back.plan_only(state, back.code.record, None)


def _join_of(session: SessionFile, row: Row) -> object:
    key = session.profile.prompt["joinKey"]
    with open_transcript(session.path) as file:
        event = next(events_forward(file, row.offset), None)
    return pick(event.data, key) if event and key else None


def rewind_to_turn(state: State, session: SessionFile, turn: int, *, both: bool, name: str = "",
                   stamp: str = "", progress: Progress | None = None) -> Back:
    """Make the branch. With the `stamp` of a plan that was shown, refuses when that would be another now.
    The caller holds the lock."""
    name = " ".join(name.split()) or f"Branch from turn {turn}"
    if len(name) > _LONGEST_NAME:
        raise RewindError(f"A name has 1 to {_LONGEST_NAME} characters.", hint="Choose another one.")
    plan = plan_to_turn(state, session, turn, both=both, plan_code=bool(stamp))
    if stamp and plan.stamp != stamp:
        raise ChangedSincePlan(paths=_what_changed(plan))
    back = rewind_back(state, plan.back, force=False, progress=progress, expected=plan.code_plan)
    if back.chat and back.chat.fork:
        Branches(state).change(back.chat.fork["session_id"], {"name": name})
    return back


def _what_changed(plan: TurnPlan) -> str:
    return f"the session, or files that going back to turn {plan.turn} is about"
