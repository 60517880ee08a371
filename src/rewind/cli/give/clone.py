"""Make a new project from a remote: everything that was pushed to it, with the newest checkpoint's files.

The directory must be empty or not there yet. It is protected from then on, has the remote under the name
origin, and the agents can resume the conversations there.
"""

from __future__ import annotations

import os

from rewind.cli.give.pull import check_size, report
from rewind.cli.open_and_answer import Args, Parser, answer, note
from rewind.cli.output.ask import has_terminal
from rewind.cli.output.progress import ProgressLine
from rewind.controller import Controller, folder_for, look_at_clone
from rewind.words import plural, safe, size

summary = "make a new project from what was pushed to a git repository"
examples = ("rewind clone git@example.com:team/project.git", "rewind clone /mnt/backup/project.git elsewhere")


def arguments(parser: Parser) -> None:
    parser.add_argument("url", metavar="URL", help="a path, HOST:PATH, or a URL")
    parser.add_argument("dir", nargs="?", metavar="DIR", help="the directory (from the address)")
    parser.add_argument("--max-size-mb", type=int, metavar="N", help="the most to accept (8192)")
    parser.add_argument("--dry-run", action="store_true", help="ask the remote, create nothing")


def run(args: Args) -> int:
    check_size(args)
    folder = args.dir or folder_for(args.url)
    if args.dry_run:
        return _dry_run(args, folder)
    with ProgressLine() as progress:
        controller, cloned = Controller.clone(args.url, folder, ask=has_terminal(), max_mb=args.max_size_mb,
                                              progress=progress)
    controller.close()
    pulled, root, record = cloned.pulled, controller.project.root, cloned.record

    def tell() -> None:
        if record:
            note(f"The files are those of {record.name}")
        print(f"Cloned {plural(pulled.checkpoints, 'checkpoint')} ({size(pulled.bytes)}) into {safe(root)}")

    return report(args, pulled, {"root": root, "checkpoint": record.name if record else None}, tell)


def _dry_run(args: Args, folder: str) -> int:
    writers = look_at_clone(args.url, folder, ask=has_terminal())
    root = os.path.abspath(folder)
    return answer(args, {"root": root, "checkpoints": None, "sessions": [], "writers": writers,
                         "dryRun": True},
                  f"Would clone what {plural(writers, 'writer')} pushed into {safe(root)}")
