"""Bring the checkpoints and conversations that others have pushed to a remote.

They come as lanes of their own, beside what is here: no file of the project changes, and nothing is
overwritten. Look at them with `rewind list --all`, then use them like any other checkpoint. --all also brings
back what was pulled before and has been collected since.

Everything is checked before anything is taken. Nothing is taken from a writer who pushed anything suspicious;
if other writers were accepted, the exit code is 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rewind.cli.open_and_answer import Args, Parser, note, note_some, open_controller, print_json
from rewind.cli.output.ask import has_terminal
from rewind.cli.output.progress import ProgressLine
from rewind.cli.parse.arguments import at_least_one
from rewind.errors import DONE, PARTIAL
from rewind.words import plural, safe, size

if TYPE_CHECKING:
    from rewind.checkpoint.remote.pull.pull import Pulled

summary = "bring what others have pushed, as lanes of their own"
examples = ("rewind pull", "rewind pull origin --dry-run",
            "rewind pull --all   # also what was collected here")
_NAMED = 10


def arguments(parser: Parser) -> None:
    parser.add_argument("remote", nargs="?", metavar="NAME", help="the remote (the only one, or origin)")
    parser.add_argument("--all", action="store_true", help="also what was deleted here in the meantime")
    parser.add_argument("--max-size-mb", type=int, metavar="N", help="the most to accept at once (8192)")
    parser.add_argument("--dry-run", action="store_true", help="fetch and check, add nothing")


def check_size(args: Args) -> None:
    at_least_one("--max-size-mb", args.max_size_mb, "`--max-size-mb 20000` allows 20 GB.")


def run(args: Args) -> int:
    check_size(args)
    controller = open_controller(args)
    with ProgressLine() as progress:
        pulled = controller.pull(args.remote, everything=args.all, dry_run=args.dry_run, ask=has_terminal(),
                                 max_mb=args.max_size_mb, progress=progress)
    lanes = sorted({record.place for record in pulled.records})
    return report(args, pulled, {"lanes": lanes}, lambda: _tell(pulled, lanes, args.dry_run))


def _tell(pulled: Pulled, lanes: list[str], dry_run: bool) -> None:
    if dry_run:
        print(f"Would pull {plural(pulled.checkpoints, 'checkpoint')}")
    elif pulled.checkpoints or pulled.conversations:
        where = f" as {', '.join(map(safe, lanes[:_NAMED]))}" if lanes else ""
        print(f"Pulled {plural(pulled.checkpoints, 'checkpoint')} ({size(pulled.bytes)}){where}")
        note("The project's files were not changed. To look at them: rewind list --all")
    else:
        print("There is nothing new.")


def report(args: Args, pulled: Pulled, more: dict[str, object], tell: Callable[[], None]) -> int:
    """What `pull` and `clone` say of what came; the exit code."""
    code = PARTIAL if pulled.refused else DONE
    if args.json:
        refused = [{"writer": writer, "reason": reason} for writer, reason in pulled.refused.items()]
        sessions = [{"session_id": one.session, "agent": one.agent, "origin": one.origin,
                     "resume": one.resume or None} for one in pulled.conversations]
        print_json({"checkpoints": pulled.checkpoints, "bytes": pulled.bytes, **more, "sessions": sessions,
                    "notes": pulled.notes, "refused": refused, "dryRun": args.dry_run})
        return code
    for text in pulled.notes:
        note(safe(text))
    note_some([f"To resume a conversation: {safe(one.resume)}" for one in pulled.conversations], _NAMED,
              "rewind sessions")
    for writer, reason in list(pulled.refused.items())[:_NAMED]:
        note(f"Nothing was taken from the writer {writer}: {safe(reason)}")
    if pulled.refused:
        note("To get rid of such a writer: git push URL :refs/rewind/WRITER/checkpoints"
             " :refs/rewind/WRITER/conversations")
    tell()
    return code
