"""Try another answer beside this one: a directory with the code of a turn, and the conversation there.

The project itself is not touched. Where it is a git repository, the directory is a linked work tree on a
detached HEAD. It is protected like the project: hooks in it make checkpoints in the same history. Ignored
files that checkpoints hold, such as .env, are in it. What no checkpoint holds, such as node_modules, is not,
unless --link or --copy says so.

Name a turn as everywhere else: `t4` is before it, `t4+` after it. A checkpoint works as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.cli.open_and_answer import Args, Parser, answer, note, open_controller
from rewind.cli.output.progress import ProgressLine
from rewind.controller import AtCheckpoint, AtTurn, Controller, turn_name
from rewind.errors import UsageError
from rewind.words import and_more, plural, quoted, safe

if TYPE_CHECKING:
    from typing import TypedDict

    from rewind.checkpoint.futures.make import Future
    from rewind.checkpoint.rewind.target import Target

    class ForkJson(TypedDict):
        name: str
        dir: str
        session_id: str | None
        resume: str | None
        checkpoint: str
        exact: bool
        worktree: bool
        prompt: str | None
        carried: list[str]
        missing: list[str]
        leadsBack: list[str]
        notes: list[str]

summary = "try another answer to a turn, in a directory of its own"
examples = ("rewind fork t4                # before turn 4, in ../PROJECT-fork-1",
            "rewind fork t4 -n 3           # three at once",
            "rewind fork t4 --name sqlite --to ../with-sqlite",
            "rewind fork last --link       # with node_modules linked in",
            "rewind forks                  # how far they have come")
takes_text = True
_NAMED = 6


def arguments(parser: Parser) -> None:
    parser.add_argument("turn", metavar="TURN", help="t4, t4+, a text of its prompt, or a checkpoint")
    parser.add_argument("--session", metavar="ID", help="the session whose turn is meant")
    parser.add_argument("--to", metavar="DIR", help="the directory (beside the project)")
    parser.add_argument("--name", metavar="NAME", help="what to call it (fork-1)")
    parser.add_argument("-n", type=int, default=1, metavar="N", help="how many to make (1)")
    parser.add_argument("--link", action="store_true", help="link directories that no checkpoint holds")
    parser.add_argument("--copy", action="store_true", help="copy them instead")
    parser.add_argument("--dry-run", action="store_true", help="show what would happen, change nothing")


def run(args: Args) -> int:
    if args.link and args.copy:
        raise UsageError("--link and --copy exclude each other.", hint="Give one of them.")
    bring = "link" if args.link else "copy" if args.copy else ""
    controller = open_controller(args)
    target = _target(controller, args)
    with ProgressLine() as progress:
        futures = controller.fork(target, name=args.name or "", to=args.to or "", count=args.n, bring=bring,
                                  dry_run=args.dry_run, progress=progress)
    return answer(args, {"forks": [_json(future) for future in futures], "dryRun": args.dry_run},
                  lambda: _tell(futures, args))


def _target(controller: Controller, args: Args) -> Target:
    named = turn_name(args.turn)
    if args.session and named is None:
        raise UsageError("--session goes with a turn.", hint="Name one: rewind fork t4 --session ID")
    if named is None:
        return AtCheckpoint(controller.find(args.turn).name)
    text = args.turn.rstrip("+")
    session, turn = controller.select_turn(f"{args.session}:{text}" if args.session else text)
    return AtTurn(session.session_id, turn, after=named.after)


def _json(future: Future) -> ForkJson:
    return {"name": future.name, "dir": future.dir, "session_id": future.session,
            "resume": future.resume or None, "checkpoint": future.checkpoint, "exact": future.exact,
            "worktree": future.is_git, "prompt": future.prompt or None, "carried": future.carried,
            "missing": future.missing, "leadsBack": future.leads_back, "notes": future.notes}


def _tell(futures: list[Future], args: Args) -> None:
    first = futures[0]
    before = f"before {safe(quoted(first.prompt))}" if first.prompt else f"at {first.checkpoint}"
    made = "Would make" if args.dry_run else "Made"
    note(f"{made} {plural(len(futures), 'fork')} {before}; this project stays as it is.")
    for text in first.notes:
        note(text)
    _tell_missing(first)
    for future in futures:
        print(f"{future.name}  {safe(future.resume or future.dir)}")
    if not args.dry_run:
        note("To compare them later: rewind forks compare " + " ".join(future.name for future in futures)
             if len(futures) > 1 else "To bring it home later: rewind forks adopt " + first.name)


def _tell_missing(future: Future) -> None:
    if future.carried:
        note(f"Included: {_names(future.carried)}")
    if future.missing:
        note(f"Not included, because no checkpoint holds it: {_names(future.missing)}."
             " Install it there, or repeat with --link or --copy.")
    if future.leads_back:
        note(f"Not included, because it would run the code of this project: {_names(future.leads_back)}."
             " Make a new environment there.")


def _names(names: list[str]) -> str:
    return and_more([safe(name) for name in names], _NAMED)
