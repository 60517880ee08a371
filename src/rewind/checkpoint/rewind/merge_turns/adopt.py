"""Adopting a fork with a directory of its own: its changes are merged into the current code, and its
conversation is brought here."""

from __future__ import annotations

from rewind.checkpoint.conversations.bring_back import ConversationPlan, ForkPlace
from rewind.checkpoint.futures.known.lane import OpenPlace, check_whole, find_lane, session_of
from rewind.checkpoint.operation_log.lineage import here
from rewind.checkpoint.project.state import State
from rewind.checkpoint.rewind.destination import Destination
from rewind.checkpoint.select.spans import Span
from rewind.errors import FutureLost
from rewind.transcript.place.cut import Cut
from rewind.transcript.read.conversation import open_conversation
from rewind.transcript.read.lines import end_of_lines


def adopted_span(state: State, name: str) -> Span:
    """From the checkpoint with which the fork began to its last one. The caller has saved the fork before."""
    lane = find_lane(state, name)
    if lane.half_made or lane.half_removed:
        check_whole(lane)
    point = state.files.find(lane.point)
    with OpenPlace(state, lane) as there:
        tip = here(there)
    if point is None or tip is None:
        raise FutureLost(name=lane.name, what="its checkpoints are gone")
    return Span(point, tip, f"fork {lane.name}", session=lane.session_id)


def add_conversation(state: State, found: Destination, name: str) -> None:
    lane = find_lane(state, name)
    with OpenPlace(state, lane) as there:
        file = session_of(there, lane)
    if file is None:
        found.notes.append("Its conversation is gone, so only its code is adopted.")
        return
    with open_conversation(file.path, file.profile) as opened:
        cut = Cut(end_of_lines(opened)).marked(opened)
    found.conversation = ConversationPlan(file.profile, file.path, file.path, cut)
    found.conversation.check_format()
    found.conversation.fork_place = ForkPlace(state.project.root, state.place)
