"""What is known of one item of the map: what was said, and what happened to the files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from rewind.controller import CHECKPOINT, EDIT, LANE, NOW, OPERATION, PROMPT, SESSION, Controller, lane_shape
from rewind.errors import RewindError
from rewind.tui.parts.difftext import Changed, changed
from rewind.tui.parts.screen_words import clock
from rewind.words import from_home, one_line, plural, quoted, safe_lines

if TYPE_CHECKING:
    from rewind.checkpoint.map.by_session import Item
    from rewind.transcript.turns.turn_blocks import TurnText

_FILES, _PATCH = 40, 300  # in the preview
MANY_FILES, LONG_PATCH = 1000, 20_000  # on a screen of their own
_SAID = 6000


@dataclass(frozen=True)
class Span:
    """Two checkpoints to compare; without `new`, the project as it is now. Without `old` there is nothing to
    compare, and `why` says why. `label` and `session` say whose work it is."""

    old: str | None
    new: str | None
    why: str = ""
    label: str = ""
    session: str | None = None


def span_of(controller: Controller, item: Item) -> Span:
    """What the item itself did: a turn up to the next prompt, a checkpoint since the one before it."""
    row = item.row
    if row and row.before and item.kind in (PROMPT, EDIT):
        return _labelled(item, row.before.name, row.after.name if row.after else None)
    if item.kind == PROMPT and item.session:
        assert item.turn is not None
        return _labelled(item, *controller.turn_span(item.session.session_id, item.turn, item.offset))
    if item.kind == CHECKPOINT and item.record:
        before = controller.lineage().parent(item.record.name)
        return Span(before.name, item.record.name) if before else Span(None, None, "The first checkpoint.")
    base = controller.here()
    if item.kind == NOW and base:
        return Span(base.name, None)
    return Span(None, None, "There is nothing to compare here.")


def _labelled(item: Item, old: str | None, new: str | None) -> Span:
    if old is None:
        return Span(None, None, "No checkpoint is from before this prompt.")
    turn = f"turn {item.turn}, " if item.turn else ""
    label = f"{turn}{quoted(one_line(item.text))}" if item.kind == PROMPT else one_line(item.text)
    return Span(old, new, label=label, session=item.session.session_id if item.session else None)


def compared(controller: Controller, span: Span, files: int, lines: int) -> Changed:
    assert span.old is not None
    with controller.diff(span.old, span.new) as difference:
        return changed(difference, files, lines)


def preview(controller: Controller, item: Item) -> Text:
    text = Text()
    _HEAD[item.kind](controller, item, text)
    if item.kind in (SESSION, OPERATION, LANE):
        return text
    _add_files(controller, item, text)
    return text


def _add_files(controller: Controller, item: Item, text: Text) -> None:
    try:
        span = span_of(controller, item)
        if span.old is None:
            text.append(f"\n{span.why}\n", "dim")
            return
        found = compared(controller, span, _FILES, _PATCH)
    except RewindError as error:
        text.append(f"\n{error.message}\n", "red").append(error.hint, "dim")
        return
    since = "the last checkpoint" if span.old == controller.find("last").name else span.old
    title = f"Since {since}" if item.kind == NOW else "Files"
    text.append(f"\n{title}  ", "bold").append(found.summary()).append("\n")
    for line in found.counts:
        text.append(line).append("\n")
    if found.patch:
        text.append("\n")
        for line in found.patch:
            text.append(line).append("\n")


# what stands above the files

def _session(controller: Controller, item: Item, text: Text) -> None:
    info = item.session
    assert info is not None
    text.append(one_line(info.name) or "(no title)", "bold").append("\n")
    text.append(f"{info.session_id}\n", "cyan")
    facts = [("agent", info.file.profile.title), ("turns", str(len(info.turns))),
             ("latest", clock(info.file.modified))]
    if info.parent:
        at = "" if info.rewind_from_turn is None else f", after turn {info.rewind_from_turn}"
        facts.append(("fork of", f"{info.parent[:8]}{at}"))
    for title, value in facts:
        text.append(f"{title:<9}", "dim").append(f"{safe_lines(value)}\n")
    if info.archived:
        text.append("\nFolded away: a fork of it was promoted.\n", "dim")
    resume = controller.resume_command(info)
    if resume:
        text.append("\nContinue it:\n", "dim").append(resume, "cyan").append("\n")


def _prompt(controller: Controller, item: Item, text: Text) -> None:
    when = f"  {clock(item.time)}" if item.time else ""
    turn = f"Turn {item.turn}" if item.turn else "A turn that the conversation left behind"
    text.append(turn, "bold cyan").append(when, "dim").append("\n")
    if item.letter and item.session:
        text.append(f"{item.letter} ▌{one_line(item.session.name)}\n", "dim")
    said = _said(controller, item)
    text.append(f"{safe_lines(said.prompt if said else item.text).strip()}\n", "bold")
    for block in said.blocks if said else ():
        if block["kind"] == "text":
            text.append(f"\n{safe_lines(block['text']).strip()}\n")
        elif block["kind"] == "tool":
            failed = (" failed", "red") if block["isError"] else ("", "")
            text.append("⚙ ", "magenta").append(f"{safe_lines(block['name'])} ", "magenta")
            said_of = (block["summary"] or "").replace(controller.project.root + os.sep, "")
            text.append(one_line(said_of)[:200], "dim").append(*failed).append("\n")


def _said(controller: Controller, item: Item) -> TurnText | None:
    if item.session is None or item.turn is None:
        return None
    found = controller.said(item.session.session_id, item.turn, _SAID)
    return found if found and found.row.uuid == item.uuid else None


def _checkpoint(controller: Controller, item: Item, text: Text) -> None:
    record = item.record
    assert record is not None
    text.append(f"{one_line(item.text)}\n", "bold")
    kind = _KINDS.get(record.kind, record.kind)
    text.append(f"{record.name}", "yellow").append(f"  {clock(item.time)}\n", "dim")
    count = record.code.get("fileCount")
    parts = [kind, *([plural(count, "file")] if isinstance(count, int) else []),
             "with conversation" if item.has_conversation else "no conversation"]
    text.append(" · ".join(parts) + "\n", "dim")


def _edit(controller: Controller, item: Item, text: Text) -> None:
    words = one_line(item.text)
    text.append(f"{words[:1].upper()}{words[1:]}\n", "bold").append(f"{clock(item.time)}\n", "dim")
    text.append("Between two turns, so no turn is charged with it.\n", "dim")


def _operation(controller: Controller, item: Item, text: Text) -> None:
    op = item.row.op if item.row else None
    if op is None:
        return
    text.append(f"{one_line(item.text)}\n", "bold").append(f"{op.id}", "yellow")
    text.append(f"  {clock(item.time)}\n", "dim")
    done = op.ended or {}
    text.append(f"{done.get('written', 0):,} written, {done.get('deleted', 0):,} deleted\n")
    if op.can_undo:
        text.append("\nEnter undoes it, with everything that Rewind did later.\n", "dim")


def _lane(controller: Controller, item: Item, text: Text) -> None:
    lane = item.lane
    assert lane is not None
    text.append(f"{lane.name}\n", "bold blue")
    if item.turn:
        when = f"  {clock(item.time)}" if item.time else ""
        text.append(f"Turn {item.turn}", "bold cyan").append(f"{when}\n", "dim")
        text.append(f"{safe_lines(item.text).strip()}\n", "bold")
    facts = [("state", lane.state), ("turns", lane_shape.turns(lane)), ("changes", lane_shape.size(lane)),
             ("last run", lane_shape.last_run(lane)), ("in", from_home(lane.dir))]
    for title, value in facts:
        text.append(f"{title:<9}", "dim").append(f"{safe_lines(value)}\n") if value else None
    problem = lane_shape.problem(lane)
    text.append(f"\n{safe_lines(problem)}\n" if problem else "", "red")
    text.append("\nEnter shows the forks: compare, adopt, remove, go on.\n", "dim")


def _now(controller: Controller, item: Item, text: Text) -> None:
    text.append("The project as it is now\n", "bold").append(f"{from_home(controller.project.root)}\n", "dim")


_HEAD = {SESSION: _session, PROMPT: _prompt, CHECKPOINT: _checkpoint, NOW: _now, EDIT: _edit,
         OPERATION: _operation, LANE: _lane}
_KINDS = {"manual": "saved by hand", "auto": "automatic", "initial": "the first"}
