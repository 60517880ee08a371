"""Name git repositories that checkpoints and conversations are pushed to and pulled from.

Any repository that git can push to will do: a bare one on a disk, over ssh or https, or the project's own.
Rewind keeps to refs/rewind/ there: no branch or tag is read or written, and nothing is checked out. Adding
a remote sends nothing; `rewind push` does. Removing one deletes nothing there.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from rewind.cli.open_and_answer import Args, Parser, answer, note, open_controller, print_json
from rewind.cli.output.ask import has_terminal
from rewind.cli.output.columns import in_columns
from rewind.controller import Controller, checked_url, shown_url, timestamp
from rewind.errors import DONE, RemoteExists, UsageError
from rewind.words import age, plural, safe, size

if TYPE_CHECKING:
    from typing import TypedDict

    from rewind.checkpoint.remote.known import Remote
    from rewind.checkpoint.remote.status import RemoteStatus

    class RemoteJson(TypedDict):
        name: str
        url: str
        pushedAt: str | None
        pulledAt: str | None

    class StatusJson(RemoteJson):
        pushed: int
        notPushed: int
        writers: int
        writersWithNews: int
        reachable: bool
        error: str | None

summary = "name git repositories to push checkpoints to; what is where"
examples = ("rewind remote add origin git@example.com:team/project.git",
            "rewind remote add disk /mnt/backup/project.git", "rewind remote list",
            "rewind remote status          # what has been pushed, what is new there",
            "rewind remote remove disk")


def arguments(parser: Parser) -> None:
    parser.add_argument("action", nargs="?", default="list", choices=("list", "add", "remove", "status"),
                        help="`list` them, `add` or `remove` one, or show the `status` of each")
    parser.add_argument("remote", nargs="?", metavar="NAME", help="what to call it, such as origin")
    parser.add_argument("url", nargs="?", metavar="URL", help="a path, HOST:PATH, or a URL")
    parser.add_argument("--dry-run", action="store_true", help="check name and address, change nothing")


def run(args: Args) -> int:
    _check(args)
    controller = open_controller(args)
    return {"list": _list, "add": _add, "remove": _remove, "status": _status}[args.action](args, controller)


def _check(args: Args) -> None:
    least, most, takes = {"list": (0, 0, "nothing else"), "add": (2, 2, "NAME URL"),
                          "remove": (1, 1, "NAME"), "status": (0, 1, "[NAME]")}[args.action]
    if not least <= (args.remote is not None) + (args.url is not None) <= most:
        raise UsageError(f"`remote {args.action}` takes {takes}.", hint="For examples: rewind remote --help")


def remote_json(remote: Remote) -> RemoteJson:
    return {"name": remote.name, "url": shown_url(remote.url), "pushedAt": remote.times.get("pushedAt"),
            "pulledAt": remote.times.get("pulledAt")}


def _list(args: Args, controller: Controller) -> int:
    remotes = controller.remotes()
    if args.json:
        print_json({"remotes": [remote_json(remote) for remote in remotes]})
        return DONE
    rows: list[tuple[str, ...]] = [
        (remote.name, safe(shown_url(remote.url)), _when("pushed", remote.times.get("pushedAt")),
         _when("pulled", remote.times.get("pulledAt"))) for remote in remotes]
    for line in in_columns(rows, tabs=not sys.stdout.isatty()):
        print(line)
    if not remotes:
        note("There are no remotes yet. To add one: rewind remote add origin URL")
    return DONE


def _when(what: str, at: Any) -> str:
    return f"{what} {age(timestamp(at))}" if isinstance(at, str) else f"never {what}"


def _add(args: Args, controller: Controller) -> int:
    if args.dry_run:
        if args.remote in [remote.name for remote in controller.remotes()]:
            raise RemoteExists(name=args.remote)
        url = checked_url(args.url)
    else:
        url = controller.add_remote(args.remote, args.url).url
    return answer(args, {"remote": args.remote, "url": shown_url(url), "dryRun": args.dry_run},
                  f"{'Would add' if args.dry_run else 'Added'} {args.remote}: {safe(shown_url(url))}",
                  f"Nothing was sent. To see what would be: rewind push {args.remote} --dry-run")


def _remove(args: Args, controller: Controller) -> int:
    if args.dry_run:
        named = [remote for remote in controller.remotes() if remote.name == args.remote]
        remote = named[0] if named else controller.remove_remote(args.remote)  # which says that there is none
    else:
        remote = controller.remove_remote(args.remote)
    return answer(args, {"remote": remote.name, "url": shown_url(remote.url), "dryRun": args.dry_run},
                  f"{'Would remove' if args.dry_run else 'Removed'} {remote.name}",
                  "What was pushed to it stays there, and what was pulled from it stays here.")


def _status(args: Args, controller: Controller) -> int:
    statuses = controller.remote_status(ask=has_terminal())
    found = statuses.all(args.remote)
    if args.json:
        print_json({"remotes": [_status_json(one) for one in found], "bytes": statuses.disk_use})
        return DONE
    for one in found:
        _print_status(one)
    if not found:
        note("There are no remotes yet. To add one: rewind remote add origin URL")
    else:
        note(f"Rewind's own repository for pushing and pulling takes {size(statuses.disk_use)}.")
    return DONE


def _status_json(one: RemoteStatus) -> StatusJson:
    return {**remote_json(one.remote), "pushed": one.there, "notPushed": one.missing, "writers": one.writers,
            "writersWithNews": one.news, "reachable": not one.error, "error": one.error or None}


def _print_status(one: RemoteStatus) -> None:
    print(f"{one.remote.name}  {safe(shown_url(one.remote.url))}")
    if one.error:
        print(f"  could not be reached, so this is the last known state: {safe(one.error)}")
    print(f"  {plural(one.there, 'checkpoint')} of this project pushed, {one.missing} not yet"
          + (f" (rewind push {one.remote.name})" if one.missing else ""))
    others = f"{plural(one.writers, 'other')} push{'es' if one.writers == 1 else ''} there"
    news = f"{one.news} with something new (rewind pull {one.remote.name})" if one.news else "nothing new"
    print(f"  {others}, {news}" if one.writers else "  no other project pushes there")
