"""Write a checkpoint into one file, to keep it elsewhere.

The file is a tar.gz with everything that the checkpoint holds: also what git ignores, such as a
`.env` with its secrets. `rewind import` reads it back. To give work to somebody else, use `rewind share`.
"""

from __future__ import annotations

import sys
from typing import BinaryIO

from rewind.cli.open_and_answer import Args, Parser, answer, note, open_controller
from rewind.cli.output.progress import ProgressLine
from rewind.cli.output.style import path_json
from rewind.cli.parse.arguments import SELECTOR
from rewind.errors import DONE, UsageError
from rewind.words import and_more, plural, shown, size

summary = "write a checkpoint into one file"
examples = ("rewind export last ../before-the-move.tar.gz",
            "rewind export 3 - | ssh backup 'cat > project.tar.gz'",
            "rewind export last out.tar.gz --force")
_STDOUT = "-"


def arguments(parser: Parser) -> None:
    parser.add_argument("checkpoint", help=SELECTOR)
    parser.add_argument("file", metavar="FILE", help="the file to write; `-` is the standard output")
    parser.add_argument("--force", action="store_true", help="replace FILE if it already exists")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be written")


def run(args: Args) -> int:
    _refuse_unwise(args)
    controller = open_controller(args)
    if args.dry_run:
        path = "" if args.file == _STDOUT else args.file
        exported = controller.plan_export(args.checkpoint, path, force=args.force)
    else:
        target: str | BinaryIO = sys.stdout.buffer if args.file == _STDOUT else args.file
        with ProgressLine() as progress:
            exported = controller.export(args.checkpoint, target, force=args.force, progress=progress)
    if exported.links:
        _warn(exported.links)
    name, code = exported.record.name, exported.record.code
    if args.file == _STDOUT and not args.dry_run:
        return DONE
    content = f"{plural(code['fileCount'], 'file')} ({size(code['totalSize'])})"
    return answer(args, {"checkpoint": name, "file": args.file, "bytes": exported.size,
                         "linksOut": [path_json(link) for link in exported.links], "dryRun": args.dry_run},
                  f"{content} would be written into {args.file} from {name}" if args.dry_run
                  else f"Wrote {content} into {args.file}, {size(exported.size or 0)}, from {name}")


def _refuse_unwise(args: Args) -> None:
    if args.file != _STDOUT or args.dry_run:
        return
    if args.json:
        raise UsageError("The archive and the JSON cannot both go to the standard output.",
                         hint="Name a file, or leave out `--json`.")
    if sys.stdout.isatty():
        raise UsageError("Refusing to write a tar.gz to the terminal.",
                         hint="Name a file, or send it on: `rewind export last - | …`")


def _warn(links: list[bytes]) -> None:
    names = and_more([shown(link) for link in links], 3)
    note(f"warning: {plural(len(links), 'link')} may lead out of the project ({names});"
         " `rewind import` takes the file only with `--allow-links-out`.")
