"""How the user's git repository changed since a checkpoint. A restore brings back files, but not commits and
branches. Git is only read, and only started if HEAD has changed."""

from __future__ import annotations

from rewind.snapshot.git.commits import commits_between
from rewind.snapshot.git.head import git_head
from rewind.snapshot.rules.gitfiles import work_tree_top
from rewind.words import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Record
    from rewind.checkpoint.rewind.files.file_plan import RestorePlan
    from rewind.jsonfile import JsonObject

_SHORT = 12


class GitSince:
    """`then` and `now` have `head`, `branch` and `underWay`. `commits` is the number of commits since the old
    HEAD; None if HEAD moved elsewhere or git cannot tell."""

    def __init__(self, then: JsonObject, now: Mapping[str, object], commits: int | None) -> None:
        self.then = then
        self.now = now
        self.commits = commits

    @property
    def moved(self) -> bool:
        return any(self.then.get(key) != self.now.get(key) for key in ("head", "branch"))

    def notes(self) -> list[str]:
        found = [self._head_note()] if self.moved else []
        under_way = self.now.get("underWay")
        if under_way and under_way != self.then.get("underWay"):
            found.append(f"A {under_way} is in progress in git and stays in progress."
                         " Only files are changed.")
        return found

    def _head_note(self) -> str:
        head, branch = _name(self.then.get("head")), self.now.get("branch")
        if branch != self.then.get("branch"):
            return (f"HEAD has moved since, from {_branch(self.then)} to {_branch(self.now)}. The files go"
                    " back; the branch stays.")
        if self.commits:
            return (f"{plural(self.commits, 'commit')} since, still on {_branch(self.now)}. The files go"
                    f" back; the commits stay. To remove them as well: git reset --soft {head}")
        if self.commits == 0:
            return (f"HEAD has moved since: {_branch(self.now)} was reset. The files go back; HEAD stays."
                    f" It was at {head}")
        return (f"HEAD has moved since, still on {_branch(self.now)}. The files go back; HEAD stays."
                f" It was at {head}")


def _name(head: object) -> str:
    return str(head)[:_SHORT] if head else "no commit"


def _branch(git: Mapping[str, object]) -> str:
    return str(git.get("branch") or "a detached HEAD")


def git_since(state: State, record: Record) -> GitSince | None:
    """None if the checkpoint or the project has no repository."""
    then = record.data.get("git")
    top = work_tree_top(state.root) if isinstance(then, dict) else None
    now = git_head(top) if top else None
    if not isinstance(then, dict) or now is None or top is None:
        return None
    old, new = then.get("head"), now.get("head")
    commits = 0 if old == new else None
    if isinstance(old, str) and new and old != new:
        commits = commits_between(top, old, new)
    return GitSince(then, now, commits)


def plan_notes(state: State, record: Record, plan: RestorePlan) -> list[str]:
    """What to tell the person before files are restored."""
    found = git_since(state, record) if plan.changes else None
    return found.notes() if found else []
