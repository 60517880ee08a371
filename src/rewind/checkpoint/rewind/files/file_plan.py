"""What a restore would do, computed from two trees and the rules. Changes nothing."""

from __future__ import annotations

from rewind.checkpoint.records.source import KeptPath
from rewind.errors import StoreDamaged
from rewind.paths import is_state_path
from rewind.snapshot.scan.sqlite_files import main_of
from rewind.snapshot.trees.change import Change, Paths
from rewind.snapshot.trees.tree import DIR, EMPTY, FILES, UNCOVERED, Tree, TreeEntry, check_depth
from rewind.words import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rewind.snapshot.trees.change import Trees

    Skipped = Callable[[bytes, TreeEntry, bytes], bool]
    Brought = Callable[[bytes], Iterable[bytes]]

MAX_CHANGES = 3_000_000
IGNORED_NEWCOMER = "ignored"
NOT_EMPTY = "not-empty"
MOUNT_POINT = "mount-point"
IN_THE_WAY = "in-the-way"
NO_DIRECTORY = "no-directory"
ANOTHER_PLACE = "another-place"
CHANGED_SINCE, MADE_SINCE = "changed since the last checkpoint", "made since the last checkpoint"
CHANGED_BY_YOU, MADE_BY_YOU = "changed by you since", "made by you since"
_PASSING = (b"skip-list", b"ignored", b"ignored-large", b"too-large", b"pins-only")


class RestorePlan:
    def __init__(self, checkpoint: str) -> None:
        self.checkpoint = checkpoint
        self.changes: list[Change] = []
        self.kept: list[KeptPath] = []
        self.settled: list[KeptPath] = []  # conflicts of a merge that the person said how to settle
        self.unknown: list[bytes] = []  # must be captured before they can be compared
        self.foreign: list[bytes] = []  # changed since `here`; only the backup will have them
        self.mine: set[bytes] = set()  # changed by a person between turns since the checkpoint
        self.notes: list[str] = []  # what to tell the person before it is carried out

    @property
    def empty(self) -> bool:
        return not self.changes and not self.conflicts

    @property
    def written(self) -> list[bytes]:
        return sorted({c.path for c in self.changes if c.action in ("write", "mkdir", "chmod")})

    @property
    def deleted(self) -> list[bytes]:
        gone = {c.path for c in self.changes if c.action in ("delete", "rmdir")}
        return sorted(gone - set(self.written))

    @property
    def conflicts(self) -> list[KeptPath]:
        return [k for k in self.kept if k.conflict]

    def lines(self) -> list[tuple[str, bytes, str]]:
        """(sign, path, remark) for every path, the same in every interface: `+` is created, `~` is
        overwritten, `-` is deleted, `=` is kept."""
        fresh = {change.path for change in self.changes if change.before is None}
        foreign = set(self.foreign)
        found = [("+" if path in fresh else "~", path,
                  self._remark(path, foreign, CHANGED_SINCE, CHANGED_BY_YOU)) for path in self.written]
        found += [("-", path, self._remark(path, foreign, MADE_SINCE, MADE_BY_YOU)) for path in self.deleted]
        return found + [("=", kept.path, kept.remark()) for kept in self.kept]

    def _remark(self, path: bytes, foreign: set[bytes], since_here: str, by_you: str) -> str:
        """Whose work would be replaced, if it is not the agent's."""
        return since_here if path in foreign else by_you if path in self.mine else ""

    def counts(self) -> str:
        parts = [f"{plural(len(self.written), 'path')} written", f"{len(self.deleted):,} deleted"]
        return ", ".join([*parts, f"{len(self.kept):,} kept"] if self.kept else parts)

    def summary(self) -> str:
        if self.empty:
            return f"The code is already as in {self.checkpoint}"
        return f"{self.counts()}, to be as in {self.checkpoint}"

    def leave_out(self, tops: set[bytes]) -> None:
        """Remove all changes at these paths and below them from the plan."""
        if tops:
            left_out = Paths(sorted(tops))
            self.changes = [c for c in self.changes if not left_out.covers(c.path)]


class RestorePlanner:
    """`RestorePlanner(…).plan_from(then, now)`: the plan that leads from one tree to another."""

    def __init__(self, checkpoint: str, then_trees: Trees, now_trees: Trees, skipped: Skipped, paths: Paths,
                 *, hidden: frozenset[bytes] = frozenset(), most: int = MAX_CHANGES,
                 looked_for: frozenset[bytes] = frozenset(), brought: Brought = lambda path: (),
                 is_journal: Callable[[bytes], bool] = lambda path: True,
                 places: frozenset[bytes] = frozenset()) -> None:
        """`skipped(path, entry, ruled_as)` says whether the rules of then or of now ignore an entry. They are
        asked about `ruled_as` instead of its own path: a journal is ignored like its database. `hidden` are
        Rewind's own directories. A plan with more than `most` changes is refused. `looked_for` are paths
        that the scan captured whatever the rules say. `brought(path)` names what the undone operation had
        brought there, the path itself and everything below it. `is_journal` is asked about files that have
        the name of a journal. `places` are other work trees inside this one."""
        self.plan = RestorePlan(checkpoint)
        self.then_trees = then_trees
        self.now_trees = now_trees
        self.skipped = skipped
        self.paths = paths
        self.hidden = hidden
        self.most = most
        self.looked_for = looked_for
        self.brought = brought
        self.is_journal = is_journal
        self.places = places

    def plan_from(self, then: bytes, now: bytes) -> RestorePlan:
        self.compare(b"", self.then_trees(then), self.now_trees(now))
        return self.plan

    def compare(self, folder: bytes, then: Tree, now: Tree) -> None:
        check_depth(folder)
        if now.partial and not then.partial:
            self.plan.kept.append(KeptPath(folder, now.partial.decode()))
        # Equal entries need no change, but entries of other places are reported even if they are equal.
        for name in sorted({*then.entries, *now.entries}) if self.places else then.differing(now):
            path = folder + b"/" + name if folder else name
            if not self.paths.touches(path) or self._is_another_place(path):
                continue
            target, present = then.entries.get(name), now.entries.get(name)
            if target is None:
                if present and not self.paths.covers(path):
                    self._newer_way(path, present, then)
                elif present and (not then.partial or self._was_brought(path)
                                  or self._is_journal_of(main_of(name), path, present, then)):
                    self._newcomer(folder, name, present, then, now)
            elif target.kind == UNCOVERED:
                pass  # it existed but was not captured, so it stays as it is now
            elif present is None:
                if now.partial and not self._was_looked_for(path):
                    self._ask_for(path, target)  # it may exist: only pinned files were captured there
                else:
                    self._add(path, target)
            elif present.kind == UNCOVERED:
                self._uncovered_now(path, target, present)
            else:
                self._both(path, target, present)

    def _is_another_place(self, path: bytes) -> bool:
        """Keep other places. An earlier version captured a linked work tree as part of the one around it."""
        if path not in self.places:
            return False
        self.plan.kept.append(KeptPath(path, ANOTHER_PLACE))
        return True

    # the checkpoint has it

    def _both(self, path: bytes, target: TreeEntry, present: TreeEntry) -> None:
        covered = self.paths.covers(path)
        if target.kind == DIR and present.kind == DIR:
            if target.mode != present.mode and covered:
                self._change("chmod", path, target, present)
            if target.ref != present.ref:
                self.compare(path, self.then_trees(target.ref), self.now_trees(present.ref))
        elif not covered:
            # Only paths below this one are meant, but then or now it is not a directory.
            if target.kind == DIR:
                self.plan.kept.append(KeptPath(path, NO_DIRECTORY, conflict=True))
            elif present.kind == DIR:
                self.compare(path, EMPTY, self.now_trees(present.ref))
        elif target.kind == DIR:
            self._change("delete", path, None, present, in_the_way=True)
            self._add(path, target, present)
        elif present.kind == DIR:
            self._directory_in_the_way(path, target, present)
        elif not target.same_content(present):
            self._change("write", path, target, present)
        elif target.mode != present.mode:
            self._change("chmod", path, target, present)

    def _directory_in_the_way(self, path: bytes, target: TreeEntry, present: TreeEntry) -> None:
        mark, kept = len(self.plan.changes), len(self.plan.kept)
        if self._remove_dir(path, present, in_the_way=True):
            self._change("write", path, target, present)
        else:
            del self.plan.changes[mark:]
            del self.plan.kept[kept:]
            self.plan.kept.append(KeptPath(path, IN_THE_WAY, conflict=True))

    def _add(self, path: bytes, target: TreeEntry, present: TreeEntry | None = None) -> None:
        if target.kind == UNCOVERED:
            return
        if target.kind != DIR:
            if self.paths.covers(path):
                self._change("write", path, target, present)
            return
        check_depth(path)
        below = self.then_trees(target.ref)
        self._change("mkdir", path, target, present)
        for name, entry in below.entries.items():
            child = path + b"/" + name
            if self.paths.touches(child) and not self._is_another_place(child):
                self._add(child, entry)

    def _uncovered_now(self, path: bytes, target: TreeEntry, present: TreeEntry) -> None:
        if present.ref in _PASSING:
            self._ask_for(path, target)
            self._ask_for_more(path)
        elif self.paths.covers(path) or target.kind == DIR:
            self.plan.kept.append(KeptPath(path, present.ref.decode(), conflict=True))

    def _was_looked_for(self, path: bytes) -> bool:
        """Whether the scan looked for it without finding it, so it does not exist. A directory that only
        leads to a named path is not looked for itself."""
        return path in self.looked_for or (
            not self.paths.covers(path) and self.looked_for.issuperset(self.paths.below(path)))

    def _ask_for(self, path: bytes, target: TreeEntry) -> None:
        if target.kind == UNCOVERED:
            return
        if self.paths.covers(path):
            self.plan.unknown.append(path)
        if target.kind == DIR:
            check_depth(path)
            for name, entry in self.then_trees(target.ref).entries.items():
                if self.paths.touches(path + b"/" + name):
                    self._ask_for(path + b"/" + name, entry)

    def _ask_for_more(self, path: bytes) -> bool:
        """Ask for paths there that are named or that the undone operation brought. Returns whether the scan
        has not looked for some of them yet."""
        found = [*self.paths.below(path), *filter(self.paths.covers, self.brought(path))]
        asked = [one for one in found if one not in self.looked_for]
        self.plan.unknown += asked
        return bool(asked)

    # the checkpoint does not have it

    def _was_brought(self, path: bytes) -> bool:
        return any(self.brought(path))

    def _newer_way(self, path: bytes, present: TreeEntry, then: Tree) -> None:
        """A directory that only leads to a named path. It is deleted too if the undone operation made it or
        nothing else is in it."""
        if present.kind == UNCOVERED and present.ref in _PASSING:
            self._ask_for_more(path)
        elif present.kind == DIR:
            mark, tree = len(self.plan.changes), self.now_trees(present.ref)
            self.compare(path, Tree({}, then.partial), tree)
            if self._was_brought(path) or self._becomes_empty(path, tree, self.plan.changes[mark:]):
                self._change("rmdir", path, None, present)

    def _becomes_empty(self, path: bytes, tree: Tree, changes: list[Change]) -> bool:
        gone = {change.path for change in changes if change.action in ("delete", "rmdir")}
        return bool(gone) and not tree.partial and all(path + b"/" + name in gone for name in tree.entries)

    def _newcomer(self, folder: bytes, name: bytes, present: TreeEntry, then: Tree, now: Tree) -> None:
        path = folder + b"/" + name if folder else name
        main = main_of(name)
        database = (then.entries.get(main) or now.entries.get(main)) if main else None
        if self._is_journal_of(main, path, present, then):
            # It is deleted with its database, because it would corrupt an older one.
            self._change("delete", path, None, present)
            return
        if main and database and present.kind in FILES and self.is_journal(path):
            if database.kind == UNCOVERED and not self._was_brought(path):
                return
            if database.kind in FILES:
                main_path = folder + b"/" + main if folder else main
                self._remove(path, present, rule_path=main_path)
                return
        self._remove(path, present)

    def _is_journal_of(self, main: bytes | None, path: bytes, present: TreeEntry, then: Tree) -> bool:
        """Whether it is a journal of a database that the checkpoint has."""
        database = then.entries.get(main) if main else None
        return bool(database and database.kind in FILES and present.kind in FILES and self.is_journal(path))

    def _remove(self, path: bytes, present: TreeEntry, *, in_the_way: bool = False,
                rule_path: bytes | None = None) -> bool:
        """Plan to delete what came after the checkpoint. Returns False if some of it stays."""
        if present.kind == UNCOVERED:
            if not (present.ref in _PASSING and self._ask_for_more(path)):
                self.plan.kept.append(KeptPath(path, present.ref.decode()))
            return False
        if self.skipped(path, present, rule_path or path):
            self.plan.kept.append(KeptPath(path, IGNORED_NEWCOMER))
            return False
        if present.kind == DIR:
            return self._remove_dir(path, present, in_the_way=in_the_way)
        self._change("delete", path, None, present, in_the_way=in_the_way)
        return True

    def _remove_dir(self, path: bytes, present: TreeEntry, *, in_the_way: bool) -> bool:
        tree = self.now_trees(present.ref)
        may_go = not tree.partial or self._was_brought(path)  # other entries are found on the disk later
        for name, entry in tree.entries.items():
            main = main_of(name)
            is_ones = main in tree.entries and entry.kind in FILES and self.is_journal(path + b"/" + name)
            rule_path = path + b"/" + main if main and is_ones else None
            if not self._remove(path + b"/" + name, entry, in_the_way=in_the_way,
                                rule_path=rule_path):
                may_go = False
        if may_go:
            self._change("rmdir", path, None, present, in_the_way=in_the_way)
        return may_go

    def _change(self, action: str, path: bytes, target: TreeEntry | None, before: TreeEntry | None, *,
                in_the_way: bool = False) -> None:
        # A forged store may name Rewind's own state, or contain twenty objects that stand for more files than
        # any disk can hold.
        if is_state_path(path) or any((path + b"/").startswith(h + b"/") for h in self.hidden):
            raise StoreDamaged(what=f"{self.plan.checkpoint} claims to hold Rewind's own state")
        if len(self.plan.changes) >= self.most:
            raise StoreDamaged(what=f"{self.plan.checkpoint} claims to hold an implausible number of paths")
        self.plan.changes.append(Change(action, path, target, before, in_the_way))
