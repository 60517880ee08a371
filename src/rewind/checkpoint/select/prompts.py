"""Where a text occurs in the prompts of all conversations of the project."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from rewind.checkpoint.project.state import State
from rewind.errors import RewindError
from rewind.transcript.find import SessionFile
from rewind.transcript.read.conversation import open_conversation
from rewind.transcript.read.lines import events_forward
from rewind.transcript.read.prompts import prompt_text
from rewind.transcript.turns.turn_index import TurnIndex, open_turns
from rewind.transcript.turns.turn_tree import SHORT, Row


class Found:
    """`turn` is None if the agent's own rewind has removed the prompt; `at` is the position of the text."""

    def __init__(self, session: SessionFile, row: Row, total: int, prompt: str, at: int) -> None:
        self.session = session
        self.turn = row.turn
        self.total = total
        self.uuid = row.uuid
        self.offset = row.offset
        self.timestamp = row.stamp
        self.prompt = prompt
        self.at = at


def search_prompts(state: State, sessions: list[SessionFile], text: str, *,
                   any_case: bool = False) -> Iterator[Found]:
    """In the order of the sessions, and in each session the latest prompt first. Line breaks count as
    spaces."""
    text = one_line(text)
    for session in sessions:
        try:
            yield from _in_session(session, open_turns(session.path, session.profile, state.derived),
                                   text, any_case)
        except RewindError:
            continue  # deleted since it was found, or not readable


def _in_session(session: SessionFile, index: TurnIndex, text: str, any_case: bool) -> Iterator[Found]:
    rows = index.turns(1, index.total) + index.abandoned(0, index.size)
    with open_conversation(session.path, session.profile) as file:
        for row in sorted(rows, key=lambda r: r.offset, reverse=True):
            prompt = _whole_prompt(file, index, row)
            at = _find(prompt, text, any_case)
            if at >= 0:
                yield Found(session, row, index.total, prompt, at)


def _whole_prompt(file: BinaryIO, index: TurnIndex, row: Row) -> str:
    """The index contains the beginning of a prompt; a long one is read from the file."""
    if len(row.prompt) < SHORT:
        return row.prompt
    event = next(events_forward(file, row.offset, index.size), None)
    return one_line(prompt_text(event.data, index.profile)) if event else row.prompt


def one_line(text: str) -> str:
    return " ".join(text.split())


def _find(prompt: str, text: str, any_case: bool) -> int:
    # Lower case has the same length for nearly all texts, so the position is good enough to show it.
    return prompt.lower().find(text.lower()) if any_case else prompt.find(text)
