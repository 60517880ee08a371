"""Show one checkpoint: when and why it was made, what it holds, and what changed with it."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from rewind.cli.look.show_turn import Turn, find_turn, print_turn, turn_json
from rewind.cli.open_and_answer import Args, Parser, note, open_controller, print_json
from rewind.cli.output.change_counts import lines, why_not_all
from rewind.cli.output.change_lines import change_lines, painted, renames_in
from rewind.cli.output.pager import add_pager_option, paged
from rewind.cli.output.style import kind_of, paint, path_json
from rewind.cli.parse.arguments import SELECTOR
from rewind.controller import Controller, Difference, kept_outside, torn_paths, turn_name
from rewind.errors import CheckpointNotFound
from rewind.words import age, plural, safe, shown, size

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypedDict

    from rewind.checkpoint.records.record import Record
    from rewind.checkpoint.rewind.files.git_since import GitSince
    from rewind.checkpoint.select.last_prompt import LastPrompt
    from rewind.cli.output.style import PathJson
    from rewind.jsonfile import JsonObject
    from rewind.snapshot.trees.tree import TreeEntry

    class Target(TypedDict, total=False):
        target: str  # of a link

    class HeldFile(PathJson, Target):
        kind: str
        mode: str
        size: int

    class NotHeld(PathJson):
        kind: str
        reason: str

summary = "show a checkpoint or a turn, and what changed with it"
examples = ("rewind show                   # where the project stands", "rewind show 12 --files",
            "rewind show t4                # turn 4: its prompt and what it changed",
            "rewind show 20261115_101502_003 --json")
_FIRST = 10


def arguments(parser: Parser) -> None:
    parser.add_argument("checkpoint", nargs="?", default="@", help=f"{SELECTOR} (default: `@`)")
    parser.add_argument("--files", action="store_true", help="list every path with its mode and size")
    add_pager_option(parser)


def run(args: Args) -> int:
    controller = open_controller(args)
    turn = _turn(controller, args)
    chosen = controller.select(args.checkpoint)
    record = chosen.record
    if chosen.note:
        note(chosen.note)
    if args.json:
        print_json({**_json(controller, record, args.files), "turn": turn_json(turn) if turn else None})
    elif args.files:
        with paged(args):
            for path, entry in controller.files(record.name):
                print(_file_line(path, entry))
    elif turn:
        print_turn(controller, turn, args.checkpoint)
    else:
        _print_summary(controller, record)
    return 0


def _turn(controller: Controller, args: Args) -> Turn | None:
    """`t4` is a turn; `t4+`, and everything else, a checkpoint."""
    name = turn_name(args.checkpoint)
    if name is None or name.after or args.files:
        return None
    return find_turn(controller, args.checkpoint)


class _Changed:
    """What is different from the parent, if that one is still there."""

    def __init__(self, controller: Controller, record: Record) -> None:
        self.parent = _parent_name(controller, record)
        self.difference: Difference | None = None
        self.lines = ""  # how many came and went, where that is known
        self.shown: list[tuple[str, str]] = []
        if self.parent:
            try:
                with controller.diff(self.parent, record.name) as self.difference:
                    self.lines = _lines(controller, record)
                    self.shown = change_lines(self.difference, renames_in(self.difference))
            except CheckpointNotFound:
                pass  # collected since


def _parent_name(controller: Controller, record: Record) -> str | None:
    parent = controller.lineage().parent(record.name)
    return parent.name if parent else None


def _lines(controller: Controller, record: Record) -> str:
    changes = controller.changes_with(record)
    if changes is None:
        return ""
    counted = lines(changes["added"], changes["removed"], changes["counted"])
    return "; ".join(part for part in (f"{counted} lines" if counted else "", why_not_all(changes)) if part)


def _print_summary(controller: Controller, record: Record) -> None:
    print(paint(record.name, "cyan"))
    if record.description:
        print(f"  {safe(record.description)}")
    changed = _Changed(controller, record)
    since = controller.git_since(record)
    for title, text in _facts(record, changed, controller.last_prompt(record), since):
        print(f"  {paint(f'{title:<12}', 'dim')}{text}")
    _print_incomplete(controller, record)
    for sign, text in changed.shown[:_FIRST]:
        print(f"  {'':<12}{painted(sign, text)}")
    if len(changed.shown) > _FIRST:
        print(f"  {'':<12}… and {len(changed.shown) - _FIRST:,} more;"
              f" `rewind diff --stat {changed.parent} {record.name}` shows all.")
    if sys.stdout.isatty():
        note(f"What changed since:  rewind diff {record.name}\n"
             f"Go back to it:       rewind restore {record.name}")


def _print_incomplete(controller: Controller, record: Record) -> None:
    missing = controller.incomplete().get(record.name)
    if missing is None:
        return
    print(f"  {paint('incomplete: ' + missing.text, 'red')}")
    for path in missing.paths[:_FIRST]:
        print(f"  {'':<12}{paint('!', 'red')} {shown(path) or 'the whole tree'}")
    if len(missing.paths) > _FIRST:
        print(f"  {'':<12}… and {missing.files - _FIRST:,} more; `rewind validate` names all.")


def _facts(record: Record, changed: _Changed, prompt: LastPrompt | None,
           since: GitSince | None) -> list[tuple[str, str]]:
    code = record.code
    local = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.created))
    facts = [("made", f"{local} ({age(record.created)})"), ("kind", safe(record.kind))]
    facts += [("trigger", _trigger(record))] if record.trigger else []
    facts += [("imported", _imported(record))] if record.data.get("imported") else []
    facts.append(("holds", f"{plural(_number(code, 'fileCount'), 'file')},"
                           f" {size(_number(code, 'totalSize'))};"
                           f" {size(_number(code, 'newBytes'))} new"))
    if _number(code, "uncovered"):
        facts.append(("unprotected", f"{plural(_number(code, 'uncovered'), 'path')} not captured"))
    facts += [("torn", f"written while it was copied: {shown(path)}") for path in torn_paths(record)]
    facts += [("outside", text) for text in _outside(record)]
    facts += _conversation(record) if record.data.get("hasTranscript") else []
    facts += [("last prompt", f"turn {prompt.turn}: {safe(prompt.text)}")] if prompt else []
    facts += [("git", _git(record))] if isinstance(record.data.get("git"), dict) else []
    facts += [("", safe(text)) for text in since.notes()] if since else []
    facts.append(("parent", _parent(changed)))
    difference = changed.difference
    if difference:
        facts.append(("changed", f"{len(difference.added):,} added, {len(difference.modified):,} modified,"
                                 f" {len(difference.deleted):,} deleted"
                                 + (f" ({changed.lines})" if changed.lines else "")))
    return facts


def _outside(record: Record) -> list[str]:
    """Files outside the project, as they were before the agent edited them."""
    return [f"{shown(one.path)} ({one.skipped or (size(one.entry.size) if one.entry else 'did not exist')})"
            for one in kept_outside(record)]


def _number(code: Mapping[str, object], key: str) -> int:
    value = code.get(key)
    return value if isinstance(value, int) else 0


def _trigger(record: Record) -> str:
    parts = [record.trigger.get(key) for key in ("event", "tool", "file", "promptText")]
    return safe("  ".join(str(part) for part in parts if part))


def _git(record: Record) -> str:
    git = record.data["git"]
    branch = git.get("branch") or "detached HEAD"
    under_way = f", {git['underWay']} under way" if git.get("underWay") else ""
    return safe(f"{str(git.get('head') or 'no commit')[:12]} on {branch}{under_way}")


def _imported(record: Record) -> str:
    origin = record.data["imported"]
    origin = origin if isinstance(origin, dict) else {}
    return safe(f"from {origin.get('name') or 'an unnamed checkpoint'},"
                f" made {origin.get('createdAt') or 'at an unknown time'}")


def _conversation(record: Record) -> list[tuple[str, str]]:
    found = record.data.get("transcript")
    found = found if isinstance(found, dict) else {}
    cursor = found.get("cursor")
    cursor = cursor if isinstance(cursor, dict) else {}
    session = found.get("sessionId") or record.session or "unknown"
    return [("chat", safe(f"{found.get('agent') or 'unknown'}, {size(_number(cursor, 'byte_offset_end'))},"
                          f" session {session}")),
            ("last event", safe(str(cursor.get("last_event_id") or "unknown")))]


def _parent(changed: _Changed) -> str:
    if changed.parent is None:
        return "none (this is the first checkpoint)"
    return safe(changed.parent) + ("" if changed.difference else " (deleted since)")


def _file_line(path: bytes, entry: TreeEntry) -> str:
    if entry.kind == b"u":
        return f"{'-':>5} {'-':>9}  {shown(path)}  (not captured: {shown(entry.ref)})"
    end = {b"d": "/", b"l": f" -> {shown(entry.ref)}"}.get(entry.kind, "")
    amount = "" if entry.kind == b"d" else size(entry.size)
    mode = "link" if entry.kind == b"l" else f"{entry.mode:04o}"
    return f"{mode:>5} {amount:>9}  {shown(path)}{end}"


def _json(controller: Controller, record: Record, files: bool) -> JsonObject:
    """The whole record, and what is known besides."""
    prompt, since = controller.last_prompt(record), controller.git_since(record)
    found = {**record.data, "gitSince": since and {"now": since.now, "commits": since.commits,
                                                   "moved": since.moved, "notes": since.notes()},
             "sessionId": record.session, "changes": _changes_json(controller, record),
             "prompt": prompt and {"session_id": prompt.session_id, "turn": prompt.turn, "text": prompt.text}}
    missing = controller.incomplete().get(record.name)
    found["incomplete"] = {"files": missing.files, "paths": [path_json(p) for p in missing.paths],
                           "chat": missing.conversation} if missing else None
    if files:
        found["files"] = [_file_json(path, entry) for path, entry in controller.files(record.name)]
    return found


def _changes_json(controller: Controller, record: Record) -> dict[str, list[PathJson]] | None:
    parent = _parent_name(controller, record)
    if parent is None:
        return None
    try:
        with controller.diff(parent, record.name) as difference:
            return {key: [path_json(path) for path in getattr(difference, key)]
                    for key in ("added", "modified", "deleted")}
    except CheckpointNotFound:
        return None  # collected since


def _file_json(path: bytes, entry: TreeEntry) -> HeldFile | NotHeld:
    if entry.kind == b"u":
        return {**path_json(path), "kind": kind_of(entry), "reason": entry.ref.decode("ascii", "replace")}
    more: Target = {"target": path_json(entry.ref)["path"]} if entry.kind == b"l" else {}
    return {**path_json(path), "kind": kind_of(entry), "mode": f"{entry.mode:04o}", "size": entry.size,
            **more}
