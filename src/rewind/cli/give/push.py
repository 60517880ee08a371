"""Send checkpoints and conversations to a remote: those that it does not have yet.

Secrets stay here: files such as .env and files with keys in them are left out, and keys in conversations
are masked. So are files that git ignores. Whoever pulls sees them as left out, never as deleted. What was
pushed once is not pushed again, not even with other options.

An interrupted push continues where it stopped. Nothing at the remote is ever overwritten: each project on
each machine writes to a place of its own there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rewind.cli.open_and_answer import Args, Parser, answer, note, note_some, open_controller
from rewind.cli.output.ask import has_terminal
from rewind.cli.output.progress import ProgressLine
from rewind.cli.output.style import path_json, with_reason
from rewind.words import plural, shown, size

if TYPE_CHECKING:
    from typing import TypedDict

    from rewind.checkpoint.remote.push.push import Pushed
    from rewind.checkpoint.share.giving.left_out import LeftOut
    from rewind.cli.output.style import PathJson, PathWithReason

    class SecretInFile(PathJson):
        line: int | None
        kind: str

    class SecretInTurn(TypedDict):
        session: str
        kind: str
        turn: int | None

summary = "send checkpoints and conversations to a git repository"
examples = ("rewind push", "rewind push origin --dry-run   # what would be sent, and what stays here",
            "rewind push backup --with-ignored --with-secrets")
_NAMED = 10


def arguments(parser: Parser) -> None:
    parser.add_argument("remote", nargs="?", metavar="NAME", help="the remote (the only one, or origin)")
    parser.add_argument("--with-secrets", action="store_true", help="do not leave out or mask secrets")
    parser.add_argument("--with-ignored", action="store_true", help="send files that git ignores as well")
    parser.add_argument("--dry-run", action="store_true", help="show what would be sent, send nothing")


def run(args: Args) -> int:
    controller = open_controller(args)
    with ProgressLine() as progress:
        pushed = controller.push(args.remote, with_secrets=args.with_secrets, with_ignored=args.with_ignored,
                                 dry_run=args.dry_run, ask=has_terminal(), progress=progress)
    said: list[SecretInTurn] = [{"session": session, "kind": kind, "turn": turn}
                                for session, kind, turn in pushed.secrets]
    return answer(args, {"checkpoints": pushed.checkpoints, "conversations": pushed.conversations,
                         "bytes": pushed.bytes, "leftOut": left_out_json(pushed.left_out),
                         "secrets": [*secrets_json(pushed.left_out), *said], "dryRun": args.dry_run},
                  lambda: _tell(pushed, args.dry_run))


def left_out_json(left_out: Iterable[LeftOut]) -> list[PathWithReason]:
    return [with_reason(one.path, one.reason.decode()) for one in left_out]


def secrets_json(left_out: Iterable[LeftOut]) -> list[SecretInFile]:
    return [{**path_json(one.path), "line": line or None, "kind": kind}
            for one in left_out for kind, line in one.kinds]


def _tell(pushed: Pushed, dry_run: bool) -> None:
    _tell_left_out(pushed)
    what = f"{plural(pushed.checkpoints, 'checkpoint')}, {plural(pushed.conversations, 'conversation')}"
    if dry_run:
        print(f"Would push {what}")
    elif pushed.checkpoints or pushed.conversations:
        print(f"Pushed {what} ({size(pushed.bytes)})")
    else:
        print("Everything is already there.")


def _tell_left_out(pushed: Pushed) -> None:
    secret = [one for one in pushed.left_out if one.kinds]
    if secret:
        note(f"Left out: {plural(len(secret), 'file')} with secrets (--with-secrets sends them)")
    first = [(one.path, *one.kinds[0]) for one in secret]
    note_some([f"  {shown(path)}{f':{line}' if line else ''}  {kind}" for path, kind, line in first], _NAMED,
              "--dry-run --json")
    if pushed.secrets:
        note(f"Masked in conversations: {plural(len(pushed.secrets), 'secret')}, the first in turn"
             f" {pushed.secrets[0][2]} of {pushed.secrets[0][0]}")
    ignored = len(pushed.left_out) - len(secret)
    if ignored:
        note(f"Also left out: {plural(ignored, 'path')}, ignored by git or leading out of the project.")
