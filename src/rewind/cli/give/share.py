"""Write a session, turns of it, or a checkpoint into one file, for somebody else.

The file holds the conversation, the checkpoints of its turns, and the files of each. Secrets are left out:
files that hold some, and values in the conversation, which are masked. So are files that git ignores. What is
left out is listed, and is "not captured" for whoever opens the file, never "deleted".

To keep everything for yourself, secrets included, use `rewind export` instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.cli.give.push import left_out_json, secrets_json
from rewind.cli.open_and_answer import Args, Parser, answer, note, note_some, open_controller
from rewind.cli.output.ask import ask_yes, has_terminal
from rewind.cli.output.progress import ProgressLine
from rewind.errors import FAILED
from rewind.words import and_more, plural, safe, shown, size

if TYPE_CHECKING:
    from typing import TypedDict

    from rewind.checkpoint.share.giving.give import Sharing
    from rewind.cli.give.push import SecretInFile, SecretInTurn
    from rewind.cli.output.style import PathWithReason

    class SecretInLine(SecretInTurn):
        line: int

    class ConversationJson(TypedDict):
        session: str
        agent: str
        turns: int
        lines: int

    class ShareJson(TypedDict):
        what: str
        file: str
        bytes: int | None
        checkpoints: list[str]
        conversations: list[ConversationJson]
        contents: int
        unpackedBytes: int
        secrets: list[SecretInFile | SecretInLine]
        withSecrets: bool
        leftOut: list[PathWithReason]
        notes: list[str]
        dryRun: bool

summary = "write a session, turns or a checkpoint into a file for others"
examples = ("rewind share 1f3a9c22 session.tar.gz      # a whole session",
            "rewind share t3..t7 turns.tar.gz          # of the current session",
            "rewind share 1f3a9c22 t4 one-turn.tar.gz",
            "rewind share last now.tar.gz --code-only  # one checkpoint, no talk",
            "rewind share t3..t7 out.tar.gz --dry-run  # what would leave")
_SHOWN = 12


def arguments(parser: Parser) -> None:
    parser.add_argument("shared", nargs="+", metavar="WHAT",
                        help="a session, turns (t3..t7, or SESSION t3..t7), or a checkpoint")
    parser.add_argument("file", metavar="FILE", help="the file to write, a tar.gz")
    parser.add_argument("--with-secrets", action="store_true", help="share files and values that look secret")
    parser.add_argument("--with-ignored", action="store_true", help="share files that git ignores")
    parser.add_argument("--code-only", action="store_true", help="share no conversation")
    parser.add_argument("--force", action="store_true", help="replace FILE if it already exists")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be written")


def run(args: Args) -> int:
    controller = open_controller(args)
    with controller.share(args.shared, with_secrets=args.with_secrets, with_ignored=args.with_ignored,
                          code_only=args.code_only) as sharing:
        sharing.check_target(args.file, args.force)
        if not args.json:
            _tell(sharing, args)
        if not _agreed(sharing, args):
            note("Nothing was written.")
            return FAILED
        written = None
        if not args.dry_run:
            with ProgressLine() as progress:
                written = sharing.write(args.file, force=args.force, progress=progress)
        return answer(args, _json(sharing, args, written), _result(sharing, args, written))


def _agreed(sharing: Sharing, args: Args) -> bool:
    if args.dry_run or args.yes or args.json or not sharing.has_secrets or not has_terminal():
        return True
    if args.with_secrets:
        return ask_yes("Write the file with these secrets in it?", default=False)
    return ask_yes("Write the file without them?", default=True)


def _result(sharing: Sharing, args: Args, written: int | None) -> str:
    package = sharing.package
    content = f"{plural(len(package.checkpoints), 'checkpoint')}"
    turns = sum(c.turns for c in sharing.conversations)
    content += f" and a conversation of {plural(turns, 'turn')}" if sharing.conversations else ""
    if written is None:
        return f"Would write {content} into {args.file}"
    return f"Wrote {content}, {size(written)}, into {args.file}"


def _tell(sharing: Sharing, args: Args) -> None:
    note(f"Sharing {safe(sharing.selection.label)}.")
    for text in sharing.selection.notes:
        note(text)
    _tell_secrets(sharing, args)
    for reason, what in (("ignored", "ignored by git; --with-ignored shares them"),
                         ("link-out", "links that lead out of the project"),
                         ("not-shared", "names that differ from others only by case")):
        paths = [shown(one.path) for one in sharing.left_out if one.reason.decode() == reason]
        if paths:
            note(f"Left out: {and_more(paths, 3)} ({what}).")


def _tell_secrets(sharing: Sharing, args: Args) -> None:
    lines = [f"{shown(one.path)}{f':{number}' if number else ''}: {kind}" for one in sharing.secret_files
             for kind, number in one.kinds]
    lines += [f"turn {said.turn or '?'}, line {said.line} of the conversation: {said.kind}"
              for _, said in sharing.conversation_secrets]
    if not lines:
        return
    note("Secrets that will be shared:" if args.with_secrets
         else "Secrets (files are left out; text in the conversation is masked):")
    note_some([f"  {line}" for line in lines], _SHOWN, "--dry-run --json")


def _json(sharing: Sharing, args: Args, written: int | None) -> ShareJson:
    said: list[SecretInLine] = [{"session": session, "turn": one.turn or None, "line": one.line,
                                 "kind": one.kind} for session, one in sharing.conversation_secrets]
    return {"what": sharing.selection.label, "file": args.file, "bytes": written,
            "checkpoints": [one.record.name for one in sharing.package.checkpoints],
            "conversations": [{"session": c.session, "agent": c.agent, "turns": c.turns, "lines": c.lines}
                              for c in sharing.conversations],
            "contents": sharing.package.files, "unpackedBytes": sharing.package.size,
            "secrets": [*secrets_json(sharing.secret_files), *said], "withSecrets": args.with_secrets,
            "leftOut": left_out_json(sharing.left_out), "notes": sharing.selection.notes,
            "dryRun": args.dry_run}
