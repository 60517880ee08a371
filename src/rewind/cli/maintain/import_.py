"""Make a checkpoint from a file that `rewind export` wrote.

The project itself is not touched: look at the new checkpoint with `rewind diff`, then restore it or
a part of it. A file that contains anything suspicious is refused.
"""

from __future__ import annotations

from rewind.cli.open_and_answer import Args, Parser, answer, note, open_controller
from rewind.cli.output.progress import ProgressLine
from rewind.cli.parse.arguments import at_least_one
from rewind.controller import Controller
from rewind.words import plural, safe, size

summary = "make a checkpoint from an exported file"
examples = ("rewind import ../before-the-move.tar.gz", "rewind import project.tar.gz --dry-run",
            "rewind import large.tar.gz --max-size-mb 5000")


def arguments(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="a file that `rewind export` wrote")
    parser.add_argument("--allow-links-out", action="store_true",
                        help="accept symbolic links that may lead out of the project")
    parser.add_argument("--max-size-mb", type=int, metavar="N",
                        help="the largest unpacked size to accept (default: depends on the file's size)")
    parser.add_argument("--dry-run", action="store_true", help="check the file and import nothing")


def run(args: Args) -> int:
    at_least_one("--max-size-mb", args.max_size_mb, "`--max-size-mb 5000` allows 5 GB.")
    controller = open_controller(args)
    limit = args.max_size_mb << 20 if args.max_size_mb else None
    if args.dry_run:
        return _dry_run(args, controller, limit)
    with ProgressLine() as progress:
        record = controller.import_(args.file, allow_links_out=args.allow_links_out, max_bytes=limit,
                                    progress=progress)
    counts = {key: record.code[key] for key in ("fileCount", "totalSize", "newBytes")}
    if not args.json:
        note(f"{plural(counts['fileCount'], 'file')}, {size(counts['totalSize'])};"
             f" {size(counts['newBytes'])} new. The project was not changed.")
    return answer(args, {"checkpoint": record.name, "imported": record.data["imported"], **counts,
                         "dryRun": False}, f"Imported as {record.name}")


def _dry_run(args: Args, controller: Controller, limit: int | None) -> int:
    with ProgressLine() as progress:
        found = controller.plan_import(args.file, allow_links_out=args.allow_links_out,
                                       max_bytes=limit, progress=progress)
    name = found.metadata.get("name")
    name = name if isinstance(name, str) else None
    return answer(args, {"checkpoint": None, "imported": {"name": name}, "fileCount": found.files,
                         "totalSize": found.bytes, "dryRun": True},
                  f"{plural(found.files, 'file')}, {size(found.bytes)}, would be imported;"
                  f" the checkpoint was called {safe(name or 'nothing')}")
