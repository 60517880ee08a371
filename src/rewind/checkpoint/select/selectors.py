"""The selectors with which a person names one checkpoint in every command.

    last  prev  @          the newest, the one before it, the one that the project stands on
    12                     the number that every list shows
    20261115_101502_003    a name, or the beginning of one
    t4  t4+  SESSION:t4    before turn 4, after it, of another session
    10m  14:30  yesterday  the project as it was then
    "clean up"             before the prompt with this text, or a checkpoint with this description
    last~2                 the grandparent of the newest

The code that reads transcripts is loaded only for the selectors that need it.
"""

from __future__ import annotations

from rewind.checkpoint.records.record import Record, is_name
from rewind.checkpoint.select.nearest import by_record, nearest
from rewind.checkpoint.select.selected import Selected
from rewind.errors import CheckpointAmbiguous, CheckpointNotFound, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.project.state import State
    from rewind.transcript.find import SessionFile

SHORTEST_PREFIX = 5
WORDS = {"last": "the newest checkpoint", "prev": "the one before it", "@": "where the project stands"}


def select(state: State, text: str) -> Record:
    return selected(state, text).record


def selected(state: State, text: str) -> Selected:
    """The same, with a note if the checkpoint is only close to what was asked for."""
    if not text.strip():
        raise UsageError("The name of the checkpoint is empty.", hint="Run `rewind list` to see the numbers.")
    base, steps = _without_steps(text)
    found = _select(state, base)
    return Selected(_ancestor(state, found.record, steps, text), found.note) if steps else found


def select_turn(state: State, text: str) -> tuple[SessionFile, int]:
    """The session and the number of a turn: `t4`, `turn:4`, `SESSION:t4`, or text of its prompt."""
    from rewind.checkpoint.select.turns import turn_named, turn_saying

    return turn_named(state, text) or turn_saying(state, text)


def _select(state: State, text: str) -> Selected:
    if is_name(text):
        return Selected(_named(state, text))
    if text in WORDS:
        return Selected(_of_word(state, text))
    if text.isascii() and text.isdigit():
        return Selected(_numbered(state, text))
    if text.isascii() and text.replace("_", "").isdigit():
        return Selected(_beginning(state, text))
    from rewind.checkpoint.select.turns import checkpoint_of_turn, checkpoint_saying

    found = checkpoint_of_turn(state, text) or _at_moment(state, text)
    return found or checkpoint_saying(state, text)


def _without_steps(text: str) -> tuple[str, int]:
    """`last~2` is ("last", 2), and `last~` one step."""
    base, mark, count = text.rpartition("~")
    if not base or not mark or not (count == "" or (count.isascii() and count.isdigit() and len(count) < 7)):
        return text, 0
    return base, int(count or 1)


def _named(state: State, name: str) -> Record:
    try:
        return state.files.read(name)
    except CheckpointNotFound as error:
        raise error.near_to(name, nearest(state, name))


def _of_word(state: State, word: str) -> Record:
    if word == "@":
        from rewind.checkpoint.operation_log.lineage import here

        found = here(state)
    else:
        shown = [r for r in state.timeline.shown() if r.place == state.place]
        at = 0 if word == "last" else 1
        found = shown[at] if at < len(shown) else None
    if found is None:
        raise CheckpointNotFound(name=word, hint="To make a checkpoint: rewind save")
    return found


def _numbered(state: State, text: str) -> Record:
    found = state.timeline.with_sequence(int(text)) if len(text) < 19 else None
    if found:
        return found
    if len(text) >= SHORTEST_PREFIX:
        return _beginning(state, text)
    raise CheckpointNotFound(name=text).near_to(text, nearest(state, text))


def _beginning(state: State, text: str) -> Record:
    names = sorted(name for name in state.files.stamps() if name.startswith(text) and is_name(name))
    if len(names) == 1 and len(text) >= SHORTEST_PREFIX:
        return state.files.read(names[0])
    if not names:
        raise CheckpointNotFound(name=text).near_to(text, nearest(state, text))
    last = by_record([state.files.read(name) for name in names[-3:]])
    raise CheckpointAmbiguous(name=text, count=len(names)).near_to(text, last)


def _at_moment(state: State, text: str) -> Selected | None:
    """The checkpoint that the project stood on at a time, in this work tree."""
    import time

    from rewind.checkpoint.select.times import moment

    at = moment(text, time.time())
    if at is None:
        return None
    from rewind.checkpoint.operation_log.lineage import is_ordinary

    own = [r for r in state.timeline.all() if is_ordinary(r) and r.place == state.place]
    found = next((r for r in reversed(own) if r.created <= at), None)
    if found is None:
        error = CheckpointNotFound(name=text, hint="The first checkpoint is newer than that.")
        raise error.near_to(text, by_record(own[:1]))
    moved = next((op for op in reversed(state.operations().mine()) if op.ended and op.time <= at), None)
    if moved and moved.sequence >= found.sequence and is_name(moved.here):
        return Selected(_named(state, moved.here))
    return Selected(found)


def _ancestor(state: State, record: Record, steps: int, text: str) -> Record:
    from rewind.checkpoint.operation_log.lineage import lineage

    line = list(lineage(state).line(record.name))
    if steps < len(line):
        return line[steps]
    error = CheckpointNotFound(name=text, hint="That line has fewer checkpoints.")
    raise error.near_to(text, by_record(line[-1:]))
