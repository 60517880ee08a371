"""List what Rewind did to files and conversations, newest first, as one log: each operation can be undone.

`rewind ops show OP` shows one of them in full. To undo one and all later ones: rewind undo-restore OP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.cli.open_and_answer import Args, Parser, answer, open_controller
from rewind.cli.output.style import paint, path_json
from rewind.controller import Controller
from rewind.errors import DONE, UsageError
from rewind.words import age, plural, safe, shown

if TYPE_CHECKING:
    from typing import TypedDict

    from rewind.checkpoint.operation_log.line import Effect
    from rewind.checkpoint.operation_log.operations import Operation
    from rewind.cli.output.style import PathJson

    class OperationJson(TypedDict):
        id: str
        at: str
        command: str
        text: str
        undone: bool
        canUndo: bool
        interrupted: bool
        place: str
        checkpoint: str | None
        before: str | None
        here: str | None
        paths: list[PathJson] | None
        written: int | None
        deleted: int | None
        kept: int | None
        undoes: list[str]
        redoes: str | None
        effects: list[Effect]
        leftAlone: list[PathJson]

summary = "list what Rewind did, and what can be undone"
examples = ("rewind ops", "rewind ops show 3f9a1c2e", "rewind ops --json")
_SHOWN = 30


def arguments(parser: Parser) -> None:
    parser.add_argument("action", nargs="?", choices=("list", "show"), default="list",
                        help="`list` (the default) or `show`")
    parser.add_argument("op", nargs="?", metavar="OP", help="with `show`: an operation's id")
    parser.add_argument("--all", action="store_true", help="list all, not only the newest")


def run(args: Args) -> int:
    controller = open_controller(args)
    if args.action == "show" and not args.op:
        raise UsageError("`ops show` needs an operation.", hint="Run `rewind ops` to see them.")
    if args.action == "list" and args.op:
        raise UsageError(f"`ops list` takes no operation: {args.op}", hint=f"rewind ops show {args.op}")
    if not args.op:
        return _list(controller, args)
    op, interrupted = controller.operation(args.op), controller.interrupted()
    lines = [f"{paint(f'{title:<13}', 'dim')}{safe(text)}"
             for title, text in _lines(controller, op, interrupted)]
    return answer(args, _json(controller, op, interrupted), "\n".join(lines))


def _list(controller: Controller, args: Args) -> int:
    operations = list(reversed(controller.operations()))
    interrupted = controller.interrupted()
    if args.json or not operations:
        return answer(args, {"operations": [_json(controller, op, interrupted) for op in operations]},
                      "No operations yet.")
    listed = operations if args.all else operations[:_SHOWN]
    for op in listed:
        mark = paint("○", "dim") if op.undone or op.superseded else paint("●", "cyan")
        print(f"{mark} {paint(op.id, 'yellow')}  {age(op.time):>11}  {safe(controller.describe(op))}")
        facts = _facts(op, interrupted)
        if facts:
            print(paint(f"{'':25}{facts}", "dim"))
    if len(listed) < len(operations):
        print(paint(f"{plural(len(operations) - len(listed), 'older operation')}: rewind ops --all", "dim"))
    return DONE


def _facts(op: Operation, interrupted: Operation | None) -> str:
    """What it changed, and what became of it."""
    parts = [_amount(op)] if op.ended else []
    if interrupted and op.id == interrupted.id:
        parts.append("interrupted")
    elif op.superseded:
        parts.append(("done in part" if op.ended else "interrupted") + ", finished later")
    elif op.undone:
        parts.append("undone")
    elif op.ended and op.ended.get("result") != "done":
        parts.append("done in part")
    return "; ".join(part for part in parts if part)


def _amount(op: Operation) -> str:
    ended = op.ended or {}
    written, deleted = ended.get("written") or 0, ended.get("deleted") or 0
    parts = [f"{plural(written, 'path')} written" if written else "",
             f"{deleted:,} deleted" if deleted else ""]
    parts += [f"fork {effect.get('sessionId')}" for effect in op.effects if effect.get("kind") == "fork"]
    parts += ["conversation cut in place" for effect in op.effects if effect.get("kind") == "rewrite"]
    return ", ".join(part for part in parts if part)


def _json(controller: Controller, op: Operation, interrupted: Operation | None) -> OperationJson:
    ended = op.ended or {}
    return {"id": op.id, "at": op.at, "command": op.command, "text": controller.describe(op),
            "undone": op.undone or op.superseded, "canUndo": op.can_undo,
            "interrupted": bool(interrupted and op.id == interrupted.id), "place": op.place,
            "checkpoint": op.checkpoint or None, "before": op.before or None, "here": op.here or None,
            "paths": [path_json(path) for path in op.paths] if op.paths else None,
            "written": ended.get("written"), "deleted": ended.get("deleted"), "kept": ended.get("kept"),
            "undoes": op.undoes, "redoes": op.redoes or None, "effects": op.effects,
            "leftAlone": [path_json(path) for path in op.left_alone]}


def _lines(controller: Controller, op: Operation, interrupted: Operation | None) -> list[tuple[str, str]]:
    lines = [("operation", op.id), ("what", controller.describe(op)), ("when", f"{op.at}, {age(op.time)}"),
             ("state", _facts(op, interrupted) or "done")]
    lines += [("before", op.before)] if op.before else []
    lines += [("restored", op.checkpoint)] if op.checkpoint else []
    lines += [("path", shown(path)) for path in op.paths or ()]
    lines += [("left alone", shown(path)) for path in op.left_alone[:_SHOWN]]
    lines += [("session", str(effect.get("sessionId") or effect.get("path"))) for effect in op.effects]
    if op.can_undo:
        lines.append(("to undo", f"rewind undo-restore {op.id}"))
    return lines
