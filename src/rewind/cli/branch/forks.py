"""Branches of the conversation: the forks that Rewind and the agents made.

`rename` changes the name here and the title in the agent's own list. `promote` marks a fork as the one to
continue with and archives its parent. `delete` moves forks that Rewind made to the trash, and `undelete`
brings them back. What was said is never changed.

Forks with a directory of their own (`rewind fork`) have names: `compare` shows what each of them changed, and
with --run what a command says in each; `adopt` brings the code and the conversation of one home; `remove` (or
`delete`) removes its directory once a checkpoint holds what is in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.cli.branch.futures import (
    adopt,
    bring_back,
    compare,
    print_lanes,
    show_lane,
    split_lanes,
)
from rewind.cli.look.sessions import print_tree, session_json
from rewind.cli.open_and_answer import Args, Parser, answer, note, open_controller, print_json
from rewind.cli.output.style import paint
from rewind.controller import Controller, lane_shape
from rewind.errors import RewindError, UsageError
from rewind.words import one_line, plural, safe

if TYPE_CHECKING:
    from rewind.checkpoint.conversations.session_tree import SessionInfo
    from rewind.checkpoint.futures.known.lane import Lane

summary = "list, compare, adopt, rename and delete forks of a conversation"
examples = ("rewind forks list", "rewind forks show 3f2a9c11",
            'rewind forks rename 3f2a9c11 "try with SQLite"',
            "rewind forks promote 3f2a9c11", "rewind forks delete 3f2a9c11 77b0d2e4",
            "rewind forks undelete 3f2a9c11",
            "rewind forks compare fork-1 fork-2 --run pytest",
            "rewind forks adopt fork-2", "rewind forks remove fork-1")
takes_text = True
may_be_empty = ("names",)  # an empty session or name is reported more precisely
_ACTIONS = ("list", "show", "rename", "promote", "delete", "remove", "undelete", "compare", "adopt")


def arguments(parser: Parser) -> None:
    parser.add_argument("action", nargs="?", default="list", choices=_ACTIONS, metavar="ACTION",
                        help=f"what to do: {', '.join(_ACTIONS)} (list)")
    parser.add_argument("names", nargs="*", metavar="ID",
                        help="a session's id or the beginning of one, or the name of a fork with a directory")
    parser.add_argument("--run", metavar="CMD", help="compare: run this in each of them")
    parser.add_argument("--markers", action="store_true", help="adopt: write conflict markers into files")
    parser.add_argument("--ours", action="store_true", help="adopt: in conflicts, keep what is here")
    parser.add_argument("--theirs", action="store_true", help="adopt: in conflicts, take what is there")
    parser.add_argument("--code-only", action="store_true", help="adopt: leave the conversation there")
    parser.add_argument("--force", action="store_true",
                        help="remove: even if work would be lost; adopt: even if an agent is working")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")


def run(args: Args) -> int:
    controller = open_controller(args)
    args.action = "delete" if args.action == "remove" else args.action
    act, least, most, takes = {
        "list": (_list, 0, 0, "no name"),
        "show": (_show, 1, 1, "the id of one session, or the name of one fork"),
        "rename": (_rename, 2, 2, "the id of a session and its new name"),
        "promote": (_promote, 1, 1, "the id of one session"),
        "delete": (_delete, 1, 1000, "one or more ids"),
        "undelete": (_undelete, 1, 1, "the id of one session"),
        "compare": (compare, 1, 8, "the names of two or more forks"),
        "adopt": (adopt, 1, 1, "the name of one fork")}[args.action]
    if not least <= len(args.names) <= most:
        raise UsageError(f"`rewind forks {args.action}` takes {takes}.",
                         hint="Run `rewind forks --help` for examples.")
    return act(args, controller)


def _list(args: Args, controller: Controller) -> int:
    infos = controller.sessions()
    forks = [info for info in infos if info.parent]
    trashed = controller.deleted_forks()
    lanes = controller.lanes()
    if args.json:
        print_json({"forks": [session_json(info) for info in forks],
                    "lanes": [lane_shape.lane_json(lane) for lane in lanes],
                    "trash": [branch["sessionId"] for branch in trashed]})
        return 0
    print_lanes(lanes)
    if forks:
        parents = {info.parent for info in forks}
        print_tree([info for info in infos if info.parent or info.session_id in parents])
    elif not lanes:
        print("There are no forks in this project.")
    if trashed:
        note(f"{plural(len(trashed), 'fork')} in the trash; to bring one back: rewind forks undelete ID")
        for branch in trashed:
            note(f"  {branch['sessionId']}  {safe(branch['title'])}".rstrip())
    return 0


def _show(args: Args, controller: Controller) -> int:
    lanes, _ = split_lanes(controller, args.names)
    if lanes and lanes[0].session_id not in {info.session_id for info in controller.sessions()}:
        return show_lane(args, controller, lanes[0])
    info = controller.session(lanes[0].session_id if lanes else args.names[0])
    resume = controller.resume_command(info)
    facts = [f"  {paint(f'{title:<10}', 'dim')}{safe(text)}" for title, text in _facts(info, resume)]
    return answer(args, {**session_json(info), "resume": resume},
                  "\n".join([paint(info.session_id, "cyan"), *facts]))


def _facts(info: SessionInfo, resume: str) -> list[tuple[str, str]]:
    facts = [("name", info.name), ("agent", info.file.profile.title), ("turns", str(len(info.turns)))]
    if info.parent:
        turn = "" if info.rewind_from_turn is None else f", after turn {info.rewind_from_turn}"
        facts.append(("fork of", info.parent + turn))
        facts.append(("made by", "Rewind" if info.made_by_rewind else info.file.profile.title))
    facts += [("continue", resume)] if resume else []
    own = f"{info.own_title}  (in {info.file.profile.title}'s own list)"
    return [*facts, ("title", own), ("file", info.file.path)]


def _rename(args: Args, controller: Controller) -> int:
    text, name = args.names
    info = controller.rename_fork(text, name, dry_run=args.dry_run)
    done = "Would rename" if args.dry_run else "Renamed"
    code = _answer(args, [info], f'{done} to "{one_line(name)}": {info.session_id}')
    for text in info.notes:
        note(text)
    return code


def _promote(args: Args, controller: Controller) -> int:
    text = args.names[0]
    info = controller.session(text) if args.dry_run else controller.promote_fork(text)
    return _answer(args, [info], f"{'Would promote' if args.dry_run else 'Promoted'} {info.session_id}")


def _delete(args: Args, controller: Controller) -> int:
    lanes, names = split_lanes(controller, args.names)
    if args.dry_run or (lanes and len(args.names) > 1):  # all are checked before the first of them is removed
        infos = _delete_all(args, controller, lanes, names, dry_run=True)
    if not args.dry_run:
        infos = _delete_all(args, controller, lanes, names)
    moved = "Would move" if args.dry_run else "Moved"
    lines = [_removed(args, lane) for lane in lanes]
    if infos:
        lines += [f"{moved} {plural(len(infos), 'fork')} to the trash:",
                  *(f"  {info.session_id}" for info in infos)]
    notes = ["The checkpoints stay. To bring a fork back: rewind forks undelete NAME"] if lanes else []
    notes += ["To bring one back: rewind forks undelete ID"] if infos else []
    ids = [*(lane.session_id for lane in lanes), *(info.session_id for info in infos)]
    return answer(args, {"action": args.action, "dryRun": args.dry_run, "sessions": ids,
                         **({"lanes": [lane.name for lane in lanes]} if lanes else {})},
                  "\n".join(lines), *([] if args.dry_run else notes))


def _delete_all(args: Args, controller: Controller, lanes: list[Lane], names: list[str], *,
                dry_run: bool = False) -> list[SessionInfo]:
    done = []
    try:
        for lane in lanes:
            controller.remove_lane(lane, force=args.force, dry_run=dry_run)
            done.append(lane)
        return controller.delete_forks(names, dry_run=dry_run) if names else []
    except (RewindError, OSError):
        for lane in [] if dry_run else done:
            note(_removed(args, lane))
        raise


def _removed(args: Args, lane: Lane) -> str:
    return f"{'Would remove' if args.dry_run else 'Removed'} {lane.name}  {safe(lane.dir)}"


def _undelete(args: Args, controller: Controller) -> int:
    if args.dry_run:
        raise UsageError("`rewind forks undelete` has no --dry-run.",
                         hint="`rewind forks list` shows the trash.")
    if bring_back(args, controller):
        return 0
    session = controller.undelete_fork(args.names[0])
    return _answer(args, [controller.session(session)], f"Brought back {session}")


def _answer(args: Args, infos: list[SessionInfo], text: str, *notes: str) -> int:
    return answer(args, {"action": args.action, "dryRun": args.dry_run,
                         "sessions": [info.session_id for info in infos]}, text, *notes)
