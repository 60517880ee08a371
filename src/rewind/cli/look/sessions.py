"""Show the agents' conversations in this project, as a tree; or the turns of one of them.

Agents delete old conversations. `restore` puts one back that only checkpoints still hold.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from rewind.cli.open_and_answer import Args, Parser, answer, note, note_some, open_controller, print_json
from rewind.cli.output.columns import cells, cut, line_room
from rewind.cli.output.style import paint
from rewind.controller import iso_time, plain_title, read_index
from rewind.errors import UsageError
from rewind.words import age, one_line, plural, safe

if TYPE_CHECKING:
    from typing import TypedDict

    from rewind.checkpoint.conversations.deleted_by_agent import KeptConversation
    from rewind.checkpoint.conversations.session_tree import SessionInfo
    from rewind.transcript.read.index import SessionIndex, Turn

    class KeptJson(TypedDict):
        session_id: str
        agent: str
        checkpoint: str

    class SessionJson(TypedDict):
        session_id: str
        agent: str
        title: str
        name: str | None
        parentSessionId: str | None
        rewindFromTurn: int | None
        rewindedAt: str | None
        madeByRewind: bool
        archived: bool
        promoted: bool
        turns: int
        modified: str
        running: bool
        path: str

    class TurnJson(TypedDict):
        turn: int | None
        offset: int
        prompt: str
        uuid: str
        active: bool
        timestamp: str | None

summary = "list the agents' conversations in this project, and their turns"
examples = ("rewind sessions list", "rewind sessions show          # the current one",
            "rewind sessions show 3f2a9c11", "rewind sessions show path/to/transcript.jsonl --json",
            "rewind sessions restore 3f2a9c11  # one that the agent has deleted")

_NAMED = 10  # conversations that only checkpoints hold


def arguments(parser: Parser) -> None:
    parser.add_argument("action", nargs="?", default="list", choices=("list", "show", "restore"),
                        help="`list` them all, `show` the turns of one, or `restore` a deleted one")
    parser.add_argument("session", nargs="?", help="an id, the beginning of one, or a transcript's path")
    parser.add_argument("--dry-run", action="store_true", help="restore: only say what would be brought back")


def run(args: Args) -> int:
    if args.action == "show":
        return _show(args)
    if args.action == "restore":
        return _restore(args)
    if args.session:
        raise UsageError("`rewind sessions list` takes no session.", hint="Did you mean `sessions show`?")
    controller = open_controller(args)
    infos, kept = controller.sessions(), controller.only_here()
    if args.json:
        print_json({"sessions": [session_json(info) for info in infos],
                    "onlyHere": [kept_json(one) for one in kept]})
    else:
        print_tree(infos)
        tell_kept(kept)
    return 0


def kept_json(kept: KeptConversation) -> KeptJson:
    return {"session_id": kept.session_id, "agent": kept.agent, "checkpoint": kept.record.name}


def tell_kept(kept: list[KeptConversation]) -> None:
    if not kept:
        return
    note(f"{plural(len(kept), 'conversation')} that the agent has deleted; to bring one back:")
    note_some([f"  rewind sessions restore {one.session_id}  ({one.agent}, {age(one.record.created)})"
               for one in kept], _NAMED, "rewind sessions --json")


def _restore(args: Args) -> int:
    if not args.session:
        raise UsageError("`rewind sessions restore` takes the id of a session.",
                         hint="`rewind sessions` shows what can be brought back.")
    controller = open_controller(args)
    kept = controller.restore_session(args.session, dry_run=args.dry_run)
    if args.dry_run:
        return answer(args, {**kept_json(kept), "path": kept.path, "resume": None, "dryRun": True},
                      f"Would bring back {kept.session_id} as {kept.record.name} has it.")
    resume = controller.resume_command(controller.session(kept.session_id))
    return answer(args, {**kept_json(kept), "path": kept.path, "resume": resume or None, "dryRun": False},
                  f"Brought back {kept.session_id} as {kept.record.name} has it.",
                  f"To resume it: {safe(resume)}")


def session_json(info: SessionInfo) -> SessionJson:
    known = info.known_fork or {}
    return {"session_id": info.session_id, "agent": info.file.profile.name, "title": info.own_title,
            "name": known.get("name"), "parentSessionId": info.parent,
            "rewindFromTurn": info.rewind_from_turn, "rewindedAt": known.get("rewindedAt"),
            "madeByRewind": info.made_by_rewind, "archived": info.archived,
            "promoted": bool(known.get("promoted")), "turns": len(info.turns),
            "modified": iso_time(info.file.modified),
            "running": info.running, "path": info.file.path}


def print_tree(infos: list[SessionInfo]) -> None:
    from rewind.controller import as_tree
    if not infos:
        print("There are no conversations in this project yet.")
        return
    now = time.time()
    for depth, info in as_tree(infos):
        mark = paint("●", "green") if info.running else " "
        indent, remark = f"{'  ' * (depth - 1)}└ " if depth else "", f"  ({_remark(info)})"
        room = line_room() - 37 - len(indent) - cells(remark)
        print(f"{mark} {paint(info.session_id[:8], 'cyan')}  {age(info.file.modified, now):>12}"
              f"  {plural(len(info.turns), 'turn'):>9}  {indent}{_name(info, room)}{paint(remark, 'dim')}")


def _name(info: SessionInfo, room: int) -> str:
    """The title is cut, but not where a fork comes from."""
    end = info.where_from if info.name.endswith(info.where_from) else ""
    text = safe(info.name[:len(info.name) - len(end)])
    return cut(text, max(20, room - cells(end))) + end


def _remark(info: SessionInfo) -> str:
    parts = [info.file.profile.name]
    if info.parent and info.rewind_from_turn is not None and (info.known_fork or {}).get("name"):
        parts.append(f"from turn {info.rewind_from_turn}")
    parts += ["archived"] if info.archived else []
    parts += ["promoted"] if (info.known_fork or {}).get("promoted") else []
    return ", ".join(parts)


def _show(args: Args) -> int:
    index = _index(args)
    if args.json:
        print_json({"session_id": index.session_id, "agent": index.profile.name, "title": index.title,
                    "path": index.path, "turns": [_turn_json(t) for t in index.turns],
                    "compactions": index.compactions, "parentSessionId": index.parent_session})
        return 0
    title = safe(plain_title(index.title))
    print(f"{paint(index.session_id, 'cyan')}  {title}  {paint(index.profile.title, 'dim')}")
    for turn in index.turns:
        number = f"{turn.turn:>4}" if turn.turn else "   ·"
        remark = "" if turn.active else "  (abandoned by the agent's own rewind)"
        text = cut(one_line(turn.prompt), line_room() - 6 - cells(remark))
        print(f"{number}  {text}{paint(remark, 'dim')}")
    if not index.turns:
        print("It has no prompts yet.")
    return 0


def _index(args: Args) -> SessionIndex:
    """A transcript that is named by its path may be anywhere, and needs no project."""
    if args.session and (os.sep in args.session or args.session.endswith(".jsonl")):
        return read_index(os.path.abspath(args.session))
    return open_controller(args).session_index(args.session)


def _turn_json(turn: Turn) -> TurnJson:
    return {"turn": turn.turn, "offset": turn.offset, "prompt": turn.prompt, "uuid": turn.uuid,
            "active": turn.active, "timestamp": turn.timestamp}
