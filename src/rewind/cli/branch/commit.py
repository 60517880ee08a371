"""Make git commits from turns, on a new branch.

A commit begins at the commit that was checked out when its first turn began, and holds only the files that
its turns changed, as the turns left them. HEAD, the index, the stash and your files are not touched. Your
name, your signing key and git's filters are used; hooks of the repository are not run. Files that git ignores
are never committed. Without TURNS, all turns of the session are taken, and what was reverted or applied
since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.cli.branch.commit_todo import edited, in_editor
from rewind.cli.open_and_answer import Args, Parser, answer, note, open_controller
from rewind.cli.output.style import paint, path_json, with_reason
from rewind.errors import UsageError
from rewind.words import and_more, plural, safe, shown

if TYPE_CHECKING:
    from typing import TypedDict

    from rewind.checkpoint.turns.commit.commit import Committed, Made
    from rewind.cli.output.style import PathJson, PathWithReason

    class TurnOfCommit(TypedDict):
        session: str | None
        turn: int | None
        checkpoint: str | None

    class CommitJson(TypedDict):
        sha: str
        turn: int | None
        turns: list[TurnOfCommit]
        subject: str
        paths: list[PathJson]

    class CommitsJson(TypedDict):
        branch: str | None
        parent: str | None
        dryRun: bool
        commits: list[CommitJson]
        patches: list[str]
        leftOut: list[PathWithReason]
        notes: list[str]

summary = "make git commits from turns, on a new branch"
examples = ("rewind commit --per-turn", "rewind commit t2..t4 --branch login",
            "rewind commit --per-turn --edit        # pick, squash, drop, reword",
            "rewind commit t3 --patches ../patches  # for `git am`", "rewind commit --dry-run")
_SHOWN = 5


def arguments(parser: Parser) -> None:
    parser.add_argument("turns", nargs="*", metavar="TURNS",
                        help="t4, t2..t4, or what changed between two checkpoints: A..B")
    parser.add_argument("--per-turn", action="store_true", help="one commit for each turn")
    parser.add_argument("--branch", metavar="NAME", help="the new branch; by default named for the prompt")
    parser.add_argument("--patches", metavar="DIR", help="write patches for `git am` into DIR instead")
    parser.add_argument("--edit", action="store_true", help="choose and reword the commits in your editor")
    parser.add_argument("--session", metavar="ID", help="the session whose turns are meant")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be committed")


def run(args: Args) -> int:
    if args.branch and args.patches:
        raise UsageError("Patches need no branch.", hint="Give either --branch or --patches.")
    controller = open_controller(args)
    plan = controller.plan_commits(args.turns, per_turn=args.per_turn or args.edit, session=args.session)
    if args.edit:
        plan.drafts = edited(plan.drafts, in_editor)
        if not plan.drafts:
            note("Nothing was chosen, so nothing was done.")
            return 0
    done = plan.make(branch=args.branch, patches=args.patches, dry_run=args.dry_run)
    return answer(args, _json(done, args.dry_run), lambda: _print(done, args.dry_run, args.patches))


def _print(done: Committed, dry_run: bool, patches: str | None) -> None:
    for made in done.commits:
        files = and_more([shown(path) for path in made.paths], _SHOWN)
        print(f"{paint(made.sha[:7], 'yellow')}  {safe(made.draft.subject)}  {paint(files, 'dim')}")
    _print_left_out(done)
    for text in done.notes:
        note(safe(text))
    count = plural(len(done.commits), "commit")
    if dry_run:
        note(f"Would make {count}" + (" as patches" if patches else f" on {done.branch}"))
    elif patches:
        for path in done.patches:
            print(safe(path))
        note(f"To apply them:  git am {safe(patches)}/*.patch")
    else:
        since = f"{done.parent[:12]}.." if done.parent else ""
        note(f"Made {count} on {done.branch}. The repository's hooks were not run.\n"
             f"To look at them:  git log -p {since}{done.branch}")


def _print_left_out(done: Committed) -> None:
    for reason in sorted({reason for _, reason in done.left_out}):
        paths = [shown(path) for path, why in done.left_out if why == reason]
        note(f"Left out, {reason}: {and_more(paths, _SHOWN)}")


def _json(done: Committed, dry_run: bool) -> CommitsJson:
    return {"branch": done.branch or None, "parent": done.parent, "dryRun": dry_run,
            "commits": [_commit_json(made) for made in done.commits], "patches": done.patches,
            "leftOut": [with_reason(path, reason) for path, reason in done.left_out],
            "notes": [*done.notes, *([] if dry_run or done.patches else
                                     ["The repository's hooks were not run."])]}


def _commit_json(made: Made) -> CommitJson:
    parts = made.draft.spans
    return {"sha": made.sha, "turn": parts[0].turn if len(parts) == 1 else None,
            "turns": [{"session": span.session or None, "turn": span.turn,
                       "checkpoint": span.after.name if span.after else None} for span in parts],
            "subject": made.draft.subject, "paths": [path_json(path) for path in made.paths]}
