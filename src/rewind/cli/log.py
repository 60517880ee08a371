"""Show which checkpoints changed a file or a directory, newest first, and after which prompt."""

from __future__ import annotations

import sys
import time

from rewind.cli.arguments import project_paths
from rewind.cli.changed import lines
from rewind.cli.pager import add_pager_option, paged
from rewind.cli.patch import for_terminal, patch
from rewind.cli.session import note, open_controller, print_json
from rewind.cli.style import age, path_json, plural, safe, style_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from typing import Any

    from rewind.checkpoint.file_log import Step
    from rewind.cli.patch import Line
    from rewind.cli.style import Paint
    from rewind.controller import Controller
    from rewind.errors import RewindError

summary = "show which checkpoints changed a file, and after which prompt"
examples = ("rewind log src/app.py", "rewind log src/app.py --patch   # with what changed",
            "rewind log docs --json")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="a file or a directory of the project, there or gone")
    parser.add_argument("--patch", action="store_true", help="show what changed, too")
    add_pager_option(parser)


def run(args: argparse.Namespace) -> int:
    controller = open_controller(args)
    path = (project_paths([args.path], controller.project) or [b""])[0]
    damaged: dict[str, RewindError] = {}
    steps = _checked(controller.log(path, damaged), path)
    if args.json:
        print_json({**path_json(path), "changes": [_json(step, args.patch) for step in steps]})
    else:
        with paged(args):
            _print(controller, steps, args.patch)
    for name, error in damaged.items():
        note(f"warning: {name} is left out: {error.message}")
    return 0


def _checked(steps: Iterator[Step], path: bytes) -> Iterator[Step]:
    from rewind.checkpoint.file_log import PathNeverSeen
    from rewind.cli.style import shown

    seen = False
    for step in steps:
        seen = True
        yield step
    if not seen:
        raise PathNeverSeen(path=shown(path))


def _print(controller: Controller, steps: Iterator[Step], with_patch: bool) -> None:
    paint = style_for(sys.stdout)
    numbers = {r.name: n for n, r in enumerate(controller.list_checkpoints(), 1)}
    now = time.time()
    for step in steps:
        record = step.record
        print(f"{numbers.get(record.name, ''):>4}  {paint(record.name, 'cyan')}"
              f"  {age(record.created, now):>13}  {_amount(step):<18}  {safe(record.description)}".rstrip())
        if step.prompt:
            print(paint(_prompt(step), "dim"))
        if with_patch:
            for line in _patch(step):
                print(for_terminal(line, paint) if sys.stdout.isatty() else _as_text(line, paint))
            print()


def _as_text(line: Line, paint: Paint) -> str:
    return line[1].decode("utf-8", "surrogateescape")


def _prompt(step: Step) -> str:
    assert step.prompt is not None
    text = safe(step.prompt.text)
    text = text if len(text) <= 70 else text[:69] + "…"
    return f"{'':<6}after turn {step.prompt.turn} of {step.prompt.session_id[:8]}: {text}"


def _counts(step: Step) -> tuple[int, int]:
    known = [one.counts for one in step.compared() if one.counts]
    return sum(i for i, _ in known), sum(d for _, d in known)


def _amount(step: Step) -> str:
    text = lines(*_counts(step))
    if len(step.changes) > 1:
        return f"{text} in {plural(len(step.changes), 'file')}".strip().removeprefix("in ")
    word = "" if step.status == "modified" and text else step.status
    return " ".join(part for part in (word, text) if part)


def _patch(step: Step) -> Iterator[Line]:
    for path, old, new in step.changes:
        yield from patch(path, old, new, step.read_old, step.read_new)


def _json(step: Step, with_patch: bool) -> dict[str, Any]:
    record, prompt = step.record, step.prompt
    inserted, deleted = _counts(step)
    found: dict[str, Any] = {
        "checkpoint": record.name, "createdAt": record.created_at, "kind": record.kind,
        "description": record.description, "trigger": record.trigger, "status": step.status,
        "insertions": inserted, "deletions": deleted,
        "files": [path_json(path) for path, _, _ in step.changes],
        "prompt": prompt and {"session_id": prompt.session_id, "turn": prompt.turn, "text": prompt.text}}
    if with_patch:
        found["patch"] = "".join(text.decode("utf-8", "replace") + "\n" for _, text in _patch(step))
    return found
