"""Protect a project: make its state directory and the first checkpoint."""

from __future__ import annotations

import os

from rewind.cli.open_and_answer import Args, Parser, answer, note, print_json
from rewind.cli.output.progress import ProgressLine
from rewind.controller import Controller, check_root
from rewind.paths import current_dir, open_project, rewind_home
from rewind.words import plural, size

summary = "protect a project and make its first checkpoint"
examples = ("rewind init", "rewind init --mode project    # keep the checkpoints in .agent/rewind/",
            "rewind init --trust           # use what came with a copied project")


def arguments(parser: Parser) -> None:
    parser.add_argument("--mode", choices=("project", "global"),
                        help="where the checkpoints live: in ~/.rewind (default) or in the project")
    parser.add_argument("--trust", action="store_true",
                        help="use a state directory that you did not make on this machine")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")


def run(args: Args) -> int:
    root = os.path.realpath(args.project or current_dir())
    if args.dry_run:
        return _dry_run(args, root)
    with ProgressLine() as progress:
        controller, saved = Controller.init(root, mode=args.mode, trust=args.trust, progress=progress)
    record = saved.record if saved else controller.newest()
    if args.json:
        print_json({"root": root, "state": controller.project.state, "mode": controller.project.mode,
                    "created": saved is not None, "checkpoint": record.name if record else None,
                    "dryRun": False})
        return 0
    if saved is None:
        print(f"Already protected: {root}")
        if controller.project.mode == "project":
            note("Its checkpoints are in it. To move them out: rewind config --set storage.mode=global")
        return 0
    code = saved.record.code
    print(f"Protected: {root}")
    note(f"{plural(code['fileCount'], 'file')}, {size(code['totalSize'])}, in {saved.record.name}")
    if controller.project.mode == "project" and not args.mode:
        note("The checkpoints are in the project, because this container's home directory is temporary."
             if controller.home_is_temporary() else "The checkpoints are in the project (storage.mode).")
    return 0


def _dry_run(args: Args, root: str) -> int:
    check_root(root, rewind_home())
    existing = open_project(root)
    mode = existing.mode if existing else args.mode or Controller.mode_for(root)
    return answer(args, {"root": root, "state": existing.state if existing else None, "mode": mode,
                         "created": False, "checkpoint": None, "dryRun": True},
                  f"Already protected: {root}" if existing else f"Would protect: {root}")
