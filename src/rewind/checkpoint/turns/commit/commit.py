"""`rewind commit`: makes git commits from turns, on a new branch or as patches. HEAD, index, stash and
working tree do not change, and no hook of the repository runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from rewind.checkpoint.operation_log.lineage import Lineage, here, is_result, lineage
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.records.source import Source, between
from rewind.checkpoint.select.spans import Span, all_turns, spans
from rewind.checkpoint.turns.commit.git_index import GitIndex, is_rule_file
from rewind.checkpoint.turns.commit.message import branch_name, message_of, with_trailers
from rewind.errors import (
    BranchExists,
    CheckpointNotFound,
    CheckpointWithoutParent,
    GitUnderWay,
    NoCommitKnown,
    NotARepository,
    NothingToCommit,
    RewindError,
    TurnWithoutCheckpoint,
    UsageError,
)
from rewind.snapshot.git.head import git_head
from rewind.snapshot.rules.gitfiles import work_tree_top
from rewind.snapshot.trees.content import whole
from rewind.snapshot.trees.listing import every_path
from rewind.snapshot.trees.tree import FILE, FILES, LINK, TreeEntry
from rewind.words import plural

_HARMLESS = ("bisect",)  # the only unfinished operation of git that does not affect commits
_IGNORED, _FOREIGN = "ignored by git", "in another repository"


class Draft:
    """A planned commit: its turns, oldest first, and its message without the trailers."""

    def __init__(self, parts: list[Span], message: str = "") -> None:
        self.spans = parts
        self.message = message or message_of(parts)

    @property
    def subject(self) -> str:
        return self.message.strip().partition("\n")[0]


class Made:
    """A commit that was made, or would be."""

    def __init__(self, draft: Draft, sha: str, paths: list[bytes]) -> None:
        self.draft = draft
        self.sha = sha
        self.paths = paths


class Committed:
    def __init__(self, branch: str, parent: str | None) -> None:
        self.branch = branch  # empty for patches
        self.parent = parent
        self.commits: list[Made] = []
        self.patches: list[str] = []
        self.left_out: list[tuple[bytes, str]] = []  # paths, and why
        self.notes: list[str] = []


class Commits:
    """Plans the commits; `make` makes them."""

    def __init__(self, state: State, texts: Sequence[str], *, per_turn: bool = False,
                 session: str | None = None) -> None:
        self._state = state
        top = work_tree_top(state.root)
        if top is None:
            raise NotARepository(path=state.project.root)
        self._top = top
        self._below = state.root[len(top):].strip(b"/") + b"/" if state.root != top else b""
        head = git_head(top) or {}
        if head.get("underWay") and head["underWay"] not in _HARMLESS:
            raise GitUnderWay(what=head["underWay"])
        self._head = head.get("head")
        self.notes: list[str] = []
        parts = self._chosen(list(texts), session)
        self.drafts = [Draft([span]) for span in parts] if per_turn else [Draft(parts)]

    def _chosen(self, texts: list[str], session: str | None) -> list[Span]:
        found = spans(self._state, texts, session) if texts else self._all(session)
        for span in found:
            if span.after is None:
                raise TurnWithoutCheckpoint(turn=span.turn, session=span.session,
                                            hint="Save what it did first: rewind save")
        return found

    def _all(self, session: str | None) -> list[Span]:
        """All turns of the session that have checkpoints."""
        turns, found, without = all_turns(self._state, session), [], []
        for turn in range(1, turns.total + 1):
            try:
                span = turns.span(turn)
            except (TurnWithoutCheckpoint, CheckpointWithoutParent, CheckpointNotFound):
                without.append(turn)
                continue
            found.append(span) if span.after else without.append(turn)
        if not found:
            raise NothingToCommit(reason="no turn has checkpoints of its own")
        if not found[0].session:
            return found
        if without:
            self.notes.append(f"Without checkpoints of their own, and left out: {_turns(without)}")
        current, known = here(self._state), lineage(self._state)
        line = {record.name: record for record in known.line(current.name)} if current else {}
        gone = [span.turn for span in found if span.turn and span.after and span.after.name not in line
                and span.after.place == self._state.place]
        if gone:
            self.notes.append(f"No longer in the current code, but included: {_turns(gone)}."
                              " To leave them out, name the turns that you want.")
        return sorted([*found, *_merged(known, line, found[0])], key=Span.order)

    # doing it

    def make(self, *, branch: str | None = None, patches: str | None = None,
             dry_run: bool = False) -> Committed:
        parent = self._parent()
        name = "" if patches else branch or branch_name(self.drafts[0].spans)
        with GitIndex(self._top, apart=dry_run or bool(patches)) as index:
            self._check(index, parent, name, patches)
            done = Committed(name, parent)
            done.notes += [*self.notes, *self._moved(parent)]
            self._commit_all(index, done, sign=index.signs() and not patches and not dry_run)
            if not done.commits:
                raise NothingToCommit(reason=_why_nothing(done))
            tip = done.commits[-1].sha
            if patches and not dry_run:
                done.patches = index.patches(parent, tip, os.path.abspath(patches))
            elif not dry_run:
                index.make_branch(name, tip)
        return done

    def _parent(self) -> str | None:
        """The commit that was checked out when the first turn began; None before the first commit."""
        before = self.drafts[0].spans[0].before
        noted = before.data.get("git")
        if not isinstance(noted, dict):
            raise NoCommitKnown(checkpoint=before.name)
        head = noted.get("head")
        return head if isinstance(head, str) else None

    def _check(self, index: GitIndex, parent: str | None, name: str, patches: str | None) -> None:
        if parent and not index.has_commit(parent):
            raise NoCommitKnown(checkpoint=self.drafts[0].spans[0].before.name)
        if patches:
            if os.path.lexists(patches) and (not os.path.isdir(patches) or os.listdir(patches)):
                raise RewindError(f"{patches} is not an empty directory.",
                                  hint="Name a directory that is empty or does not exist yet.")
            return
        if not index.is_branch_name(name):
            raise UsageError(f"Not a name for a branch: {name}", hint="For example: --branch rewind/login")
        if index.has_branch(name):
            raise BranchExists(branch=name)

    def _moved(self, parent: str | None) -> list[str]:
        if parent == self._head:
            return []
        return [f"HEAD has moved since. The commits begin where it was then: {(parent or 'no commit')[:12]}"]

    def _commit_all(self, index: GitIndex, done: Committed, sign: bool) -> None:
        parent = done.parent
        index.read(parent)
        for draft in self.drafts:
            paths: set[bytes] = set()
            for span in draft.spans:
                paths.update(self._apply(index, span, done))
            tree = index.tree()
            if not paths or tree == index.tree_of(parent):
                if len(self.drafts) > 1:
                    done.notes.append(f"No commit for {draft.spans[0].label}: it changed nothing that git"
                                      " tracks.")
                continue
            last = draft.spans[-1].after
            assert last is not None
            message = with_trailers(draft.message, draft.spans)
            parent = index.commit(tree, parent, message, last.created_at, sign)
            done.commits.append(Made(draft, parent, sorted(paths)))

    def _apply(self, index: GitIndex, span: Span, done: Committed) -> list[bytes]:
        """Put the changes of one turn into the index. Returns the paths in the project."""
        assert span.after is not None
        with Source(self._state, span.before) as old, Source(self._state, span.after) as new:
            changes = [(path, a, b) for path, a, b in between(old, new) if _is_content(a, b)]
            index.write_rule_files(self._rule_files(new, span.after))
            known = index.entries()
            reasons = self._left_out(index, [path for path, _, _ in changes])
            wanted = [(path, b) for path, _, b in changes if path not in reasons]
            done.left_out += [one for one in reasons.items() if one not in done.left_out]
            modes = index.keeps_modes()
            gone = [self._below + path for path, entry in wanted
                    if entry is None or entry.kind not in (*FILES, LINK)]
            lines = [index.put(self._below + path, whole(entry, new.blobs),
                               _mode(entry, known.get(self._below + path), modes))
                     for path, entry in wanted if entry and entry.kind in (*FILES, LINK)]
            index.update([path for path in gone if path in known], lines)
        return [path for path, _ in wanted]

    def _rule_files(self, source: Source, record: Record) -> Iterator[tuple[bytes, bytes]]:
        for path, entry in every_path(record.tree, source.tree):
            if entry.kind == FILE and is_rule_file(path):
                yield self._below + path, whole(entry, source.blobs)
        folder = self._below.rstrip(b"/")
        while folder:  # above the project, which checkpoints do not capture
            folder = os.path.dirname(folder)
            for name in (b".gitattributes", b".gitignore"):
                full = os.path.join(self._top, folder, name)
                if os.path.isfile(full) and not os.path.islink(full):
                    with open(full, "rb") as file:
                        yield os.path.join(folder, name), file.read()

    def _left_out(self, index: GitIndex, paths: list[bytes]) -> dict[bytes, str]:
        """Path -> why it is not committed."""
        modules = index.submodules()
        found = {path: _FOREIGN for path in paths if self._is_foreign(path, modules)}
        below = {self._below + path: path for path in paths if path not in found}
        found.update({below[path]: _IGNORED for path in index.ignored(below) if path in below})
        return found

    def _is_foreign(self, path: bytes, modules: list[bytes]) -> bool:
        full = self._below + path
        if any(full == module or full.startswith(module + b"/") for module in modules):
            return True
        folder = os.path.dirname(full)
        while folder:
            if os.path.lexists(os.path.join(self._top, folder, b".git")):
                return True
            folder = os.path.dirname(folder)
        return False


def _turns(numbers: Sequence[int]) -> str:
    return ", ".join(f"t{number}" for number in numbers)


def _merged(known: Lineage, line: dict[str, Record], first: Span) -> Iterator[Span]:
    """The changes of `revert`, `apply` and `forks adopt` since. Without them, the commits would end with
    code that was reverted."""
    for record in line.values():
        parent = known.parent(record.name)
        if parent and is_result(record) and record.sequence > first.before.sequence:
            yield Span(parent, record, record.name)


def _is_content(a: TreeEntry | None, b: TreeEntry | None) -> bool:
    return any(entry is not None and entry.kind in (*FILES, LINK) for entry in (a, b))


def _mode(entry: TreeEntry, known: bytes | None, keeps_modes: bool) -> str:
    if entry.kind == LINK:
        return "120000"
    if not keeps_modes and known in (b"100644", b"100755"):
        return known.decode()
    return "100755" if entry.mode & 0o100 else "100644"


def _why_nothing(done: Committed) -> str:
    if done.left_out:
        return f"{plural(len(done.left_out), 'path')} changed, none of which git would add"
    return "nothing that git tracks changed"
