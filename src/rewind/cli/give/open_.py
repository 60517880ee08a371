"""Open what somebody else wrote with `rewind share`.

In an empty directory, its newest files are written there and the directory is protected with the history that
came along. In a project, the history is added beside yours and no file is touched: look at it with
`rewind list --all`, `diff` and `blame`, and bring a change over with `rewind apply`.

The conversation becomes a session of its own for this directory, which the agent can resume. A file that
contains anything suspicious is refused as a whole.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rewind.cli.open_and_answer import Args, Parser, answer, note
from rewind.cli.output.progress import ProgressLine
from rewind.cli.parse.arguments import at_least_one
from rewind.controller import Controller
from rewind.paths import current_dir
from rewind.words import plural, safe

if TYPE_CHECKING:
    from typing import TypedDict

    from rewind.checkpoint.share.taking.open_shared import Opened
    from rewind.checkpoint.share.taking.take_over import Added

    class ConversationJson(TypedDict):
        origin: str
        agent: str
        session_id: str
        resume: str | None
        new: bool

    class OpenJson(TypedDict):
        root: str
        created: bool
        what: str
        lane: str | None
        checkpoints: list[str] | None
        added: int
        count: int
        newest: str | None
        written: int
        conversations: list[ConversationJson]
        notes: list[str]
        dryRun: bool

summary = "open a file that somebody shared"
examples = ("rewind open session.tar.gz              # in an empty directory or a project",
            "rewind open session.tar.gz ../review    # in a directory of its own",
            "rewind open session.tar.gz --dry-run    # check it, change nothing")


def arguments(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="a file that `rewind share` wrote")
    parser.add_argument("dir", nargs="?", metavar="DIR",
                        help="an empty or new directory, or a project (the current directory)")
    parser.add_argument("--max-size-mb", type=int, metavar="N",
                        help="the largest unpacked size to accept (default: depends on the file's size)")
    parser.add_argument("--dry-run", action="store_true", help="check the file and change nothing")


def run(args: Args) -> int:
    at_least_one("--max-size-mb", args.max_size_mb, "`--max-size-mb 5000` allows 5 GB.")
    limit = args.max_size_mb << 20 if args.max_size_mb else None
    folder = os.path.join(args.project or current_dir(), args.dir or "")
    with ProgressLine() as progress:
        opened = Controller.open_shared(args.file, folder, max_bytes=limit, dry_run=args.dry_run,
                                        progress=progress)
    return answer(args, _json(opened, args), lambda: _tell(opened))


def _tell(opened: Opened) -> None:
    added = opened.added
    if added is None:
        where = "write its files into" if opened.is_new else "add its history to"
        print(f"Would {where} {opened.root}: {plural(opened.checkpoints, 'checkpoint')}")
        return
    for text in added.notes:
        note(text)
    if opened.is_new:
        print(f"Opened {safe(opened.what)} in {opened.root}: {plural(opened.written, 'path')},"
              f" {plural(opened.checkpoints, 'checkpoint')}")
    elif not added.records and not any(one.is_new for one in added.conversations):
        print(f"Everything in it is already here: {plural(len(added.known), 'checkpoint')}")
    else:
        print(f"Added {plural(len(added.records), 'checkpoint')} of {safe(opened.what)};"
              " no file was changed.")
        _tell_ways(added)
    for one in added.conversations:
        if one.resume:
            note("To continue the conversation:")
            print(safe(one.resume))


def _tell_ways(added: Added) -> None:
    if added.tip and added.base:
        note(f"To compare it with this project: rewind diff {added.tip.name}")
        if added.base is not added.tip:
            note(f"To bring its changes over: rewind apply {added.base.name}..{added.tip.name}")


def _json(opened: Opened, args: Args) -> OpenJson:
    added = opened.added
    return {"root": opened.root, "created": opened.is_new, "what": opened.what, "lane": opened.lane or None,
            "checkpoints": [r.name for r in (*added.known, *added.records)] if added else None,
            "added": len(added.records) if added else 0, "count": opened.checkpoints,
            "newest": added.tip.name if added and added.tip else None, "written": opened.written,
            "conversations": [{"origin": one.origin, "agent": one.agent, "session_id": one.session,
                               "resume": one.resume or None, "new": one.is_new}
                              for one in (added.conversations if added else ())],
            "notes": added.notes if added else [], "dryRun": args.dry_run}
