"""Show the state of the project: checkpoints, changes since the last one, and disk space.

With `--unprotected`: every path that the checkpoints do not hold, and why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.cli.look.sessions import kept_json, tell_kept
from rewind.cli.open_and_answer import Args, Parser, note, open_controller, print_json
from rewind.cli.output.progress import ProgressLine
from rewind.cli.output.style import paint, path_json, with_reason
from rewind.cli.protect import unprotected
from rewind.words import age, and_more, plural, safe, shown, size

if TYPE_CHECKING:
    from typing import TypedDict

    from rewind.checkpoint.project.missed import Missed
    from rewind.checkpoint.status import Status
    from rewind.cli.output.style import PathJson, PathWithReason

    class Newest(TypedDict):
        name: str
        createdAt: str

    class Counts(TypedDict):
        added: int
        modified: int
        deleted: int

    class DiskJson(TypedDict):
        bytes: int
        maxBytes: int
        remoteBytes: int
        protectedBytes: int | None
        protectedOverCap: bool

    class _Unprotected(TypedDict, total=False):
        unprotected: list[PathWithReason]

    class StatusJson(_Unprotected):
        root: str
        state: str
        mode: str
        format: str
        checkpoints: int
        backups: int
        damaged: list[str]
        newest: Newest | None
        here: str | None
        comparedWith: str | None
        changes: Counts
        disk: DiskJson
        position: str | None
        canRedo: bool
        interrupted: str | None
        unfinishedForks: list[str]
        torn: list[PathJson]
        unprotectedCount: int

summary = "show the project's state and what is not protected"
examples = ("rewind status", "rewind status --unprotected   # what the checkpoints do not hold",
            "rewind status --unprotected --all")
_BAR = 20
_FIRST = 3  # torn databases that are named


def arguments(parser: Parser) -> None:
    parser.add_argument("--unprotected", action="store_true",
                        help="list what is not captured, with the reasons")
    parser.add_argument("--all", action="store_true",
                        help="with --unprotected: also list caches and dependency trees one by one")


def run(args: Args) -> int:
    controller = open_controller(args)
    with ProgressLine() as progress:
        status = controller.status(progress)
    missed, kept = controller.missed(), controller.only_here()
    if args.json:
        print_json({**_json(status, args.unprotected), "onlyHere": [kept_json(one) for one in kept],
                    "late": missed.late_json(), "missed": missed.json()})
    elif args.unprotected:
        unprotected.show(status, controller.settings(), args.all)
    else:
        _print(status, missed)
        tell_kept(kept)
    return 0


def _print(status: Status, missed: Missed) -> None:
    for title, text in _facts(status, missed):
        print(f"{paint(f'{title:<13}', 'dim')}{text}")
    if missed.events:
        note(f"warning: {safe(missed.text)} For details: rewind doctor")
    for name in status.damaged:
        note(f"warning: {name} is not readable; `rewind validate` says why.")
    if status.protected_over_cap:
        note(f"warning: checkpoints that are never deleted take {size(status.protected or 0)}, more than"
             " storage.maxSizeMb allows. `rewind gc --keep N` deletes older ones,"
             " `rewind config --set storage.maxSizeMb=…` allows more.")


def _facts(status: Status, missed: Missed) -> list[tuple[str, str]]:
    project = status.project
    facts = [("project", safe(project.root)),
             ("state", safe(project.state)), ("storage", f"{project.mode}, format {status.format}"),
             ("checkpoints", _checkpoints(status))]
    if status.newest:
        facts.append(("newest", f"{status.newest.name}, {age(status.newest.created)}"
                      + (f"  {safe(status.newest.description)}" if status.newest.description else "")))
    for one in missed.late:
        facts.append(("late", f"still being saved: {safe(str(one.get('description') or one.get('event')))}"))
    if status.here:
        forward = "; to go forward: rewind redo" if status.can_redo else ""
        facts.append(("here", f"{status.here.name}{forward}"))
        facts.append(("changed", _changed(status, status.here.name)))
    facts.append(("disk", _disk(status)))
    facts.append(("unprotected", unprotected.count(status.uncovered)))
    if status.torn:
        names = and_more([shown(path) for path in status.torn], _FIRST)
        facts.append(("torn", f"{names}: written while the newest checkpoint was made; save again"))
    if status.interrupted_text:
        facts.append(("interrupted", safe(status.interrupted_text)))
    facts += [("interrupted", safe(text)) for text in status.unfinished]
    return facts


def _checkpoints(status: Status) -> str:
    text = f"{len(status.shown):,}"
    return text + (f", and {plural(status.backups, 'backup')}" if status.backups else "")


def _counts(status: Status) -> tuple[int, int, int]:
    changes = status.changes
    added = sum(old is None for _, old, _ in changes)
    deleted = sum(new is None for _, _, new in changes)
    return added, len(changes) - added - deleted, deleted


def _changed(status: Status, name: str) -> str:
    added, modified, deleted = _counts(status)
    if not status.changes:
        return f"nothing since {name}"
    return f"{added:,} added, {modified:,} modified, {deleted:,} deleted since {name}"


def _disk(status: Status) -> str:
    share = status.disk / status.cap
    filled = min(_BAR, round(share * _BAR))
    bar = "█" * filled + "░" * (_BAR - filled)
    remotes = f", {size(status.for_remotes)} of it for remotes" if status.for_remotes else ""
    return f"{size(status.disk)} of {size(status.cap)}  {bar} {share:.0%}{remotes}"


def _json(status: Status, with_paths: bool) -> StatusJson:
    added, modified, deleted = _counts(status)
    found: StatusJson = {
        "root": status.project.root, "state": status.project.state, "mode": status.project.mode,
        "format": status.format, "checkpoints": len(status.shown), "backups": status.backups,
        "damaged": status.damaged,
        "newest": {"name": status.newest.name, "createdAt": status.newest.created_at}
        if status.newest else None,
        "here": status.here.name if status.here else None,
        "comparedWith": status.here.name if status.here else None,
        "changes": {"added": added, "modified": modified, "deleted": deleted},
        "disk": {"bytes": status.disk, "maxBytes": status.cap, "remoteBytes": status.for_remotes,
                 "protectedBytes": status.protected, "protectedOverCap": status.protected_over_cap},
        "position": status.here.name if status.here and status.here is not status.newest else None,
        "canRedo": status.can_redo,
        "interrupted": status.interrupted.checkpoint if status.interrupted else None,
        "unfinishedForks": status.unfinished,
        "torn": [path_json(path) for path in status.torn],
        "unprotectedCount": len(status.uncovered)}
    if with_paths:
        found["unprotected"] = [with_reason(path, reason.decode("ascii", "replace"))
                                for path, reason in status.uncovered]
    return found
