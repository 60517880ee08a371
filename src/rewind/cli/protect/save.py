"""Make a checkpoint of the project as it is now."""

from __future__ import annotations

from rewind.cli.open_and_answer import Args, Parser, answer, open_controller
from rewind.cli.output.progress import ProgressLine
from rewind.cli.output.style import path_json
from rewind.controller import Controller
from rewind.words import plural, safe, shown, size

summary = "make a checkpoint of the project as it is now"
examples = ("rewind save", 'rewind save "before the refactoring"', "rewind save --if-changed --json")
takes_text = True
may_be_empty = ("description",)


def arguments(parser: Parser) -> None:
    parser.add_argument("description", nargs="?", default="", help="a few words to find it by")
    parser.add_argument("--if-changed", action="store_true",
                        help="only if something differs from the last checkpoint")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be saved")


def run(args: Args) -> int:
    controller = open_controller(args)
    if args.dry_run:
        return _dry_run(args, controller)
    with ProgressLine() as progress:
        saved = controller.save(args.description, if_changed=args.if_changed, progress=progress)
    record, code = saved.record, saved.record.code
    value = {"checkpoint": record.name, "created": saved.created,
             "code": {key: code[key] for key in ("fileCount", "totalSize", "newBytes", "uncovered")},
             "hasTranscript": record.data["hasTranscript"], "dryRun": False, "notes": saved.notes}
    if not saved.created:
        return answer(args, value, f"Nothing changed since {record.name}")
    return answer(args, value, f"Saved {record.name}", f"{plural(code['fileCount'], 'file')},"
                  f" {size(code['totalSize'])}; {size(code['newBytes'])} new", *map(safe, saved.notes))


def _dry_run(args: Args, controller: Controller) -> int:
    base = controller.here()
    changed = []
    if base:
        with controller.diff(base.name) as difference:
            changed = [path for path, _, _ in difference.changes]
    what = plural(len(changed), "path") if changed else "Nothing"
    lines = [f"{what} changed since {base.name if base else 'the beginning'}",
             *(f"  {shown(path)}" for path in changed)]
    return answer(args, {"checkpoint": base.name if base else None, "created": False, "dryRun": True,
                         "changed": [path_json(path) for path in changed]}, "\n".join(lines))
