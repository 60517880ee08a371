"""Show which checkpoints changed a file or a directory, newest first, and after which prompt."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rewind.cli.open_and_answer import Args, Parser, note_left_out, open_controller, print_json
from rewind.cli.output.change_counts import lines
from rewind.cli.output.columns import cut, line_room
from rewind.cli.output.pager import add_pager_option, paged
from rewind.cli.output.patch import for_terminal, patch
from rewind.cli.output.style import paint, path_json
from rewind.cli.parse.arguments import project_path
from rewind.controller import Controller
from rewind.errors import DONE, PathNeverSeen, RewindError
from rewind.words import age, plural, safe, shortened, shown

if TYPE_CHECKING:
    from typing import TypedDict

    from rewind.checkpoint.records.record import Trigger
    from rewind.checkpoint.search.file_log import LogEntry
    from rewind.cli.output.style import PathJson
    from rewind.snapshot.diff.patch import Line

    class PromptJson(TypedDict):
        session_id: str
        turn: int
        text: str

    class _Patch(TypedDict, total=False):
        patch: str

    class ChangeJson(_Patch):
        operation: str | None
        checkpoint: str
        createdAt: str
        kind: str
        description: str
        trigger: Trigger
        status: str
        insertions: int
        deletions: int
        files: list[PathJson]
        prompt: PromptJson | None

summary = "show which checkpoints changed a file, and after which prompt"
examples = ("rewind log src/app.py", "rewind log src/app.py --patch   # with what changed",
            "rewind log docs --json")
takes_text = True


def arguments(parser: Parser) -> None:
    parser.add_argument("path", metavar="PATH", help="a file or directory of the project, even a deleted one")
    parser.add_argument("--patch", action="store_true", help="also show what changed")
    add_pager_option(parser)


def run(args: Args) -> int:
    controller = open_controller(args)
    path = project_path(args.path, controller.project)
    damaged: dict[str, RewindError] = {}
    entries = _checked(controller.log(path, damaged), path)
    if args.json:
        print_json({**path_json(path), "changes": [_json(entry, args.patch) for entry in entries]})
    else:
        with paged(args):
            _print(controller, entries, args.patch)
    note_left_out(damaged)
    return DONE


def _checked(entries: Iterator[LogEntry], path: bytes) -> Iterator[LogEntry]:
    seen = False
    for entry in entries:
        seen = True
        yield entry
    if not seen:
        raise PathNeverSeen(path=shown(path))


def _print(controller: Controller, entries: Iterator[LogEntry], with_patch: bool) -> None:
    now = time.time()
    for entry in entries:
        record, op = entry.record, entry.operation
        name = op.id if op else record.name
        number = "" if op else record.sequence
        facts = f"{age(op.time if op else record.created, now):>11}  {_amount(entry):<12}"
        text = safe(controller.describe(op)) if op else _description(entry)
        print(cut(f"{number:>4}  {name:<19}  {facts}  {text}".rstrip(), line_room()).replace(
            name, paint(name, "yellow" if op else "cyan"), 1))
        if entry.prompt:
            print(paint(cut(_prompt(entry), line_room()), "dim"))
        if with_patch:
            for line in _patch(entry):
                print(for_terminal(line) if sys.stdout.isatty()
                      else line[1].decode("utf-8", "surrogateescape"))
            print()


def _description(entry: LogEntry) -> str:
    """Empty at the end of a turn: the line below has its prompt."""
    after_a_turn = entry.record.kind == "auto" and entry.record.trigger.get("event") == "Stop"
    return "" if entry.prompt and after_a_turn else safe(entry.record.description)


def _prompt(entry: LogEntry) -> str:
    assert entry.prompt is not None
    text = shortened(safe(entry.prompt.text), 200)
    return f"{'':<6}after turn {entry.prompt.turn} of {entry.prompt.session_id[:8]}: {text}"


def _counts(entry: LogEntry) -> tuple[int, int]:
    known = [one.counts for one in entry.compared() if one.counts]
    return sum(i for i, _ in known), sum(d for _, d in known)


def _amount(entry: LogEntry) -> str:
    text = lines(*_counts(entry))
    if len(entry.changes) > 1:
        return f"{text} in {plural(len(entry.changes), 'file')}".strip().removeprefix("in ")
    word = "" if entry.status == "modified" and text else entry.status
    return " ".join(part for part in (word, text) if part)


def _patch(entry: LogEntry) -> Iterator[Line]:
    for path, old, new in entry.changes:
        yield from patch(path, old, new, entry.read_old, entry.read_new)


def _json(entry: LogEntry, with_patch: bool) -> ChangeJson:
    record, prompt = entry.record, entry.prompt
    inserted, deleted = _counts(entry)
    found: ChangeJson = {
        "operation": entry.operation.id if entry.operation else None,
        "checkpoint": record.name, "createdAt": record.created_at, "kind": record.kind,
        "description": record.description, "trigger": record.trigger, "status": entry.status,
        "insertions": inserted, "deletions": deleted,
        "files": [path_json(path) for path, _, _ in entry.changes],
        "prompt": {"session_id": prompt.session_id, "turn": prompt.turn, "text": prompt.text}
        if prompt else None}
    if with_patch:
        found["patch"] = "".join(text.decode("utf-8", "replace") + "\n" for _, text in _patch(entry))
    return found
